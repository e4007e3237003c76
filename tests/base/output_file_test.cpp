#include "base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/errors.hpp"
#include "support/temporary_folder.hpp"
#include "support/unit.hpp"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return folder_.path() / name; }
    std::string text(const std::string& name) const {
        std::ifstream file(path(name));
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
    }

    testing_support::TemporaryFolder folder_;
};

TEST_F(OutputFiles, AppearWhenTheyAreComplete) {
    {
        OutputFile file(path("new"), "the text");
        EXPECT_EQ(files(), 0U);
        file.write(std::string(3 << 20, 'x'));  // more than is kept in memory
        EXPECT_FALSE(fs::exists(path("new")));
    }
    EXPECT_EQ(files(), 0U);
    write_file(path("new"), "one", "the text");
    EXPECT_EQ(text("new"), "one");
    EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFiles, StayUntilTheyAreReplaced) {
    write_file(path("old"), "old", "the text");
    fs::permissions(path("old"), fs::perms(0640));
    fs::create_symlink("old", path("link"));
    // As a process leaves it that was killed.
    write_file(path("old.lapwing-new"), "something longer", "the text");
    OutputFile file(path("link"), "the text");
    file.write("new");
    EXPECT_EQ(text("old"), "old");
    file.close();
    EXPECT_EQ(text("old"), "new");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(fs::status(path("old")).permissions(), fs::perms(0640));
    EXPECT_EQ(files(), 2U);
}

TEST_F(OutputFiles, DescriptorsAreWrittenWhereTheyAre) {
    const int log = ::open(path("log").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(::write(log, "before ", 7), 7);
    write_file(fmt::format("/dev/fd/{}", log), "text ", "the text");
    ASSERT_EQ(::write(log, "after", 5), 5);
    ::close(log);
    EXPECT_EQ(text("log"), "before text after");
}

TEST_F(OutputFiles, PipesNeedAReader) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    OutputFile early(path("pipe"), "the text");
    early.write("text");
    EXPECT_EQ(error_of([&] { early.close(); }),
              fmt::format("the text cannot be written to {}: no program reads this pipe", path("pipe")));
    std::thread reader([&] { EXPECT_EQ(text("pipe"), "text"); });
    write_file(path("pipe"), "text", "the text");
    reader.join();
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
    std::thread leaves([&] { std::ifstream(path("pipe")).get(); });
    OutputFile long_one(path("pipe"), "the text");
    EXPECT_EQ(error_of([&] { long_one.write(std::string(3 << 20, 'x')); }),
              fmt::format("the text cannot be written to {}: Broken pipe", path("pipe")));
    leaves.join();
}

TEST_F(OutputFiles, FullDevicesAreRefused) {
    EXPECT_EQ(error_of([] { OutputFile("/dev/full", "the text"); }),
              "the text cannot be written to /dev/full: No space left on device");
    EXPECT_EQ(error_of([] { OutputFile("/dev/null/file", "the text"); }),
              "the text cannot be written to /dev/null/file: Not a directory");
}

}  // namespace
}  // namespace lapwing
