#include "program/settings.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::bench {
namespace {

// Those that Exchange can call.
constexpr Collective collectives[] = {Collective::barrier,  Collective::broadcast, Collective::gather,
                                      Collective::gatherv,  Collective::scatter,   Collective::allgather,
                                      Collective::alltoall, Collective::alltoallv, Collective::allreduce};
constexpr Method methods[] = {Method::wait, Method::poll, Method::fixed};
constexpr Compute computes[] = {Compute::work, Compute::sleep, Compute::automatic};

template <typename Kind, std::size_t count>
Kind find(const Kind (&kinds)[count], const char* (*name_of)(Kind), const std::string& written) {
    for (const Kind kind : kinds) {
        if (written == name_of(kind)) return kind;
    }
    throw Error(ErrorCode::invalid_argument, "'" + written + "' is not known to this program");
}

// Only some benchmarks have it.
template <typename Value>
void take(const nlohmann::json& json, const char* key, Value& value) {
    if (json.contains(key)) json.at(key).get_to(value);
}

}  // namespace

const char* name(Method method) {
    switch (method) {
        case Method::wait:
            return "wait";
        case Method::poll:
            return "poll";
        case Method::fixed:
            return "fixed";
    }
    return "";
}

const char* name(Compute compute) {
    switch (compute) {
        case Compute::work:
            return "work";
        case Compute::sleep:
            return "sleep";
        case Compute::automatic:
            return "auto";
        case Compute::dgemm:
            return "dgemm";
    }
    return "";
}

Settings read_settings(const char* text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Settings settings;
    json.at("benchmark").get_to(settings.benchmark);
    json.at("engines").get_to(settings.engines);
    for (const nlohmann::json& word : json.at("collectives")) {
        settings.collectives.push_back(find(collectives, mpi_name, word.get<std::string>()));
    }
    json.at("bytes").get_to(settings.bytes);
    if (json.contains("methods")) {
        for (const nlohmann::json& word : json.at("methods")) {
            settings.methods.push_back(find(methods, name, word.get<std::string>()));
        }
    }
    settings.compute = find(computes, name, json.at("compute").get<std::string>());
    json.at("rounds").get_to(settings.rounds);
    json.at("seconds").get_to(settings.seconds);
    json.at("iterations").get_to(settings.iterations);
    json.at("interface").get_to(settings.interface);
    json.at("corrupt").get_to(settings.corrupt);
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
