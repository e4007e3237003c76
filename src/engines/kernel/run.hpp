// One run of a list, from its start to its completion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "engines/engine.hpp"
#include "engines/kernel/chain_progress.hpp"
#include "engines/kernel/thread_choice.hpp"
#include "engines/kernel/trace.hpp"
#include "engines/memory.hpp"
#include "links/link.hpp"

namespace lapwing::kernel {

// A gate makes one chain wait until another one has reached some step. It is a byte through a socket pair,
// which is two to three times faster than an eventfd, and which counts. Linux 6.7 has futex operations, which
// would need no descriptors.
struct Gate {
    Descriptor entrance;  // where signals are sent
    Descriptor exit;      // where they are awaited
};

// Reuses gates. A gate must be empty when it is released.
class Gates {
  public:
    // Throws Error (system) when no descriptors are left.
    Gate acquire();
    void release(Gate gate) { idle_.push_back(std::move(gate)); }

  private:
    std::vector<Gate> idle_;
};

// The descriptors and bytes that the steps of a run's chains work on.
struct StepOperands {
    std::vector<int> sockets;  // by slot of the plan's peers, on the run's lane
    std::vector<Gate> gates;
    Memory memory;
    std::vector<std::byte> signals;  // awaits and receives of no bytes read into it

    int descriptor(const PlannedStep& step) const {
        if (step.has_peer()) return sockets[step.slot];
        const Gate& gate = gates[step.slot];
        return (step.sends() ? gate.entrance : gate.exit).get();
    }
    const std::byte* source(const PlannedStep& step) const {
        static constexpr std::byte signal{1};
        return step.is_signal ? &signal : memory.source({step.space, step.offset, step.bytes});
    }
    std::byte* target(const PlannedStep& step) {
        return step.is_signal ? signals.data() : memory.target({step.space, step.offset, step.bytes});
    }
};

// The progress of a run through its HostProgram.
struct HostCursor {
    std::size_t next = 0;  // step
    Messages messages = {};
    bool open = false;  // a message may be incomplete
};

struct KernelRun;

// The steps of a run that send to one peer, or receive from it. Runs that share a lane take turns in each
// direction of its connections, in the order of the lane, because the bytes on a connection have no other
// mark of the run that they belong to.
struct Turn {
    KernelRun* run = nullptr;
    std::uint32_t left = 0;  // steps that are not done
    bool due = false;        // the steps of all earlier runs are done
    Turn* next = nullptr;    // of a later run of the lane, in the same direction
};

// Who advances the chains of a run.
enum class Driver {
    unattended,    // the kernel, or no one while messages may stay in the sockets
    kernel,        // all chains, because a thread sleeps until completions of the ring wake it
    caller,        // a call that waits for the run, by plain system calls
    event_thread,  // by plain system calls, when the sockets are ready
};

struct KernelRun : Operation {
    enum class State {
        queued,     // another run has its lane and does not share it, or a connection is not yet made
        held_back,  // its first messages are to leave together with those of other runs
        running,
        complete,
        failing,  // the kernel may still use its buffers
        failed,
    };

    const ChainPlan* plan = nullptr;
    State state = State::queued;
    std::uint32_t id = 0;  // in the group's RunTable
    std::uint32_t channel = 0;
    std::size_t lane = 0;

    StepOperands operands;
    RunChains chains;
    std::vector<Turn> turns;  // as ChainPlan::steps_of_peers
    HostCursor host;
    Driver driver = Driver::unattended;
    // Threads of Lapwing may also advance its intra-node messages, and its chains by Driver::event_thread.
    bool any_thread = false;
    bool awaits_program = false;  // it is among KernelGroup::awaiting_program_
    std::uint64_t called = 0;     // KernelGroup::calls_ at the last call for this run

    // For ThreadChoice, where it is learned who advances the run.
    struct {
        ThreadChoice* choice = nullptr;
        bool by_thread = false;
        std::uint64_t started = 0;  // by nanoseconds(): when the starting call returned
        std::uint64_t waiting = 0;  // when the first call waited for the run; 0: none has
    } measured;

    const PlannedStep* broken_step = nullptr;  // the first step that failed
    int broken_by = 0;                         // an errno
    std::string error;                         // of a failed run

    std::unique_ptr<RunTrace> trace;  // null unless the job is traced

    // A run that is not in flight becomes one of this list.
    void take(const ChainPlan& of, const TracePlan* traced) {
        plan = &of;
        trace = traced != nullptr ? std::make_unique<RunTrace>(*traced) : nullptr;
        operands.memory.make_scratch(of.scratch_bytes);
        if (operands.signals.size() < of.max_signals) operands.signals.resize(of.max_signals);
        turns.resize(of.steps_of_peers.size());
    }

    // `by_threads`: threads of Lapwing may advance it.
    void restart(bool by_threads) {
        state = State::queued;
        any_thread = by_threads;
        driver = driver_outside_calls();
        awaits_program = false;
        chains.restart();
        host.next = 0;
        host.messages.restart(plan->host.messages);
        host.open = plan->host.has_messages();
        broken_step = nullptr;
        error.clear();
    }
    void break_at(const PlannedStep& step, int why) {
        if (broken_step != nullptr) return;
        broken_step = &step;
        broken_by = why;
    }

    bool alive() const { return state <= State::running; }
    bool has_turn(const PlannedStep& step) const { return !step.has_peer() || turns[step.direction()].due; }
    Driver driver_outside_calls() const { return any_thread ? Driver::event_thread : Driver::unattended; }
    bool may_begin_stage() const {
        return state == State::running && chains.may_begin_stage(*plan, host.next);
    }
    bool host_steps_left() const { return host.next < plan->host.steps.size(); }
    // The chain whose next step is one of this turn; null if there is none, or it is in the kernel.
    ChainProgress* chain_at(const Turn& turn) {
        if (state != State::running) return nullptr;
        const auto direction = static_cast<std::size_t>(&turn - turns.data());
        for (std::size_t i = 0; i < chains.size(); ++i) {
            ChainProgress& chain = chains[i];
            if (!chain.in_kernel && !chain.done() && chain.next().has_peer() &&
                chain.next().direction() == direction)
                return &chain;
        }
        return nullptr;
    }
    bool everything_is_done() const { return chains.all_complete(*plan) && !host_steps_left() && !host.open; }
};

// The runs of a group that are in flight, by small numbers that completions carry.
class RunTable {
  public:
    void add(KernelRun& run) {
        if (free_.empty()) {
            run.id = static_cast<std::uint32_t>(runs_.size());
            runs_.push_back(&run);
        } else {
            run.id = free_.back();
            free_.pop_back();
            runs_[run.id] = &run;
        }
    }
    void remove(const KernelRun& run) {
        runs_[run.id] = nullptr;
        free_.push_back(run.id);
    }
    // Returns null if the run is no longer in flight.
    KernelRun* find(std::uint32_t id) const { return runs_[id]; }
    std::size_t size() const { return runs_.size() - free_.size(); }
    // By id; null where an id is free.
    const std::vector<KernelRun*>& by_id() const { return runs_; }

  private:
    std::vector<KernelRun*> runs_;
    std::vector<std::uint32_t> free_;
};

// Advances all chains of the run that are not in the kernel, by system calls that do not block: a caller that
// only waits saves the kernel's interrupts. One call may also move messages of the runs whose turns follow.
// Stops then, and adds those that have done a step to `others`. Returns false if a step fails, and records
// the failure in the run.
bool advance_inline(KernelRun& run, std::vector<KernelRun*>& others);

// Does host steps until one must wait or a stage can begin. Tests all intra-node messages that have been
// started, also before the step that waits for them, because the peer may need that to advance. `link`: null
// if the caller must not use it. `may_work`: the caller may copy and reduce. Returns whether the next step
// waits for a thread of the program. Throws Error (link).
bool advance_host_steps(KernelRun& run, Link* link, bool may_work);

}  // namespace lapwing::kernel
