#include "topology/container.hpp"
#include "support/unit.hpp"

namespace lapwing::topology {
namespace {

// What a process in the group /a/b of 64 processors may use, where control groups have these files.
long usable(const std::map<std::string, std::string>& files, const std::string& own = "0::/a/b\n") {
    std::string place = (std::filesystem::temp_directory_path() / "lapwing-XXXXXX").string();
    if (::mkdtemp(place.data()) == nullptr) return -1;
    const std::filesystem::path root = place;
    std::filesystem::create_directories(root / "a" / "b");
    for (const auto& [file, text] : files) std::ofstream(root / file) << text;
    std::ofstream(root / "own") << own;
    const long found = processors_of_group(64, root / "own", root);
    std::filesystem::remove_all(root);
    return found;
}

TEST(Container, WithoutLimitsHasAllProcessors) {
    EXPECT_EQ(usable({}), 64);
    EXPECT_EQ(usable({{"a/b/cpu.max", "max 100000\n"}, {"a/b/cpuset.cpus.effective", "0-63\n"}}), 64);
    EXPECT_EQ(processors_of_group(64, "/nowhere", "/nowhere"), 64);
    EXPECT_EQ(usable({{"cpu.max", "200000 100000"}}, "4:cpu:/a/b\n"), 64);  // version 1
}

TEST(Container, HasASetOrAQuotaOfItsOwnOrOfAGroupAbove) {
    EXPECT_EQ(usable({{"a/b/cpuset.cpus.effective", "0,4-6\n"}}), 4);
    EXPECT_EQ(usable({{"a/b/cpu.max", "200000 100000\n"}}), 2);
    EXPECT_EQ(usable({{"a/cpu.max", "350000 100000\n"}, {"a/b/cpu.max", "max 100000\n"}}), 3);
    EXPECT_EQ(usable({{"cpu.max", "200000 100000\n"}}, "0::/\n"), 2);
    EXPECT_EQ(usable({{"a/b/cpu.max", "50000 100000\n"}}), 1);
    EXPECT_EQ(usable({{"a/b/cpu.max", "800000 100000\n"}, {"a/cpuset.cpus.effective", "0-3\n"}}), 4);
    EXPECT_EQ(usable({{"a/b/cpu.max", "200000 100000\n"}}, "1:cpu:/x\n0::/a/b\n"), 2);
}

}  // namespace
}  // namespace lapwing::topology
