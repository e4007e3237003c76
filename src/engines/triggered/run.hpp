// One run of a list: the works that it has queued in the network, and what the processor does for it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engines/engine.hpp"
#include "engines/triggered/channel.hpp"
#include "engines/triggered/ledger.hpp"
#include "engines/triggered/schedule.hpp"
#include "engines/triggered/works.hpp"

namespace lapwing::triggered {

// A counter of this rank, and its value when all that has been queued for it is over.
struct OwnCounter {
    std::unique_ptr<DeferredWork::Counter> counter;
    std::uint64_t value = 0;
};

class TriggeredRun final : public Operation {
  public:
    // `at_once` triggers works that wait for nothing.
    TriggeredRun(DeferredWork& network, DeferredWork::Counter& at_once)
        : network_(network), at_once_(at_once) {}
    // A run that is destroyed before its end has failed, and the job with it. It stops the network, which may
    // otherwise still use its works and counters.
    ~TriggeredRun() override;
    TriggeredRun(const TriggeredRun&) = delete;
    TriggeredRun& operator=(const TriggeredRun&) = delete;

    enum class State : std::uint8_t { waiting, begun, launched, complete };
    State state = State::waiting;
    // Its owner sets these before the start.
    std::shared_ptr<const Schedule> schedule;
    std::uint64_t counters = 0;  // that it takes at most
    Channel* channel = nullptr;
    Buffers buffers;
    // Valid from State::begun.
    Uses uses;
    // Valid from State::launched to the end.
    std::vector<Work> by_hand;  // works without trigger entries; whoever tests does them in order
    std::vector<std::unique_ptr<DeferredWork::Work>> queued;
    std::uint64_t entries = 0;  // that it has reserved
    std::vector<OwnCounter> gates;
    OwnCounter done;    // counts the run's writes
    OwnCounter stages;  // counts stages that are over; only if writes wait for stages

    // Gates, `done` and `stages` are set. The caller has reserved entries for `works`, or lets do_by_hand()
    // do them. May throw Error (link).
    void launch(std::vector<Work> works, bool has_entries);
    // Does works that the network has no entries for, as soon as what they wait for has happened.
    void do_by_hand();
    // Does the stages that can begin.
    void do_stages();
    bool has_ended();
    // Moves results into the caller's memory.
    void finish();

  private:
    void queue(const Work& work);
    void reduce(const Reduction& reduction);
    void copy(const std::vector<Piece>& pieces, std::byte* target);
    DeferredWork::Counter& counter(const Counter& counter);
    std::uint64_t threshold(const Trigger& trigger) const;
    bool has_happened(const Trigger& trigger) {
        return counter(trigger.counter).read() >= threshold(trigger);
    }
    const std::byte* at(const Location& place) const;

    DeferredWork& network_;
    DeferredWork::Counter& at_once_;
    std::size_t stage_ = 0;  // the next one
    std::vector<std::byte> reduced_;
    std::vector<std::byte> joined_;  // the source of a reduction that lies in several pieces
};

}  // namespace lapwing::triggered
