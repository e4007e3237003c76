#include "settings.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::overlap {
namespace {

constexpr Collective collectives[] = {Collective::barrier,  Collective::broadcast, Collective::gather,
                                      Collective::gatherv,  Collective::scatter,   Collective::allgather,
                                      Collective::alltoall, Collective::alltoallv, Collective::allreduce};
constexpr Method methods[] = {Method::wait, Method::poll, Method::base};

template <typename Kind, std::size_t count>
Kind find(const Kind (&kinds)[count], const std::string& written) {
    for (const Kind kind : kinds) {
        if (written == name(kind)) return kind;
    }
    throw Error(ErrorCode::invalid_argument, "'" + written + "' is not known to this program");
}

}  // namespace

const char* name(Collective collective) {
    switch (collective) {
        case Collective::barrier:
            return "MPI_Ibarrier";
        case Collective::broadcast:
            return "MPI_Ibcast";
        case Collective::gather:
            return "MPI_Igather";
        case Collective::gatherv:
            return "MPI_Igatherv";
        case Collective::scatter:
            return "MPI_Iscatter";
        case Collective::allgather:
            return "MPI_Iallgather";
        case Collective::alltoall:
            return "MPI_Ialltoall";
        case Collective::alltoallv:
            return "MPI_Ialltoallv";
        case Collective::allreduce:
            return "MPI_Iallreduce";
    }
    return "";
}

const char* name(Method method) {
    switch (method) {
        case Method::wait:
            return "wait";
        case Method::poll:
            return "poll";
        case Method::base:
            return "base";
    }
    return "";
}

Settings read_settings(const char* text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    Settings settings;
    json.at("engines").get_to(settings.engines);
    for (const nlohmann::json& word : json.at("collectives")) {
        settings.collectives.push_back(find(collectives, word.get<std::string>()));
    }
    json.at("bytes").get_to(settings.bytes);
    for (const nlohmann::json& word : json.at("methods")) {
        settings.methods.push_back(find(methods, word.get<std::string>()));
    }
    settings.compute = json.at("compute") == "sleep" ? Compute::sleep : Compute::work;
    json.at("rounds").get_to(settings.rounds);
    json.at("seconds").get_to(settings.seconds);
    json.at("iterations").get_to(settings.iterations);
    json.at("work_factor").get_to(settings.work_factor);
    json.at("quantum_seconds").get_to(settings.quantum_seconds);
    json.at("limit").get_to(settings.limit);
    json.at("idle").get_to(settings.idle);
    json.at("interface").get_to(settings.interface);
    json.at("corrupt").get_to(settings.corrupt);
    return settings;
}

}  // namespace lapwing::overlap
