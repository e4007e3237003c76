#include "lapwing/topology/places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/json_schema.hpp"
#include "base/nearest_name.hpp"
#include "base/values.hpp"
#include "lapwing/common/tables.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using topology::Location;
using topology::Part;

constexpr std::array<const char*, 6> part_names = {"thread", "core", "cache", "node", "package", "machine"};

// The number of a part, where the rank is bound to it or to something inside; else null.
Json known(const Location& location, Part part, int number) {
    return number < 0 || location.bound_to > part ? Json() : Json(number);
}
std::string number_of(const Location& location, Part part, int number) {
    const Json found = known(location, part, number);
    return found.is_null() ? "-" : found.dump();
}

std::string print_link(const std::string& link) {
    if (link == "mpi") return "messages of the MPI";
    if (link == "tcp") return "TCP connections";
    if (link == "shm") return "shared memory";
    return link;
}

}  // namespace

JobPlaces::JobPlaces(const nlohmann::json& told, const topology::HostOrder& order)
    : engine(told.at("engine").get<std::string>()),
      link_inside_host(told.at("link_inside_host").get<std::string>()),
      link_between_hosts(told.at("link_between_hosts").get<std::string>()),
      network(told.at("network").get<std::string>()) {
    std::vector<topology::RankLocation> cards;
    for (const nlohmann::json& one : told.at("ranks")) {
        Rank rank;
        rank.host = one.at("name").get<std::string>();
        rank.processors = one.at("processors").get<std::vector<int>>();
        const auto number = [&](const char* field) { return one.at(field).get<int>(); };
        rank.location = {number("processor"),
                         number("package"),
                         number("node"),
                         number("cache"),
                         number("core"),
                         number("thread"),
                         static_cast<Part>(number("bound_to"))};
        cards.push_back(topology::rank_location(one.at("host").get<std::uint64_t>(), order.find(rank.host),
                                                rank.location));
        ranks.push_back(std::move(rank));
    }
    for (const int rank : topology::order_of(cards)) {
        const auto host_of = [&](int other) { return cards[static_cast<std::size_t>(other)].host; };
        if (hosts.empty() || host_of(hosts.back().front()) != host_of(rank)) hosts.emplace_back();
        hosts.back().push_back(rank);
    }
}

std::vector<std::string> JobPlaces::not_in(const topology::HostOrder& order) const {
    std::vector<std::string> names;
    for (const std::vector<int>& host : hosts) {
        const std::string& name = host_name(host);
        if (order.find(name) < 0 && std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    }
    return names;
}

std::string draw_job(const JobPlaces& places, const topology::HostOrder& order, const std::string& source) {
    std::string text =
        fmt::format("{} on {}", counted(places.ranks.size(), "rank"), counted(places.hosts.size(), "host"));
    text += places.engine.empty() ? "; all collectives are left to the MPI\n"
                                  : fmt::format("; engine {}\n", places.engine);
    if (!places.engine.empty()) {
        const bool some_share = places.hosts.size() < places.ranks.size();
        if (some_share) text += fmt::format("inside a host: {}\n", print_link(places.link_inside_host));
        if (places.hosts.size() > 1)
            text += fmt::format("between hosts: {}\n", places.network.starts_with(places.link_between_hosts)
                                                           ? places.network
                                                           : print_link(places.link_between_hosts));
    }
    text += fmt::format("order of hosts: {}\n\n",
                        source.empty() ? "by their first ranks" : fmt::format("by {}", source));

    std::vector<std::vector<std::string>> rows = {
        {"host", "rank", "", "package", "node", "cache", "core", "thread", "processors"}};
    for (const std::vector<int>& host : places.hosts) {
        for (const int number : host) {
            const JobPlaces::Rank& rank = places.ranks[static_cast<std::size_t>(number)];
            const Location& at = rank.location;
            const bool first = number == host.front();
            rows.push_back({first ? rank.host : "", fmt::format("{}", number), first ? "leader" : "",
                            number_of(at, Part::package, at.package), number_of(at, Part::node, at.node),
                            number_of(at, Part::cache, at.cache), number_of(at, Part::core, at.core),
                            number_of(at, Part::thread, at.thread),
                            fmt::format("{}{}", at.bound_to == Part::machine ? "any of " : "",
                                        print_processors(rank.processors))});
        }
    }
    text += align(rows);
    if (!source.empty()) {
        for (const std::string& name : places.not_in(order)) {
            const std::string nearest = nearest_name(name, order.hosts());
            text +=
                fmt::format("\n{} is not in {}, and comes last{}", name, source,
                            nearest.empty() ? "" : fmt::format("; is it the same host as '{}'?", nearest));
        }
        if (!places.not_in(order).empty()) text += "\n";
    }
    return text;
}

Json job_as_json(const JobPlaces& places, const topology::HostOrder& order) {
    Json ranks = Json::array();
    for (const JobPlaces::Rank& rank : places.ranks) {
        const Location& at = rank.location;
        ranks.push_back({{"host", rank.host},
                         {"processors", rank.processors},
                         {"bound_to", part_names.at(static_cast<std::size_t>(at.bound_to))},
                         {"package", known(at, Part::package, at.package)},
                         {"node", known(at, Part::node, at.node)},
                         {"cache", known(at, Part::cache, at.cache)},
                         {"core", known(at, Part::core, at.core)},
                         {"thread", known(at, Part::thread, at.thread)}});
    }
    Json hosts = Json::array();
    for (const std::vector<int>& host : places.hosts)
        hosts.push_back({{"name", places.host_name(host)}, {"leader", host.front()}, {"ranks", host}});
    return {
        {"schema", json_schema},
        {"engine", places.engine.empty() ? "mpi" : places.engine},
        {"link_inside_host", places.link_inside_host},
        {"link_between_hosts", places.link_between_hosts},
        {"network", places.network},
        {"hosts", hosts},
        {"hosts_not_in_the_file", order.hosts().empty() ? std::vector<std::string>{} : places.not_in(order)},
        {"ranks", ranks}};
}

}  // namespace lapwing::tool
