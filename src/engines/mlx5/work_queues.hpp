// From the queues of a list (lowering.hpp) to those that a network card with cross-channel work requests
// (CORE-Direct) runs: sends, writes, WAIT and SEND_EN, with the counts that these name.
//
// A card has no wait for "n more": WAIT names how many entries of a completion queue there must be, and
// SEND_EN up to which request a queue may run. Here both count from the start of the list; who posts adds
// where the queues are. Receives from a peer have a completion queue of their own, so that they can be
// counted; the sends of all peers share one (Graham et al. 2010, section IV), and copies have one.
//
// There are four variants, which differ in who waits and how messages travel:
// - With a management queue (Graham et al., Tables III and IV) all sends are held until it enables them. It
//   alone waits. One bell starts a list.
// - With the peers' queues alone each send follows waits in its own queue. What guards sends to k peers is
//   waited for k times, but nothing needs to be enabled, and a card may have no cross-channel queues.
// - Messages are sent, or written with immediate data ("MQ-RDMA" there): either way a receive is used up.
//   What is written may land before its receiver has begun the run, so its runs use two memories in turn: the
//   receives of the run before, which the sender has used up, say that the receiver has ended the one that
//   had this memory.
//
// A card copies, by a write to a queue pair that is connected with itself, but does not reduce. What it
// cannot do ends a *stage*: when all that is posted is complete the processor does its tasks and posts the
// next. So does a queue that is full. Messages that are too long for one request go in parts.
//
// Receives must not follow a wait, a copy or a reduction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "task/lowering.hpp"

namespace lapwing {

struct WorkVariant {
    const char* name;
    bool management;  // one queue waits and enables; otherwise each queue waits for itself
    bool writes;      // messages are RDMA writes with immediate data; otherwise sends
    const char* meaning;
};

// The first is the one of Tables III and IV.
std::span<const WorkVariant> work_variants();

struct WorkLimits {
    std::uint64_t queue_depth = 16384;                            // requests of one queue
    std::uint64_t peer_queue_depth = 16384;                       // of one to a peer, at most queue_depth
    std::uint64_t max_bytes_of_message = std::uint64_t{1} << 30;  // of one request
    // Copies that nothing precedes but sends are the processor's up to so many bytes.
    std::uint64_t max_bytes_of_host_copy = 16384;
    bool card_copies = true;  // otherwise the processor does all copies
    // Messages are written to so many memories of the receiver's in turn, one for each run of the list.
    std::uint64_t memories_written = 2;
};

struct WorkRequest {
    enum class Kind : std::uint8_t { send, write, copy, wait, enable };
    enum class Source : std::uint8_t { receives, sends, copies };

    Kind kind = Kind::send;
    bool reports = false;              // its completion has an entry
    Source source = Source::receives;  // wait: whose entries
    std::uint32_t queue = 0;           // wait for receives: the peer's; enable: whose requests
    // Since the start of the list. wait: entries; enable: requests that may run; send and write: how many
    // went to that peer before.
    std::uint64_t count = 0;
    Span from = {};  // send, write, copy
    Span to = {};    // copy

    bool operator==(const WorkRequest&) const = default;
};

struct WorkQueue {
    int peer = 0;  // this rank itself: of copies, and of the management queue
    std::vector<WorkRequest> requests;
    std::vector<Span> receives;
};

struct WorkStage {
    std::vector<Task> host;  // what the processor does before it posts
    struct Posted {
        std::uint32_t queue;
        std::uint64_t end;  // all requests up to there
    };
    std::vector<Posted> posted;  // the management queue last
    // The stage is complete when there are so many entries since the start of the list.
    std::uint64_t management = 0;
    std::uint64_t sends = 0;
    std::uint64_t copies = 0;
};

struct WorkQueues {
    int rank = 0;
    int ranks = 1;
    WorkVariant variant{};
    // The peers' in the order in which the list first names them, the one of copies, the management queue.
    // The last two may be empty.
    std::vector<WorkQueue> queues;
    std::vector<WorkStage> stages;

    std::uint32_t copies() const { return static_cast<std::uint32_t>(queues.size() - 2); }
    std::uint32_t management() const { return static_cast<std::uint32_t>(queues.size() - 1); }
};

// Equal on all ranks for lists of one algorithm.
Verdict has_work_queues(const List& list);

// For a list that has them. Throws Error (invalid_argument) for another.
WorkQueues lower_to_work_queues(const List& list, const WorkVariant& variant, const WorkLimits& limits = {});

// Readable, one queue after the other; not meant to be parsed.
std::string print(const WorkQueues& queues);
std::string print(const WorkQueues& queues, const WorkRequest& request);

}  // namespace lapwing
