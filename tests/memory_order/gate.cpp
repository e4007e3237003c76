// The gate between the program's threads and Lapwing's thread under the memory model of C++11, by Relacy: its
// own headers, on words that Relacy watches, and membarrier(2) as a full fence on all threads. What calls of
// the MPI change is memory that both sides write: two threads inside at a time are a race. First as it is,
// then with each memory order in turn made weaker, without the barrier, and with a call that looks at the
// gate before it marks its thread: all must be found, but for orders that only snapshots need.
//
//   gate_order_test [ROUNDS [NUMBER]]        so many random executions of each scenario; only the weaker
//   order of that number, in detail
#include "mpi/native/gate_protocol.hpp"

#include <array>
#include <cstdlib>
#include <memory>

#include "memory_order/weaker.hpp"

namespace lapwing::gate {
namespace {

using test::Found;
using test::Membarrier;
using test::Watched;

enum class Calls {
    unrecorded,         // the thread's depth marks it
    recorded,           // its record marks it
    looking_too_early,  // wrong
};
struct Scenario {
    const char* name;
    Calls calls = Calls::unrecorded;
    unsigned threads = 1;  // of the program, one in the MPI at a time
    bool barrier = true;   // false: wrong
    int rounds = 2;        // calls of each thread, and polls
};
constexpr Scenario scenarios[] = {
    {"calls", Calls::unrecorded},
    {"recorded calls", Calls::recorded},
    {"calls of two threads", Calls::unrecorded, 2},
    {"recorded calls of two threads", Calls::recorded, 2},
    {"a thread that ends", Calls::unrecorded, 1, true, 1},
};
const Scenario* scenario = nullptr;

constexpr unsigned max_threads = 3;

struct World {
    Watched<std::uint32_t> attention{0};
    std::array<watch::ThreadRecordOf<Watched>, max_threads> records;
    rl::var<int> mpi;
    rl::mutex turn;  // MPI_THREAD_SERIALIZED

    World() {
        mpi(RL_INFO).store(0);
        for (unsigned i = 0; i < max_threads; ++i) {
            records[i].used.store(i <= scenario->threads ? 1 : 0, std::memory_order_relaxed);
            if (i > 0) records[i - 1].next.store(&records[i], std::memory_order_relaxed);
        }
    }
};
World* world = nullptr;

struct Platform {
    using Record = watch::ThreadRecordOf<Watched>;
    static constexpr int polls_before_yield = 1;
    static constexpr int polls_before_sleep = 2;
    static Watched<std::uint32_t>& attention() { return world->attention; }
    static Record& of_thread() { return world->records[rl::ctx().current_thread()]; }
    static Record* known_thread() { return &of_thread(); }
    static const Record* first_record() { return world->records.data(); }
    static void enter() { wait_until_open<Platform>(); }
    static void leave(const void*) {}
    static void full_barrier() {
        if (scenario->barrier) Membarrier::call();
    }
    static void yield() { rl::ctx().yield(1, RL_INFO); }
};

using Call = InMpi<Platform>;

void enter_mpi() {
    Membarrier::step();
    world->mpi(RL_INFO).store(1);
}

void call() {
    if (scenario->calls == Calls::looking_too_early) {
        Call::pass_gate();
        auto& depth = Platform::of_thread().depth;
        depth.store(1, std::memory_order_release);
        enter_mpi();
        depth.store(0, std::memory_order_release);
        return;
    }
    if (scenario->calls == Calls::recorded) {
        if (auto* const entered = Call::try_enter("", nullptr, 0, 0, 0)) {
            enter_mpi();
            return Call::leave(*entered, nullptr);
        }
    }
    const Call outer(nullptr);
    const Call inner(nullptr);
    enter_mpi();
}

void poll() {
    if (!close<Platform>()) return;
    enter_mpi();
    open<Platform>();
}

template <unsigned threads>
struct Execution : rl::test_suite<Execution<threads>, threads> {
    void before() {
        Membarrier::restart(threads);
        own = std::make_unique<World>();
        world = own.get();
    }
    void thread(unsigned number) {
        for (int i = 0; i < scenario->rounds; ++i) {
            if (number == 0) {
                poll();
                continue;
            }
            Membarrier::leave();
            world->turn.lock(RL_INFO);
            Membarrier::come_back();
            call();
            world->turn.unlock(RL_INFO);
        }
        // As the journal does at the end of a thread.
        if (number > 0) Platform::of_thread().used.store(0, std::memory_order_release);
        Membarrier::leave();
    }
    void after() { own.reset(); }
    std::unique_ptr<World> own;
};

void explore(const Scenario& one, unsigned rounds, bool in_detail, Found& found) {
    scenario = &one;
    if (one.threads == 1)
        test::explore<Execution<2>, 2>(rounds, in_detail, found);
    else
        test::explore<Execution<3>, 3>(rounds, in_detail, found);
    if (found.result != rl::test_result_success) found.scenario = one.name;
}

Found explore_all(unsigned rounds, bool in_detail) {
    Found found;
    for (const Scenario& one : scenarios) {
        explore(one, rounds, in_detail, found);
        if (found.result != rl::test_result_success) break;
    }
    return found;
}

constexpr test::Known known[] = {
    {"gate_protocol.hpp", "thread = thread->next.load(", "the list does not change here"},
    {"journal.hpp", "record.function.store(", "for snapshots"},
    {"journal.hpp", "record.site.store(", "the same"},
    {"journal.hpp", "record.began.store(", "the same"},
    {"journal.hpp", "record.communicator.store(", "the same"},
    {"journal.hpp", "record.peer.store(", "the same"},
    {"journal.hpp", "record.tag.store(", "the same"},
    {"journal.hpp", "record.waits.store(", "the same"},
    {"journal.hpp", "record.state.store(state | ThreadRecord::inside", "the same"},
};

int check_mutants(unsigned rounds) {
    int wrong = 0;
    for (const Scenario& mutant : {Scenario{"calls without the barrier", Calls::unrecorded, 1, false},
                                   Scenario{"recorded calls without the barrier", Calls::recorded, 1, false},
                                   Scenario{"calls that look too early", Calls::looking_too_early}}) {
        Found found;
        explore(mutant, rounds, false, found);
        const bool is_found = found.result != rl::test_result_success;
        if (!is_found) ++wrong;
        std::cout << fmt::format(
            "{}: {}\n", mutant.name,
            is_found ? fmt::format("found: {}", rl::test_result_str(found.result)) : "WRONG, not found");
    }
    return wrong;
}

}  // namespace
}  // namespace lapwing::gate

int main(int argc, char** argv) {
    using namespace lapwing;
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3000;
    const std::size_t only = argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : test::Sites::none;
    const int status = test::check({gate::explore_all, "", gate::known, 4000}, rounds, only);
    return gate::check_mutants(rounds) == 0 ? status : 1;
}
