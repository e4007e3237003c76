#include "base/error.hpp"

#include <gtest/gtest.h>

namespace lapwing {
namespace {

TEST(Printable, KeepsText) {
    EXPECT_EQ(printable(""), "");
    EXPECT_EQ(printable("'node07', \\ and 50 %"), "'node07', \\ and 50 %");
    EXPECT_EQ(printable("Möwe, カモメ, 🐦"), "Möwe, カモメ, 🐦");
}

TEST(Printable, EscapesWhatControlsATerminal) {
    EXPECT_EQ(printable("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
    EXPECT_EQ(printable("two\nlines\tand\r"), "two\\nlines\\tand\\x0d");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
    // C1: one byte for terminals of eight bits, two in UTF-8.
    EXPECT_EQ(printable("\x9b"
                        "1m"),
              "\\x9b1m");
    EXPECT_EQ(printable("\xc2\x9b"
                        "1m"),
              "\\xc2\\x9b1m");
}

TEST(Printable, EscapesWhatIsNoUtf8) {
    EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
    EXPECT_EQ(printable("\xc3"), "\\xc3");
    EXPECT_EQ(printable("\xe3\x82"
                        "a"),
              "\\xe3\\x82a");
    EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");
}

TEST(Error, HasAPrintableMessage) {
    EXPECT_STREQ(Error(ErrorCode::parse, "unknown word 'a\x1b'").what(), "unknown word 'a\\x1b'");
}

}  // namespace
}  // namespace lapwing
