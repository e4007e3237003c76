// Where the ranks of a job run, as reported by the MPI program of `lapwing topology`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topology/host_order.hpp"
#include "topology/location.hpp"
#include "topology/order.hpp"

namespace lapwing::tool {

struct JobPlaces {
    struct Rank {
        std::string host;             // its name
        std::vector<int> processors;  // that it may run on
        topology::Location location;
    };
    std::string engine;  // of MPI_COMM_WORLD; empty: every call is left to the MPI
    std::string link_inside_host;
    std::string link_between_hosts;
    std::string network;  // that joins hosts, with device and transport; empty: all ranks are on one
    std::vector<Rank> ranks;
    // All ranks as lists go through them, by host; the first of each host is its leader.
    std::vector<std::vector<int>> hosts;

    // `told` is the program's result. Throws nlohmann's exceptions for one of another form.
    JobPlaces(const nlohmann::json& told, const topology::HostOrder& order);
    const std::string& host_name(const std::vector<int>& host) const {
        return ranks[static_cast<std::size_t>(host.front())].host;
    }
    // The names of hosts that the order does not have, each once.
    std::vector<std::string> not_in(const topology::HostOrder& order) const;
};

// `source`: where the order of hosts comes from.
std::string draw_job(const JobPlaces& places, const topology::HostOrder& order, const std::string& source);
nlohmann::ordered_json job_as_json(const JobPlaces& places, const topology::HostOrder& order);

}  // namespace lapwing::tool
