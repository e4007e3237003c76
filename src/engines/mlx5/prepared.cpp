#include "engines/mlx5/prepared.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engines/local_work.hpp"
#include "engines/mlx5/requests.hpp"

namespace lapwing::mlx5 {
namespace {

using RequestKind = WorkRequest::Kind;

class LaneRuns {
  public:
    LaneRuns(Group& group, Lane& lane) : group_(group), lane_(lane) {}

    void advance() {
        while (!lane_.runs.empty()) {
            CardRun& run = *lane_.runs.front();
            const std::size_t stage = run.stage;
            const bool was_running = run.state == CardRun::State::running;
            if (!advance(run)) {
                if (was_running && run.stage == stage) ask_silent_peers(run);
                return;
            }
            lane_.runs.pop_front();
        }
    }

  private:
    // Returns true if the run is complete.
    bool advance(CardRun& run) {
        if (run.state == CardRun::State::waiting) run.state = CardRun::State::connecting;
        if (run.state == CardRun::State::connecting) {
            find_peers(run);
            if (!connected(run)) return false;
            begin(run);
            run.state = CardRun::State::running;
        }
        for (;;) {
            post_receives(run);
            if (!stage_complete(run)) return false;
            if (run.stage == run.plan.queues.stages.size()) break;
            begin_stage(run);
            // The card has only just been told.
            if (!run.plan.queues.stages[run.stage - 1].posted.empty()) return false;
        }
        finish(run);
        run.state = CardRun::State::complete;
        return true;
    }

    // Once: a later start does not look for them again.
    void find_peers(CardRun& run) {
        if (run.lane_of_peers == &lane_) return;
        const WorkQueues& queues = run.plan.queues;
        run.peers.clear();
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue)
            run.peers.push_back(&lane_.peer(queues.queues[queue].peer));
        run.lane_of_peers = &lane_;
    }
    static Peer& peer_of(const CardRun& run, std::uint32_t queue) { return *run.peers[queue]; }

    bool connected(CardRun& run) {
        Link& messages = group_.messages();
        const WorkQueues& queues = run.plan.queues;
        bool all = true;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            all = peer_of(run, queue)
                      .connect(group_.device(), group_.keep_alive(), messages, queues.queues[queue].peer,
                               run.channel) &&
                  all;
        }
        if (all && run.plan.landing) {
            Landing& landing = lane_.landing(*run.plan.landing);
            all = landing.exchange(group_.device(), messages, run.plan, run.channel);
        }
        messages.flush();
        return all;
    }

    SendQueue& send_queue(const CardRun& run, std::uint32_t queue) {
        const WorkQueues& queues = run.plan.queues;
        if (queue == queues.management()) return lane_.management_queue();
        if (queue == queues.copies()) return lane_.copy_queue();
        return peer_of(run, queue).sends;
    }

    void begin(CardRun& run) {
        take_memory(run);
        const WorkQueues& queues = run.plan.queues;
        run.bases.assign(queues.queues.size(), {});
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            CardRun::Base& base = run.bases[queue];
            if (queue < queues.copies()) base.received = peer_of(run, queue).received.count();
            if (!queues.queues[queue].requests.empty()) base.index = send_queue(run, queue).next();
        }
        run.sends = lane_.sends.count();
        run.copies = lane_.copies.count();
        run.management = lane_.management.count();
        run.stage = 0;
        const std::size_t turn = run.plan.landing ? lane_.landing(*run.plan.landing).turn() : 0;
        const RunMemory::Names names = run.memory->names(lane_, turn);
        if (run.memory->encoded == names) return;
        encode(run);
        run.memory->encoded = names;
    }

    void take_memory(CardRun& run) {
        RunMemory* landing = nullptr;
        if (run.plan.landing) landing = lane_.landing(*run.plan.landing).begin(run.plan);
        run.written_to = landing != nullptr;
        run.memory = landing != nullptr ? landing : &run.own;
        run.memory->begin(group_.device(), run.plan, run.buffers);
    }

    // Encodes all requests, except their indices.
    void encode(CardRun& run) {
        const WorkQueues& queues = run.plan.queues;
        auto& encoded = run.memory->requests;
        encoded.resize(queues.queues.size());
        for (std::uint32_t queue = 0; queue < queues.queues.size(); ++queue) {
            const auto& requests = queues.queues[queue].requests;
            if (requests.empty()) continue;
            const std::uint32_t own = send_queue(run, queue).pair().number;
            encoded[queue].assign(requests.size(), {});
            for (std::size_t at = 0; at < requests.size(); ++at)
                put_request(encoded[queue][at].data(), requests[at],
                            operands_of(run, queue, requests[at], own));
        }
    }

    Operands operands_of(const CardRun& run, std::uint32_t queue, const WorkRequest& request,
                         std::uint32_t own) {
        Operands operands{own, {}, {}, 0};
        switch (request.kind) {
            case RequestKind::copy:
                operands.data = run.memory->data(request.from);
                operands.target = run.memory->remote(request.to);
                break;
            case RequestKind::write:
                if (run.plan.landing)
                    operands.target = lane_.landing(*run.plan.landing).target(queue, request.count);
                [[fallthrough]];
            case RequestKind::send:
                operands.data = run.memory->data(request.from);
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

    const CompletionReader& entries_of(const CardRun& run, const WorkRequest& wait) {
        switch (wait.source) {
            case WorkRequest::Source::sends:
                return lane_.sends;
            case WorkRequest::Source::copies:
                return lane_.copies;
            case WorkRequest::Source::receives:
                break;
        }
        return peer_of(run, wait.queue).received;
    }
    // The index from which the request counts.
    std::uint32_t before(const CardRun& run, const WorkRequest& request) {
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

    // Posts as many receives as their queues hold, and reads completions of receives.
    void post_receives(CardRun& run) {
        const WorkQueues& queues = run.plan.queues;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            const auto& receives = queues.queues[queue].receives;
            CardRun::Base& base = run.bases[queue];
            if (base.receives == receives.size()) continue;
            Peer& peer = peer_of(run, queue);
            if (base.receives > 0) read_receives(run, queue);
            const std::uint64_t done = peer.received.count() - base.received;
            const std::uint64_t room = peer.sends.pair().receive_entries - (base.receives - done);
            const std::uint64_t end = std::min<std::uint64_t>(receives.size(), base.receives + room);
            if (end == base.receives) continue;
            for (; base.receives < end; ++base.receives)
                peer.receives.post(run.written_to ? Data{} : run.memory->data(receives[base.receives]));
            peer.receives.publish();
        }
    }

    void read_receives(const CardRun& run, std::uint32_t queue) {
        const int rank = run.plan.queues.queues[queue].peer;
        const auto& receives = run.plan.queues.queues[queue].receives;
        CompletionReader& received = peer_of(run, queue).received;
        received.read(
            [&](const Completion& entry) {
                const std::uint64_t at = received.count() - run.bases[queue].received - 1;
                if (at >= receives.size() || entry.bytes != receives[at].length)
                    throw Error(ErrorCode::link,
                                rank_in_words(rank) + ": a message and its receive have different lengths");
            },
            [&](std::uint32_t) { return rank_in_words(rank); });
    }

    // Asks peers whose messages have not come whether they are alive. Throws Error (link) for a lost peer.
    void ask_silent_peers(const CardRun& run) {
        KeepAlive& keep_alive = group_.keep_alive();
        if (!keep_alive.some_are_lost() && !group_.time_to_ask()) return;
        group_.messages().progress();  // the link may report a lost peer, too
        const WorkQueues& queues = run.plan.queues;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            const int peer = queues.queues[queue].peer;
            if (queues.queues[queue].receives.empty()) continue;
            read_receives(run, queue);
            const std::uint64_t come = peer_of(run, queue).received.count() - run.bases[queue].received;
            if (come >= queues.queues[queue].receives.size()) continue;
            if (const std::string why = keep_alive.why_lost(peer); !why.empty())
                throw Error(ErrorCode::link, rank_in_words(peer) + ": " + why);
            keep_alive.ask(peer);
        }
    }

    // Of the stage before `run.stage`.
    bool stage_complete(CardRun& run) {
        if (run.stage == 0) return true;
        const WorkStage& stage = run.plan.queues.stages[run.stage - 1];
        // Read all of them: if a send has failed, the management queue may wait for ever.
        for (CompletionReader* reader : {&lane_.sends, &lane_.copies, &lane_.management})
            reader->read_as([this](std::uint32_t queue_pair) { return lane_.who(queue_pair); });
        return lane_.management.count() - run.management >= stage.management &&
               lane_.sends.count() - run.sends >= stage.sends &&
               lane_.copies.count() - run.copies >= stage.copies;
    }

    void begin_stage(CardRun& run) {
        const WorkStage& stage = run.plan.queues.stages[run.stage++];
        if (!stage.host.empty()) work(run.memory->memory(), stage.host);
        for (const WorkStage::Posted& posted : stage.posted) {
            SendQueue& queue = send_queue(run, posted.queue);
            const auto& requests = run.plan.queues.queues[posted.queue].requests;
            for (std::uint64_t& at = run.bases[posted.queue].posted; at < posted.end; ++at) {
                std::byte* const block = queue.block();
                std::memcpy(block, run.memory->requests[posted.queue][at].data(), block_bytes);
                rearm(block, requests[at], queue.next(), before(run, requests[at]));
                queue.post();
            }
            queue.ring();
        }
    }

    void finish(CardRun& run) {
        const WorkQueues& queues = run.plan.queues;
        for (std::uint32_t queue = 0; queue < queues.copies(); ++queue) {
            if (!queues.queues[queue].receives.empty()) read_receives(run, queue);
        }
        run.memory->end(run.plan, run.buffers);
    }

    Group& group_;
    Lane& lane_;
};

// Advances the run that has the lane, and the next runs when it completes, as far as possible. If one fails,
// all runs of the group fail.
void advance_runs(Group& group, Lane& lane) {
    if (!group.error().empty()) return group.fail(group.error());
    group.forget_events();
    try {
        group.check_job();
        LaneRuns(group, lane).advance();
    } catch (const Error& error) {
        group.fail(error.what());
    }
}

}  // namespace

CardPrepared::CardPrepared(const List& list, std::shared_ptr<Group> group,
                           std::optional<std::uint32_t> landing)
    : plan_(list, group->variant(), group->limits(list.ranks), landing), group_(std::move(group)) {}

CardPrepared::~CardPrepared() = default;

Operation* CardPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Lane& lane = group_->lane(channel, plan_.queues.ranks);
    CardRun& run = runs_.take([this] { return std::make_unique<CardRun>(plan_); });
    run.buffers = buffers;
    run.channel = channel;
    run.lane = &lane;
    run.state = CardRun::State::waiting;
    lane.runs.push_back(&run);
    advance_runs(*group_, lane);
    return &run;
}

bool CardPrepared::test(Operation* operation) {
    CardRun& run = static_cast<CardRun&>(*operation);
    if (!run.is_over()) advance_runs(*group_, *run.lane);
    if (run.state == CardRun::State::failed) throw Error(ErrorCode::link, run.error);
    if (run.state != CardRun::State::complete) return false;
    runs_.release(run);
    return true;
}

int CardPrepared::prepare_to_sleep(Operation* operation) {
    const CardRun& run = static_cast<CardRun&>(*operation);
    return run.is_over() ? -1 : group_->arm();
}

}  // namespace lapwing::mlx5
