#include "mpi/profile/definitions.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/fact_file.hpp"
#include "base/trace.hpp"
#include "mpi/job/metadata.hpp"
#include "mpi/native/call_site.hpp"
#include "mpi/native/members.hpp"

namespace lapwing::profile {
namespace {

using Json = nlohmann::ordered_json;

// Lists of counts with all their values, and those with their sums alone. What comes after that has none.
constexpr std::size_t max_bytes_of_counts = 6U << 20;
constexpr std::size_t max_bytes_of_sums = 8U << 20;

struct HashOfPlace {
    std::size_t operator()(const std::pair<const void*, const char*>& place) const {
        return std::hash<const void*>()(place.first) * 31 + std::hash<const void*>()(place.second);
    }
};

// Never destroyed: a thread may still be in a call when the program exits.
struct State {
    std::mutex mutex;
    int keyval = MPI_KEYVAL_INVALID;
    std::uint32_t communicators = 0;
    std::map<std::pair<std::vector<int>, std::vector<int>>, std::uint32_t> same_members;
    std::unordered_map<std::pair<const void*, const char*>, std::uint32_t, HashOfPlace> direct_sites;
    std::map<std::pair<const void*, std::string_view>, std::uint32_t> sites;
    std::vector<std::pair<MPI_Datatype, std::uint32_t>> types;
    std::vector<std::pair<MPI_Op, std::uint32_t>> operations;
    std::map<std::vector<std::uint64_t>, std::uint32_t> counts;
    std::size_t bytes_of_counts = 0;
    FactFile recorded_facts;
    bool records = false;
};
State& state = *new State;

int forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<std::shared_ptr<Communicator>*>(value);
    return MPI_SUCCESS;
}

void add_neighbors(MPI_Comm communicator, const std::vector<int>& members, CallPeers& peers, Json& fact) {
    TopologyNeighbors neighbors;
    int topology = MPI_UNDEFINED;
    PMPI_Topo_test(communicator, &topology);
    if (topology == MPI_UNDEFINED || find_neighbors(communicator, neighbors) != MPI_SUCCESS) return;
    peers.sources = static_cast<int>(neighbors.sources.size());
    peers.destinations = static_cast<int>(neighbors.destinations.size());
    const auto in_world = [&](std::vector<int> ranks) {
        for (int& rank : ranks) rank = rank < 0 ? -1 : members[static_cast<std::size_t>(rank)];
        return ranks;
    };
    fact["sources"] = in_world(neighbors.sources);
    fact["destinations"] = in_world(neighbors.destinations);
}

template <typename Handle>
const std::uint32_t* find_number(const std::vector<std::pair<Handle, std::uint32_t>>& table, Handle handle) {
    const auto found = std::ranges::find(table, handle, &std::pair<Handle, std::uint32_t>::first);
    return found == table.end() ? nullptr : &found->second;
}

}  // namespace

std::mutex& shared_lock() {
    return state.mutex;
}

void begin_definitions() {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &state.keyval, nullptr);
}

void create_recorded_facts(const std::string& path) {
    if (const int error = state.recorded_facts.create(path); error != 0)
        throw_system("cannot write the recording to " + path, error);
    state.records = true;
}

std::string error_of_recorded_facts() {
    return state.recorded_facts.error();
}

void write_fact(const Json& fact) {
    if (trace::on()) add_metadata(fact);
    if (state.records) state.recorded_facts.add(fact.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::uint32_t site_of(const CallSite& site) {
    const auto& [function, called_from] = site;
    // Calls by Fortran's functions have one address for all callers.
    const auto direct = state.direct_sites.find({called_from, function});
    if (direct != state.direct_sites.end()) return direct->second;
    const void* const from = call_site_in_program(called_from);
    const auto [found, added] = state.sites.try_emplace({from, function}, state.sites.size() + 1);
    if (from == called_from) state.direct_sites[{from, function}] = found->second;
    if (!added) return found->second;
    Dl_info where{};
    void* loaded = nullptr;
    Json fact = {{"fact", "site"}, {"number", found->second}, {"function", function}};
    // Before the return address, which may be of the next line.
    const auto* call = static_cast<const char*>(from) - 1;
    if (dladdr1(call, &where, &loaded, RTLD_DL_LINKMAP) != 0) {
        const std::string_view name = static_cast<const link_map*>(loaded)->l_name;
        char path[4096] = "";
        if (name.empty()) {
            const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
            if (length > 0) path[length] = '\0';
        } else if (realpath(where.dli_fname, path) == nullptr) {
            path[0] = '\0';
        }
        fact["module"] = path;
        fact["offset"] =
            reinterpret_cast<std::uintptr_t>(call) - static_cast<const link_map*>(loaded)->l_addr;
        if (where.dli_sname != nullptr) fact["symbol"] = where.dli_sname;
    }
    write_fact(fact);
    return found->second;
}

std::shared_ptr<Communicator> find(MPI_Comm communicator) {
    void* known = nullptr;
    int there = 0;
    PMPI_Comm_get_attr(communicator, state.keyval, &known, &there);
    if (there != 0) return *static_cast<std::shared_ptr<Communicator>*>(known);
    auto made = std::make_shared<Communicator>();
    made->number = ++state.communicators;
    PMPI_Comm_set_attr(communicator, state.keyval, new std::shared_ptr<Communicator>(made));
    CallPeers& peers = made->peers;
    int inter = 0;
    PMPI_Comm_rank(communicator, &peers.rank);
    PMPI_Comm_test_inter(communicator, &inter);
    peers.intercommunicator = inter != 0;
    const std::vector<int> members = members_in_world(communicator);
    const std::vector<int> remote = inter != 0 ? remote_members_in_world(communicator) : std::vector<int>();
    peers.ranks = static_cast<int>(inter != 0 ? remote.size() : members.size());
    // Where several have the same ranks they are told apart by the order in which they are made.
    Json fact = {
        {"fact", "group"},    {"number", made->number},  {"agreed", ++state.same_members[{members, remote}]},
        {"rank", peers.rank}, {"ranks", members.size()}, {"inter", inter != 0},
        {"members", members}, {"remote", remote}};
    add_neighbors(communicator, members, peers, fact);
    write_fact(fact);
    return made;
}

std::uint32_t type_number(MPI_Datatype type) {
    const std::lock_guard lock(state.mutex);
    if (const std::uint32_t* known = find_number(state.types, type)) return *known;
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_DUP;
    if (type == MPI_DATATYPE_NULL ||
        PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        combiner != MPI_COMBINER_NAMED) {
        return 0;
    }
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    int bytes = 0;
    PMPI_Type_get_name(type, name, &length);
    PMPI_Type_size(type, &bytes);
    const auto number = static_cast<std::uint32_t>(state.types.size() + 1);
    state.types.emplace_back(type, number);
    write_fact({{"fact", "type"}, {"number", number}, {"name", name}, {"bytes", bytes}});
    return number;
}

std::uint32_t operation_number(MPI_Op operation) {
    static const std::pair<MPI_Op, const char*> predefined[] = {
#define LAPWING_OPERATOR(mpi, own) {mpi, #mpi},
#include "mpi/native/operators.def"
    };
    const std::lock_guard lock(state.mutex);
    if (const std::uint32_t* known = find_number(state.operations, operation)) return *known;
    const auto* const found =
        std::ranges::find(predefined, operation, &std::pair<MPI_Op, const char*>::first);
    if (found == std::end(predefined)) return 0;
    const auto number = static_cast<std::uint32_t>(state.operations.size() + 1);
    state.operations.emplace_back(operation, number);
    write_fact({{"fact", "operation"}, {"number", number}, {"name", found->second}});
    return number;
}

std::uint32_t counts_number(const std::vector<std::uint64_t>& counts) {
    if (counts.empty()) return 0;
    const std::lock_guard lock(state.mutex);
    const auto known = state.counts.find(counts);
    if (known != state.counts.end()) return known->second;
    const auto number = static_cast<std::uint32_t>(state.counts.size() + 1);
    Json fact = {{"fact", "counts"},
                 {"number", number},
                 {"sum", std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})}};
    const std::size_t bytes = counts.size() * sizeof counts[0];
    if (state.bytes_of_counts + bytes <= max_bytes_of_counts)
        fact["all"] = counts;
    else if (state.bytes_of_counts > max_bytes_of_sums)
        return 0;
    state.bytes_of_counts += fact.contains("all") ? bytes : 128;
    state.counts.emplace(counts, number);
    write_fact(fact);
    return number;
}

}  // namespace lapwing::profile
