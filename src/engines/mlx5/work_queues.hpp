// Lowers the queues of a list (task/lowering.hpp) to work queues of a network card with cross-channel work
// requests (CORE-Direct): sends, writes, WAIT and SEND_EN, with the counts that these name.
//
// A card cannot wait for "n more" completions. A WAIT names the number of entries that a completion queue
// must have, and a SEND_EN the last request that a queue may run. Here both count from the start of the list;
// the engine adds the positions of its queues. Receives from a peer have a completion queue of their own, so
// that they can be counted. The sends to all peers share one (Graham et al. 2010, section IV), and copies
// have one.
//
// The four variants differ in the queues that wait, and in how messages travel:
// - With a management queue (Graham et al., Tables III and IV), this queue alone waits, and enables the sends
//   of the other queues. One bell starts a list.
// - Without it, each send follows the waits in its own queue. If sends to k peers depend on one receive, k
//   queues wait for it; but no request needs to be enabled, and a card may have no cross-channel queues.
// - Messages are sent, or written with immediate data ("MQ-RDMA" in the paper). Either way a receive is used
//   up. A write may land before its receiver has begun the run, so runs use two memories in turn
//   (landing.hpp).
//
// A card copies, by a write to a queue pair that is connected to itself, but does not reduce. A task that it
// cannot do ends a *stage*: when all posted requests are complete, the processor does its tasks and posts the
// next stage. A full queue ends a stage, too. Messages that are too long for one request go in parts.
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

// The first is that of Tables III and IV.
std::span<const WorkVariant> work_variants();

struct WorkLimits {
    std::uint64_t queue_depth = 16384;                            // requests of one queue
    std::uint64_t peer_queue_depth = 16384;                       // of one to a peer, at most queue_depth
    std::uint64_t max_bytes_of_message = std::uint64_t{1} << 30;  // of one request
    // The processor does copies up to this size (bytes) that only sends precede.
    std::uint64_t max_bytes_of_host_copy = 16384;
    bool card_copies = true;  // otherwise the processor does all copies
    // Memories of the receiver that messages are written to, in turn: one for each run of the list.
    std::uint64_t memories_written = 2;
};

struct WorkRequest {
    enum class Kind : std::uint8_t { send, write, copy, wait, enable };
    enum class Source : std::uint8_t { receives, sends, copies };

    Kind kind = Kind::send;
    bool reports = false;              // its completion leaves an entry
    Source source = Source::receives;  // wait: whose entries
    std::uint32_t queue = 0;           // wait for receives: the peer's; enable: whose requests
    // Since the start of the list. wait: entries; enable: requests that may run; send and write: messages to
    // that peer before this one.
    std::uint64_t count = 0;
    Span from = {};  // send, write, copy
    Span to = {};    // copy

    bool operator==(const WorkRequest&) const = default;
};

struct WorkQueue {
    int peer = 0;  // this rank itself for copies, and for the management queue
    std::vector<WorkRequest> requests;
    std::vector<Span> receives;
};

struct WorkStage {
    std::vector<Task> host;  // the processor does these before it posts
    struct Posted {
        std::uint32_t queue;
        std::uint64_t end;  // all requests up to there
    };
    std::vector<Posted> posted;  // the management queue last
    // The stage is complete when the completion queues have this number of entries, since the start of the
    // list.
    std::uint64_t management = 0;
    std::uint64_t sends = 0;
    std::uint64_t copies = 0;
};

struct WorkQueues {
    int rank = 0;
    int ranks = 1;
    WorkVariant variant{};
    // The queues to peers, in the order in which the list first names them; the queue of copies; the
    // management queue. The last two may be empty.
    std::vector<WorkQueue> queues;
    std::vector<WorkStage> stages;

    std::uint32_t copies() const { return static_cast<std::uint32_t>(queues.size() - 2); }
    std::uint32_t management() const { return static_cast<std::uint32_t>(queues.size() - 1); }
};

// Equal on all ranks for lists of one algorithm.
Verdict has_work_queues(const List& list);

// `list` must have work queues. Throws Error (invalid_argument) if it has none.
WorkQueues lower_to_work_queues(const List& list, const WorkVariant& variant, const WorkLimits& limits = {});

// For people, one queue after the other.
std::string print(const WorkQueues& queues);
std::string print(const WorkQueues& queues, const WorkRequest& request);

}  // namespace lapwing
