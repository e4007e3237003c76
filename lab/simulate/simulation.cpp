#include "simulate/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/error.hpp"
#include "simulate/queues.hpp"
#include "simulate/ranks.hpp"

namespace lapwing::simulate {
namespace {

constexpr std::uint64_t messages_between_reports = 1 << 18;

// Reports to Setting::advance from time to time.
class Reports {
  public:
    explicit Reports(const Setting& setting) : setting_(setting) {}
    void count(std::uint64_t received, bool end = false) {
        if (!end && received < last_ + messages_between_reports) return;
        if (setting_.advance) setting_.advance(received - last_);
        last_ = received;
    }

  private:
    const Setting& setting_;
    std::uint64_t last_ = 0;
};

[[noreturn]] void refuse_stuck(int ranks, std::uint64_t ended) {
    throw Error(ErrorCode::unsupported, fmt::format("{} of {} ranks wait for messages that no rank sends",
                                                    static_cast<std::uint64_t>(ranks) - ended, ranks));
}

Outcome outcome_of(int count, const Ranks& ranks, std::uint64_t events) {
    Outcome outcome;
    outcome.ends.reserve(static_cast<std::size_t>(count));
    for (int rank = 0; rank < count; ++rank) outcome.ends.push_back(ranks.clock(rank));
    outcome.messages = ranks.received();
    outcome.events = events;
    return outcome;
}

// One iteration after the other, so that no message is early. Within one, ranks run in any order.
Outcome by_worklist(const Lists& lists, const Setting& setting) {
    const int count = lists.ranks;
    Ranks ranks(lists, setting, false);
    Reports reports(setting);
    std::vector<int> ready;
    const auto send = [&](int rank, const SentMessage& message, Time done) {
        const Cost& cost = ranks.cost(message.cost);
        const Time begin = ranks.enter_interface(rank, done, cost.wire);
        if (ranks.arrive(message.slot, begin + setting.parameters.latency + cost.wire))
            ready.push_back(message.peer);
    };
    for (int iteration = 0; iteration < setting.program.iterations; ++iteration) {
        std::uint64_t ended = 0;
        for (int i = 0; i < count; ++i) {
            ready.push_back(setting.backwards ? count - 1 - i : i);
            while (!ready.empty()) {
                const int rank = ready.back();
                ready.pop_back();
                if (ranks.run(rank, never, send, [](int) {}).progress != Ranks::Progress::waits) ++ended;
            }
            reports.count(ranks.received());
        }
        if (ended != static_cast<std::uint64_t>(count)) refuse_stuck(count, ended);
    }
    reports.count(ranks.received(), true);
    return outcome_of(count, ranks, 0);
}

// What happens at a time. Messages are before an interface or a link.
struct Event {
    enum class Kind : std::uint32_t {
        message,
        request,      // of a rendezvous
        answer,       // to it
        window,       // of its bytes
        last_window,  // with which the message is complete
        requested,    // the request is there
        answered,     // the sender may go on: the answer is there, or a window has left
        rank          // goes on with its program, or with a list
    };

    Time time = 0;
    std::uint32_t slot = 0;
    std::int32_t peer = 0;  // the receiver, or the rank that goes on
    std::int32_t node = 0;  // with a network: of the message
    std::uint32_t cost = 0;
    Kind kind = Kind::message;

    bool operator<(const Event& other) const {
        return time != other.time   ? time < other.time
               : slot != other.slot ? slot < other.slot
               : peer != other.peer ? peer < other.peer
                                    : kind < other.kind;
    }
};

// `Events` are a CalendarQueue, or a HeapQueue for ranks that are timed.
template <class Events>
class Queue {
  public:
    Queue(const Lists& lists, const Setting& setting, bool timed)
        : count_(lists.ranks),
          setting_(setting),
          ranks_(lists, setting, timed),
          reports_(setting),
          network_(setting.network),
          hop_(network_ != nullptr ? network_->hop_latency() : 0) {
        Time latency = setting.parameters.latency;
        if (network_ != nullptr && hop_ == 0) {
            hop_ = latency / 2;
            in_links_ = hop_;
            latency -= hop_;
        }
        queue_ = std::make_unique<Events>(network_ != nullptr ? std::min(latency, hop_) : latency);
        links_.resize(network_ != nullptr ? network_->links() : static_cast<std::size_t>(count_));
        wakes_.assign(timed ? static_cast<std::size_t>(count_) : 0, never);
        if (network_ == nullptr) return;
        host_of_.reserve(static_cast<std::size_t>(count_));
        for (int rank = 0; rank < count_; ++rank) host_of_.push_back(network_->host_of(rank));
    }

    Outcome run() {
        for (int i = 0; i < count_; ++i) run(setting_.backwards ? count_ - 1 - i : i, 0);
        std::vector<Event> events;
        while (!queue_->empty()) {
            queue_->take(events);
            events_ += events.size();
            for (const Event& event : events) handle(event);
            reports_.count(ranks_.received());
        }
        if (ended_ != static_cast<std::uint64_t>(count_)) refuse_stuck(count_, ended_);
        reports_.count(ranks_.received(), true);
        return outcome_of(count_, ranks_, events_);
    }

  private:
    // A long message between its request and its last window.
    struct Rendezvous {
        SentMessage message;
        std::int32_t sender = 0;
        std::uint64_t start = 0;    // of the sender
        std::uint64_t windows = 0;  // not handed over yet
    };

    // All that the rank, and those that wait for its intra-node messages, can do. What is to happen later
    // than this bucket goes to the queue, so that no rank runs far ahead of the others.
    void run(int first, Time bucket_end) {
        std::vector<int>& ready = ranks_.woken();
        ready.push_back(first);
        while (!ready.empty()) {
            const int rank = ready.back();
            ready.pop_back();
            const Ranks::Turn turn = ranks_.run(
                rank, ranks_.timed() ? bucket_end : never,
                [&](int from, const SentMessage& message, Time done) { send(from, message, done); },
                [&](int caller) { answer_early(caller); });
            if (turn.progress == Ranks::Progress::ends) ++ended_;
            if (turn.progress == Ranks::Progress::waits && turn.next != never) wake(rank, turn.next);
            if (turn.progress != Ranks::Progress::begins) continue;
            begin(rank, ranks_.clock(rank), bucket_end, ready);
        }
    }

    // One event for each rank is ahead; what is later follows from it.
    void wake(int rank, Time when) {
        Time& earliest = wakes_[static_cast<std::size_t>(rank)];
        if (when >= earliest) return;
        earliest = when;
        queue_->push({.time = when, .slot = UINT32_MAX, .peer = rank, .kind = Event::Kind::rank});
    }

    void go_on(const Event& event) {
        if (!wakes_.empty()) {
            Time& earliest = wakes_[static_cast<std::size_t>(event.peer)];
            if (event.time != earliest) return;
            earliest = never;
        }
        run(event.peer, queue_->bucket_end());
    }

    void begin(int rank, Time now, Time bucket_end, std::vector<int>& ready) {
        if (now < bucket_end)
            ready.push_back(rank);
        else if (!wakes_.empty())
            wake(rank, now);
        else
            queue_->push({.time = now, .slot = UINT32_MAX, .peer = rank, .kind = Event::Kind::rank});
    }

    void send(int rank, const SentMessage& message, Time done) {
        if (!ranks_.by_rendezvous(message.cost)) {
            send(rank, message, done, Event::Kind::message);
            return;
        }
        rendezvous_[message.slot] = {message, rank, ranks_.number_of_start(rank),
                                     ranks_.cost(message.cost).windows};
        send(rank, message, done, Event::Kind::request);
    }

    // Returns when the last byte has left.
    Time send(int rank, const SentMessage& message, Time done, Event::Kind kind) {
        Event event{.slot = message.slot, .peer = message.peer, .cost = message.cost, .kind = kind};
        const Time wire = wire_of(event);
        Time leaves = done;
        if (network_ == nullptr)
            leaves = ranks_.enter_interface(rank, done, wire);
        else
            event.node = host_of_[static_cast<std::size_t>(rank)];
        // From the sender to the first link.
        const Time latency = std::max(ranks_.cost(message.cost).latency - in_links_, Time{1});
        event.time = leaves + latency;
        queue_->push(event);
        return leaves + wire;
    }

    Time wire_of(const Event& event) const {
        const Cost& cost = ranks_.cost(event.cost);
        switch (event.kind) {
            case Event::Kind::request:
            case Event::Kind::answer:
                return 0;
            case Event::Kind::window:
            case Event::Kind::last_window:
                return cost.window_wire;
            default:
                return cost.wire;
        }
    }

    void handle(const Event& event) {
        switch (event.kind) {
            case Event::Kind::rank:
                go_on(event);
                return;
            case Event::Kind::requested:
                answer(event.slot, event.time);
                return;
            case Event::Kind::answered:
                go_on(event.slot, event.time);
                return;
            default:
                move(event);
        }
    }

    void move(const Event& event) {
        const Time wire = wire_of(event);
        Hop hop{.link = static_cast<std::uint32_t>(event.peer)};
        std::int32_t to = 0;
        if (network_ != nullptr) {
            to = host_of_[static_cast<std::size_t>(event.peer)];
            hop = network_->next(event.node, to);
        }
        const Time leaves = links_[hop.link].pass(event.time, setting_.parameters.gap, wire);
        if (network_ != nullptr && hop.node != to) {
            Event next = event;
            next.time = leaves + hop_;
            next.node = hop.node;
            queue_->push(next);
            return;
        }
        if (event.kind == Event::Kind::request)
            request(event.slot, leaves + wire);
        else if (event.kind == Event::Kind::answer)
            answered(event.slot, leaves + wire);
        else if (event.kind != Event::Kind::window && ranks_.arrive(event.slot, leaves + wire))
            run(event.peer, queue_->bucket_end());
    }

    void request(std::uint32_t slot, Time there) {
        if (there < queue_->bucket_end())
            answer(slot, there);
        else
            queue_->push({.time = there, .slot = slot, .kind = Event::Kind::requested});
    }

    // The receiver has posted its receive when it has started the collective.
    void answer(std::uint32_t slot, Time requested) {
        const Rendezvous& one = rendezvous_.at(slot);
        const SentMessage& message = one.message;
        if (!ranks_.has_started(message, one.start)) {
            early_requests_[message.peer].push_back(slot);
            return;
        }
        const Time answered = ranks_.attend(message.peer, requested);
        // It stands behind what the receiver sends.
        SentMessage back = message;
        back.peer = one.sender;
        send(message.peer, back, answered, Event::Kind::answer);
    }

    void answered(std::uint32_t slot, Time there) {
        if (there < queue_->bucket_end())
            go_on(slot, there);
        else
            queue_->push({.time = there, .slot = slot, .kind = Event::Kind::answered});
    }

    // A receive finds a request that the MPI has taken in before, in an earlier call, and answers it at once:
    // before the rank's own requests. The peer then sends all of its message before it answers these: the two
    // long messages of an exchange go one after the other. Measured with Open MPI.
    void answer_early(int rank) {
        const auto found = early_requests_.find(rank);
        if (found == early_requests_.end()) return;
        std::vector<std::uint32_t>& early = found->second;
        const auto posted = std::stable_partition(early.begin(), early.end(), [&](std::uint32_t slot) {
            const Rendezvous& of = rendezvous_.at(slot);
            return !ranks_.has_started(of.message, of.start);
        });
        const std::vector<std::uint32_t> requests(posted, early.end());
        early.erase(posted, early.end());
        if (early.empty()) early_requests_.erase(found);
        for (const std::uint32_t slot : requests) answer(slot, 0);
    }

    void go_on(std::uint32_t slot, Time ready) {
        Rendezvous& one = rendezvous_.at(slot);
        const int sender = one.sender;
        const SentMessage message = one.message;
        while (--one.windows > 0) {
            ready = send(sender, message, ranks_.attend(sender, ready), Event::Kind::window);
            if (ready >= queue_->bucket_end()) {
                queue_->push({.time = ready, .slot = slot, .kind = Event::Kind::answered});
                return;
            }
        }
        const Time sent = ranks_.attend(sender, ready);
        send(sender, message, sent, Event::Kind::last_window);
        rendezvous_.erase(slot);
        if (ranks_.hand_over(sender)) run(sender, queue_->bucket_end());
    }

    const int count_;  // of ranks
    const Setting& setting_;
    Ranks ranks_;
    Reports reports_;
    const Network* network_;
    Time in_links_ = 0;  // the part of the latency that the links have
    Time hop_;
    std::unique_ptr<Events> queue_;
    std::vector<Occupancy> links_;  // receiving interfaces, or links
    std::vector<std::int32_t> host_of_;
    std::unordered_map<std::uint32_t, Rendezvous> rendezvous_;  // by slot
    // By receivers: the slots of long messages whose receives are not posted.
    std::unordered_map<int, std::vector<std::uint32_t>> early_requests_;
    std::uint64_t ended_ = 0;
    std::uint64_t events_ = 0;
    std::vector<Time> wakes_;  // timed: of each rank, when it goes on
};

bool has_rendezvous(const Lists& lists, const Setting& setting) {
    return setting.engine.messages != Runner::offload &&
           std::any_of(lists.lengths.begin(), lists.lengths.end(), [&](std::uint64_t length) {
               return length >= setting.parameters.rendezvous_bytes && length > 0;
           });
}

}  // namespace

Time Outcome::end() const {
    return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

bool needs_queue(const Lists& lists, const Setting& setting) {
    if (setting.network != nullptr) return true;
    if (setting.parameters.gap > 0) return true;
    if (has_rendezvous(lists, setting)) return true;
    if (setting.parameters.per_byte == 0) return false;
    return std::any_of(lists.lengths.begin(), lists.lengths.end(),
                       [](std::uint64_t length) { return length > 0; });
}

Outcome simulate(const Lists& lists, const Setting& setting) {
    check(setting.parameters);
    const auto refuse = [](const std::string& why) { throw Error(ErrorCode::invalid_argument, why); };
    const Network* network = setting.network;
    if (network != nullptr && (lists.ranks - 1) / network->ranks_per_host() >= network->hosts()) {
        refuse(fmt::format("{} ranks do not fit onto a {} with {} on each host", lists.ranks, network->what(),
                           network->ranks_per_host()));
    }
    const bool timed = has_rendezvous(lists, setting);
    const bool queue = needs_queue(lists, setting);
    if (setting.evaluation == Evaluation::worklist && queue)
        refuse("interfaces are shared: the order of messages matters");
    const bool by_queue = queue || setting.evaluation == Evaluation::queue;
    if (!by_queue) return by_worklist(lists, setting);
    return timed ? Queue<HeapQueue<Event>>(lists, setting, true).run()
                 : Queue<CalendarQueue<Event>>(lists, setting, false).run();
}

}  // namespace lapwing::simulate
