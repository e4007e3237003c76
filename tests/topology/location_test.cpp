#include "topology/location.hpp"

#include <hwloc.h>
#include <sched.h>

#include "support/temporary_folder.hpp"
#include "support/unit.hpp"
#include "topology/order.hpp"

namespace lapwing::topology {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

using Processors = std::vector<int>;

// The number of each part in the next larger one, and how Linux numbers the processors.
struct Shape {
    int packages = 1;
    int nodes = 1;  // per package
    int caches = 1;
    int cores = 1;
    int threads = 1;
    bool packages_in_turn = false;  // false: package by package; threads come last
};

// Linux's files about a machine of this shape.
class Files {
  public:
    explicit Files(const Shape& shape) : shape_(shape) {
        const Processors all = where([](const Position&) { return true; });
        write("cpu/online", list(all));
        write("cpu/possible", list(all));
        for (const int processor : all) describe(processor);
        for (int node = 0; node < shape.packages * shape.nodes; ++node) {
            const Processors members = where([&](const Position& p) { return p.node == node; });
            write("node/node" + std::to_string(node) + "/cpulist", list(members));
            write("node/node" + std::to_string(node) + "/cpumap", mask(members));
            write("node/node" + std::to_string(node) + "/meminfo", "Node 0 MemTotal: 1048576 kB");
            for (const int processor : members) {
                fs::create_directory_symlink("../../node/node" + std::to_string(node),
                                             directory(processor) + "/node" + std::to_string(node));
            }
        }
        write("node/online", "0-" + std::to_string(shape.packages * shape.nodes - 1));
    }
    std::string root() const { return folder_.path().string(); }
    std::string system() const { return root() + "/sys/devices/system"; }
    int count() const {
        return shape_.packages * shape_.nodes * shape_.caches * shape_.cores * shape_.threads;
    }

  private:
    // Numbers that count through the whole machine.
    struct Position {
        int package, node, cache, core, thread;
    };
    Position position(int processor) const {
        const int cores_of_package = shape_.nodes * shape_.caches * shape_.cores;
        const int core_number = processor % (shape_.packages * cores_of_package);
        const int package =
            shape_.packages_in_turn ? core_number % shape_.packages : core_number / cores_of_package;
        const int inside =
            shape_.packages_in_turn ? core_number / shape_.packages : core_number % cores_of_package;
        const int core = package * cores_of_package + inside;
        return {package, core / (shape_.caches * shape_.cores), core / shape_.cores, core,
                processor / (shape_.packages * cores_of_package)};
    }
    Processors where(const std::function<bool(const Position&)>& is) const {
        Processors found;
        for (int i = 0; i < count(); ++i)
            if (is(position(i))) found.push_back(i);
        return found;
    }
    std::string directory(int processor) const { return system() + "/cpu/cpu" + std::to_string(processor); }
    void describe(int processor) {
        const Position own = position(processor);
        const std::string cpu = "cpu/cpu" + std::to_string(processor);
        const auto set = [&](const std::string& name, const std::string& listed, const Processors& members) {
            write(cpu + name, mask(members));
            write(cpu + listed, list(members));
        };
        write(cpu + "/topology/physical_package_id", std::to_string(own.package));
        write(cpu + "/topology/core_id", std::to_string(own.core));
        set("/topology/package_cpus", "/topology/package_cpus_list",
            where([&](const Position& p) { return p.package == own.package; }));
        set("/topology/core_cpus", "/topology/core_cpus_list",
            where([&](const Position& p) { return p.core == own.core; }));
        for (const int level : {1, 3}) {
            const std::string cache = "/cache/index" + std::to_string(level / 2);
            write(cpu + cache + "/level", std::to_string(level));
            write(cpu + cache + "/type", level == 1 ? "Data" : "Unified");
            write(cpu + cache + "/size", "32K");
            set(cache + "/shared_cpu_map", cache + "/shared_cpu_list", where([&](const Position& p) {
                    return level == 1 ? p.core == own.core : p.cache == own.cache;
                }));
        }
    }
    static std::string list(const Processors& members) {
        std::string text;
        for (const int member : members) text += (text.empty() ? "" : ",") + std::to_string(member);
        return text;
    }
    static std::string mask(const Processors& members) {
        unsigned long long bits = 0;
        for (const int member : members) bits |= 1ULL << member;
        char text[32];
        std::snprintf(text, sizeof text, "%08llx,%08llx", bits >> 32, bits & 0xffffffff);
        return text;
    }
    void write(const std::string& file, const std::string& line) {
        const fs::path path = fs::path(system()) / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << line << "\n";
    }

    Shape shape_;
    testing_support::TemporaryFolder folder_;
};

Location locate_in(const Files& files, const Processors& allowed) {
    return locate(allowed, files.system());
}

TEST(Location, OneProcessorOrMore) {
    // 16 cores with processors 0 to 15 and 16 to 31.
    const Files files({2, 2, 2, 2, 2});
    EXPECT_EQ(locate_in(files, {5}), (Location{5, 0, 1, 4, 5, 0, Part::thread}));
    EXPECT_EQ(locate_in(files, {27}), (Location{27, 1, 2, 10, 11, 1, Part::thread}));
    EXPECT_EQ(locate_in(files, {2, 18}).bound_to, Part::core);
    EXPECT_EQ(locate_in(files, {2, 3}).bound_to, Part::cache);
    EXPECT_EQ(locate_in(files, {3, 16}).bound_to, Part::node);
    EXPECT_EQ(locate_in(files, {3, 7}).bound_to, Part::package);
    EXPECT_EQ(locate_in(files, {3, 8}).bound_to, Part::machine);
    EXPECT_EQ(locate_in(files, {3, 8}).core, 3);
    Processors all(32);
    for (int i = 0; i < 32; ++i) all[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(locate_in(files, all), (Location{0, 0, 0, 0, 0, 0, Part::machine}));
    // Not bound, on a machine of one package.
    EXPECT_EQ(locate_in(Files({1, 1, 1, 2, 1}), {0, 1}).bound_to, Part::machine);
}

TEST(Location, Unknown) {
    EXPECT_EQ(locate({}, "/nowhere"), Location{});
    EXPECT_EQ(locate(Processors{3, 4}, "/nowhere"), (Location{3, -1, -1, -1, -1, -1, Part::machine}));
}

TEST(Location, ProcessorsOfThisThread) {
    const Processors before = allowed_processors();
    ASSERT_FALSE(before.empty());
    EXPECT_TRUE(std::is_sorted(before.begin(), before.end()));
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(before.back()), &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_THAT(allowed_processors(), ElementsAre(before.back()));
    }).join();
    EXPECT_EQ(allowed_processors(), before);
}

// Compares the parts around each processor, and the order of ranks on all processors, with hwloc's.
// `processors`: number that hwloc must find at least.
void compare_with_hwloc(const std::string& root, const std::string& system, std::size_t processors) {
    if (!root.empty()) setenv("HWLOC_FSROOT", root.c_str(), 1);
    hwloc_topology_t machine = nullptr;
    ASSERT_EQ(hwloc_topology_init(&machine), 0);
    ASSERT_EQ(hwloc_topology_load(machine), 0);
    unsetenv("HWLOC_FSROOT");
    Processors logical;
    std::vector<RankLocation> locations;
    const auto around = [&](hwloc_obj_t object, hwloc_obj_type_t type) {
        return hwloc_get_ancestor_obj_by_type(machine, type, object);
    };
    for (hwloc_obj_t one = nullptr;
         (one = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, one)) != nullptr;) {
        const int processor = static_cast<int>(one->os_index);
        const Location found = locate(Processors{processor}, system);
        logical.push_back(processor);
        locations.push_back(rank_location(1, -1, found));
        EXPECT_EQ(found.node, hwloc_bitmap_first(one->nodeset)) << processor;
        if (const hwloc_obj_t package = around(one, HWLOC_OBJ_PACKAGE);
            package != nullptr && found.package >= 0) {
            EXPECT_EQ(found.package, static_cast<int>(package->os_index)) << processor;
        }
        if (const hwloc_obj_t cache = around(one, HWLOC_OBJ_L3CACHE)) {
            EXPECT_EQ(found.cache, hwloc_bitmap_first(cache->cpuset)) << processor;
        }
        if (const hwloc_obj_t core = around(one, HWLOC_OBJ_CORE)) {
            EXPECT_EQ(found.core, hwloc_bitmap_first(core->cpuset)) << processor;
        }
        EXPECT_EQ(found.thread, static_cast<int>(one->sibling_rank)) << processor;
    }
    hwloc_topology_destroy(machine);
    ASSERT_GE(logical.size(), processors);
    // One rank on each processor, in Linux's order.
    std::vector<std::size_t> by_number(logical.size());
    for (std::size_t i = 0; i < logical.size(); ++i) by_number[i] = i;
    std::sort(by_number.begin(), by_number.end(),
              [&](std::size_t a, std::size_t b) { return logical[a] < logical[b]; });
    std::vector<RankLocation> ranks;
    for (const std::size_t i : by_number) ranks.push_back(locations[i]);
    Processors order;
    for (const int rank : order_of(ranks))
        order.push_back(logical[by_number[static_cast<std::size_t>(rank)]]);
    EXPECT_EQ(order, logical);
}

TEST(Location, AgreesWithHwlocOnThisMachine) {
    // A container may hide processors from hwloc or from Lapwing. The test compares those that both see.
    compare_with_hwloc("", "/sys/devices/system", 1);
}

TEST(Location, AgreesWithHwlocOnOtherMachines) {
    for (const Shape& shape : {Shape{2, 1, 1, 2, 2}, Shape{2, 2, 2, 1, 2}, Shape{2, 1, 2, 3, 1, true},
                               Shape{4, 1, 1, 2, 1, true}}) {
        const Files files(shape);
        SCOPED_TRACE(files.count());
        compare_with_hwloc(files.root(), files.system(), static_cast<std::size_t>(files.count()));
    }
}

}  // namespace
}  // namespace lapwing::topology
