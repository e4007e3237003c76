// The shared-memory protocol under the memory model of C++11, by Relacy: its own headers, on words that
// Relacy watches. First as it is: no order of steps and no stale value that the model allows may lose a
// message, change one, race, or let a rank sleep for ever. Then with each memory order in turn made weaker:
// that must be found, or be among the orders that are known to be stronger than needed.
//
//   memory_order_test [ROUNDS [NUMBER]]        so many random executions of each scenario; only the weaker
//   order of that number, in detail
#include <cstdlib>

#include "links/shm_scenario.hpp"
#include "memory_order/weaker.hpp"

namespace lapwing::shm {
namespace {

using test::Found;
using test::Known;
using test::Relacy;
using test::Sites;

const Scenario* scenario = nullptr;

// One execution, as Relacy wants it.
template <unsigned threads>
struct Execution : rl::test_suite<Execution<threads>, threads> {
    void before() { world = std::make_unique<World<Relacy>>(*scenario); }
    void thread(unsigned number) {
        bool gives_up = false;
        try {
            world->run(static_cast<int>(number));
        } catch (const Error&) {
            gives_up = true;
        }
        if (gives_up) Relacy::fail("the protocol gives up");
    }
    void after() { world.reset(); }
    std::unique_ptr<World<Relacy>> world;
};

// The payload is full before the slots are.
constexpr Geometry many{.slots = 8, .payload = 256, .tickets = 1, .chunk = 80, .max_in_pieces = 0};

struct NamedScenario {
    const char* name;
    Scenario scenario;
};
const std::vector<NamedScenario> scenarios = {
    {"short messages", {2, {8, 0, 60, 64, 8}, tiny, true, false}},
    {"short messages, asleep", {2, {8, 0, 60, 64, 8}, tiny}},
    {"a full payload", {2, {64, 64, 64, 64, 64, 64, 64}, many, true, false}},
    {"a full payload, asleep", {2, {64, 64, 64, 64, 64, 64, 64}, many}},
    {"long messages copied by both", {2, {8, 200, 100}, tiny, true, false}},
    {"long messages copied by both, asleep", {2, {8, 200, 100}, tiny}},
    {"long messages in pieces", {2, {8, 200, 100}, tiny, false, false}},
    {"long messages in pieces, asleep", {2, {8, 200, 100}, tiny, false}},
    {"pieces, or copied by the receiver", {2, {8, 200, 100}, mixed, true, false}},
    {"pieces, or copied by the receiver, asleep", {2, {8, 200, 100}, mixed}},
    {"pieces, or copied by the sender", {2, {320, 8}, mixed, true, false}},
    {"three ranks", {3, {8, 120}, tiny}},
    {"a progress thread, short", {2, {8}, tiny, true, true, true}},
    {"a progress thread, long", {2, {200}, tiny, true, true, true}},
};

// The first failure in random executions of all scenarios.
Found explore_all(unsigned rounds, bool in_detail) {
    Found found;
    for (const auto& [name, one] : scenarios) {
        scenario = &one;
        if (one.threads() == 2)
            test::explore<Execution<2>, 2>(rounds, in_detail, found);
        else
            test::explore<Execution<3>, 3>(rounds, in_detail, found);
        if (found.result == rl::test_result_success) continue;
        found.scenario = name;
        break;
    }
    return found;
}

constexpr Known known[] = {
    {"doorbell.hpp", "doorbell.rings.load(",
     "a ring says nothing but that it was; news are looked for behind the fence"},
    {"doorbell.hpp", "doorbell.rings.fetch_add(", "the same"},
    {"protocol.hpp", "doorbell_.rings.load(", "the same"},
    {"doorbell.hpp", "doorbell.asleep.exchange(",
     "the fence behind it is enough; the thread sanitizer, which knows no fences, needs it"},
    {"protocol.hpp", "doorbell_.asleep.exchange(", "the same"},
    {"protocol.hpp", "message.moved + ticket.copied.load(",
     "the sender is told of the end, and that has a fence before the program learns of it"},
    {"protocol.hpp", "state = ticket.state.load(",
     "in has_events(), which only says whether to look; who looks loads again"},
    {"protocol.hpp", "message->moved + ticket.copied.load(", "the same"},
};

}  // namespace
}  // namespace lapwing::shm

int main(int argc, char** argv) {
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3000;
    const std::size_t only =
        argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : lapwing::test::Sites::none;
    return lapwing::test::check({lapwing::shm::explore_all, "links/shm/", lapwing::shm::known}, rounds, only);
}
