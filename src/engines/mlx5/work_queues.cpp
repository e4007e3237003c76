#include "engines/mlx5/work_queues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "task/text.hpp"

namespace lapwing {
namespace {

using Kind_ = WorkRequest::Kind;
using Source = WorkRequest::Source;

constexpr const char* receive_below = "a receive follows a wait, a copy or a reduction";

// For each memory, the range that the spans of some copies cover.
class Extent {
  public:
    void add(const Span& span) {
        Range& range = of(span);
        range.begin = std::min(range.begin, span.offset);
        range.end = std::max(range.end, span.end());
    }
    bool meets(const Span& span) const {
        const Range& range = ranges_[static_cast<std::size_t>(span.space)];
        return span.offset < range.end && range.begin < span.end();
    }

  private:
    struct Range {
        std::uint64_t begin = UINT64_MAX;
        std::uint64_t end = 0;
    };
    Range& of(const Span& span) { return ranges_[static_cast<std::size_t>(span.space)]; }
    std::array<Range, 3> ranges_{};
};

class Lowering {
  public:
    Lowering(const Queues& queues, const WorkVariant& variant, const WorkLimits& limits)
        : queues_(queues), limits_(limits) {
        made_.rank = queues.rank;
        made_.ranks = queues.ranks;
        made_.variant = variant;
        made_.queues.resize(queues.peers.size() + 2);
        progress_.resize(made_.queues.size());
        queue_of_.reserve(queues.peers.size());
        for (std::uint32_t queue = 0; queue < queues.peers.size(); ++queue) {
            queue_of_.emplace_back(queues.peers[queue].peer, queue);
            post_receives(queue);
        }
        std::sort(queue_of_.begin(), queue_of_.end());
        made_.queues[made_.copies()].peer = made_.queues[made_.management()].peer = queues.rank;
    }

    WorkQueues run() {
        for (const Task& task : queues_.management) {
            switch (task.kind) {
                case Kind::enable_send:
                    for (std::uint64_t i = 0; i < task.count; ++i) send(queue_of(task.peer));
                    break;
                case Kind::wait:
                    wait(queue_of(task.peer), task.count);
                    break;
                case Kind::copy:
                    copy(task);
                    break;
                case Kind::reduce:
                    by_host(task);
                    break;
                default:
                    throw Error(ErrorCode::invalid_argument, receive_below);
            }
        }
        end_stage();
        return std::move(made_);
    }

  private:
    // How far one queue has been lowered.
    struct Progress {
        std::uint64_t stage_begin = 0;             // its first request of this stage
        std::size_t next_send = 0;                 // of the lowered queue
        std::uint64_t messages = 0;                // sent
        std::vector<std::uint64_t> receive_parts;  // by receive: parts of all receives up to it
        std::uint64_t waited_receives = 0;         // receives of the list
        std::uint64_t awaited = 0;  // entries that the list waits for, of receives or of copies
        std::uint64_t covered = 0;  // entries that a request waits for, in this stage or before
        std::size_t events = 0;     // events_ that its own waits cover
        std::uint64_t latest = 0;   // used by gather_waits()
    };
    struct Event {
        std::uint32_t source;  // a peer's queue, or that of copies
        std::uint64_t count;
    };

    template <typename Visit>
    void for_each_part(const Span& span, Visit visit) {
        std::uint64_t done = 0;
        do {
            const std::uint64_t bytes = std::min(span.length - done, limits_.max_bytes_of_message);
            visit(span.part(done, bytes));
            done += bytes;
        } while (done < span.length);
    }

    void post_receives(std::uint32_t number) {
        WorkQueue& queue = made_.queues[number];
        queue.peer = queues_.peers[number].peer;
        for (const QueuedTask& queued : queues_.peers[number].receive) {
            if (!queued.enabled) throw Error(ErrorCode::invalid_argument, receive_below);
            for_each_part(queued.task.target, [&](const Span& part) { queue.receives.push_back(part); });
            progress_[number].receive_parts.push_back(queue.receives.size());
        }
    }

    std::uint32_t queue_of(int peer) const {
        return std::lower_bound(queue_of_.begin(), queue_of_.end(), std::pair<int, std::uint32_t>(peer, 0))
            ->second;
    }

    WorkRequest& add(std::uint32_t queue, const WorkRequest& request) {
        return made_.queues[queue].requests.emplace_back(request);
    }
    std::uint64_t in_stage(std::uint32_t queue) const {
        return made_.queues[queue].requests.size() - progress_[queue].stage_begin;
    }
    // Ends the stage if the queue has no room for these requests and for the one that ends a stage.
    // Returns false if it did.
    bool make_room(std::uint32_t queue, std::uint64_t requests) {
        const bool of_peer = queue < made_.copies();
        const std::uint64_t depth =
            of_peer ? std::min(limits_.peer_queue_depth, limits_.queue_depth) : limits_.queue_depth;
        if (in_stage(queue) + requests + 1 <= depth) return true;
        end_stage();
        return false;
    }
    bool by_management() const { return made_.variant.management; }

    void send(std::uint32_t queue) {
        Progress& progress = progress_[queue];
        const Span source = queues_.peers[queue].send[progress.next_send++].task.source;
        copied_last_ = false;
        for_each_part(source, [&](const Span& part) {
            make_room_for_guarded(queue);
            add(queue, {.kind = made_.variant.writes ? Kind_::write : Kind_::send,
                        .count = progress.messages++,
                        .from = part});
            enable(queue);
        });
    }

    // Adds the waits before a request of this queue, or makes room for them in the management queue.
    void make_room_for_guarded(std::uint32_t queue) {
        if (by_management()) {
            make_room(queue, 1);
            make_room(made_.management(), 2);
            return;
        }
        std::vector<WorkRequest> waits = gather_waits(queue);
        if (!make_room(queue, waits.size() + 1)) waits.clear();  // a new stage need not wait
        for (const WorkRequest& wait : waits) {
            add(queue, wait);
            Progress& source = progress_[wait.source == Source::copies ? made_.copies() : wait.queue];
            source.covered = std::max(source.covered, wait.count);
        }
        progress_[queue].events = events_.size();
    }

    std::vector<WorkRequest> gather_waits(std::uint32_t queue) {
        std::vector<WorkRequest> waits;
        for (std::size_t i = progress_[queue].events; i < events_.size(); ++i) {
            Progress& source = progress_[events_[i].source];
            if (source.latest == 0) {
                const bool copies = events_[i].source == made_.copies();
                waits.push_back({.kind = Kind_::wait,
                                 .source = copies ? Source::copies : Source::receives,
                                 .queue = copies ? 0 : events_[i].source});
            }
            source.latest = events_[i].count;
        }
        for (WorkRequest& wait : waits) {
            wait.count = std::exchange(
                progress_[wait.source == Source::copies ? made_.copies() : wait.queue].latest, 0);
        }
        return waits;
    }

    // Enables the request that was added last.
    void enable(std::uint32_t queue) {
        if (!by_management()) return;
        const std::uint64_t count = made_.queues[queue].requests.size();
        auto& management = made_.queues[made_.management()].requests;
        if (in_stage(made_.management()) > 0 && management.back().kind == Kind_::enable &&
            management.back().queue == queue) {
            management.back().count = count;
        } else {
            add(made_.management(), {.kind = Kind_::enable, .queue = queue, .count = count});
        }
    }

    void wait(std::uint32_t queue, std::uint64_t receives) {
        Progress& progress = progress_[queue];
        progress.waited_receives += receives;
        if (progress.waited_receives > progress.receive_parts.size())
            throw Error(ErrorCode::invalid_argument, "a list waits for a receive that is not posted");
        if (receives == 0) return;
        progress.awaited = progress.receive_parts[progress.waited_receives - 1];
        if (by_management()) {
            make_room(made_.management(), 2);
            add(made_.management(), {.kind = Kind_::wait, .queue = queue, .count = progress.awaited});
            progress.covered = progress.awaited;
        } else {
            events_.push_back({queue, progress.awaited});
        }
        fresh_ = copied_last_ = false;
    }

    void copy(const Task& task) {
        const bool short_one = fresh_ && task.target.length <= limits_.max_bytes_of_host_copy;
        if (!limits_.card_copies || short_one) {
            by_host(task);
            return;
        }
        const std::uint32_t queue = made_.copies();
        std::uint64_t done = 0;
        for_each_part(task.source, [&](const Span& from) {
            const Span to = task.target.part(done, from.length);
            done += from.length;
            if (!joins_last_copy(from, to)) {
                make_room_for_guarded(queue);
                written_ = read_ = Extent{};
                ++made_copies_;
            } else {
                made_.queues[queue].requests.back().reports = false;
            }
            written_.add(to);
            read_.add(from);
            add(queue, {.kind = Kind_::copy, .reports = true, .from = from, .to = to});
            await_copies();
            copied_last_ = true;
        });
        fresh_ = false;
    }

    // Whether the copy may run before, after or during the copies that share the last completion. If so, that
    // completion reports the copy, too.
    bool joins_last_copy(const Span& from, const Span& to) const {
        return copied_last_ && in_stage(made_.copies()) + 2 <= limits_.queue_depth && !written_.meets(from) &&
               !written_.meets(to) && !read_.meets(to);
    }

    // Tasks that follow wait for all copies so far.
    void await_copies() {
        Progress& progress = progress_[made_.copies()];
        const bool joined = progress.awaited == made_copies_;
        progress.awaited = made_copies_;
        if (by_management()) {
            auto& management = made_.queues[made_.management()].requests;
            if (joined) management.pop_back();
            enable(made_.copies());
            add(made_.management(), {.kind = Kind_::wait, .source = Source::copies, .count = made_copies_});
        } else if (!joined) {
            events_.push_back({made_.copies(), made_copies_});
        }
    }

    void by_host(const Task& task) {
        if (!fresh_) end_stage();
        stage_.host.push_back(task);
    }

    // All posted requests complete, and the processor sees it.
    void end_stage() {
        const std::uint32_t management = made_.management();
        if (!by_management()) {
            for (std::uint32_t queue = 0; queue < made_.copies(); ++queue) {
                Progress& progress = progress_[queue];
                if (progress.awaited > progress.covered) {
                    add(queue, {.kind = Kind_::wait, .queue = queue, .count = progress.awaited});
                    progress.covered = progress.awaited;
                }
            }
        }
        bool sent = false;
        for (std::uint32_t queue = 0; queue < made_.copies(); ++queue) {
            if (in_stage(queue) == 0) continue;
            made_.queues[queue].requests.back().reports = true;
            ++sends_;
            sent = true;
        }
        if (by_management()) {
            if (sent) add(management, {.kind = Kind_::wait, .source = Source::sends, .count = sends_});
            if (in_stage(management) > 0) {
                made_.queues[management].requests.back().reports = true;
                ++stages_waited_;
            }
        }
        for (std::uint32_t queue = 0; queue < made_.queues.size(); ++queue) {
            Progress& progress = progress_[queue];
            if (in_stage(queue) > 0) {
                progress.stage_begin = made_.queues[queue].requests.size();
                stage_.posted.push_back({queue, progress.stage_begin});
            }
            progress.events = 0;
        }
        events_.clear();
        stage_.management = stages_waited_;
        stage_.sends = sends_;
        stage_.copies = made_copies_;
        if (!stage_.posted.empty() || !stage_.host.empty()) made_.stages.push_back(std::move(stage_));
        stage_ = {};
        fresh_ = true;
        copied_last_ = false;
    }

    const Queues& queues_;
    const WorkLimits limits_;
    WorkQueues made_;
    WorkStage stage_;
    std::vector<Progress> progress_;                       // of each queue
    std::vector<std::pair<int, std::uint32_t>> queue_of_;  // by peer
    std::vector<Event> events_;        // without a management queue: what the list waits for in this stage
    bool fresh_ = true;                // only sends have been lowered in this stage
    bool copied_last_ = false;         // the last lowered task is a copy by the card
    Extent written_, read_;            // by the copies that share the last completion
    std::uint64_t made_copies_ = 0;    // entries
    std::uint64_t sends_ = 0;          // entries
    std::uint64_t stages_waited_ = 0;  // entries of the management queue
};

}  // namespace

std::span<const WorkVariant> work_variants() {
    static constexpr WorkVariant all[] = {
        {"mq-send", true, false, "a management queue, sends"},
        {"mq-rdma", true, true, "a management queue, RDMA writes"},
        {"peer-send", false, false, "waits in the peers' queues, sends"},
        {"peer-rdma", false, true, "waits in the peers' queues, RDMA writes"},
    };
    return all;
}

Verdict has_work_queues(const List& list) {
    bool held = false;
    for (const Task& task : list.tasks) {
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv)
            return Verdict::no("the list has enable tasks, which only lowering makes");
        if (task.kind == Kind::recv && held) return Verdict::no(receive_below);
        held = held || (task.kind != Kind::recv && task.kind != Kind::send);
    }
    return Verdict::yes();
}

WorkQueues lower_to_work_queues(const List& list, const WorkVariant& variant, const WorkLimits& limits) {
    return Lowering(lower(list), variant, limits).run();
}

std::string print(const WorkQueues& queues, const WorkRequest& request) {
    const auto peer = [&](std::uint32_t queue) { return queues.queues[queue].peer; };
    const auto of_list = [](const Span& span) { return lapwing::print(span); };
    switch (request.kind) {
        case Kind_::send:
            return fmt::format("send {}", of_list(request.from));
        case Kind_::write:
            return fmt::format("write {} to receive {}", of_list(request.from), request.count);
        case Kind_::copy:
            return fmt::format("copy {} to {}", of_list(request.from), of_list(request.to));
        case Kind_::wait:
            switch (request.source) {
                case Source::receives:
                    return fmt::format("wait for {} receives from {}", request.count, peer(request.queue));
                case Source::sends:
                    return fmt::format("wait for {} ends of send queues", request.count);
                case Source::copies:
                    return fmt::format("wait for {} ends of copies", request.count);
            }
            break;
        case Kind_::enable:
            return request.queue == queues.copies()
                       ? fmt::format("enable copies up to {}", request.count)
                       : fmt::format("enable sends to {} up to {}", peer(request.queue), request.count);
    }
    return {};
}

std::string print(const WorkQueues& queues) {
    std::string text =
        fmt::format("work queues of rank {} of {}, {}\n", queues.rank, queues.ranks, queues.variant.name);
    for (std::uint32_t at = 0; at < queues.queues.size(); ++at) {
        const WorkQueue& queue = queues.queues[at];
        if (!queue.receives.empty()) {
            text += fmt::format("  receive queue from {}\n", queue.peer);
            for (const Span& span : queue.receives) text += fmt::format("    {}\n", print(span));
        }
        if (queue.requests.empty()) continue;
        text += at == queues.management() ? "  management queue\n"
                : at == queues.copies()   ? "  copy queue\n"
                                          : fmt::format("  send queue to {}\n", queue.peer);
        for (const WorkRequest& request : queue.requests) {
            text += fmt::format("    {}{}\n", print(queues, request), request.reports ? ", reports" : "");
        }
    }
    for (std::size_t at = 0; at < queues.stages.size(); ++at) {
        const WorkStage& stage = queues.stages[at];
        if (stage.host.empty()) continue;
        text += fmt::format("  by the CPU before stage {}\n", at + 1);
        for (const Task& task : stage.host) text += fmt::format("    {}\n", print(task));
    }
    return text;
}

}  // namespace lapwing
