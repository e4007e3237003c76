// Each send, copy and reduction of a list may begin in exactly one state of the card: so much has been
// received from each peer, and these copies are complete. The list defines that state. The queues define when
// the request begins, by the WAITs before the request or before its enable, and by the stages. Both must be
// equal: less would be too early, more might wait for ever.
#include "engines/mlx5/work_queue_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "task/text.hpp"

namespace lapwing {
namespace {

struct Fault {
    std::string what;
};

struct CardState {
    std::vector<std::uint64_t> received;  // by queue
    std::uint64_t copies = 0;             // completion entries

    bool operator==(const CardState&) const = default;
};

// One rank's queues, compared with its list. Its functions throw Fault.
class ListProof {
  public:
    ListProof(const List& list, const WorkQueues& queues, const WorkLimits& limits)
        : list_(list),
          queues_(queues),
          limits_(limits),
          starts_(queues.queues.size()),
          next_request_(queues.queues.size()),
          next_receive_(queues.queues.size()),
          waited_(queues.queues.size()),
          receive_ends_(queues.queues.size()) {
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue)
            queue_of_[queues.queues[queue].peer] = queue;
        complete_.received = expected_.received = waited_;
    }

    void run() {
        for (std::size_t stage = 0; stage < queues_.stages.size(); ++stage) find_starts(stage);
        at_stage_.push_back(complete_);
        for (std::size_t queue = 0; queue < starts_.size(); ++queue) {
            if (starts_[queue].size() != queues_.queues[queue].requests.size())
                fail(fmt::format("request {} of a queue is never posted", starts_[queue].size()));
        }
        for (task_ = 0; *task_ < list_.tasks.size(); ++*task_) check(list_.tasks[*task_]);
        task_.reset();
        check_end();
    }

  private:
    // When a request begins.
    struct Start {
        CardState state;
        std::size_t stage = 0;
        std::uint64_t entry = 0;  // of a copy: the completion entry that reports it
    };

    [[noreturn]] void fail(const std::string& why) const {
        const std::string task =
            task_ ? fmt::format(", task {} ({})", *task_, print(list_.tasks[*task_])) : "";
        throw Fault{fmt::format("rank {}{}: {}", list_.rank, task, why)};
    }
    void require(bool right, const char* why) const {
        if (!right) fail(why);
    }
    bool is_managed(std::size_t queue) const {
        return queues_.variant.management && queue != queues_.management();
    }

    void find_starts(std::size_t stage) {
        const WorkStage& now = queues_.stages[stage];
        const CardState before = complete_;
        at_stage_.push_back(before);
        std::vector<std::uint64_t> begin;
        for (const auto& starts : starts_) begin.push_back(starts.size());
        std::vector<std::uint64_t> end = begin;
        for (const auto& [queue, posted] : now.posted) {
            const auto& requests = queues_.queues[queue].requests;
            require(posted > begin[queue] && posted <= requests.size(),
                    "a stage posts no request, or requests that do not exist");
            require(posted - begin[queue] <= limits_.queue_depth, "a stage is longer than a queue");
            require(requests[posted - 1].reports, "no completion reports that a queue has ended a stage");
            end[queue] = posted;
        }
        std::vector<std::vector<CardState>> enabled(end.size());
        // The management queue comes first, because it enables requests of the others.
        for (std::size_t queue = end.size(); queue-- > 0;) {
            CardState state = before;
            for (std::uint64_t at = begin[queue]; at < end[queue]; ++at) {
                const WorkRequest& request = queues_.queues[queue].requests[at];
                Start start{state, stage, 0};
                if (is_managed(queue)) {
                    require(at - begin[queue] < enabled[queue].size(), "a request is never enabled");
                    start.state = enabled[queue][at - begin[queue]];
                }
                if (request.reports) ++entries_of(queue);
                start.entry = complete_.copies + (request.reports ? 0 : 1);
                if (request.kind == WorkRequest::Kind::wait) {
                    require(!is_managed(queue), "a managed queue waits");
                    wait_for(request, state);
                } else if (request.kind == WorkRequest::Kind::enable) {
                    require(queue == queues_.management() && request.queue < queues_.management(),
                            "a queue enables requests, but is not the management queue");
                    std::vector<CardState>& states = enabled[request.queue];
                    require(request.count > begin[request.queue] + states.size(),
                            "requests are enabled twice");
                    require(request.count <= end[request.queue],
                            "requests are enabled before they are posted");
                    states.resize(request.count - begin[request.queue], state);
                }
                starts_[queue].push_back(std::move(start));
            }
        }
        require(now.management == management_ && now.sends == sends_ && now.copies == complete_.copies,
                "the end of a stage counts other completions than there are");
    }

    std::uint64_t& entries_of(std::size_t queue) {
        return queue == queues_.management() ? management_
               : queue == queues_.copies()   ? complete_.copies
                                             : sends_;
    }

    void wait_for(const WorkRequest& wait, CardState& state) {
        if (wait.source == WorkRequest::Source::copies) {
            state.copies = std::max(state.copies, wait.count);
        } else if (wait.source == WorkRequest::Source::receives) {
            for (CardState* const one : {&state, &complete_})
                one->received[wait.queue] = std::max(one->received[wait.queue], wait.count);
        }
    }

    // Whether `part` is the next part of `whole`, after `done` bytes.
    bool continues(const Span& part, const Span& whole, std::uint64_t done) const {
        return part.length <= whole.length - done && part == whole.part(done, part.length) &&
               part.length <= limits_.max_bytes_of_message && (part.length > 0 || whole.length == 0);
    }

    void check(const Task& task) {
        const auto found = queue_of_.find(task.peer);
        require(task.peer < 0 || found != queue_of_.end(), "its peer has no queue");
        const std::uint32_t queue = task.peer < 0 ? queues_.copies() : found->second;
        switch (task.kind) {
            case Kind::recv:
                check_receive(queue, task.target);
                break;
            case Kind::wait:
                waited_[queue] += task.count;
                require(waited_[queue] <= receive_ends_[queue].size(),
                        "it waits for a receive that is not posted");
                if (waited_[queue] > 0) expected_.received[queue] = receive_ends_[queue][waited_[queue] - 1];
                break;
            case Kind::send:
                for_each_request(queue,
                                 queues_.variant.writes ? WorkRequest::Kind::write : WorkRequest::Kind::send,
                                 task.source, [&](const WorkRequest&, const Start& start, std::uint64_t) {
                                     require(start.state == expected_ && start.stage >= host_stage_,
                                             "its request begins in another state than the list says");
                                 });
                break;
            case Kind::copy:
                if (!is_done_by_processor(task)) check_copy(task);
                break;
            case Kind::reduce:
                require(is_done_by_processor(task), "the processor does not do this reduction");
                break;
            default:
                fail("only lowering makes such a task");
        }
    }

    void check_receive(std::uint32_t queue, const Span& target) {
        const auto& receives = queues_.queues[queue].receives;
        std::uint64_t& next = next_receive_[queue];
        std::uint64_t done = 0;
        do {
            require(next < receives.size() && continues(receives[next], target, done),
                    "it is not the next receive of its queue");
            done += receives[next++].length;
        } while (done < target.length);
        receive_ends_[queue].push_back(next);
    }

    void skip_waits(std::uint32_t queue) {
        const auto& requests = queues_.queues[queue].requests;
        std::uint64_t& next = next_request_[queue];
        while (next < requests.size() && requests[next].kind == WorkRequest::Kind::wait) ++next;
    }

    // `visit(request, start, offset)` for each part of the span.
    template <typename Visit>
    void for_each_request(std::uint32_t queue, WorkRequest::Kind kind, const Span& span, Visit visit) {
        const auto& requests = queues_.queues[queue].requests;
        std::uint64_t done = 0;
        do {
            skip_waits(queue);
            const std::uint64_t at = next_request_[queue]++;
            require(
                at < requests.size() && requests[at].kind == kind && continues(requests[at].from, span, done),
                "it is not the next request of its queue");
            visit(requests[at], starts_[queue][at], done);
            done += requests[at].from.length;
        } while (done < span.length);
    }

    // The processor does its tasks before everything else of a stage.
    bool is_done_by_processor(const Task& task) {
        const auto& stages = queues_.stages;
        std::size_t stage = host_stage_;
        std::size_t at = host_task_;
        for (; stage < stages.size() && at == stages[stage].host.size(); ++stage) at = 0;
        if (stage == stages.size() || stages[stage].host[at] != task) return false;
        require(at_stage_[stage] == expected_, "the processor does it in another state than the list says");
        host_stage_ = stage;
        host_task_ = at + 1;
        return true;
    }

    void check_copy(const Task& task) {
        const auto check_part = [&](const WorkRequest& copy, const Start& start, std::uint64_t offset) {
            require(copy.to == task.target.part(offset, copy.from.length), "it is copied to another place");
            if (start.entry != entry_) {
                same_entry_.clear();
                before_entry_ = expected_;
                entry_ = start.entry;
            }
            for (const WorkRequest* const other : same_entry_) {
                require(!other->to.overlaps(copy.from) && !other->to.overlaps(copy.to) &&
                            !other->from.overlaps(copy.to),
                        "another copy changes the same bytes at the same time");
            }
            same_entry_.push_back(&copy);
            require(start.state == before_entry_ && start.stage >= host_stage_,
                    "it is copied in another state than the list says");
            require(before_entry_.received == expected_.received,
                    "one completion reports it together with copies before a wait");
            expected_.copies = entry_;
        };
        for_each_request(queues_.copies(), WorkRequest::Kind::copy, task.source, check_part);
    }

    void check_end() {
        require(at_stage_.back() == expected_, "its last stage ends in another state than the list");
        for (std::uint32_t queue = 0; queue < queues_.management(); ++queue) {
            skip_waits(queue);
            require(next_request_[queue] == queues_.queues[queue].requests.size(),
                    "a queue sends or copies more than the list");
            require(next_receive_[queue] == queues_.queues[queue].receives.size(),
                    "a queue receives more than the list");
        }
        std::size_t host_tasks = 0;
        for (std::size_t stage = host_stage_; stage < queues_.stages.size(); ++stage)
            host_tasks += queues_.stages[stage].host.size();
        require(host_tasks <= host_task_, "the processor does more than the list says");
    }

    const List& list_;
    const WorkQueues& queues_;
    const WorkLimits& limits_;
    std::map<int, std::uint32_t> queue_of_;  // by peer

    // What the queues say.
    std::vector<std::vector<Start>> starts_;  // by queue, of each request
    std::vector<CardState> at_stage_;         // before each stage, and at the end
    CardState complete_;                      // after the stages so far
    std::uint64_t management_ = 0, sends_ = 0;

    // What the list says, up to `task_`.
    std::optional<std::size_t> task_;  // none: before its first or after its last task
    CardState expected_;
    std::vector<std::uint64_t> next_request_, next_receive_, waited_;  // by queue
    std::vector<std::vector<std::uint64_t>> receive_ends_;  // by queue: where the parts of each receive end
    std::size_t host_stage_ = 0, host_task_ = 0;            // the processor's next task
    std::vector<const WorkRequest*> same_entry_;            // copies that one completion reports
    std::uint64_t entry_ = 0;
    CardState before_entry_;
};

// Runs all ranks' queues together, `runs` times in a row. Each rank advances as far as possible. A late rank
// advances only when no other rank can: the worst case for messages that are written before their receiver
// has begun the run. Its functions throw Fault.
class CardSimulation {
  public:
    CardSimulation(std::span<const WorkQueues> all, const WorkLimits& limits, std::uint64_t runs,
                   std::optional<std::size_t> late)
        : all_(all), limits_(limits), runs_(runs), late_(late) {
        for (const WorkQueues& queues : all) {
            Rank& rank = ranks_.emplace_back();
            rank.now = Progress(queues.queues.size());
            for (std::uint32_t at = 0; at < queues.copies(); ++at) rank.queue_of[queues.queues[at].peer] = at;
        }
    }

    void run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
                if (rank != late_) moved = advance(rank) || moved;
            }
            if (!moved && late_) moved = advance(*late_);
        }
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (ranks_[rank].run < runs_)
                throw Fault{fmt::format("rank {}: its stage {} never ends", rank, ranks_[rank].now.stage)};
        }
    }

  private:
    struct Progress {
        explicit Progress(std::size_t queues = 0)
            : next(queues), posted(queues), enabled(queues), received(queues) {}
        std::vector<std::uint64_t> next, posted, enabled, received;  // by queue
        std::uint64_t management = 0, sends = 0, copies = 0;         // completions
        std::size_t stage = 0;                                       // the next one
    };
    struct Rank {
        std::uint64_t run = 0;  // those before are complete
        Progress now;
        std::map<int, std::uint32_t> queue_of;  // by peer
    };

    bool advance(std::size_t at) {
        const WorkQueues& queues = all_[at];
        Rank& rank = ranks_[at];
        Progress& now = rank.now;
        bool moved = false;
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            const bool managed = queues.variant.management && queue != queues.management();
            while (now.next[queue] < now.posted[queue] &&
                   (!managed || now.next[queue] < now.enabled[queue]) && step(at, queue))
                moved = true;
        }
        if (rank.run == runs_) return moved;
        if (now.stage > 0) {
            const WorkStage& last = queues.stages[now.stage - 1];
            if (now.management < last.management || now.sends < last.sends || now.copies < last.copies)
                return moved;
        }
        if (now.stage == queues.stages.size()) {
            if (++rank.run < runs_) now = Progress(queues.queues.size());
            return true;
        }
        for (const WorkStage::Posted& posted : queues.stages[now.stage].posted)
            now.posted[posted.queue] = posted.end;
        ++now.stage;
        return true;
    }

    bool step(std::size_t at, std::uint32_t queue) {
        const WorkQueues& queues = all_[at];
        Progress& now = ranks_[at].now;
        const WorkRequest& request = queues.queues[queue].requests[now.next[queue]];
        switch (request.kind) {
            case WorkRequest::Kind::wait: {
                const std::uint64_t count = request.source == WorkRequest::Source::receives
                                                ? now.received[request.queue]
                                            : request.source == WorkRequest::Source::sends ? now.sends
                                                                                           : now.copies;
                if (count < request.count) return false;
                break;
            }
            case WorkRequest::Kind::enable:
                now.enabled[request.queue] = std::max(now.enabled[request.queue], request.count);
                break;
            case WorkRequest::Kind::copy:
                break;
            case WorkRequest::Kind::send:
            case WorkRequest::Kind::write:
                if (!deliver(at, queue, request)) return false;
                break;
        }
        ++now.next[queue];
        if (request.reports)
            ++(queue == queues.management() ? now.management
               : queue == queues.copies()   ? now.copies
                                            : now.sends);
        return true;
    }

    bool deliver(std::size_t at, std::uint32_t queue, const WorkRequest& request) {
        const std::size_t peer = static_cast<std::size_t>(all_[at].queues[queue].peer);
        Rank& receiver = ranks_[peer];
        const auto require = [&](bool right, const char* why) {
            if (!right)
                throw Fault{fmt::format("rank {}: message {} to rank {} {}", at, request.count, peer, why)};
        };
        const auto found = receiver.queue_of.find(static_cast<int>(at));
        require(found != receiver.queue_of.end(), "finds no queue");
        const auto& receives = all_[peer].queues[found->second].receives;
        const std::uint64_t run = ranks_[at].run;
        require(request.count < receives.size(), "finds no receive");
        require(receives[request.count].length == request.from.length, "finds a receive of another length");
        // Only the completion of a write needs a posted receive, not the write itself.
        require(request.kind != WorkRequest::Kind::write || request.from.length == 0 ||
                    run < receiver.run + limits_.memories_written,
                "is written to memory that the receiver still uses");
        if (receiver.run < run) return false;
        require(receiver.now.received[found->second]++ == request.count, "has the wrong number");
        return true;
    }

    std::span<const WorkQueues> all_;
    const WorkLimits& limits_;
    const std::uint64_t runs_;
    const std::optional<std::size_t> late_;
    std::vector<Rank> ranks_;
};

}  // namespace

std::string check_work_queues(std::span<const List> lists, std::span<const WorkQueues> queues,
                              const WorkLimits& limits) {
    try {
        for (std::size_t rank = 0; rank < lists.size(); ++rank)
            ListProof(lists[rank], queues[rank], limits).run();
        CardSimulation(queues, limits, 1, std::nullopt).run();
        const bool sends_bytes = std::any_of(lists.begin(), lists.end(), [](const List& list) {
            return std::any_of(list.tasks.begin(), list.tasks.end(), [](const Task& task) {
                return task.kind == Kind::send && task.source.length > 0;
            });
        });
        if (queues.empty() || !queues.front().variant.writes || !sends_bytes) return "";
        for (std::size_t late = 0; late < queues.size(); ++late)
            CardSimulation(queues, limits, limits.memories_written + 1, late).run();
    } catch (const Fault& fault) {
        return fault.what;
    }
    return "";
}

std::string check_work_queues(std::span<const List> lists, const WorkVariant& variant,
                              const WorkLimits& limits) {
    std::vector<WorkQueues> queues;
    for (const List& list : lists) {
        if (const Verdict verdict = has_work_queues(list); !verdict)
            return fmt::format("rank {}: the list has no work queues: {}", list.rank, verdict.reason());
        queues.push_back(lower_to_work_queues(list, variant, limits));
    }
    return check_work_queues(lists, queues, limits);
}

}  // namespace lapwing
