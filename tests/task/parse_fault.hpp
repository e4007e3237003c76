// What the parser says about a text that it refuses.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "task/text.hpp"

namespace lapwing {

inline std::string fault(std::string_view text) {
    try {
        parse(text);
    } catch (const ParseError& error) {
        EXPECT_EQ(error.code(), ErrorCode::parse);
        EXPECT_THAT(error.what(), testing::StartsWith(std::to_string(error.line()) + ":" +
                                                      std::to_string(error.column()) + ": "));
        return error.what();
    }
    return "parsed";
}

}  // namespace lapwing
