#include "mpi/profile/definitions.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "mpi/job/metadata.hpp"
#include "mpi/native/call_site.hpp"
#include "mpi/native/members.hpp"

namespace lapwing::profile {
namespace {

using Json = nlohmann::ordered_json;

// Never destroyed: a thread may still be in a call when the program exits.
struct State {
    std::mutex mutex;
    int keyval = MPI_KEYVAL_INVALID;
    std::uint32_t communicators = 0;
    std::map<std::pair<std::vector<int>, std::vector<int>>, std::uint32_t> same_members;
    std::map<std::pair<const void*, const char*>, std::uint32_t> sites;
};
State& state = *new State;

int forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<std::shared_ptr<Communicator>*>(value);
    return MPI_SUCCESS;
}

void add_neighbors(MPI_Comm communicator, const std::vector<int>& members, CallPeers& peers, Json& fact) {
    TopologyNeighbors neighbors;
    if (find_neighbors(communicator, neighbors) != MPI_SUCCESS) return;
    peers.sources = static_cast<int>(neighbors.sources.size());
    peers.destinations = static_cast<int>(neighbors.destinations.size());
    const auto in_world = [&](std::vector<int> ranks) {
        for (int& rank : ranks) rank = rank < 0 ? -1 : members[static_cast<std::size_t>(rank)];
        return ranks;
    };
    fact["sources"] = in_world(neighbors.sources);
    fact["destinations"] = in_world(neighbors.destinations);
}

}  // namespace

std::mutex& shared_lock() {
    return state.mutex;
}

void begin_definitions() {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &state.keyval, nullptr);
}

std::uint32_t site_of(const CallSite& site) {
    const auto& [function, called_from] = site;
    // Calls by Fortran's functions have one address for all callers, which is never a key.
    const auto direct = state.sites.find({called_from, function});
    if (direct != state.sites.end()) return direct->second;
    const void* const from = call_site_in_program(called_from);
    const auto [found, added] = state.sites.try_emplace({from, function}, state.sites.size() + 1);
    if (!added) return found->second;
    Dl_info where{};
    void* loaded = nullptr;
    Json fact = {{"fact", "site"}, {"number", found->second}, {"function", function}};
    // Before the return address, which may be of the next line.
    const auto* call = static_cast<const char*>(from) - 1;
    if (dladdr1(call, &where, &loaded, RTLD_DL_LINKMAP) != 0) {
        const auto* const file = static_cast<const link_map*>(loaded);
        const char* const path = *file->l_name == '\0' ? "/proc/self/exe" : where.dli_fname;
        std::error_code none;
        fact["module"] = std::filesystem::canonical(path, none).string();
        fact["offset"] = reinterpret_cast<std::uintptr_t>(call) - file->l_addr;
        if (where.dli_sname != nullptr) fact["symbol"] = where.dli_sname;
    }
    add_metadata(fact);
    return found->second;
}

std::shared_ptr<Communicator> find(MPI_Comm communicator) {
    // Of a wrong communicator the MPI calls the program's error handler, which may make profiled calls.
    int inter = 0;
    if (PMPI_Comm_test_inter(communicator, &inter) != MPI_SUCCESS) return std::make_shared<Communicator>();
    const std::lock_guard lock(state.mutex);
    void* known = nullptr;
    int there = 0;
    PMPI_Comm_get_attr(communicator, state.keyval, &known, &there);
    if (there != 0) return *static_cast<std::shared_ptr<Communicator>*>(known);
    auto made = std::make_shared<Communicator>();
    made->number = ++state.communicators;
    PMPI_Comm_set_attr(communicator, state.keyval, new std::shared_ptr<Communicator>(made));
    CallPeers& peers = made->peers;
    peers.rank = rank_in(communicator);
    peers.intercommunicator = inter != 0;
    const std::vector<int> members = members_in_world(communicator);
    const std::vector<int> remote = inter != 0 ? remote_members_in_world(communicator) : std::vector<int>();
    peers.ranks = static_cast<int>(inter != 0 ? remote.size() : members.size());
    // Where several have the same ranks they are told apart by the order in which they are made.
    Json fact = {
        {"fact", "group"},    {"number", made->number},  {"agreed", ++state.same_members[{members, remote}]},
        {"rank", peers.rank}, {"ranks", members.size()}, {"members", members},
        {"remote", remote}};
    add_neighbors(communicator, members, peers, fact);
    add_metadata(fact);
    return made;
}

}  // namespace lapwing::profile
