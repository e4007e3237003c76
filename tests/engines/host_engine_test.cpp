// The host engine.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "engines/host/engine.hpp"
#include "links/process/process_link.hpp"
#include "support/complete.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

TEST(HostEngine, Reduces) {
    // Ranks 0 and 1 exchange and add one float64.
    const ListSet set = parse(
        "problem allreduce ranks 2 bytes 8 op sum type float64\n"
        "list 0 in 8 out 8 scratch 0\n"
        "  recv 1 out[0+8]\n"
        "  send 1 in[0+8]\n"
        "  wait 1 1\n"
        "  reduce sum float64 out[0+8] in[0+8]\n"
        "end\n"
        "list 1 in 8 out 8 scratch 0\n"
        "  recv 0 out[0+8]\n"
        "  send 0 in[0+8]\n"
        "  wait 0 1\n"
        "  reduce sum float64 out[0+8] in[0+8]\n"
        "end\n");
    const auto links = process_links(2, true);
    const double in[2] = {1.5, 2.25};
    double out[2] = {};
    std::unique_ptr<Prepared> prepared[2];
    Operation* operations[2];
    for (std::size_t rank = 0; rank < 2; ++rank) {
        prepared[rank] = host_engine().open({.messages = links[rank].get()})->prepare(set.lists[rank]);
        operations[rank] = prepared[rank]->start(
            {reinterpret_cast<const std::byte*>(&in[rank]), reinterpret_cast<std::byte*>(&out[rank])}, 0);
    }
    for (std::size_t rank = 0; rank < 2; ++rank) wait(*prepared[rank], operations[rank]);
    EXPECT_EQ(out[0], 3.75);
    EXPECT_EQ(out[1], 3.75);
}

TEST(HostEngine, ReducesByTheProgramsFunctionInTheOrderOfItsOperands) {
    // The result has the first byte of one operand and the last byte of the other.
    class Ends : public Reducer {
      public:
        void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
            for (std::uint64_t at = 0; at < bytes; at += 2) target[at] = source[at];
            ++calls;
            bytes_seen = bytes;
        }
        int calls = 0;
        std::uint64_t bytes_seen = 0;
    };
    const ListSet set = parse(
        "problem reduce ranks 2 root 0 bytes 4 op user type opaque:2 ordered\n"
        "list 0 in 4 out 4 scratch 0\n"
        "  recv 1 out[0+4]\n"
        "  wait 1 1\n"
        "  reduce user opaque out[0+4] in[0+4]\n"
        "end\n"
        "list 1 in 4 out 0 scratch 0\n"
        "  send 0 in[0+4]\n"
        "end\n");
    const auto links = process_links(2, true);
    Ends ends;
    char in[2][5] = {"abcd", "wxyz"};
    char out[5] = "....";
    const auto root = host_engine().open({.messages = links[0].get()})->prepare(set.lists[0]);
    const auto other = host_engine().open({.messages = links[1].get()})->prepare(set.lists[1]);
    wait(*other, other->start({reinterpret_cast<const std::byte*>(in[1])}, 0));
    wait(*root,
         root->start({reinterpret_cast<const std::byte*>(in[0]), reinterpret_cast<std::byte*>(out), &ends},
                     0));
    EXPECT_STREQ(out, "axcz");
    EXPECT_EQ(ends.calls, 1);
    EXPECT_EQ(ends.bytes_seen, 4U);
}

TEST(HostEngine, ALinkThatFailsIsAnErrorOfTheRun) {
    const auto links = process_links(2, true);
    const ListSet set = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n  send 1 in[0+8]\nend\n"
        "list 1 in 0 out 8 scratch 0\n  recv 0 out[0+4]\n  wait 0 1\nend\n");
    std::byte data[8]{};
    const auto root = host_engine().open({.messages = links[0].get()})->prepare(set.lists[0]);
    const auto other = host_engine().open({.messages = links[1].get()})->prepare(set.lists[1]);
    wait(*root, root->start({data, nullptr}, 0));
    Operation* operation = other->start({nullptr, data}, 0);
    EXPECT_THROW(wait(*other, operation), Error);
    // Another run of the same plan is not affected.
    EXPECT_NE(other->start({nullptr, data}, 1), operation);
}

TEST(HostEngine, RefusesQueues) {
    List list;
    list.tasks.emplace_back().kind = Kind::enable_send;
    const auto links = process_links(1, true);
    EXPECT_THROW(host_engine().open({.messages = links[0].get()})->prepare(list), Error);
}

}  // namespace
}  // namespace lapwing
