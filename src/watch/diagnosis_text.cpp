// The forms of a diagnosis: text for people, JSON for tools.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "watch/calls.hpp"
#include "watch/diagnosis.hpp"
#include "watch/job_view.hpp"

namespace lapwing::watch {
namespace {

// A collective that is in flight on some rank.
struct InFlight {
    const CollectiveCall* call = nullptr;  // of the lowest rank that has it
    std::uint64_t age = 0;                 // since the first rank's call
    std::vector<int> in_flight;
    std::vector<int> complete;
    std::vector<int> not_called;
    std::vector<int> waiting;
};

std::vector<InFlight> collectives_in_flight(const JobView& job, int index) {
    const CommunicatorView& view = job.communicators[index];
    std::map<std::uint64_t, InFlight> all;
    for (std::size_t member = 0; member < view.members.size(); ++member) {
        if (view.snapshots[member] == nullptr) continue;
        for (const CollectiveCall& call : view.snapshots[member]->recent) {
            if (!call.in_flight || call.form == Form::persistent_init) continue;
            InFlight& collective = all[call.number];
            if (collective.call == nullptr) collective.call = &call;
            collective.age = std::max(collective.age, call.age);
            collective.in_flight.push_back(view.members[member]);
        }
    }
    for (const Wait& wait : job.waits) {
        if (wait.kind != Wait::Kind::collective || wait.communicator != index) continue;
        const auto found = all.find(wait.number);
        if (found != all.end()) found->second.waiting.push_back(wait.rank);
    }
    std::vector<InFlight> result;
    // More collectives than these are in flight only in unusual programs; the oldest ones matter.
    constexpr std::size_t max_shown = 8;
    for (auto& [number, collective] : all) {
        if (result.size() == max_shown) break;
        std::ranges::sort(collective.in_flight);
        for (const auto& [calls, rank] : view.calls) {
            if (calls < number)
                collective.not_called.push_back(rank);
            else if (!std::binary_search(collective.in_flight.begin(), collective.in_flight.end(), rank))
                collective.complete.push_back(rank);
        }
        std::ranges::sort(collective.not_called);
        std::ranges::sort(collective.complete);
        const auto end = std::unique(collective.waiting.begin(), collective.waiting.end());
        collective.waiting.erase(end, collective.waiting.end());
        result.push_back(std::move(collective));
    }
    return result;
}

// The state of a rank in words, without times, and the time that belongs to it.
std::pair<std::string, std::uint64_t> state(const JobView& job, int rank) {
    const RankSnapshot& own = *job.snapshot(rank);
    const std::span<const Wait> waits = job.waits_of(rank);
    if (!waits.empty()) {
        std::string text;
        std::uint64_t age = 0;
        for (const Wait& wait : waits) {
            if (!text.empty()) text += "; ";
            text += "waits in " + wait.in_words(job);
            age = std::max(age, wait.age);
        }
        return {text, age};
    }
    const std::string activity = job.activity(rank, false);
    if (polls(own)) return {fmt::format("calls {} again and again", activity), 0};
    if (!own.current.empty()) return {"is inside " + activity, oldest_call(own).age};
    if (activity.empty()) return {"has called no function of MPI", 0};
    return {fmt::format("is outside MPI{}; its last call was {}",
                        own.messages > 0 ? " with large messages in flight" : "", activity),
            own.last.age};
}

std::string words_of_communicator(const JobView& job, int index) {
    const std::vector<InFlight> collectives = collectives_in_flight(job, index);
    if (collectives.empty()) return "";
    const CommunicatorView& view = job.communicators[index];
    std::vector<int> members = view.members;
    std::ranges::sort(members);
    std::string text = fmt::format("  {} ({})\n", view.name, ranks_in_words(members));
    for (const InFlight& collective : collectives) {
        text += fmt::format("    call {}: {}{}, for {}\n", collective.call->number,
                            describe(*collective.call), at(collective.call->where), duration(collective.age));
        const auto line = [&text](const char* title, const std::vector<int>& ranks) {
            if (!ranks.empty()) text += fmt::format("      {:<12} {}\n", title, ranges(ranks));
        };
        line("in flight:", collective.in_flight);
        line("waiting:", collective.waiting);
        line("complete:", collective.complete);
        line("not called:", collective.not_called);
    }
    return text;
}

nlohmann::json seconds(std::uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds / 1'000'000) / 1000.0;
}

nlohmann::json json_of(const CollectiveCall& call) {
    nlohmann::json json = {{"number", call.number},
                           {"function", call.function},
                           {"where", call.where},
                           {"by", call.by_lapwing ? "lapwing" : "mpi"}};
    const Arguments& arguments = call.arguments;
    if (arguments.root >= 0) json["root"] = arguments.root;
    if (!has_parts(arguments.collective)) json["bytes"] = arguments.bytes;
    if (!arguments.type.empty()) json["type"] = arguments.type;
    if (!arguments.operation.empty()) json["operation"] = arguments.operation;
    return json;
}

nlohmann::json json_of(const JobView& job, int rank, const CurrentCall& call) {
    nlohmann::json json = {
        {"function", call.function}, {"where", call.where}, {"age_seconds", seconds(call.age)}};
    const int communicator = job.communicator_of(rank, call);
    if (communicator >= 0) json["communicator"] = job.name(communicator);
    if (call.peer == -2) json["peer"] = "any";
    if (call.peer >= 0) json["peer"] = call.peer;
    if (call.tag >= 0) json["tag"] = call.tag;
    if (!call.waits_for.empty()) json["waits_for"] = call.waits_for;
    return json;
}

}  // namespace

std::string in_words(std::span<const RankSnapshot> answers, std::span<const Finding> findings) {
    const JobView job(answers);
    std::string text;
    if (findings.empty()) text += "No rank waits for another rank.\n";
    for (const Finding& finding : findings) text += fmt::format("- {}\n", finding.sentence);

    std::string communicators;
    for (std::size_t i = 0; i < job.communicators.size(); ++i)
        communicators += words_of_communicator(job, static_cast<int>(i));
    if (!communicators.empty()) text += "\nCollectives in flight\n" + communicators;

    struct Group {
        std::string state;
        std::vector<int> ranks;
        std::uint64_t least;
        std::uint64_t greatest;
    };
    std::vector<Group> groups;
    std::map<std::pair<std::string, std::string>, std::size_t> known;  // by host and state
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const RankSnapshot* const own = job.snapshot(rank);
        const auto [words, age] =
            own != nullptr ? state(job, rank) : std::pair<std::string, std::uint64_t>("does not answer", 0);
        const auto [found, added] =
            known.try_emplace({own != nullptr ? own->host : "", words}, groups.size());
        if (added) groups.push_back({words, {}, age, age});
        Group& group = groups[found->second];
        group.ranks.push_back(rank);
        group.least = std::min(group.least, age);
        group.greatest = std::max(group.greatest, age);
    }
    text += "\nRanks\n";
    for (const Group& group : groups) {
        text += fmt::format("  {}: {}{}", job.with_host(group.ranks), group.ranks.size() > 1 ? "each " : "",
                            group.state);
        if (group.greatest > 0) {
            const std::string from = duration(group.least);
            const std::string to = duration(group.greatest);
            const std::string age = from == to ? from : fmt::format("{} to {}", from, to);
            text += group.state.starts_with("is outside") ? fmt::format(", {} ago", age)
                                                          : fmt::format(", for {}", age);
        }
        text += '\n';
    }
    return text;
}

std::string as_json(std::span<const RankSnapshot> answers, std::span<const Finding> findings) {
    const JobView job(answers);
    nlohmann::json json = {{"findings", nlohmann::json::array()},
                           {"communicators", nlohmann::json::array()},
                           {"ranks", nlohmann::json::array()}};
    for (const Finding& finding : findings) {
        json["findings"].push_back({{"kind", name(finding.kind)},
                                    {"ranks", finding.ranks},
                                    {"age_seconds", seconds(finding.age)},
                                    {"sentence", finding.sentence}});
    }
    for (std::size_t i = 0; i < job.communicators.size(); ++i) {
        nlohmann::json communicator = {{"name", job.communicators[i].name},
                                       {"members", job.communicators[i].members},
                                       {"collectives", nlohmann::json::array()}};
        for (const InFlight& collective : collectives_in_flight(job, static_cast<int>(i))) {
            nlohmann::json call = json_of(*collective.call);
            call["age_seconds"] = seconds(collective.age);
            call["in_flight"] = collective.in_flight;
            call["waiting"] = collective.waiting;
            call["complete"] = collective.complete;
            call["not_called"] = collective.not_called;
            communicator["collectives"].push_back(std::move(call));
        }
        json["communicators"].push_back(std::move(communicator));
    }
    for (int rank = 0; rank < job.ranks(); ++rank) {
        const RankSnapshot* const own = job.snapshot(rank);
        nlohmann::json entry = {{"rank", rank}};
        if (own == nullptr) {
            entry["silence"] = answers[static_cast<std::size_t>(rank)].silence;
        } else {
            entry["host"] = own->host;
            entry["pid"] = own->pid;
            entry["program"] = own->program;
            entry["messages"] = own->messages;
            entry["inside"] = nlohmann::json::array();
            for (const CurrentCall& call : own->current) entry["inside"].push_back(json_of(job, rank, call));
            if (!own->last.function.empty()) entry["last"] = json_of(job, rank, own->last);
        }
        json["ranks"].push_back(std::move(entry));
    }
    // Names and paths of the program may be in any encoding.
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

}  // namespace lapwing::watch
