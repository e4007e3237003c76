#include "program/settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::bench {
namespace {

// Those that Exchange can call.
constexpr Collective collectives[] = {Collective::barrier,  Collective::broadcast, Collective::gather,
                                      Collective::gatherv,  Collective::scatter,   Collective::allgather,
                                      Collective::alltoall, Collective::alltoallv, Collective::allreduce};
// In the order of their enumerations.
constexpr const char* methods[] = {"wait", "poll", "fixed"};
constexpr const char* computes[] = {"work", "sleep", "auto", "dgemm"};

[[noreturn]] void refuse(const std::string& written) {
    throw Error(ErrorCode::invalid_argument, "'" + written + "' is not known to this program");
}

template <typename Kind, std::size_t count>
Kind find(const char* const (&names)[count], const std::string& written) {
    const auto found = std::find(names, names + count, written);
    if (found == names + count) refuse(written);
    return static_cast<Kind>(found - names);
}

Collective find_collective(const std::string& written) {
    for (const Collective one : collectives)
        if (written == mpi_name(one)) return one;
    refuse(written);
}

// Only some benchmarks have it.
template <typename Value>
void take(const nlohmann::json& json, const char* key, Value& value) {
    if (json.contains(key)) json.at(key).get_to(value);
}

}  // namespace

const char* name(Method method) {
    return methods[static_cast<int>(method)];
}

const char* name(Compute compute) {
    return computes[static_cast<int>(compute)];
}

Settings read_settings(const char* text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Settings settings;
    json.at("benchmark").get_to(settings.benchmark);
    json.at("engine").get_to(settings.engine);
    for (const nlohmann::json& word : json.at("collectives"))
        settings.collectives.push_back(find_collective(word.get<std::string>()));
    json.at("bytes").get_to(settings.bytes);
    if (json.contains("methods"))
        for (const nlohmann::json& word : json.at("methods"))
            settings.methods.push_back(find<Method>(methods, word.get<std::string>()));
    settings.compute = find<Compute>(computes, json.at("compute").get<std::string>());
    json.at("rounds").get_to(settings.rounds);
    json.at("min_rounds").get_to(settings.min_rounds);
    json.at("seconds").get_to(settings.seconds);
    json.at("iterations").get_to(settings.iterations);
    json.at("corrupt").get_to(settings.corrupt);
    settings.work = json.at("work");
    take(json, "work_factor", settings.work_factor);
    take(json, "quantum_seconds", settings.quantum_seconds);
    take(json, "work_shares", settings.work_shares);
    take(json, "tests", settings.tests);
    take(json, "bytes_per_test", settings.bytes_per_test);
    take(json, "forms", settings.forms);
    take(json, "processes", settings.processes);
    take(json, "windows", settings.windows);
    take(json, "collectives_at_once", settings.collectives_at_once);
    take(json, "frequencies_hz", settings.frequencies_hz);
    take(json, "burst_seconds", settings.burst_seconds);
    return settings;
}

}  // namespace lapwing::bench
