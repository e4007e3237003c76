// MPI_Comm_set_info and MPI_Comm_get_info with Lapwing's keys.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.hpp"
#include "collectives/user_lists.hpp"
#include "engines/catalogue.hpp"
#include "mpi/calls/exported.hpp"
#include "mpi/calls/hints.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

constexpr const char* engine_key = "lapwing_engine";
constexpr const char* algorithm_key = "lapwing_algorithm";
constexpr const char* engine_used_key = "lapwing_engine_used";
// What joins two ranks of one host, and two of different hosts: shm, mpi, tcp.
constexpr const char* link_inside_host_key = "lapwing_link_inside_host";
constexpr const char* link_between_hosts_key = "lapwing_link_between_hosts";
// The network that joins the job's hosts, for people: "ucx (UCX 1.13.1, tcp on eth0)".
constexpr const char* network_key = "lapwing_network";
constexpr const char* messages_key = "lapwing_messages";

std::string value_of(MPI_Info info, const char* key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    return found ? value : "";
}

// Collective, if the algorithms include lists of a file: returns whether the files are the same on all ranks.
bool same_files(MPI_Comm communicator, const RequestedAlgorithms& requested) {
    std::uint64_t fingerprint = 0;
    bool has_files = false;
    for (const Choice& choice : requested.all()) {
        const UserLists* lists = choice.algorithm->lists;
        has_files = has_files || lists != nullptr;
        fingerprint = fingerprint * 0x9e3779b97f4a7c15U + (lists != nullptr ? lists->fingerprint() : 0);
    }
    if (!has_files) return true;
    std::uint64_t extremes[] = {fingerprint, ~fingerprint};
    PMPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_UINT64_T, MPI_MAX, communicator);
    return extremes[0] == ~extremes[1];
}

void apply(MPI_Comm communicator, MPI_Info info) {
    if (info == MPI_INFO_NULL || communicator == MPI_COMM_NULL || !takes_calls()) return;
    const std::string engine = value_of(info, engine_key);
    const std::string algorithm = value_of(info, algorithm_key);
    if (engine.empty() && algorithm.empty()) return;
    int error = MPI_SUCCESS;
    Communicator* group = find_communicator(communicator, &error);
    if (group == nullptr) return;
    if (group->begun()) {
        // Once there are links it is too late for another engine; a hint may be passed over.
        const bool unused = group->next_channel == 0 && group->next_persistent_channel == 0;
        if (runtime.mode.lists_call_mpi || !unused) return;
        unmake_group(*group);
    }
    if (!engine.empty()) {
        if (engine != "auto" && engine != "mpi") find_engine(engine);
        group->options.engine = engine;
        group->left_to_mpi = engine == "mpi" ? std::optional(Fallback::engine_mpi) : std::nullopt;
    }
    if (algorithm.empty()) return;
    RequestedAlgorithms requested = RequestedAlgorithms::parse(algorithm);
    if (same_files(communicator, requested)) {
        group->options.requested = std::move(requested);
    } else {
        runtime.job->warn_once(
            fmt::format("{} '{}': the files are not the same on all ranks; the hint is ignored",
                        algorithm_key, algorithm));
    }
}

}  // namespace

int apply_hints(MPI_Comm communicator, MPI_Info info) {
    return guarded([&]() -> int {
        apply(communicator, info);
        return agree_early(communicator);
    });
}

}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Comm_set_info(MPI_Comm communicator, MPI_Info info) {
    const InMpi in_mpi(__builtin_return_address(0));
    const int error = NEXT_Comm_set_info(communicator, info);
    return error == MPI_SUCCESS ? apply_hints(communicator, info) : error;
}

LAPWING_MPI MPI_Comm_get_info(MPI_Comm communicator, MPI_Info* info) {
    const InMpi in_mpi(__builtin_return_address(0));
    int error = NEXT_Comm_get_info(communicator, info);
    if (error != MPI_SUCCESS || !takes_calls()) return error;
    return guarded([&]() -> int {
        const Communicator* group = find_communicator(communicator, &error);
        if (group == nullptr) return MPI_SUCCESS;
        const auto set = [info](const char* key, const std::string& value) {
            PMPI_Info_set(*info, key, value.substr(0, MPI_MAX_INFO_VAL - 1).c_str());
        };
        set(engine_key, group->options.engine);
        set(messages_key, runtime.mode.why_no_messages.empty() ? "on" : runtime.mode.why_no_messages);
        if (group->engine_used != nullptr) {
            const JobGroup& links = *group->group;
            const char* const own_network = group->engine_used->network();
            const bool connected = *own_network != '\0';
            set(engine_used_key, group->engine_used->name());
            // An engine with a network of its own uses memory only for what LAPWING_INSIDE leaves to memory.
            const bool shares = links.shares_memory() && (!connected || !links.all_share_memory());
            const std::string between = connected           ? own_network
                                        : links.by_fabric() ? runtime.network->fabric()->name()
                                                            : "mpi";
            set(link_inside_host_key, !shares ? between : connected ? "shm, " + between : "shm");
            set(link_between_hosts_key, between);
            const std::string network = runtime.network->description();
            if (!network.empty()) set(network_key, network);
        }
        return MPI_SUCCESS;
    });
}
