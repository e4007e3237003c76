#include "topology/host_order.hpp"

#include "base/error.hpp"
#include "support/errors.hpp"
#include "support/unit.hpp"

namespace lapwing::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> hosts_of(const std::string& text) {
    return HostOrder::parse(text, "my.topology").hosts();
}

std::string message_of(const std::string& text) {
    return error_of([&] { HostOrder::parse(text, "my.topology"); }, ErrorCode::parse);
}

TEST(HostOrder, WordsCommentsAndRanges) {
    EXPECT_THAT(hosts_of("# the first rack\nb a  # these two\n\n\tc,d\r\ne"),
                ElementsAre("b", "a", "c", "d", "e"));
    EXPECT_THAT(hosts_of("node[08-11]"), ElementsAre("node08", "node09", "node10", "node11"));
    EXPECT_THAT(hosts_of("n[10-08,1]x"), ElementsAre("n10x", "n09x", "n08x", "n1x"));
    EXPECT_THAT(hosts_of("r[1-2]n[1,3].org,z"),
                ElementsAre("r1n1.org", "r1n3.org", "r2n1.org", "r2n3.org", "z"));
}

TEST(HostOrder, ATorusOfOneWayLinks) {
    // Kaiser et al. 2009, figure 2: 16 hosts.
    EXPECT_THAT(hosts_of("torus 4x4 n[0-15]"),
                ElementsAre("n0", "n1", "n2", "n3", "n7", "n4", "n5", "n6", "n10", "n11", "n8", "n9", "n13",
                            "n14", "n15", "n12"));
}

TEST(HostOrder, APathThroughAMeshTurnsAround) {
    EXPECT_THAT(hosts_of("first\nmesh 3x2 n[0-5]"), ElementsAre("first", "n0", "n1", "n2", "n5", "n4", "n3"));
}

// The number of links on the shortest way between two cells. In a torus, coordinates only increase.
int distance(const Grid& grid, int from, int to) {
    int links = 0;
    for (const int extent : grid.extents) {
        const int forth = to % extent - from % extent;
        links += grid.wraps ? (forth + extent) % extent : std::abs(forth);
        from /= extent;
        to /= extent;
    }
    return links;
}

TEST(HostOrder, APathVisitsAllCellsByOneLinkPerStep) {
    for (const std::vector<int>& extents : std::vector<std::vector<int>>{{1},
                                                                         {7},
                                                                         {2, 2},
                                                                         {4, 4},
                                                                         {3, 5},
                                                                         {5, 3},
                                                                         {1, 6},
                                                                         {2, 3, 4},
                                                                         {4, 3, 2},
                                                                         {3, 3, 3},
                                                                         {2, 1, 2, 5}}) {
        for (const bool wraps : {false, true}) {
            const Grid grid{wraps, extents};
            const std::vector<int> path = path_through(grid);
            EXPECT_EQ(std::set<int>(path.begin(), path.end()).size(), static_cast<std::size_t>(grid.size()));
            EXPECT_EQ(*std::max_element(path.begin(), path.end()), grid.size() - 1);
            for (std::size_t i = 1; i < path.size(); ++i)
                EXPECT_EQ(distance(grid, path[i - 1], path[i]), 1) << "step " << i << ", wraps " << wraps;
        }
    }
}

TEST(HostOrder, ShortAndLongNames) {
    const HostOrder order = HostOrder::parse("a b.one.org c.one c.two", "my.topology");
    EXPECT_EQ(order.find("a"), 0);
    EXPECT_EQ(order.find("a.one.org"), 0);
    EXPECT_EQ(order.find("b"), 1);
    EXPECT_EQ(order.find("b.one.org"), 1);
    EXPECT_EQ(order.find("b.two.org"), -1);
    EXPECT_EQ(order.find("c"), -1);
    EXPECT_EQ(order.find("c.two"), 3);
    EXPECT_EQ(order.find("d"), -1);
    EXPECT_EQ(HostOrder().find("a"), -1);
}

TEST(HostOrder, ErrorsNameTheLine) {
    EXPECT_EQ(message_of("a\n\nb a"), "my.topology:3: a is already named on line 1");
    EXPECT_EQ(message_of("n[1-3] n2"), "my.topology:1: n2 is named twice on this line");
    EXPECT_EQ(message_of("# none\n"), "my.topology: the file names no host");
    EXPECT_THAT(message_of("a\ntours 2x2 n[0-3]"), HasSubstr("my.topology:2: '2x2' is the shape of a grid"));
    EXPECT_THAT(message_of("a\ntours 2x2 n[0-3]"), HasSubstr("did you mean 'torus'?"));
    EXPECT_THAT(message_of("torus n[0-3]"),
                HasSubstr(":1: 'torus' must be followed by a shape such as 4x4, not 'n[0-3]'"));
    EXPECT_THAT(message_of("mesh"), HasSubstr("'mesh' must be followed by a shape such as 4x4"));
    EXPECT_EQ(message_of("torus 4x4 n[0-14]"),
              "my.topology:1: a torus of 4x4 has 16 hosts, but the line names 15");
    EXPECT_THAT(message_of("mesh 0x4 n"), HasSubstr("'0x4': a grid must have 1 to "));
    EXPECT_THAT(message_of("mesh 99999999999x9 n"), HasSubstr("'99999999999x9': a grid must have 1 to "));
    EXPECT_THAT(message_of("mesh 1x1x1x1x1x1x1x1x1 n"), HasSubstr("at most 8 dimensions"));
    EXPECT_THAT(message_of("n[1-"), HasSubstr("'n[1-': missing ']'"));
    EXPECT_THAT(message_of("n[1- 3]"), HasSubstr("missing ']'"));
    EXPECT_THAT(message_of("n[1-3-5]"), HasSubstr("brackets must contain numbers"));
    EXPECT_THAT(message_of("n[]"), HasSubstr("brackets must contain numbers"));
    EXPECT_THAT(message_of("n]"), HasSubstr("'n]': a host name must consist of letters"));
    EXPECT_THAT(message_of("node%02d"), HasSubstr("'node%02d': a host name must consist of letters"));
    EXPECT_THAT(message_of("n[0-999999999]"), HasSubstr("names more than "));
    EXPECT_THAT(message_of("n[0-999][0-999]"), HasSubstr("names more than "));
    EXPECT_THAT(message_of(std::string(300, 'a')), HasSubstr("is too long for a host name"));
}

TEST(HostOrder, AMissingFile) {
    EXPECT_THAT([] { HostOrder::read("/nowhere/my.topology"); },
                testing::ThrowsMessage<Error>("the topology file '/nowhere/my.topology' cannot be read"));
}

}  // namespace
}  // namespace lapwing::topology
