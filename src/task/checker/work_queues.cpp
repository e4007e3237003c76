// Rule work_queues: what a card would run does what the lists say.
//
// For each send, copy and reduction of a list there is a state in which it may begin: what has been received
// from each peer, and which copies are complete. The list says what that state must be; the queues say what
// it is, by the WAITs before the request or before its enable, and by the stages. The two must be equal: less
// would be too early, more might wait for ever.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "task/checker/rules.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace checker {
namespace {

using RequestKind = WorkRequest::Kind;
using Source = WorkRequest::Source;

struct State {
    std::vector<std::uint64_t> received;  // by queue of a peer
    std::uint64_t copies = 0;             // entries

    bool operator==(const State&) const = default;
};

// A rank's queues beside its list.
class Proof {
  public:
    Proof(const List& list, const WorkQueues& queues, const WorkLimits& limits, Findings& findings)
        : list_(list), queues_(queues), limits_(limits), findings_(findings) {
        for (std::uint32_t at = 0; at < queues.copies(); ++at) queue_of_[queues.queues[at].peer] = at;
        received_parts_.resize(queues.queues.size());
    }

    void run() {
        find_starts();
        if (findings_.none()) check_list();
    }

  private:
    // When a request may begin.
    struct Start {
        State state;
        std::size_t stage = 0;
        std::uint64_t entry = 0;  // of a copy: which one tells that it is complete
    };

    void fault(std::optional<std::size_t> task, const std::string& why) {
        findings_.add(Rule::work_queues, list_.rank, task, why);
    }
    bool is_peer(std::uint32_t queue) const { return queue < queues_.copies(); }
    bool managed(std::uint32_t queue) const {
        return queues_.variant.management && queue != queues_.management();
    }

    void find_starts() {
        const std::size_t count = queues_.queues.size();
        starts_.resize(count);
        std::vector<std::uint64_t> begin(count);
        State complete{std::vector<std::uint64_t>(count), 0};
        std::uint64_t management = 0;
        std::uint64_t sends = 0;
        for (std::size_t stage = 0; stage < queues_.stages.size(); ++stage) {
            const WorkStage& now = queues_.stages[stage];
            at_stage_.push_back(complete);
            std::vector<std::uint64_t> end = begin;
            for (const WorkStage::Posted& posted : now.posted) {
                const auto& requests = queues_.queues[posted.queue].requests;
                if (posted.end <= begin[posted.queue] || posted.end > requests.size()) {
                    fault({}, fmt::format("stage {} posts nothing, or what there is not", stage));
                    return;
                }
                end[posted.queue] = posted.end;
                if (posted.end - begin[posted.queue] > limits_.queue_depth)
                    fault({}, fmt::format("stage {} is longer than a queue", stage));
                if (!requests[posted.end - 1].reports)
                    fault({}, fmt::format("nobody can tell that a queue has ended stage {}", stage));
            }
            State after = complete;
            // Those that enable come first, so that what they enable is known.
            std::vector<std::vector<State>> enabled(count);
            std::vector<std::uint64_t> enabled_up_to = begin;
            for (std::uint32_t back = 0; back < count; ++back) {
                const std::uint32_t queue = static_cast<std::uint32_t>(count - 1 - back);
                State state = complete;
                for (std::uint64_t at = begin[queue]; at < end[queue]; ++at) {
                    const WorkRequest& request = queues_.queues[queue].requests[at];
                    Start start{state, stage, 0};
                    if (managed(queue)) {
                        if (at - begin[queue] >= enabled[queue].size()) {
                            fault({}, fmt::format("request {} of a queue is never enabled", at));
                            return;
                        }
                        start.state = enabled[queue][at - begin[queue]];
                    }
                    if (request.reports) {
                        if (queue == queues_.management()) ++management;
                        if (is_peer(queue)) ++sends;
                        if (queue == queues_.copies()) ++after.copies;
                    }
                    start.entry = after.copies + (request.reports ? 0 : 1);
                    if (request.kind == RequestKind::wait) {
                        if (managed(queue)) fault({}, "a managed queue waits");
                        heed(request, state, after);
                    } else if (request.kind == RequestKind::enable) {
                        if (queue != queues_.management() || request.queue >= queues_.management()) {
                            fault({}, "a queue enables that must not");
                            return;
                        }
                        std::uint64_t& up_to = enabled_up_to[request.queue];
                        if (request.count <= up_to)
                            fault({}, fmt::format("requests up to {} are enabled twice", request.count));
                        if (request.count > end[request.queue]) {
                            fault({}, fmt::format("requests up to {} are enabled before they are posted",
                                                  request.count));
                            return;
                        }
                        for (; up_to < request.count; ++up_to) enabled[request.queue].push_back(state);
                    }
                    starts_[queue].push_back(std::move(start));
                }
            }
            if (now.management != management || now.sends != sends || now.copies != after.copies)
                fault({}, fmt::format("the end of stage {} counts other entries than there are", stage));
            complete = std::move(after);
            begin = std::move(end);
        }
        at_stage_.push_back(std::move(complete));
        for (std::uint32_t queue = 0; queue < count; ++queue) {
            if (begin[queue] != queues_.queues[queue].requests.size())
                fault({}, fmt::format("requests of a queue are never posted, from {} on", begin[queue]));
        }
    }

    void heed(const WorkRequest& wait, State& state, State& after) {
        if (wait.source == Source::copies) {
            state.copies = std::max(state.copies, wait.count);
        } else if (wait.source == Source::receives) {
            state.received[wait.queue] = std::max(state.received[wait.queue], wait.count);
            after.received[wait.queue] = std::max(after.received[wait.queue], wait.count);
        }
    }

    // Whether that part of a message goes on where `done` bytes of it have gone.
    bool goes_on(const Span& part, const Span& whole, std::uint64_t done) const {
        return part.length <= whole.length - done && part == whole.part(done, part.length) &&
               part.length <= limits_.max_bytes_of_message && (part.length > 0 || whole.length == 0);
    }

    // Where the next parts of a span end among receives; none when they are not that span.
    std::optional<std::uint64_t> parts_end(const Span& span, const std::vector<Span>& receives,
                                           std::uint64_t from) const {
        std::uint64_t done = 0;
        do {
            if (from == receives.size() || !goes_on(receives[from], span, done)) return std::nullopt;
            done += receives[from++].length;
        } while (done < span.length);
        return from;
    }

    void check_list() {
        State must{std::vector<std::uint64_t>(queues_.queues.size()), 0};
        std::vector<std::uint64_t> next_receive(queues_.queues.size()), waited(queues_.queues.size());
        std::vector<std::uint64_t> next_request(queues_.queues.size());
        std::size_t host_stage = 0;  // of the processor's last task
        std::size_t host_task = 0;   // the next one of that stage
        for (std::size_t index = 0; index < list_.tasks.size() && !findings_.full(); ++index) {
            const Task& task = list_.tasks[index];
            const auto found = queue_of_.find(task.peer);
            if (task.peer >= 0 && found == queue_of_.end()) return fault(index, "its peer has no queue");
            const std::uint32_t queue = task.peer >= 0 ? found->second : queues_.copies();
            switch (task.kind) {
                case Kind::recv: {
                    const auto& receives = queues_.queues[queue].receives;
                    const auto end = parts_end(task.target, receives, next_receive[queue]);
                    if (!end) return fault(index, "it is not among the receives of its queue");
                    next_receive[queue] = *end;
                    received_parts_[queue].push_back(*end);
                    break;
                }
                case Kind::wait:
                    waited[queue] += task.count;
                    if (waited[queue] > received_parts_[queue].size())
                        return fault(index, "it waits for a receive that is not posted");
                    if (waited[queue] > 0) must.received[queue] = received_parts_[queue][waited[queue] - 1];
                    break;
                case Kind::send:
                    if (!check_requests(index, queue, task.source, must, host_stage, next_request)) return;
                    break;
                case Kind::copy:
                case Kind::reduce: {
                    // The processor's tasks are done before anything else of a stage.
                    std::size_t stage = host_stage;
                    std::size_t at = host_task;
                    while (stage < queues_.stages.size() && at == queues_.stages[stage].host.size()) {
                        ++stage;
                        at = 0;
                    }
                    if (stage < queues_.stages.size() && queues_.stages[stage].host[at] == task) {
                        if (at_stage_[stage] != must)
                            fault(index, "the processor does it in another state than the list says");
                        host_stage = stage;
                        host_task = at + 1;
                        break;
                    }
                    if (task.kind == Kind::reduce) return fault(index, "nobody reduces");
                    if (!check_copy(index, task, must, host_stage, next_request)) return;
                    break;
                }
                default:
                    return fault(index, "it is made by lowering only");
            }
        }
        if (at_stage_.back() != must) fault({}, "its last stage ends in another state than the list");
        for (std::uint32_t queue = 0; queue < queues_.copies(); ++queue) {
            const auto& requests = queues_.queues[queue].requests;
            skip_waits(queue, next_request[queue]);
            if (next_request[queue] != requests.size()) fault({}, "a queue sends more than the list");
            if (next_receive[queue] != queues_.queues[queue].receives.size())
                fault({}, "a queue receives more than the list");
        }
        skip_waits(queues_.copies(), next_request[queues_.copies()]);
        if (next_request[queues_.copies()] != queues_.queues[queues_.copies()].requests.size())
            fault({}, "more is copied than the list says");
        std::size_t host_tasks = 0;
        for (std::size_t stage = 0; stage < queues_.stages.size(); ++stage)
            host_tasks += stage < host_stage ? 0 : queues_.stages[stage].host.size();
        if (host_tasks > host_task) fault({}, "the processor does more than the list says");
    }

    void skip_waits(std::uint32_t queue, std::uint64_t& at) const {
        const auto& requests = queues_.queues[queue].requests;
        while (at < requests.size() && requests[at].kind == RequestKind::wait) ++at;
    }

    bool check_requests(std::size_t index, std::uint32_t queue, const Span& span, const State& must,
                        std::size_t host_stage, std::vector<std::uint64_t>& next) {
        const RequestKind kind = queues_.variant.writes ? RequestKind::write : RequestKind::send;
        const auto& requests = queues_.queues[queue].requests;
        std::uint64_t done = 0;
        do {
            skip_waits(queue, next[queue]);
            const std::uint64_t at = next[queue]++;
            if (at >= requests.size() || requests[at].kind != kind ||
                !goes_on(requests[at].from, span, done)) {
                fault(index, "it is not the next request of its queue");
                return false;
            }
            done += requests[at].from.length;
            const Start& start = starts_[queue][at];
            if (start.state != must || start.stage < host_stage)
                fault(index, "its request begins in another state than the list says");
        } while (done < span.length);
        return true;
    }

    bool check_copy(std::size_t index, const Task& task, State& must, std::size_t host_stage,
                    std::vector<std::uint64_t>& next) {
        const std::uint32_t queue = queues_.copies();
        const auto& requests = queues_.queues[queue].requests;
        std::uint64_t done = 0;
        do {
            skip_waits(queue, next[queue]);
            const std::uint64_t at = next[queue]++;
            if (at >= requests.size() || requests[at].kind != RequestKind::copy ||
                !goes_on(requests[at].from, task.source, done) ||
                requests[at].to != task.target.part(done, requests[at].from.length)) {
                fault(index, "nobody copies");
                return false;
            }
            done += requests[at].from.length;
            const Start& start = starts_[queue][at];
            if (start.entry != entry_) {
                together_.clear();
                before_entry_ = must;
                entry_ = start.entry;
            }
            for (const WorkRequest* other : together_) {
                if (other->to.overlaps(requests[at].from) || other->to.overlaps(requests[at].to) ||
                    other->from.overlaps(requests[at].to))
                    fault(index, "it is copied while another copy changes the same bytes");
            }
            together_.push_back(&requests[at]);
            if (start.state != before_entry_ || start.stage < host_stage)
                fault(index, "it is copied in another state than the list says");
            if (before_entry_.received != must.received)
                fault(index, "it is complete by an entry of copies that stand before a wait");
            must.copies = entry_;
        } while (done < task.source.length);
        return true;
    }

    const List& list_;
    const WorkQueues& queues_;
    const WorkLimits& limits_;
    Findings& findings_;
    std::map<int, std::uint32_t> queue_of_;
    std::vector<std::vector<std::uint64_t>> received_parts_;  // by queue: where the parts of each receive end
    std::vector<std::vector<Start>> starts_;                  // by queue, of each request
    std::vector<State> at_stage_;                             // before each, and at the end
    std::vector<const WorkRequest*> together_;                // copies that share the entry
    std::uint64_t entry_ = 0;
    State before_entry_;
};

// All ranks' queues at once, some runs in a row, each rank as far as it goes but one, which is late: it moves
// when no other can. That is the worst for what is written before its receiver has begun.
class Run {
  public:
    Run(std::span<const WorkQueues> all, const WorkLimits& limits, std::uint64_t runs,
        std::optional<std::size_t> late, Findings& findings)
        : all_(all), limits_(limits), runs_(runs), late_(late), findings_(findings) {
        for (const WorkQueues& queues : all) {
            Rank& rank = ranks_.emplace_back();
            begin(rank, queues);
            for (std::uint32_t at = 0; at < queues.copies(); ++at) rank.queue_of[queues.queues[at].peer] = at;
        }
    }

    void run() {
        for (bool moved = true; moved && findings_.none();) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                if (rank != late_) moved = advance(rank) || moved;
            }
            if (!moved && late_) moved = advance(*late_);
        }
        for (std::size_t rank = 0; rank < ranks_.size() && findings_.none(); ++rank) {
            if (ranks_[rank].run < runs_)
                findings_.add(Rule::work_queues, static_cast<int>(rank), std::nullopt,
                              fmt::format("its stage {} never ends", ranks_[rank].stage));
        }
    }

  private:
    struct Rank {
        std::uint64_t run = 0;                             // those before are complete
        std::vector<std::uint64_t> next, posted, enabled;  // by queue
        std::vector<std::uint64_t> received;               // by queue
        std::map<int, std::uint32_t> queue_of;
        std::uint64_t management = 0, sends = 0, copies = 0;  // entries
        std::size_t stage = 0;                                // the next to begin is this one
    };

    static void begin(Rank& rank, const WorkQueues& queues) {
        for (auto* const counts : {&rank.next, &rank.posted, &rank.enabled, &rank.received})
            counts->assign(queues.queues.size(), 0);
        rank.management = rank.sends = rank.copies = rank.stage = 0;
    }

    bool advance(std::size_t at) {
        const WorkQueues& queues = all_[at];
        Rank& rank = ranks_[at];
        bool moved = false;
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            while (rank.next[queue] < limit(queues, rank, queue) && step(at, queue)) moved = true;
        }
        const auto& stages = queues.stages;
        if (rank.run == runs_) return moved;
        if (rank.stage > 0) {
            const WorkStage& last = stages[rank.stage - 1];
            if (rank.management < last.management || rank.sends < last.sends || rank.copies < last.copies)
                return moved;
        }
        if (rank.stage == stages.size()) {
            ++rank.run;
            if (rank.run < runs_) begin(rank, queues);
            return true;
        }
        for (const WorkStage::Posted& posted : stages[rank.stage].posted)
            rank.posted[posted.queue] = posted.end;
        ++rank.stage;
        return true;
    }

    static std::uint64_t limit(const WorkQueues& queues, const Rank& rank, std::uint32_t queue) {
        const bool managed = queues.variant.management && queue != queues.management();
        return managed ? std::min(rank.enabled[queue], rank.posted[queue]) : rank.posted[queue];
    }

    bool step(std::size_t at, std::uint32_t queue) {
        const WorkQueues& queues = all_[at];
        Rank& rank = ranks_[at];
        const WorkRequest& request = queues.queues[queue].requests[rank.next[queue]];
        switch (request.kind) {
            case WorkRequest::Kind::wait: {
                const std::uint64_t now = request.source == Source::receives ? rank.received[request.queue]
                                          : request.source == Source::sends  ? rank.sends
                                                                             : rank.copies;
                if (now < request.count) return false;
                break;
            }
            case WorkRequest::Kind::enable:
                rank.enabled[request.queue] = std::max(rank.enabled[request.queue], request.count);
                break;
            case WorkRequest::Kind::copy:
                break;
            case WorkRequest::Kind::send:
            case WorkRequest::Kind::write:
                if (!deliver(at, queue, request)) return false;
                break;
        }
        ++rank.next[queue];
        if (!request.reports) return true;
        ++(queue == queues.management() ? rank.management
           : queue == queues.copies()   ? rank.copies
                                        : rank.sends);
        return true;
    }

    bool deliver(std::size_t at, std::uint32_t queue, const WorkRequest& request) {
        const std::size_t peer = static_cast<std::size_t>(all_[at].queues[queue].peer);
        Rank& receiver = ranks_[peer];
        const auto found = receiver.queue_of.find(static_cast<int>(at));
        const auto refuse = [&](const char* why) {
            findings_.add(Rule::work_queues, static_cast<int>(at), std::nullopt,
                          fmt::format("message {} to rank {} {}", request.count, peer, why));
            return false;
        };
        if (found == receiver.queue_of.end()) return refuse("meets no queue");
        const auto& receives = all_[peer].queues[found->second].receives;
        const std::uint64_t run = ranks_[at].run;
        if (request.count >= receives.size()) return refuse("meets no receive");
        if (receives[request.count].length != request.from.length)
            return refuse("meets a receive of another length");
        // It is written whether or not there is a receive yet, which only its completion needs.
        if (request.kind == WorkRequest::Kind::write && request.from.length > 0 &&
            receiver.run + limits_.memories_written <= run)
            return refuse("is written to memory that the receiver still uses");
        if (receiver.run < run) return false;
        std::uint64_t& received = receiver.received[found->second];
        if (received != request.count) return refuse("has the wrong number");
        ++received;
        return true;
    }

    std::span<const WorkQueues> all_;
    const WorkLimits& limits_;
    const std::uint64_t runs_;
    const std::optional<std::size_t> late_;
    Findings& findings_;
    std::vector<Rank> ranks_;
};

}  // namespace
}  // namespace checker

std::vector<Violation> check_work_queues(std::span<const List> lists, std::span<const WorkQueues> queues,
                                         const WorkLimits& limits, std::size_t violations) {
    checker::Findings findings(violations);
    for (std::size_t rank = 0; rank < lists.size(); ++rank)
        checker::Proof(lists[rank], queues[rank], limits, findings).run();
    if (findings.none()) checker::Run(queues, limits, 1, std::nullopt, findings).run();
    const bool sends_bytes = std::any_of(lists.begin(), lists.end(), [](const List& list) {
        return std::any_of(list.tasks.begin(), list.tasks.end(), [](const Task& task) {
            return task.kind == Kind::send && task.source.length > 0;
        });
    });
    if (queues.empty() || !queues.front().variant.writes || !sends_bytes) return findings.take();
    for (std::size_t late = 0; late < queues.size() && findings.none(); ++late)
        checker::Run(queues, limits, limits.memories_written + 1, late, findings).run();
    return findings.take();
}

std::vector<Violation> check_work_queues(std::span<const List> lists, const WorkVariant& variant,
                                         const WorkLimits& limits, std::size_t violations) {
    checker::Findings findings(violations);
    std::vector<WorkQueues> queues;
    for (const List& list : lists) {
        if (const Verdict verdict = has_work_queues(list); verdict) {
            queues.push_back(lower_to_work_queues(list, variant, limits));
        } else {
            findings.add(Rule::work_queues, list.rank, std::nullopt,
                         fmt::format("it has no work queues: {}", verdict.reason()));
        }
    }
    if (!findings.none()) return findings.take();
    return check_work_queues(lists, queues, limits, violations);
}

}  // namespace lapwing
