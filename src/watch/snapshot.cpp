#include "watch/snapshot.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "watch/cbor.hpp"

namespace lapwing::watch {
namespace {

void check_values(const Arguments& arguments) {
    if (static_cast<std::size_t>(arguments.collective) >= all_collectives().size())
        throw Error(ErrorCode::link, "a snapshot names an unknown collective");
}

}  // namespace

std::vector<RankRun> runs_of(std::span<const int> ranks) {
    std::vector<RankRun> runs;
    for (const int rank : ranks) {
        if (!runs.empty()) {
            RankRun& last = runs.back();
            if (last.count == 1) last.stride = rank - last.first;
            if (rank == last.first + last.count * last.stride) {
                ++last.count;
                continue;
            }
        }
        runs.push_back({rank, 1, 1});
    }
    return runs;
}

std::vector<int> ranks_of(std::span<const RankRun> runs, int limit) {
    std::vector<int> ranks;
    for (const RankRun& run : runs) {
        std::int64_t rank = run.first;
        for (int i = 0; i < run.count && rank >= 0 && rank < limit; ++i, rank += run.stride) {
            if (ranks.size() == static_cast<std::size_t>(limit)) return ranks;
            ranks.push_back(static_cast<int>(rank));
        }
    }
    return ranks;
}

// Short: each rank sends the members of each of its communicators.
void to_json(nlohmann::json& json, const RankRun& run) {
    json = nlohmann::json::array({run.first, run.count, run.stride});
}
void from_json(const nlohmann::json& json, RankRun& run) {
    json.at(0).get_to(run.first);
    json.at(1).get_to(run.count);
    json.at(2).get_to(run.stride);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arguments, collective, root, bytes, type, operation, sent, received)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Position, engine, algorithm, task, tasks, awaited)

// By hand, because of the optional position.
void to_json(nlohmann::json& json, const CollectiveCall& call) {
    json = {{"number", call.number},      {"form", call.form},           {"arguments", call.arguments},
            {"function", call.function},  {"where", call.where},         {"age", call.age},
            {"lapwing", call.by_lapwing}, {"in_flight", call.in_flight}, {"starts", call.starts}};
    if (call.position) json["position"] = *call.position;
}
void from_json(const nlohmann::json& json, CollectiveCall& call) {
    json.at("number").get_to(call.number);
    json.at("form").get_to(call.form);
    json.at("arguments").get_to(call.arguments);
    json.at("function").get_to(call.function);
    json.at("where").get_to(call.where);
    json.at("age").get_to(call.age);
    json.at("lapwing").get_to(call.by_lapwing);
    json.at("in_flight").get_to(call.in_flight);
    json.at("starts").get_to(call.starts);
    if (json.contains("position")) call.position = json["position"].get<Position>();
    check_values(call.arguments);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CommunicatorSnapshot, id, name, members, calls, hash, comparable, recent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CurrentCall, function, where, age, communicator, peer, tag, waits_for)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSnapshot, rank, host, pid, program, communicators, current, last,
                                   messages)

std::vector<std::byte> encode(const RankSnapshot& snapshot) {
    return to_cbor(snapshot);
}

RankSnapshot decode(std::span<const std::byte> bytes) {
    return from_cbor(bytes, "snapshot", [](const auto& json) { return json.template get<RankSnapshot>(); });
}

}  // namespace lapwing::watch
