#include "simulate/recorded/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace lapwing::simulate {
namespace {

using recording::Call;
using Form = MpiFunction::Form;
using Kind = MpiFunction::Kind;
using recording::Node;

// More tests in one computation change little.
constexpr std::uint64_t max_tests = 64;
constexpr std::uint64_t mean = UINT64_MAX;
constexpr std::size_t max_actions = 20'000'000;  // of a rank

Time from_nanoseconds(double nanoseconds) {
    return static_cast<Time>(std::llround(nanoseconds * 1e3));
}

class Converter {
  public:
    Converter(const recording::Recording& recording, Computation computation)
        : recording_(recording), computation_(computation), calls_(recording) {
        replay_.operations = calls_.collectives();
        replay_.ranks = recording.ranks;
        replay_.sites.emplace_back();
    }

    Replay convert() {
        for (const recording::Rank& rank : recording_.each) convert(rank);
        replay_.scripts.communicators = std::move(calls_.communicators());
        replay_.scripts.sites = static_cast<int>(replay_.sites.size());
        replay_.notes.assign(notes_.begin(), notes_.end());
        return std::move(replay_);
    }

  private:
    void convert(const recording::Rank& rank) {
        rank_ = &rank;
        thread_ = &rank.threads.front();
        if (rank.threads.size() > 1)
            notes_.insert(
                "calls of other threads than the main thread are left "
                "out");
        persistent_.clear();
        script_ = &replay_.scripts.of_ranks.emplace_back();
        replay_.hosts.push_back(rank.host);
        end_ = 0;
        inside_ = 0;
        on_processor_ = 0;
        free_request_ = 0;
        for (const Call& call : thread_->calls) {
            for (const std::uint32_t slot : call.requests) {
                free_request_ = std::max(free_request_, static_cast<int>(slot) + 1);
            }
        }
        add(thread_->sequence, mean);
        replay_.ends.push_back(end_);
        replay_.inside.push_back(inside_);
        replay_.on_processor.push_back(on_processor_);
        replay_.off_processor.push_back(end_ - inside_ - on_processor_);
    }

    // `sample`: which of the recorded times, in turn; or their mean.
    void add(const std::vector<Node>& sequence, std::uint64_t sample) {
        for (const Node& node : sequence) {
            if (node.is_loop()) {
                add_loop(node);
            } else {
                add(node, sample);
            }
        }
    }

    static bool has_loop(const Node& node) {
        return std::any_of(node.body.begin(), node.body.end(), [](const Node& one) { return one.is_loop(); });
    }
    static bool varies_inside(const Node& node) {
        return std::any_of(node.body.begin(), node.body.end(), [](const Node& one) {
            return one.is_loop() && (one.passes.runs().size() > 1 || varies_inside(one));
        });
    }

    void add_loop(const Node& node) {
        // A loop that is repeated makes the same number of passes each time.
        const std::uint64_t visit = visits_[&node]++;
        const std::uint64_t passes =
            repeating_ > 0 ? node.passes.runs().front().first : node.passes.at(visit);
        if (varies_inside(node)) {
            for (std::uint64_t i = 0; i < passes; ++i) add(node.body, mean);
            return;
        }
        if (has_loop(node)) {
            repeat(passes, [&] { add(node.body, mean); });
            return;
        }
        // A pass for each sample, in turn. All passes of a repeated loop have to be the same.
        const std::uint64_t samples = std::max<std::size_t>(node.body.front().times.samples.size(), 1);
        if (passes < samples) {
            if (repeating_ > 0) {
                repeat(passes, [&] { add(node.body, mean); });
            } else {
                for (std::uint64_t i = 0; i < passes; ++i) add(node.body, passes_[&node]++);
            }
            return;
        }
        repeat(passes / samples, [&] {
            for (std::uint64_t i = 0; i < samples; ++i) add(node.body, i);
        });
        for (std::uint64_t i = 0; i < passes % samples; ++i) add(node.body, i);
    }

    template <class Body>
    void repeat(std::uint64_t times, Body body) {
        if (times == 0) return;
        if (times == 1) {
            body();
            return;
        }
        ++repeating_;
        script_->push_back({.kind = Action::Kind::repeat, .times = static_cast<int>(times)});
        body();
        script_->push_back({.kind = Action::Kind::end});
        --repeating_;
    }

    // The samples keep the mean of all occurrences.
    static double time_of(const recording::Times& times, std::uint64_t recording::Time::*of,
                          std::uint64_t sample) {
        const double average =
            static_cast<double>(times.sum.*of) / static_cast<double>(std::max<std::uint64_t>(times.count, 1));
        if (sample == mean || times.samples.empty()) return average;
        double sum = 0;
        for (const auto& [number, time] : times.samples) sum += static_cast<double>(time.*of);
        if (sum == 0) return average;
        const double one = static_cast<double>(times.samples[sample % times.samples.size()].second.*of);
        return one * average * static_cast<double>(times.samples.size()) / sum;
    }

    void add(const Node& node, std::uint64_t sample) {
        if (script_->size() > max_actions) {
            throw Error(ErrorCode::unsupported, "the recording: too many calls that do not repeat");
        }
        const Call& call = thread_->calls[node.call];
        const recording::Times& times = node.times;
        const MpiFunction& function = calls_.function(rank_->rank, call.site);
        const bool ends = rank_->sites.at(call.site).function == "MPI_Finalize";
        const double wall = time_of(times, &recording::Time::wall, sample);
        // A thread has no more time on the processor than in all.
        const double work = computation_ == Computation::wall
                                ? wall
                                : std::min(wall, time_of(times, &recording::Time::processor, sample));
        const double polls = time_of(times, &recording::Time::polls, sample);
        site_ = site_of(call.site);
        script_->push_back({.kind = Action::Kind::compute,
                            .site = site_,
                            .work = from_nanoseconds(work),
                            .tests = static_cast<int>(
                                std::min(max_tests, static_cast<std::uint64_t>(std::llround(polls))))});
        count(node, call, ends);
        if (!ends) {
            add(call, node.call, function, from_nanoseconds(static_cast<double>(times.min_inside)));
        }
    }

    // The measured times: each node once, with all its occurrences.
    void count(const Node& node, const Call& call, bool ends) {
        if (!counted_.insert(&node).second) return;
        const recording::Times& times = node.times;
        end_ += from_nanoseconds(static_cast<double>(times.sum.wall));
        on_processor_ += from_nanoseconds(static_cast<double>(std::min(times.sum.processor, times.sum.wall)));
        if (ends) return;
        const Time inside = from_nanoseconds(static_cast<double>(times.sum.inside));
        end_ += inside;
        inside_ += inside;
        ReplaySite& site = replay_.sites[static_cast<std::size_t>(site_)];
        site.calls += times.count;
        site.bytes += call.sent * times.count;
        site.inside += inside;
    }

    int site_of(std::uint32_t number) {
        const recording::Site& site = rank_->sites.at(number);
        const auto [found, fresh] = sites_.try_emplace({site.function, site.module, site.offset},
                                                       static_cast<int>(replay_.sites.size()));
        if (fresh) replay_.sites.push_back({.of = site});
        return found->second;
    }

    void add(const Call& call, std::uint32_t number, const MpiFunction& function, Time least) {
        switch (function.kind) {
            case Kind::collective: {
                const int operation = calls_.collective(rank_->rank, number);
                if (operation < 0) {
                    notes_.insert("collectives of intercommunicators take their shortest recorded time");
                    other(least);
                    return;
                }
                begin({.kind = Action::Kind::start, .operation = operation}, call, function.form);
                return;
            }
            case Kind::send:
                if (call.peer >= 0) begin(send(call, function), call, function.form);
                return;
            case Kind::receive:
                if (call.source != recording::no_rank) begin(receive(call), call, function.form);
                return;
            case Kind::exchange:
                exchange(call, function);
                return;
            case Kind::start:
                for (const std::uint32_t slot : call.requests) {
                    const auto found = persistent_.find(slot);
                    if (found == persistent_.end()) continue;
                    Action action = found->second;
                    action.site = site_;
                    script_->push_back(action);
                }
                return;
            case Kind::complete:
                for (std::uint32_t i = 0; i < call.completed && i < call.requests.size(); ++i) {
                    wait(static_cast<int>(call.requests[i]));
                }
                if (call.completed == 0) other(0);
                return;
            case Kind::release:
                for (const std::uint32_t slot : call.requests) {
                    persistent_.erase(slot);
                    wait(static_cast<int>(slot));
                }
                return;
            case Kind::probe:
                other(0);
                return;
            case Kind::communicator:
            case Kind::other:
                // What these wait for is not recorded.
                other(least);
                return;
        }
    }

    // Any other call: it takes its time, and lets an engine progress.
    void other(Time time) { script_->push_back({.kind = Action::Kind::call, .site = site_, .work = time}); }
    void wait(int request) {
        script_->push_back({.kind = Action::Kind::wait, .request = request, .site = site_});
    }

    void begin(Action action, const Call& call, Form form) {
        action.site = site_;
        if (form != Form::blocking && !call.requests.empty()) {
            action.request = static_cast<int>(call.requests.front());
            if (form == Form::persistent) {
                persistent_[call.requests.front()] = action;
            } else {
                script_->push_back(action);
            }
            return;
        }
        action.request = free_request_;
        script_->push_back(action);
        wait(free_request_);
    }

    void exchange(const Call& call, const MpiFunction& function) {
        const bool receives = call.source != recording::no_rank;
        const bool sends = call.peer >= 0;
        if (function.form != Form::blocking) notes_.insert("nonblocking exchanges are waited for at once");
        if (receives) push(receive(call), free_request_);
        if (sends) push(send(call, function), free_request_ + 1);
        if (receives) wait(free_request_);
        if (sends) wait(free_request_ + 1);
    }
    void push(Action action, int request) {
        action.request = request;
        action.site = site_;
        script_->push_back(action);
    }

    const recording::Communicator& communicator(const Call& call) const {
        return rank_->communicators.at(call.communicator);
    }
    // In the world.
    int rank_in(const Call& call, int rank) const {
        const recording::Communicator& of = communicator(call);
        return (of.remote.empty() ? of.members : of.remote).at(static_cast<std::size_t>(rank));
    }
    // Equal on all ranks of a communicator.
    int context(const Call& call) {
        const recording::Communicator& of = communicator(call);
        std::vector<int> ranks = of.members;
        ranks.insert(ranks.end(), of.remote.begin(), of.remote.end());
        if (!of.remote.empty()) std::sort(ranks.begin(), ranks.end());
        return contexts_
            .try_emplace({std::move(ranks), of.ordinal, of.remote.empty()},
                         static_cast<int>(contexts_.size()))
            .first->second;
    }

    Action send(const Call& call, const MpiFunction& function) {
        return {.kind = Action::Kind::send,
                .operation = message(call.sent, function.synchronous),
                .peer = rank_in(call, call.peer),
                .context = context(call),
                .tag = call.tag};
    }
    Action receive(const Call& call) {
        return {.kind = Action::Kind::receive,
                .operation = message(0, false),
                .peer = call.source == recording::any_rank ? -1 : rank_in(call, call.source),
                .context = context(call),
                .tag = call.receive_tag};
    }
    int message(std::uint64_t bytes, bool synchronous) {
        const auto [found, fresh] =
            messages_.try_emplace({bytes, synchronous}, static_cast<int>(replay_.operations.size()));
        if (fresh) replay_.operations.push_back({.bytes = bytes, .synchronous = synchronous});
        return found->second;
    }

    const recording::Recording& recording_;
    const Computation computation_;
    RecordedCalls calls_;
    Replay replay_;
    std::map<std::tuple<std::string, std::string, std::uint64_t>, int> sites_;
    std::map<std::tuple<std::vector<int>, std::uint64_t, bool>, int> contexts_;
    std::map<std::pair<std::uint64_t, bool>, int> messages_;
    std::set<std::string> notes_;
    std::set<const Node*> counted_;
    std::map<const Node*, std::uint64_t> visits_;  // of loops
    std::map<const Node*, std::uint64_t> passes_;  // of loops that are written pass by pass

    // Of the rank that is converted.
    const recording::Rank* rank_ = nullptr;
    const recording::Thread* thread_ = nullptr;
    std::vector<Action>* script_ = nullptr;
    std::map<std::uint32_t, Action> persistent_;  // by slot
    int repeating_ = 0;                           // loops that are open in the script
    int free_request_ = 0;
    int site_ = 0;
    Time end_ = 0;
    Time inside_ = 0;
    Time on_processor_ = 0;
};

}  // namespace

Replay make_replay(const recording::Recording& recording, Computation computation) {
    return Converter(recording, computation).convert();
}

Scripts without_computation(const Scripts& scripts) {
    Scripts found = scripts;
    for (std::vector<Action>& actions : found.of_ranks) {
        std::erase_if(actions, [](const Action& one) { return one.kind == Action::Kind::compute; });
    }
    return found;
}

Scripts with_later_waits(const Replay& replay) {
    Scripts found = replay.scripts;
    for (std::vector<Action>& actions : found.of_ranks) {
        std::map<int, bool> collective;  // by request
        std::size_t first = 0;           // of the waits before this action
        for (std::size_t i = 0; i < actions.size(); ++i) {
            const Action& action = actions[i];
            using enum Action::Kind;
            if (action.kind == start || action.kind == send || action.kind == receive)
                collective[action.request] = action.kind == start;
            if (action.kind == wait && collective[action.request]) continue;
            const auto at = [&](std::size_t index) {
                return actions.begin() + static_cast<std::ptrdiff_t>(index);
            };
            if (action.kind == compute) std::rotate(at(first), at(i), at(i + 1));
            first = i + 1;
        }
    }
    return found;
}

}  // namespace lapwing::simulate
