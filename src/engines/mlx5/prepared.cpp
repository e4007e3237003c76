#include "engines/mlx5/prepared.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engines/local_work.hpp"
#include "engines/mlx5/requests.hpp"

namespace lapwing::mlx5 {
namespace {

constexpr std::uint32_t shared_lanes = 4;
// Of each queue: what is longer goes in stages.
constexpr std::uint32_t usual_depth = 1024;
// Buffers up to here are copied to memory that is registered already, which costs less than to register them.
constexpr std::uint64_t most_bytes_bounced = 32768;

using RequestKind = WorkRequest::Kind;

std::uint64_t address_of(const std::byte* memory) {
    return reinterpret_cast<std::uint64_t>(memory);
}

// What the list writes in `out`: no more may be copied back.
std::vector<Span> written_spans(const List& list) {
    std::vector<Span> spans;
    for (const Task& task : list.tasks) {
        if ((fields(task.kind) & TARGET) != 0 && task.target.space == Space::out && task.target.length > 0)
            spans.push_back(task.target);
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.offset < b.offset; });
    std::vector<Span> merged;
    for (const Span& span : spans) {
        if (!merged.empty() && span.offset <= merged.back().end()) {
            merged.back().length = std::max(merged.back().end(), span.end()) - merged.back().offset;
        } else {
            merged.push_back(span);
        }
    }
    return merged;
}

// Moves runs of a lane.
class Mover {
  public:
    Mover(Group& group, Lane& lane) : group_(group), lane_(lane) {}

    // The run that has the lane, and those that get it then, as far as they go.
    void move() {
        while (!lane_.runs.empty() && lane_.error.empty()) {
            Run& run = *lane_.runs.front();
            try {
                if (!advance(run)) return;
            } catch (const Error& error) {
                lane_.error = error.what();
                break;
            }
            lane_.runs.pop_front();
        }
        if (lane_.error.empty()) return;
        for (Run* run : lane_.runs) {
            run->state = Run::State::failed;
            run->error = lane_.error;
        }
        lane_.runs.clear();
    }

  private:
    // True when it is complete.
    bool advance(Run& run) {
        if (run.state == Run::State::waiting) run.state = Run::State::connecting;
        if (run.state == Run::State::connecting) {
            if (!connected(run)) return false;
            begin(run);
            run.state = Run::State::running;
        }
        for (;;) {
            post_receives(run);
            if (!stage_complete(run)) return false;
            if (run.stage == run.plan.queues.stages.size()) break;
            begin_stage(run);
        }
        finish(run);
        run.state = Run::State::complete;
        return true;
    }

    bool connected(Run& run) {
        Link& messages = group_.messages();
        if (!messages.ready()) return false;
        const WorkQueues& queues = run.plan.queues;
        bool all = true;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            const int peer = queues.queues[queue].peer;
            all = lane_.peer(peer).connect(group_.device(), messages, peer, run.channel) && all;
        }
        messages.flush();
        return all;
    }

    SendQueue& send_queue(const Run& run, std::uint32_t queue) {
        const WorkQueues& queues = run.plan.queues;
        if (queue == queues.management()) return lane_.management_queue();
        if (queue == queues.copies()) return lane_.copy_queue();
        return lane_.peer(queues.queues[queue].peer).sends;
    }

    void begin(Run& run) {
        take_memory(run);
        const WorkQueues& queues = run.plan.queues;
        run.bases.assign(queues.queues.size(), {});
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            Run::Base& base = run.bases[queue];
            if (queue < queues.copies())
                base.received = lane_.peer(queues.queues[queue].peer).received.count();
            if (!queues.queues[queue].requests.empty()) base.index = send_queue(run, queue).next();
        }
        run.sends = lane_.sends.count();
        run.copies = lane_.copies.count();
        run.management = lane_.management.count();
        run.stage = 0;
        const std::array<std::uint64_t, 6> with = {
            address_of(run.memory.buffers.in),    address_of(run.memory.buffers.out),
            address_of(run.memory.scratch.get()), key_of(run, Space::in).local,
            key_of(run, Space::out).local,        key_of(run, Space::scratch).local};
        if (run.encoded_for == &lane_ && run.encoded_with == with) return;
        encode(run);
        run.encoded_for = &lane_;
        run.encoded_with = with;
    }

    void take_memory(Run& run) {
        Device& device = group_.device();
        const Plan& plan = run.plan;
        if (run.memory.scratch == nullptr && plan.scratch_bytes > 0) {
            run.memory.make_scratch(plan.scratch_bytes);
            run.scratch_key = Registered(device, run.memory.scratch.get(), plan.scratch_bytes);
        }
        run.bounced = plan.in_bytes + plan.out_bytes <= most_bytes_bounced;
        run.memory.buffers = run.buffers;
        if (!run.bounced) {
            try {
                run.in_key = Registered(device, run.buffers.in, plan.in_bytes);
                run.out_key = Registered(device, run.buffers.out, plan.out_bytes);
                return;
            } catch (const Error&) {
                // Memory that cannot be registered, as what is only to be read, is copied as well.
                run.in_key.reset();
                run.out_key.reset();
                run.bounced = true;
            }
        }
        const std::uint64_t bytes = plan.in_bytes + plan.out_bytes;
        if (bytes == 0) return;
        if (run.bounce == nullptr) {
            run.bounce.reset(new std::byte[bytes]);
            run.bounce_key = Registered(device, run.bounce.get(), bytes);
        }
        run.memory.buffers.in = run.bounce.get();
        run.memory.buffers.out = run.bounce.get() + plan.in_bytes;
        if (plan.in_bytes > 0) std::memcpy(run.bounce.get(), run.buffers.in, plan.in_bytes);
        if (plan.out_bytes > 0) std::memcpy(run.memory.buffers.out, run.buffers.out, plan.out_bytes);
    }

    static const MemoryKey& key_of(const Run& run, Space space) {
        if (space == Space::scratch) return run.scratch_key.key();
        if (run.bounced) return run.bounce_key.key();
        return space == Space::in ? run.in_key.key() : run.out_key.key();
    }
    static Data data_of(const Run& run, const Span& span) {
        if (span.length == 0) return {};
        return {address_of(run.memory.source(span)), static_cast<std::uint32_t>(span.length),
                key_of(run, span.space).local};
    }

    // All but the indices.
    void encode(Run& run) {
        const WorkQueues& queues = run.plan.queues;
        run.requests.resize(queues.queues.size());
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            const auto& requests = queues.queues[queue].requests;
            if (requests.empty()) continue;
            const std::uint32_t own = send_queue(run, queue).pair().number;
            run.requests[queue].assign(requests.size(), {});
            for (std::size_t at = 0; at < requests.size(); ++at)
                put_request(run.requests[queue][at].data(), requests[at],
                            operands_of(run, requests[at], own));
        }
    }

    Operands operands_of(const Run& run, const WorkRequest& request, std::uint32_t own) {
        Operands operands{own, {}, {}, 0};
        switch (request.kind) {
            case RequestKind::copy:
                if (request.to.length > 0)
                    operands.target = {address_of(run.memory.target(request.to)),
                                       key_of(run, request.to.space).remote};
                [[fallthrough]];
            case RequestKind::send:
            case RequestKind::write:
                operands.data = data_of(run, request.from);
                break;
            case RequestKind::wait:
                operands.object = entries_of(run, request).queue().number;
                break;
            case RequestKind::enable:
                operands.object = send_queue(run, request.queue).pair().number;
                break;
        }
        return operands;
    }

    const CompletionReader& entries_of(const Run& run, const WorkRequest& wait) {
        switch (wait.source) {
            case WorkRequest::Source::sends:
                return lane_.sends;
            case WorkRequest::Source::copies:
                return lane_.copies;
            case WorkRequest::Source::receives:
                break;
        }
        return lane_.peer(run.plan.queues.queues[wait.queue].peer).received;
    }
    // What the request's count counts from.
    std::uint32_t before(const Run& run, const WorkRequest& request) {
        if (request.kind == RequestKind::enable) return run.bases[request.queue].index;
        if (request.kind != RequestKind::wait) return 0;
        const CompletionReader& entries = entries_of(run, request);
        switch (request.source) {
            case WorkRequest::Source::sends:
                return entries.index(run.sends);
            case WorkRequest::Source::copies:
                return entries.index(run.copies);
            case WorkRequest::Source::receives:
                break;
        }
        return entries.index(run.bases[request.queue].received);
    }

    // As many as their queues hold. Also reads what has come.
    void post_receives(Run& run) {
        const WorkQueues& queues = run.plan.queues;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            const auto& receives = queues.queues[queue].receives;
            Run::Base& base = run.bases[queue];
            if (base.receives == receives.size()) continue;
            Peer& peer = lane_.peer(queues.queues[queue].peer);
            read_receives(run, queue, peer);
            const std::uint64_t done = peer.received.count() - base.received;
            const std::uint64_t room = peer.sends.pair().receive_entries - (base.receives - done);
            const std::uint64_t end = std::min<std::uint64_t>(receives.size(), base.receives + room);
            if (end == base.receives) continue;
            for (; base.receives < end; ++base.receives)
                peer.receives.post(data_of(run, receives[base.receives]));
            peer.receives.publish();
        }
    }

    static void read_receives(const Run& run, std::uint32_t queue, Peer& peer) {
        const auto& receives = run.plan.queues.queues[queue].receives;
        peer.received.read([&](const Completion& entry) {
            const std::uint64_t at = peer.received.count() - run.bases[queue].received - 1;
            if (at >= receives.size() || entry.bytes != receives[at].length)
                throw Error(ErrorCode::link, "a message has another length than its receive");
        });
    }

    // Of the stage before `run.stage`.
    bool stage_complete(Run& run) {
        if (run.stage == 0) return true;
        const WorkStage& stage = run.plan.queues.stages[run.stage - 1];
        lane_.management.read();
        if (lane_.management.count() - run.management < stage.management) return false;
        lane_.sends.read();
        lane_.copies.read();
        return lane_.sends.count() - run.sends >= stage.sends &&
               lane_.copies.count() - run.copies >= stage.copies;
    }

    void begin_stage(Run& run) {
        const WorkStage& stage = run.plan.queues.stages[run.stage++];
        if (!stage.host.empty()) work(run.memory, stage.host);
        for (const WorkStage::Posted& posted : stage.posted) {
            SendQueue& queue = send_queue(run, posted.queue);
            const auto& requests = run.plan.queues.queues[posted.queue].requests;
            for (std::uint64_t& at = run.bases[posted.queue].posted; at < posted.end; ++at) {
                std::byte* const block = queue.block();
                std::memcpy(block, run.requests[posted.queue][at].data(), block_bytes);
                rearm(block, requests[at], queue.next(), before(run, requests[at]));
                queue.post();
            }
            queue.ring();
        }
    }

    void finish(Run& run) {
        const WorkQueues& queues = run.plan.queues;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            if (!queues.queues[queue].receives.empty())
                read_receives(run, queue, lane_.peer(queues.queues[queue].peer));
        }
        run.in_key.reset();
        run.out_key.reset();
        if (!run.bounced) return;
        for (const Span& span : run.plan.written)
            std::memcpy(run.buffers.out + span.offset, run.memory.buffers.out + span.offset, span.length);
    }

    Group& group_;
    Lane& lane_;
};

}  // namespace

Group::Group(Device& device, Link& messages, const WorkVariant& variant)
    : device_(device), messages_(messages), variant_(variant) {
    const Capabilities has = device.capabilities();
    depth_ = std::min({usual_depth, has.max_send_blocks, has.max_receive_entries, has.max_completions});
}

WorkLimits Group::limits() const {
    WorkLimits limits;
    limits.queue_depth = depth_;
    return limits;
}

Lane& Group::lane(std::uint32_t channel, int ranks) {
    const std::uint32_t key = channel < first_kept_channel ? channel % shared_lanes : channel;
    std::unique_ptr<Lane>& lane = lanes_[key];
    if (lane == nullptr) lane = std::make_unique<Lane>(device_, LaneOptions{variant_, depth_, ranks});
    return *lane;
}

int Group::arm() {
    for (const auto& [key, lane] : lanes_) {
        if (lane->runs.empty()) continue;
        const Run& run = *lane->runs.front();
        if (run.state != Run::State::running) return messages_.poll_descriptor();
        const WorkStage& stage = run.plan.queues.stages[run.stage - 1];
        const CompletionReader& next = lane->management.count() - run.management < stage.management
                                           ? lane->management
                                       : lane->sends.count() - run.sends < stage.sends ? lane->sends
                                                                                       : lane->copies;
        device_.arm(next.queue(), next.index(next.count()) & 0xffffff);
        armed_ = true;
    }
    return device_.event_descriptor();
}

void Group::forget_events() {
    if (armed_) device_.clear_events();
    armed_ = false;
}

Registered::Registered(Device& device, const std::byte* memory, std::size_t bytes) {
    if (bytes == 0) return;
    key_ = device.register_memory(const_cast<std::byte*>(memory), bytes);
    device_ = &device;
}

Registered::Registered(Registered&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)), key_(other.key_) {}

Registered& Registered::operator=(Registered&& other) noexcept {
    reset();
    device_ = std::exchange(other.device_, nullptr);
    key_ = other.key_;
    return *this;
}

void Registered::reset() {
    if (device_ != nullptr) std::exchange(device_, nullptr)->deregister(key_);
}

CardPrepared::CardPrepared(const List& list, std::shared_ptr<Group> group)
    : plan_{lower_to_work_queues(list, group->variant(), group->limits()), list.in_bytes, list.out_bytes,
            list.scratch_bytes, written_spans(list)},
      group_(std::move(group)) {}

CardPrepared::~CardPrepared() = default;

Operation* CardPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Lane& lane = group_->lane(channel, plan_.queues.ranks);
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        runs_.push_back(std::make_unique<Run>(plan_));
        idle_.push_back(runs_.back().get());
    }
    Run& run = *idle_.back();
    idle_.pop_back();
    run.buffers = buffers;
    run.channel = channel;
    run.lane = &lane;
    run.state = Run::State::waiting;
    lane.runs.push_back(&run);
    Mover(*group_, lane).move();
    return &run;
}

bool CardPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    if (run.state != Run::State::complete && run.state != Run::State::failed)
        Mover(*group_, *run.lane).move();
    // After a failure the card may still touch its memory: it is not started again.
    if (run.state == Run::State::failed) throw Error(ErrorCode::link, run.error);
    if (run.state != Run::State::complete) return false;
    idle_.push_back(&run);
    return true;
}

int CardPrepared::prepare_to_sleep(Operation* operation) {
    const Run& run = static_cast<Run&>(*operation);
    if (run.state == Run::State::complete || run.state == Run::State::failed) return -1;
    return group_->arm();
}

}  // namespace lapwing::mlx5
