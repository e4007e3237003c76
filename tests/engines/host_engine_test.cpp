// The host engine.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "engines/host/engine.hpp"
#include "support/complete.hpp"
#include "support/process_link.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

TEST(HostEngine, ALinkThatFailsIsAnErrorOfTheRun) {
    const auto links = process_links(2, true);
    const ListSet set = parse(
        "problem broadcast ranks 2 root 0 bytes 8\n"
        "list 0 in 8 out 0 scratch 0\n  send 1 in[0+8]\nend\n"
        "list 1 in 0 out 8 scratch 0\n  recv 0 out[0+4]\n  wait 0 1\nend\n");
    std::byte data[8]{};
    const auto root = open_host_group(*links[0])->prepare({}, set.lists[0], {});
    const auto other = open_host_group(*links[1])->prepare({}, set.lists[1], {});
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
    EXPECT_THROW(open_host_group(*links[0])->prepare({}, list, {}), Error);
}

}  // namespace
}  // namespace lapwing
