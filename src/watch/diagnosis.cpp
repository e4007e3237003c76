#include "watch/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/values.hpp"
#include "watch/calls.hpp"
#include "watch/job_view.hpp"
#include "watch/mismatches.hpp"
#include "watch/wait_graph.hpp"

namespace lapwing::watch {
namespace {

class Diagnosis {
  public:
    explicit Diagnosis(std::span<const RankSnapshot> answers)
        : job_(answers), mismatches_(find_mismatches(job_)), graph_(find_waits(job_, mismatches_)) {}

    std::vector<Finding> findings() {
        all_ = mismatches_.findings;
        find_silent();
        find_cycles();
        find_missing();
        find_single_calls();
        find_idle();
        if (all_.empty()) find_unfinished();
        std::ranges::stable_sort(all_, [](const Finding& a, const Finding& b) {
            return std::tuple(a.kind, b.age) < std::tuple(b.kind, a.age);
        });
        return std::move(all_);
    }

  private:
    bool waits(int rank) const { return !job_.waits_of(rank).empty(); }
    bool is_free(int rank) const { return job_.snapshot(rank) != nullptr && !waits(rank); }

    void add(Finding::Kind kind, std::vector<int> ranks, std::uint64_t age, std::string sentence) {
        std::ranges::sort(ranks);
        all_.push_back({kind, std::move(ranks), age, std::move(sentence)});
    }

    // "it last called MPI_Send at a.c:5, 42 s ago, and has not called MPI since". `who`: "it" or "they" if
    // empty.
    std::string instead(std::span<const int> ranks, std::string who = "") const {
        const int first = ranks.front();
        const RankSnapshot& own = *job_.snapshot(first);
        const bool one = ranks.size() == 1;
        const std::string activity = job_.activity(first);
        if (who.empty()) who = one ? "it" : "they";
        if (polls(own)) {
            return fmt::format("{} {} {} again and again", who, one ? "calls" : "call",
                               job_.activity(first, false));
        }
        if (!own.current.empty()) return fmt::format("{} {} inside {}", who, one ? "is" : "are", activity);
        const char* const has = one ? "has" : "have";
        if (activity.empty()) return fmt::format("{} {} called no function of MPI yet", who, has);
        return fmt::format("{} last called {}, and {} not called MPI since", who, activity, has);
    }

    // "MPI_Ibcast on MPI_COMM_WORLD (call 17, a.c:10)"
    std::string placed(const std::string& function, int communicator, const CollectiveCall& call) const {
        return fmt::format("{} on {} (call {}{}{})", function, job_.name(communicator), call.number,
                           call.where.empty() ? "" : ", ", call.where);
    }

    // "MPI_Ibcast (root 0, 8 bytes) on MPI_COMM_WORLD (call 17, a.c:10)"
    std::string collective_of(const Wait& wait) const {
        return wait.call != nullptr ? placed(describe(*wait.call), wait.communicator, *wait.call)
                                    : fmt::format("call {} on {}", wait.number, job_.name(wait.communicator));
    }

    // "rank 2 has waited for 41 s", "3 ranks have waited for 41 s"
    static std::string waited(const Gate& gate) {
        return fmt::format("{} for {}",
                           gate.waiting.size() == 1
                               ? fmt::format("rank {} has waited", gate.waiting.front())
                               : fmt::format("{} ranks have waited", gate.waiting.size()),
                           duration(gate.age));
    }

    // Ranks that do the same and lack the same, apart from times.
    using Groups = std::map<std::pair<int, std::string>, std::vector<int>>;
    std::string kind_of_activity(int rank) const {
        const RankSnapshot& own = *job_.snapshot(rank);
        return fmt::format("{}{}", own.current.empty() ? "o" : "i", job_.activity(rank, false));
    }

    struct Waiting {
        std::set<int> ranks;
        std::uint64_t age = 0;  // of the longest wait
    };
    Waiting waiting_for(int silent) const {
        Waiting found;
        for (const auto& [communicator, member] : job_.member_of[silent]) {
            for (const int index : graph_.gates_of[communicator]) {
                const Gate& gate = graph_.gates[index];
                if (!gate.missing.empty()) continue;  // waits for ranks that answer, too
                found.age = std::max(found.age, gate.age);
                found.ranks.insert(gate.waiting.begin(), gate.waiting.end());
            }
        }
        for (const Wait& wait : job_.waits) {
            if (wait.kind != Wait::Kind::message || wait.peer != silent) continue;
            found.age = std::max(found.age, wait.age);
            found.ranks.insert(wait.rank);
        }
        return found;
    }

    void find_silent() {
        std::vector<int> silent;
        for (int rank = 0; rank < job_.ranks(); ++rank)
            if (job_.snapshot(rank) == nullptr) silent.push_back(rank);
        constexpr std::size_t max_named = 8;
        if (silent.size() > max_named) {
            std::uint64_t age = 0;
            for (const int rank : silent) age = std::max(age, waiting_for(rank).age);
            return add(Finding::Kind::silent, silent, age,
                       fmt::format("{} do not answer; the first: {}", ranks_in_words(silent),
                                   job_.answers[silent.front()].silence));
        }
        for (const int rank : silent) {
            const Waiting waiting = waiting_for(rank);
            std::string sentence = job_.answers[rank].silence;  // names the rank
            if (!waiting.ranks.empty())
                sentence += fmt::format("; {} for it, for {}",
                                        counted(waiting.ranks.size(), "rank waits", "ranks wait"),
                                        duration(waiting.age));
            add(Finding::Kind::silent, {rank}, waiting.age, std::move(sentence));
        }
    }

    void find_cycles() {
        constexpr std::size_t max_shown = 8;
        for (const Cycle& cycle : graph_.cycles) {
            std::vector<int> ranks;
            std::uint64_t age = 0;
            std::string sentence = fmt::format("rank {}", cycle[0]->rank);
            std::vector<std::uint64_t> calls;
            for (std::size_t at = 0; at < cycle.size(); ++at) {
                const Wait& wait = *cycle[at];
                const int next = cycle[(at + 1) % cycle.size()]->rank;
                ranks.push_back(wait.rank);
                age = std::max(age, wait.age);
                if (wait.call != nullptr) calls.push_back(hash_of(*wait.call));
                if (at + 1 > max_shown && at + 1 < cycle.size()) continue;
                if (at + 1 == cycle.size() && cycle.size() > max_shown)
                    sentence += fmt::format(", and so on through {}; rank {}",
                                            counted(cycle.size() - max_shown - 1, "more rank"), wait.rank);
                else if (at > 0)
                    sentence += ", which";
                sentence += fmt::format(" waits in {} for rank {}", wait.in_words(job_), next);
            }
            const bool equal =
                calls.size() == cycle.size() &&
                std::ranges::all_of(calls, [&calls](std::uint64_t hash) { return hash == calls[0]; });
            if (equal) sentence += "; the calls differ only in the communicator";
            add(Finding::Kind::cycle, std::move(ranks), age, std::move(sentence));
        }
    }

    // Ranks that have not made a call, and wait for no rank.
    void find_missing() {
        Groups groups;  // by gate
        for (int rank = 0; rank < job_.ranks(); ++rank) {
            if (!is_free(rank)) continue;
            int first = -1;  // the oldest
            for (const auto& [communicator, member] : job_.member_of[rank]) {
                const CommunicatorSnapshot* const own = job_.communicators[communicator].snapshots[member];
                if (own == nullptr) continue;  // it has freed the communicator
                const std::uint64_t calls = own->calls;
                const std::vector<int>& gates = graph_.gates_of[communicator];
                const auto next = std::upper_bound(gates.begin(), gates.end(), calls,
                                                   [this](std::uint64_t number, int gate) {
                                                       return number < graph_.gates[gate].wait.number;
                                                   });
                if (next != gates.end() && (first < 0 || graph_.gates[first].age < graph_.gates[*next].age))
                    first = *next;
            }
            if (first >= 0) groups[{first, kind_of_activity(rank)}].push_back(rank);
        }
        for (std::size_t i = 0; i < graph_.gates.size(); ++i) {
            const Gate& gate = graph_.gates[i];
            if (gate.wait.kind != Wait::Kind::native) continue;
            for (const int rank : gate.missing) {
                if (is_free(rank)) groups[{static_cast<int>(i), kind_of_activity(rank)}].push_back(rank);
            }
        }
        for (const auto& [key, ranks] : groups) {
            const Gate& gate = graph_.gates[key.first];
            add(Finding::Kind::missing, ranks, gate.age, missing_in_words(gate, ranks));
        }
    }

    std::string missing_in_words(const Gate& gate, const std::vector<int>& ranks) const {
        const Wait& wait = gate.wait;
        std::string what;
        if (wait.kind == Wait::Kind::native) {
            what = wait.current->function;
            if (wait.communicator >= 0) what += " on " + job_.name(wait.communicator);
        } else {
            what = collective_of(wait);
        }
        return fmt::format("{} {} not called {}, in which {}; {}", job_.with_host(ranks),
                           ranks.size() == 1 ? "has" : "have", what, waited(gate), instead(ranks));
    }

    // Ranks in point-to-point calls whose peers wait for no rank.
    void find_single_calls() {
        std::map<std::pair<int, std::string>, std::pair<std::vector<int>, const Wait*>> groups;
        for (const Gate& gate : graph_.gates) {
            if (gate.wait.kind != Wait::Kind::message || !is_free(gate.wait.peer)) continue;
            auto& group = groups[{gate.wait.peer, gate.wait.current->function + gate.wait.current->where}];
            group.first.push_back(gate.wait.rank);
            if (group.second == nullptr || group.second->age < gate.wait.age) group.second = &gate.wait;
        }
        for (const auto& [key, group] : groups) {
            const auto& [ranks, wait] = group;
            const std::vector<int> peer{wait->peer};
            add(Finding::Kind::native_call, peer, wait->age,
                fmt::format("{} {} waited in {} for {}; {}", job_.with_host(ranks),
                            ranks.size() == 1 ? "has" : "have", wait->in_words(job_), duration(wait->age),
                            instead(peer, job_.with_host(peer))));
        }
    }

    // Ranks that have entered a collective which they must advance themselves, inside MPI.
    void find_idle() {
        Groups groups;
        std::map<int, const CollectiveCall*> calls;  // by gate: of a rank that is idle
        for (std::size_t i = 0; i < graph_.gates.size(); ++i) {
            const Gate& gate = graph_.gates[i];
            if (!gate.of_call || !gate.missing.empty() || gate.age < settled) continue;
            const CommunicatorView& view = job_.communicators[gate.wait.communicator];
            for (std::size_t member = 0; member < view.members.size(); ++member) {
                const int rank = view.members[member];
                if (!is_free(rank) || !job_.snapshot(rank)->current.empty()) continue;
                const CollectiveCall* const own =
                    job_.find(gate.wait.communicator, static_cast<int>(member), gate.wait.number);
                if (own == nullptr || !own->in_flight) continue;
                if (own->by_lapwing && own->position.engine != "host") continue;
                groups[{static_cast<int>(i), kind_of_activity(rank)}].push_back(rank);
                calls[static_cast<int>(i)] = own;
            }
        }
        for (auto& [key, ranks] : groups) {
            std::ranges::sort(ranks);
            const Gate& gate = graph_.gates[key.first];
            const CollectiveCall& call = *calls[key.first];
            const bool one = ranks.size() == 1;
            add(Finding::Kind::idle, ranks, gate.age,
                fmt::format(
                    "{} {} called {}, in which {}, but {} advance it: the {} advances only inside MPI "
                    "calls; {}",
                    job_.with_host(ranks), one ? "has" : "have",
                    placed(call.function, gate.wait.communicator, call), waited(gate),
                    one ? "does not" : "do not", call.by_lapwing ? "host engine" : "MPI", instead(ranks)));
        }
    }

    // No rank is to blame: the collective itself does not advance.
    void find_unfinished() {
        for (const Gate& gate : graph_.gates) {
            if (!gate.of_call || !gate.missing.empty() || gate.age < settled) continue;
            const Wait& wait = gate.wait;
            std::string sentence = fmt::format(
                "all ranks have called {}, and {} {} waited for its completion for {}", collective_of(wait),
                ranks_in_words(gate.waiting), gate.waiting.size() == 1 ? "has" : "have", duration(gate.age));
            if (wait.call != nullptr && !wait.call->position.engine.empty()) {
                const Position& position = wait.call->position;
                sentence += fmt::format("; on rank {}, the engine {} is at task {} of {}", wait.rank,
                                        position.engine, position.task, position.tasks);
                if (!position.awaited.empty()) {
                    std::vector<int> awaited;
                    for (const int member : position.awaited) {
                        const std::vector<int>& members = job_.communicators[wait.communicator].members;
                        if (member >= 0 && static_cast<std::size_t>(member) < members.size())
                            awaited.push_back(members[member]);
                    }
                    sentence += fmt::format(" and awaits {}", ranks_in_words(awaited));
                }
            }
            add(Finding::Kind::unfinished, gate.waiting, gate.age, std::move(sentence));
        }
    }

    const JobView job_;
    const Mismatches mismatches_;
    const WaitGraph graph_;
    std::vector<Finding> all_;
};

}  // namespace

const char* name(Finding::Kind kind) {
    constexpr const char* names[] = {"mismatch",    "silent", "cycle",     "missing",
                                     "native_call", "idle",   "unfinished"};
    return names[static_cast<std::size_t>(kind)];
}

std::vector<Finding> diagnose(std::span<const RankSnapshot> answers) {
    return Diagnosis(answers).findings();
}

}  // namespace lapwing::watch
