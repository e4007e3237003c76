// One run of a plan: where each of its chains stands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/kernel/chain_plan.hpp"
#include "engines/kernel/gates.hpp"
#include "engines/kernel/trace.hpp"
#include "engines/memory.hpp"

namespace lapwing::kernel {

// A chain on its way.
struct Line {
    const PlannedChain* chain = nullptr;
    std::uint32_t step = 0;    // the next, when it is not in the kernel
    std::uint64_t offset = 0;  // bytes of that step which are done
    bool in_kernel = false;
    std::uint32_t told = 0;  // steps that the kernel has told to be done, while it has the line
    std::uint32_t owed = 0;  // completions of steps that were cancelled with the one that has stopped

    std::uint32_t steps_done() const { return std::max(step, told); }
    bool done() const { return !in_kernel && step == chain->size(); }
};

struct Run : Operation {
    enum class State {
        queued,  // its lane is another's, or a connection is still being made
        running,
        complete,
        failed,
    };

    const ChainPlan* plan = nullptr;
    Memory memory;
    std::vector<std::byte> signals;  // what awaits and signals between ranks read into
    std::uint32_t id = 0;            // its place among the runs of the group
    std::uint32_t channel = 0;
    std::size_t lane = 0;
    State state = State::queued;
    std::string error;  // of a failed one

    std::vector<int> sockets;  // of the plan's peers
    std::vector<Gate> gates;
    std::size_t stage = 0;             // whose chains are to be completed next
    bool in_stage = false;             // they have been handed over
    std::size_t host_step = 0;         // that the processor takes next
    Messages messages;                 // to and from intra-node peers
    std::size_t intra_node_sends = 0;  // of them, that have been started
    bool intra_node_open = false;      // some of them are on their way
    std::vector<Line> lines;           // of the receives, then of the stages up to this one
    std::size_t receives_open = 0;     // lines of receives that are not done
    std::size_t stage_open = 0;        // lines of the present stage that are not done
    std::size_t lines_in_kernel = 0;
    bool moved_inline = false;        // a caller moves the lines himself
    bool needs_thread = false;        // it can go on by a thread of the program only
    std::uint64_t notifications = 0;  // that the kernel still owes for sends without a copy
    std::unique_ptr<RunTrace> trace;  // null unless the job is traced

    bool alive() const { return state == State::queued || state == State::running; }

    int descriptor(const PlannedStep& step) const {
        switch (step.kind) {
            case Step::Kind::send:
            case Step::Kind::receive:
                return sockets[step.slot];
            case Step::Kind::signal:
                return gates[step.slot].entrance;
            case Step::Kind::await:
                break;
        }
        return gates[step.slot].exit;
    }
    const std::byte* sent(const PlannedStep& step) const {
        static constexpr std::byte signal{1};
        return step.is_signal ? &signal : memory.source({step.space, step.offset, step.bytes});
    }
    std::byte* received(const PlannedStep& step) {
        return step.is_signal ? signals.data() : memory.target({step.space, step.offset, step.bytes});
    }
};

// Moves a line that is not in the kernel as far as its descriptors allow, by plain calls that do not block.
// 0, or the errno of the step that failed; a connection that the peer has closed is ECONNRESET.
int move_inline(Run& run, Line& line);

}  // namespace lapwing::kernel
