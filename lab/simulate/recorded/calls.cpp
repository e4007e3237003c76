#include "simulate/recorded/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "task/parts.hpp"

namespace lapwing::simulate {
namespace {

using recording::Call;
using Kind = MpiFunction::Kind;

[[noreturn]] void refuse_recording(const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "the recording: " + why);
}

// What the members of a communicator passed to one collective, by their position; null: the member's call is
// unknown.
struct Passed {
    const recording::Rank* rank = nullptr;
    const Call* call = nullptr;
};

// Numbers that turn out to belong together (union-find).
class Sets {
  public:
    // Returns the number that represents the set of `one`.
    int find(int one) {
        const auto found = parents_.try_emplace(one, one).first;
        return found->second == one ? one : found->second = find(found->second);
    }
    void join(int one, int other) { parents_[find(one)] = find(other); }

  private:
    std::map<int, int> parents_;
};

class Describer {
  public:
    Describer(Collective collective, std::span<const Passed> members) : members_(members) {
        problem_.collective = collective;
        problem_.ranks = static_cast<int>(members.size());
    }

    Problem describe() {
        if (has_root(problem_.collective)) problem_.root = std::max(first().peer, 0);
        switch (problem_.collective) {
            case Collective::barrier:
                break;
            case Collective::scatter:
            case Collective::reduce_scatter_block:
                problem_.bytes = most(&Call::received);
                break;
            default:
                if (has_parts(problem_.collective)) {
                    describe_parts();
                } else {
                    problem_.bytes = most(&Call::sent);
                }
        }
        if (is_reduction(problem_.collective)) describe_type();
        return problem_;
    }

  private:
    const Call& first() const { return *members_.front().call; }

    std::uint64_t most(std::uint64_t Call::*of) const {
        std::uint64_t bytes = 0;
        for (const Passed& one : members_) bytes = std::max(bytes, one.call->*of);
        return bytes;
    }

    // Which reduction it is costs nothing: only the length of an element decides how vectors are cut.
    void describe_type() {
        const Passed& one = members_.front();
        const auto type = one.rank->types.find(one.call->type);
        const std::uint64_t element = type != one.rank->types.end() ? type->second.bytes : 1;
        problem_.type = element == 8 ? Type::float64 : element == 4 ? Type::float32 : Type::uint8;
        const auto fits = [&](std::uint64_t bytes) { return bytes % problem_.element_bytes() == 0; };
        bool whole = fits(problem_.bytes);
        for (const Parts& parts : problem_.parts) {
            for (const Part& part : parts.sends) whole = whole && fits(part.bytes);
        }
        if (!whole) problem_.type = Type::uint8;
    }

    const recording::Counts* counts(int member, std::uint32_t Call::*of) const {
        const Passed& one = members_[static_cast<std::size_t>(member)];
        const auto found = one.rank->counts.find(one.call->*of);
        return found != one.rank->counts.end() ? &found->second : nullptr;
    }

    // The block of a list of counts; where the list was too long to record, the average.
    std::uint64_t block(int member, std::uint32_t Call::*of, std::size_t index, std::uint64_t whole) const {
        const recording::Counts* const found = counts(member, of);
        const auto size = static_cast<std::uint64_t>(problem_.ranks);
        if (found == nullptr) return whole / size;
        if (index < found->all.size()) return found->all[index];
        return found->all.empty() ? found->sum / size : 0;
    }

    void describe_parts() {
        const auto sent_to = [&](int from, int to) {
            const Call& call = *members_[static_cast<std::size_t>(from)].call;
            return block(from, &Call::sent_counts, static_cast<std::size_t>(to), call.sent);
        };
        const auto received_from = [&](int at, int from) {
            const Call& call = *members_[static_cast<std::size_t>(at)].call;
            return block(at, &Call::received_counts, static_cast<std::size_t>(from), call.received);
        };
        switch (problem_.collective) {
            case Collective::gatherv:
                problem_.parts =
                    all_parts(problem_, [&](int from, int) { return received_from(problem_.root, from); });
                break;
            case Collective::scatterv:
                problem_.parts = all_parts(problem_, [&](int, int to) { return sent_to(problem_.root, to); });
                break;
            case Collective::allgatherv:
                problem_.parts = all_parts(problem_, [&](int from, int) { return received_from(0, from); });
                break;
            case Collective::reduce_scatter:
                problem_.parts = all_parts(problem_, [&](int, int to) { return received_from(0, to); });
                break;
            case Collective::alltoallv:
                problem_.parts = all_parts(problem_, sent_to);
                break;
            default:
                describe_neighbors();
        }
        problem_.bytes = average_block(problem_);
    }

    void describe_neighbors() {
        std::map<int, int> members;  // by world rank
        for (std::size_t member = 0; member < members_.size(); ++member) {
            members[communicator(member).members[member]] = static_cast<int>(member);
        }
        std::vector<Neighbors> graph(members_.size());
        std::map<std::pair<int, int>, std::uint64_t> bytes;
        const bool differ = problem_.collective == Collective::neighbor_alltoall;
        for (std::size_t from = 0; from < members_.size(); ++from) {
            const recording::Communicator& own = communicator(from);
            const Call& call = *members_[from].call;
            // At the edge of a grid there is none.
            for (const int rank : own.sources) {
                if (rank >= 0) graph[from].sources.push_back(members.at(rank));
            }
            for (std::size_t i = 0; i < own.destinations.size(); ++i) {
                if (own.destinations[i] < 0) continue;
                const int to = members.at(own.destinations[i]);
                graph[from].destinations.push_back(to);
                const recording::Counts* const found =
                    differ ? counts(static_cast<int>(from), &Call::sent_counts) : nullptr;
                const std::size_t many = own.destinations.size();
                bytes[{static_cast<int>(from), to}] = found == nullptr        ? call.sent
                                                      : i < found->all.size() ? found->all[i]
                                                                              : found->sum / many;
            }
        }
        problem_.parts = parts_of_graph(problem_, graph, [&](int from, int to) { return bytes[{from, to}]; });
    }

    const recording::Communicator& communicator(std::size_t member) const {
        return members_[member].rank->communicators.at(members_[member].call->communicator);
    }

    std::span<const Passed> members_;
    Problem problem_;
};

}  // namespace

RecordedCalls::RecordedCalls(const recording::Recording& recording) {
    if (static_cast<std::size_t>(recording.ranks) != recording.each.size()) {
        refuse_recording(
            fmt::format("only {} of {} ranks wrote files", recording.each.size(), recording.ranks));
    }
    for (const recording::Rank& rank : recording.each) {
        if (rank.threads.empty()) refuse_recording(fmt::format("rank {} has no calls", rank.rank));
        if (!rank.ended || rank.threads.front().truncated) {
            refuse_recording(fmt::format("rank {} has not reached MPI_Finalize", rank.rank));
        }
        auto& functions = functions_.emplace_back();
        for (const auto& [number, site] : rank.sites) functions[number] = MpiFunction::of(site.function);
    }
    find_communicators(recording);
    find_collectives(recording);
}

void RecordedCalls::find_communicators(const recording::Recording& recording) {
    std::map<std::pair<std::vector<int>, std::uint64_t>, int> known;
    for (const recording::Rank& rank : recording.each) {
        auto& numbers = communicators_of_.emplace_back();
        for (const auto& [number, one] : rank.communicators) {
            int& index = numbers.emplace(number, -1).first->second;
            const auto outside = [&](int member) { return member < 0 || member >= recording.ranks; };
            if (!one.remote.empty() || std::any_of(one.members.begin(), one.members.end(), outside)) continue;
            const auto [found, fresh] =
                known.try_emplace({one.members, one.ordinal}, static_cast<int>(communicators_.size()));
            if (fresh) communicators_.emplace_back(one.members);
            index = found->second;
        }
    }
}

void RecordedCalls::find_collectives(const recording::Recording& recording) {
    // The calls of each communicator's members, in order. Of all calls that ever met, the first ones describe
    // the problem.
    std::vector<std::vector<std::vector<std::uint32_t>>> called(communicators_.size());
    std::vector<int> first_call;
    int calls = 0;
    for (std::size_t i = 0; i < communicators_.size(); ++i) {
        called[i].resize(static_cast<std::size_t>(communicators_[i].size()));
    }
    for (const recording::Rank& rank : recording.each) {
        const recording::Thread& thread = rank.threads.front();
        first_call.push_back(calls);
        calls += static_cast<int>(thread.calls.size());
        collective_of_.emplace_back(thread.calls.size(), -1);
        // For each call of the table: where it belongs.
        std::vector<std::vector<std::uint32_t>*> lists;
        for (const Call& call : thread.calls) {
            const bool collective = function(rank.rank, call.site).kind == Kind::collective;
            const int index = collective ? communicator(rank.rank, call.communicator) : -1;
            lists.push_back(index < 0
                                ? nullptr
                                : &called[static_cast<std::size_t>(index)][static_cast<std::size_t>(
                                      communicators_[static_cast<std::size_t>(index)].member(rank.rank))]);
        }
        recording::unfold(thread, [&](const Call& call, const recording::Times&, std::uint64_t) {
            const auto number = static_cast<std::uint32_t>(&call - thread.calls.data());
            if (lists[number] != nullptr) lists[number]->push_back(number);
        });
    }
    Sets sets;
    std::map<int, int> known;  // of sets
    const auto node = [&](int rank, std::uint32_t call) {
        return first_call[static_cast<std::size_t>(rank)] + static_cast<int>(call);
    };
    for (const bool describe : {false, true}) {
        for (std::size_t index = 0; index < communicators_.size(); ++index) {
            const Communicator& communicator = communicators_[index];
            const std::vector<std::vector<std::uint32_t>>& members = called[index];
            std::vector<Passed> passed(members.size());
            for (std::size_t i = 0; i < members.front().size(); ++i) {
                for (std::size_t member = 0; member < members.size(); ++member) {
                    const int rank = communicator.rank(static_cast<int>(member));
                    if (members[member].size() != members.front().size()) {
                        refuse_recording(fmt::format(
                            "ranks {} and {} have not called equally many collectives of a communicator",
                            communicator.rank(0), rank));
                    }
                    const recording::Rank& of = recording.each[static_cast<std::size_t>(rank)];
                    passed[member] = {&of, &of.threads.front().calls[members[member][i]]};
                    sets.join(node(rank, members[member][i]), node(communicator.rank(0), members.front()[i]));
                }
                if (!describe) continue;
                const MpiFunction& first = function(communicator.rank(0), passed.front().call->site);
                const auto [found, fresh] =
                    known.try_emplace(sets.find(node(communicator.rank(0), members.front()[i])),
                                      static_cast<int>(collectives_.size()));
                if (fresh) {
                    collectives_.push_back({.problem = Describer(*first.collective, passed).describe(),
                                            .communicator = static_cast<int>(index),
                                            .blocking = first.form == MpiFunction::Form::blocking});
                }
                for (std::size_t member = 0; member < members.size(); ++member) {
                    const int rank = communicator.rank(static_cast<int>(member));
                    if (function(rank, passed[member].call->site).collective != first.collective) {
                        refuse_recording(fmt::format("ranks {} and {} call different collectives",
                                                     communicator.rank(0), rank));
                    }
                    collective_of_[static_cast<std::size_t>(rank)][members[member][i]] = found->second;
                }
            }
        }
    }
}

}  // namespace lapwing::simulate
