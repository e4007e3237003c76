#include "watch/job_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "task/mpi_function.hpp"
#include "watch/calls.hpp"

namespace lapwing::watch {
namespace {

constexpr int any_peer = -2;  // in CurrentCall::peer

const CollectiveCall* find_call(const CommunicatorSnapshot& snapshot, std::uint64_t number) {
    const auto found = std::ranges::find(snapshot.recent, number, &CollectiveCall::number);
    return found == snapshot.recent.end() ? nullptr : &*found;
}

// A rank without a record of a communicator has either freed the communicator or not returned from the call
// that makes it.
bool makes_communicator(const RankSnapshot& rank) {
    return std::ranges::any_of(
        rank.current, [](const CurrentCall& call) { return MpiFunction::of(call.function).synchronizes; });
}

// " from rank 2 of grid, tag 5"
std::string on_peer(const CurrentCall& call, const std::string& communicator) {
    if (call.peer == -1) return "";
    const MpiFunction function = MpiFunction::of(call.function);
    std::string text = call.peer == any_peer ? " from any rank"
                                             : fmt::format(" {} rank {}",
                                                           function.sends() == function.receives() ? "with"
                                                           : function.sends()                      ? "to"
                                                                                                   : "from",
                                                           call.peer);
    if (!communicator.empty() && communicator != "MPI_COMM_WORLD") text += " of " + communicator;
    if (call.tag >= 0) text += fmt::format(", tag {}", call.tag);
    return text;
}

}  // namespace

std::size_t CommunicatorView::count_before(std::uint64_t number) const {
    return static_cast<std::size_t>(std::lower_bound(calls.begin(), calls.end(), std::pair(number, -1)) -
                                    calls.begin());
}

JobView::JobView(std::span<const RankSnapshot> all_answers)
    : answers(all_answers), member_of(all_answers.size()), index_of_(all_answers.size()) {
    join_communicators();
    first_wait_.reserve(answers.size() + 1);
    for (int rank = 0; rank < ranks(); ++rank) {
        first_wait_.push_back(waits.size());
        find_waits(rank);
    }
    first_wait_.push_back(waits.size());
}

void JobView::join_communicators() {
    std::map<CommunicatorId, int> known;
    for (int rank = 0; rank < ranks(); ++rank) {
        const RankSnapshot* const own = snapshot(rank);
        if (own == nullptr) continue;
        for (const CommunicatorSnapshot& communicator : own->communicators) {
            const auto [entry, added] =
                known.try_emplace(communicator.id, static_cast<int>(communicators.size()));
            index_of_[rank].push_back(entry->second);
            if (!added) continue;
            CommunicatorView& view = communicators.emplace_back();
            view.name = communicator.name;
            view.members = ranks_of(communicator.members, ranks());
            view.snapshots.resize(view.members.size());
            for (std::size_t member = 0; member < view.members.size(); ++member)
                member_of[view.members[member]].emplace_back(entry->second, static_cast<int>(member));
        }
    }
    for (int rank = 0; rank < ranks(); ++rank) {
        const RankSnapshot* const own = snapshot(rank);
        std::map<int, const CommunicatorSnapshot*> shown;  // by communicator
        for (std::size_t i = 0; i < index_of_[rank].size(); ++i)
            shown[index_of_[rank][i]] = &own->communicators[i];
        for (const auto& [communicator, member] : member_of[rank]) {
            CommunicatorView& view = communicators[communicator];
            if (own == nullptr) {
                view.has_silent_member = true;
            } else if (const auto found = shown.find(communicator); found != shown.end()) {
                view.snapshots[member] = found->second;
                view.calls.emplace_back(found->second->calls, rank);
            } else if (makes_communicator(*own)) {
                view.calls.emplace_back(0, rank);
            }
        }
    }
    for (CommunicatorView& view : communicators) std::ranges::sort(view.calls);
}

// Adds a wait for each collective in flight that the call waits for; returns whether it waits for any.
bool JobView::add_collectives(Wait wait, const CommunicatorSnapshot* snapshot) {
    if (snapshot == nullptr) return false;
    const CurrentCall& current = *wait.current;
    const std::size_t before = waits.size();
    wait.kind = Wait::Kind::collective;
    const auto add = [this, &wait, &current](std::uint64_t number, const CollectiveCall* call) {
        wait.number = number;
        wait.call = call;
        // A program that polls begins a new call each time.
        wait.age = call != nullptr && MpiFunction::of(current.function).polls ? call->age : current.age;
        waits.push_back(wait);
    };
    for (const std::uint64_t number : current.waits_for) {
        const CollectiveCall* const call = find_call(*snapshot, number);
        if (call == nullptr || call->in_flight) add(number, call);
    }
    if (!current.waits_for.empty()) return waits.size() > before;
    for (const CollectiveCall& call : snapshot->recent) {
        if (call.function != current.function) continue;
        // An init call is not in flight, but its ranks may have to agree.
        const bool inside = call.form == Form::persistent_init
                                ? call.number == snapshot->calls
                                : call.form == Form::blocking && call.in_flight;
        if (inside) add(call.number, &call);
    }
    return waits.size() > before;
}

void JobView::add_waits(int rank, const CurrentCall& call) {
    Wait wait;
    wait.rank = rank;
    wait.current = &call;
    wait.age = call.age;
    const RankSnapshot& own = *snapshot(rank);
    const CommunicatorSnapshot* communicator = nullptr;
    wait.communicator = communicator_of(rank, call);
    if (wait.communicator >= 0)
        communicator = &own.communicators[static_cast<std::size_t>(call.communicator)];
    if (add_collectives(wait, communicator) || !call.waits_for.empty()) return;
    const MpiFunction function = MpiFunction::of(call.function);
    if (function.polls) return;
    if (call.peer != -1 && communicator != nullptr) {
        const std::vector<int>& members = communicators[wait.communicator].members;
        wait.kind = call.peer == any_peer ? Wait::Kind::message_of_anyone : Wait::Kind::message;
        if (call.peer >= 0 && static_cast<std::size_t>(call.peer) < members.size())
            wait.peer = members[static_cast<std::size_t>(call.peer)];
        waits.push_back(wait);
    } else if (function.synchronizes && (communicator != nullptr || call.function == "MPI_Finalize")) {
        wait.kind = Wait::Kind::native;
        waits.push_back(wait);
    }
}

void JobView::find_waits(int rank) {
    const RankSnapshot* const own = snapshot(rank);
    if (own == nullptr) return;
    for (const CurrentCall& call : own->current) add_waits(rank, call);
    if (own->current.empty() && polls(*own) && !own->last.waits_for.empty()) add_waits(rank, own->last);
}

const CollectiveCall* JobView::find(int communicator, int member, std::uint64_t number) const {
    const CommunicatorSnapshot* const snapshot = communicators[communicator].snapshots[member];
    return snapshot == nullptr ? nullptr : find_call(*snapshot, number);
}

int JobView::communicator_of(int rank, const CurrentCall& call) const {
    const std::vector<int>& index = index_of_[rank];
    const bool known = call.communicator >= 0 && static_cast<std::size_t>(call.communicator) < index.size();
    return known ? index[static_cast<std::size_t>(call.communicator)] : -1;
}

const std::string& JobView::name(int communicator) const {
    static const std::string unknown = "an unknown communicator";
    return communicator < 0 ? unknown : communicators[communicator].name;
}

std::string JobView::with_host(std::span<const int> ranks) const {
    const RankSnapshot* const first = snapshot(ranks.front());
    const bool one_host =
        first != nullptr && !first->host.empty() && std::ranges::all_of(ranks, [this, first](int rank) {
            return snapshot(rank) != nullptr && snapshot(rank)->host == first->host;
        });
    return one_host ? fmt::format("{} ({})", ranks_in_words(ranks), first->host) : ranks_in_words(ranks);
}

std::string JobView::activity(int rank, bool with_age) const {
    const RankSnapshot& own = *snapshot(rank);
    const CurrentCall& call = oldest_call(own);
    if (call.function.empty()) return "";
    const int communicator = communicator_of(rank, call);
    const std::string peer = on_peer(call, communicator < 0 ? "" : name(communicator));
    const std::string text = fmt::format("{}{}{}{}", call.function, peer,
                                         peer.empty() || call.where.empty() ? "" : ",", at(call.where));
    if (!with_age) return text;
    return own.current.empty() ? fmt::format("{}, {} ago", text, duration(call.age))
                               : fmt::format("{}, for {}", text, duration(call.age));
}

std::string Wait::in_words(const JobView& job) const {
    std::string text = current->function;
    if (kind == Kind::collective) {
        const std::string& name = job.name(communicator);
        if (call == nullptr)
            return fmt::format("{}{} for call {} on {}", text, at(current->where), number, name);
        if (call->form == Form::blocking || call->function == current->function)
            return fmt::format("{} on {} (call {}){}", text, name, number, at(call->where));
        return fmt::format("{}{} for {} on {} (call {}{}{})", text, at(current->where), call->function, name,
                           number, call->where.empty() ? "" : ", ", call->where);
    }
    if (kind == Kind::native)
        return fmt::format("{}{}{}", text, communicator < 0 ? "" : " on " + job.name(communicator),
                           at(current->where));
    text += on_peer(*current, job.name(communicator));
    if (!current->where.empty()) text += ", at " + current->where;
    return text;
}

}  // namespace lapwing::watch
