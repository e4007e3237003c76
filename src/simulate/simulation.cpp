#include "simulate/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "simulate/calendar_queue.hpp"
#include "simulate/ranks.hpp"

namespace lapwing::simulate {
namespace {

constexpr std::uint64_t messages_between_reports = 1 << 18;

class Reports {
  public:
    explicit Reports(const Setting& setting) : setting_(setting) {}
    void count(std::uint64_t received) {
        if (received < last_ + messages_between_reports) return;
        if (setting_.advance) setting_.advance(received - last_);
        last_ = received;
    }
    void end(std::uint64_t received) {
        if (setting_.advance) setting_.advance(received - last_);
    }

  private:
    const Setting& setting_;
    std::uint64_t last_ = 0;
};

[[noreturn]] void refuse_stuck(const Lists& lists, std::uint64_t ended) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} of {} ranks wait for messages that nobody sends",
                            static_cast<std::uint64_t>(lists.ranks) - ended, lists.ranks));
}

Outcome outcome_of(const Lists& lists, const Ranks& ranks, std::uint64_t events) {
    Outcome outcome;
    outcome.ends.reserve(static_cast<std::size_t>(lists.ranks));
    for (int rank = 0; rank < lists.ranks; ++rank) outcome.ends.push_back(ranks.clock(rank));
    outcome.messages = ranks.received();
    outcome.events = events;
    return outcome;
}

// One iteration after the other, so that no message is early. Within one, ranks run in any order.
Outcome by_worklist(const Lists& lists, const Setting& setting) {
    Ranks ranks(lists, setting);
    Reports reports(setting);
    std::vector<int> ready;
    const auto send = [&](int rank, const Step& step, Time done) {
        const Cost& cost = ranks.cost_of(step);
        const Time begin = setting.parameters.rules == Rules::loggopsim
                               ? done
                               : ranks.enter_interface(rank, done, cost.wire);
        const Time wire = setting.parameters.rules == Rules::loggopsim ? 0 : cost.wire;
        if (ranks.arrive(step.slot, begin + setting.parameters.latency + wire)) ready.push_back(step.peer);
    };
    for (int iteration = 0; iteration < setting.program.iterations; ++iteration) {
        std::uint64_t ended = 0;
        for (int i = 0; i < lists.ranks; ++i) {
            ready.push_back(setting.backwards ? lists.ranks - 1 - i : i);
            while (!ready.empty()) {
                const int rank = ready.back();
                ready.pop_back();
                if (ranks.run(rank, send) != Ranks::Progress::waits) ++ended;
            }
            reports.count(ranks.received());
        }
        if (ended != static_cast<std::uint64_t>(lists.ranks)) refuse_stuck(lists, ended);
    }
    reports.end(ranks.received());
    return outcome_of(lists, ranks, 0);
}

// A message before an interface or a link, or a rank before its next iteration.
struct Event {
    Time time = 0;
    std::uint32_t slot = 0;
    std::int32_t peer = 0;   // the receiver, or the rank that goes on
    std::int32_t place = 0;  // with a network: where the message is; of a rank that goes on: -1
    std::int32_t via = -1;
    std::uint32_t length = 0;

    bool operator<(const Event& other) const {
        return time != other.time   ? time < other.time
               : slot != other.slot ? slot < other.slot
                                    : peer < other.peer;
    }
};
constexpr std::int32_t goes_on = -1;

class Queue {
  public:
    Queue(const Lists& lists, const Setting& setting)
        : lists_(lists),
          setting_(setting),
          ranks_(lists, setting),
          reports_(setting),
          network_(setting.network),
          latency_(setting.parameters.latency),
          hop_(network_ != nullptr ? network_->hop_latency() : 0) {
        if (network_ != nullptr && hop_ == 0) {
            hop_ = latency_ / 2;
            latency_ -= hop_;
        }
        queue_ =
            std::make_unique<CalendarQueue<Event>>(network_ != nullptr ? std::min(latency_, hop_) : latency_);
        free_.resize(network_ != nullptr ? network_->links() : static_cast<std::size_t>(lists.ranks));
        if (network_ == nullptr) return;
        host_of_.reserve(static_cast<std::size_t>(lists.ranks));
        for (int rank = 0; rank < lists.ranks; ++rank) host_of_.push_back(network_->host_of(rank));
    }

    Outcome run() {
        for (int i = 0; i < lists_.ranks; ++i) {
            run(setting_.backwards ? lists_.ranks - 1 - i : i, 0);
        }
        std::vector<Event> events;
        while (!queue_->empty()) {
            queue_->take(events);
            count_ += events.size();
            for (const Event& event : events) handle(event);
            reports_.count(ranks_.received());
        }
        if (ended_ != static_cast<std::uint64_t>(lists_.ranks)) refuse_stuck(lists_, ended_);
        reports_.end(ranks_.received());
        return outcome_of(lists_, ranks_, count_);
    }

  private:
    // All that the rank, and those that wait for its intra-node messages, can do. What is to happen later
    // than this bucket goes to the queue, so that no rank runs far ahead of the others.
    void run(int first, Time bucket_end) {
        std::vector<int>& ready = ranks_.woken();
        ready.push_back(first);
        while (!ready.empty()) {
            const int rank = ready.back();
            ready.pop_back();
            const Ranks::Progress progress =
                ranks_.run(rank, [&](int from, const Step& step, Time done) { send(from, step, done); });
            if (progress == Ranks::Progress::ends) ++ended_;
            if (progress != Ranks::Progress::begins) continue;
            const Time now = ranks_.clock(rank);
            if (now < bucket_end) {
                ready.push_back(rank);
            } else {
                queue_->push({.time = now, .slot = UINT32_MAX, .peer = rank, .place = goes_on});
            }
        }
    }

    void send(int rank, const Step& step, Time done) {
        Event event{.slot = step.slot, .peer = step.peer, .length = step.length};
        if (network_ == nullptr) {
            event.time = ranks_.enter_interface(rank, done, ranks_.cost_of(step).wire) + latency_;
        } else {
            event.time = done + latency_;
            event.place = host_of_[static_cast<std::size_t>(rank)];
            event.via = network_->via(event.place, host_of_[static_cast<std::size_t>(step.peer)], step.slot);
        }
        queue_->push(event);
    }

    void handle(const Event& event) {
        if (event.place == goes_on) {
            run(event.peer, queue_->bucket_end());
            return;
        }
        const Time wire = ranks_.cost_of({.kind = 0, .length = event.length & 0x3fffffffU}).wire;
        Hop hop{.link = static_cast<std::uint32_t>(event.peer)};
        std::int32_t to = 0;
        if (network_ != nullptr) {
            to = host_of_[static_cast<std::size_t>(event.peer)];
            hop = network_->next(event.place, to, event.via);
        }
        Time& free = free_[hop.link];
        const Time begin = std::max(event.time, free);
        free = begin + setting_.parameters.gap + wire;
        if (network_ != nullptr && hop.place != to) {
            Event next = event;
            next.time = begin + hop_;
            next.place = hop.place;
            next.via = hop.via;
            queue_->push(next);
            return;
        }
        if (ranks_.arrive(event.slot, begin + wire)) run(event.peer, queue_->bucket_end());
    }

    const Lists& lists_;
    const Setting& setting_;
    Ranks ranks_;
    Reports reports_;
    const Network* network_;
    Time latency_;  // from the sender to the first link
    Time hop_;
    std::unique_ptr<CalendarQueue<Event>> queue_;
    std::vector<Time> free_;  // from when on each receiving interface, or link, is free
    std::vector<std::int32_t> host_of_;
    std::uint64_t ended_ = 0;
    std::uint64_t count_ = 0;
};

}  // namespace

Time Outcome::end() const {
    return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

bool needs_queue(const Lists& lists, const Setting& setting) {
    if (setting.network != nullptr) return true;
    if (setting.parameters.rules == Rules::loggopsim) return false;
    if (setting.parameters.gap > 0) return true;
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
    if (network != nullptr && setting.parameters.rules == Rules::loggopsim) {
        refuse("LogGOPSim's rules have no network of links");
    }
    const bool queue = needs_queue(lists, setting);
    if (setting.evaluation == Evaluation::worklist && queue) {
        refuse("interfaces are shared: the order of messages matters");
    }
    const bool by_queue = queue || setting.evaluation == Evaluation::queue;
    if (by_queue && setting.parameters.rules == Rules::loggopsim) refuse("LogGOPSim's rules need no queue");
    return by_queue ? Queue(lists, setting).run() : by_worklist(lists, setting);
}

}  // namespace lapwing::simulate
