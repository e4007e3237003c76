#include "task/drawing.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "checker_lists.hpp"
#include "support/temporary_folder.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using testing::HasSubstr;
using testing::Not;

// Runs Graphviz' dot on a drawing; what it wrote, or its complaint.
class Dot {
  public:
    static bool installed() { return std::system("command -v dot >/dev/null 2>&1") == 0; }

    std::string svg(const std::string& drawing) {
        std::ofstream(folder_.path() / "in.dot") << drawing;
        const std::string command =
            fmt::format("cd '{}' && dot -Tsvg in.dot >out.svg 2>complaint", folder_.path().string());
        const int status = std::system(command.c_str());
        const std::string complaint = read("complaint");
        if (status != 0 || !complaint.empty()) return "dot complains: " + complaint;
        return read("out.svg");
    }

  private:
    std::string read(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(folder_.path() / name).rdbuf();
        return text.str();
    }
    testing_support::TemporaryFolder folder_;
};

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

std::vector<List> barrier_lists() {
    return parse(hand_written::barrier_of_4).lists;
}

// Any list at all, also one that no checker would pass.
List random_list(std::mt19937& random, int rank, int ranks) {
    List list;
    list.rank = rank;
    list.ranks = ranks;
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    const int tasks = below(12);
    for (int i = 0; i < tasks; ++i) {
        Task& task = list.tasks.emplace_back();
        task.kind = static_cast<Kind>(below(static_cast<int>(Kind::reduce) + 1));
        task.peer = below(ranks);
        task.count = static_cast<std::uint64_t>(below(4));
        task.target = {Space::out, random(), random()};
        task.source = {Space::in, random(), random()};
    }
    return list;
}

TEST(Drawing, JoinsEverySendToTheReceiveThatItMeets) {
    const ListSet set = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n"
        "send 1 in[0+4]\n"
        "send 1 in[4+4]\n"
        "end\n"
        "list 1 in 0 out 8 scratch 0\n"
        "recv 0 out[0+4]\n"
        "recv 0 out[4+4]\n"
        "wait 0 2\n"
        "end\n");
    const std::string drawing = draw(set.lists, "two parts");
    // Nodes are numbered as drawn: the heading and tasks of rank 0 are n0 to n2, those of rank 1 n3 to n6.
    EXPECT_THAT(drawing, HasSubstr("label=\"rank 0\""));
    EXPECT_THAT(drawing, HasSubstr("label=\"recv 0 out[4+4]\""));
    EXPECT_THAT(drawing, HasSubstr("n1:e -> n4:w "));
    EXPECT_THAT(drawing, HasSubstr("n2:e -> n5:w "));
    EXPECT_EQ(count(drawing, " -> "), 2U);
    EXPECT_THAT(drawing, Not(HasSubstr("unmet")));
}

TEST(Drawing, OfSomeRanksEndsArrowsInStubs) {
    const std::vector<List> lists = barrier_lists();
    const std::string drawing = draw(std::span(lists).first(2), "");
    EXPECT_EQ(count(drawing, " -> "),
              6U);  // two between ranks 0 and 1; a send and a receive of each go outside
    EXPECT_THAT(drawing, HasSubstr("label=\"to 2\""));
    EXPECT_THAT(drawing, HasSubstr("label=\"from 3\""));
}

TEST(Drawing, ShowsMessagesThatAreNotMet) {
    std::vector<List> lists = barrier_lists();
    lists[0].tasks.erase(lists[0].tasks.begin());      // recv 1
    lists[2].tasks.erase(lists[2].tasks.begin() + 2);  // send 3
    EXPECT_EQ(count(draw(lists, ""), "label=\"unmet\""), 2U);
}

TEST(Drawing, EscapesItsTitle) {
    const std::string drawing = draw(barrier_lists(), "say \"hi\" \\ there\n\t]");
    EXPECT_THAT(drawing, HasSubstr("label=\"say \\\"hi\\\" \\\\ there\\l ]\\l\""));
}

TEST(Drawing, IsTakenByDot) {
    if (!Dot::installed()) GTEST_SKIP() << "Graphviz is not installed";
    Dot dot;
    const std::vector<List> lists = barrier_lists();
    const std::string svg = dot.svg(draw(lists, "a \"barrier\" <of> 4 & \\N"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_EQ(count(svg, "class=\"edge\""), 8U);
    EXPECT_THAT(svg, HasSubstr(">send 1<"));
    EXPECT_THAT(dot.svg(draw(std::span<const List>(), "none")), HasSubstr("</svg>"));
    EXPECT_THAT(dot.svg(draw(std::span<const List>(), "")), HasSubstr("</svg>"));
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        const int ranks = 1 + round % 8;
        std::vector<List> any;
        for (int rank = 0; rank < ranks; ++rank) any.push_back(random_list(random, rank, ranks));
        ASSERT_THAT(dot.svg(draw(any, "any")), HasSubstr("</svg>")) << draw(any, "any");
    }
}

}  // namespace
}  // namespace lapwing
