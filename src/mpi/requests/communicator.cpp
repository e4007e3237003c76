#include "mpi/requests/communicator.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engines/catalogue.hpp"
#include "mpi/job/runtime.hpp"

namespace lapwing {
namespace {

// Communicators are few. Guarded by a mutex of its own, because communicators are freed by calls that are not
// Lapwing's.
std::recursive_mutex mutex;
// Never destroyed, see in_flight.cpp.
auto& groups = *new std::vector<std::unique_ptr<Communicator>>;
auto& orphans = *new std::vector<std::unique_ptr<Communicator>>;  // freed with something in flight
int keyval = MPI_KEYVAL_INVALID;

void free_link(Communicator& group) {
    const int lanes =
        (group.holds_descriptors ? runtime.network.lanes() : 0) + std::popcount(group.lanes_opened);
    runtime.network.give_back_descriptors(group.ranks, lanes);
    if (group.holds_counters) runtime.network.give_back_counters(group.ranks);
    try {
        group.link.free();
    } catch (const MpiError&) {
        // The communicator is gone for the program already: nobody is left to tell.
    }
}

// The group that `is` says, taken out of those that can be found; null when there is none.
template <typename Is>
Communicator* orphan(Is is) {
    const std::lock_guard lock(mutex);
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return is(*group); });
    if (found == groups.end()) return nullptr;
    (*found)->communicator = MPI_COMM_NULL;
    orphans.push_back(std::move(*found));
    groups.erase(found);
    communicators_given_up.fetch_add(1, std::memory_order_release);
    return orphans.back().get();
}

// Called by the MPI when it frees the communicator, whichever call the program used; in MPICH that can be in
// the middle of its progress, where nothing else may be asked of it.
int communicator_freed(MPI_Comm, int, void* value, void*) {
    orphan([&](const Communicator& group) { return &group == value; });
    return MPI_SUCCESS;
}

Communicator* make(MPI_Comm communicator, int* error) {
    int rank = 0;
    int ranks = 0;
    int inter = 0;
    if ((*error = PMPI_Comm_test_inter(communicator, &inter)) != MPI_SUCCESS ||
        (*error = PMPI_Comm_rank(communicator, &rank)) != MPI_SUCCESS ||
        (*error = PMPI_Comm_size(communicator, &ranks)) != MPI_SUCCESS) {
        return nullptr;
    }
    if (keyval == MPI_KEYVAL_INVALID) {
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, communicator_freed, &keyval, nullptr);
    }
    auto group = std::make_unique<Communicator>(communicator, rank, ranks, runtime.options);
    group->intercommunicator = inter != 0;
    *error = PMPI_Comm_set_attr(communicator, keyval, group.get());
    if (*error != MPI_SUCCESS) return nullptr;
    groups.push_back(std::move(group));
    return groups.back().get();
}

}  // namespace

constinit thread_local LastCommunicator last_communicator;
std::atomic<std::uint64_t> communicators_given_up{0};

Communicator* find_communicator_among_all(MPI_Comm communicator, int* error) {
    *error = MPI_SUCCESS;
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group->communicator == communicator; });
    Communicator* const group = found != groups.end() ? found->get() : make(communicator, error);
    last_communicator = {group, communicator, communicators_given_up.load(std::memory_order_relaxed)};
    return group;
}

namespace {

bool may_have_connections(const Communicator& group) {
    if (!runtime.network.runs() || group.ranks < 2 || group.intercommunicator) return false;
    if (group.members.empty()) return false;
    return engine_with_connections(group.options.engine, runtime.locations.on_one_host(group.members)) !=
           nullptr;
}

// Some of its ranks are on one host, on some host: equal on all ranks.
bool has_neighbors(const Communicator& group) {
    if (group.ranks < 2 || group.intercommunicator || group.members.empty()) return false;
    if (runtime.network.node() == nullptr) return false;
    return runtime.locations.on_one_host(group.members) ||
           (group.placement != nullptr && group.placement->hosts() < group.ranks);
}

bool may_have_fabric(const Communicator& group) {
    return runtime.network.fabric() != nullptr && group.ranks > 1 && !group.intercommunicator &&
           !group.members.empty() && !group.all_intra_node;
}

bool may_have_deferred_work(const Communicator& group) {
    return runtime.network.deferred_work() != nullptr &&
           names_engine_that_needs(EngineNeeds::deferred_work, group.options.engine) && group.ranks > 1 &&
           !group.intercommunicator && !group.members.empty();
}

void share_memory(Communicator& group, std::uint64_t number) {
    shm::ShmNode& node = *runtime.network.node();
    std::vector<bool> peers;
    if (!group.all_intra_node) {
        for (const int member : group.members) peers.push_back(node.intra_node(member));
    }
    group.engines.share_memory(node.link(number, group.members), std::move(peers),
                               runtime.network.progress_thread());
}

void connect(Communicator& group, std::uint64_t number) {
    group.connections = runtime.network.connect(number, group.members, group.rank);
    EngineOptions options = runtime.network.engine_options();
    options.kept_lanes = Network::kept_lanes;
    group.engines.connect(*group.connections, options);
}

void make_links(Communicator& group, std::uint64_t number) {
    if (group.wants_fabric) {
        group.engines.use(runtime.network.fabric()->link(number, group.members),
                          runtime.network.progress_thread());
    } else {
        group.engines.use(group.link);
    }
    if (group.wants_memory) share_memory(group, number);
    if (group.wants_connections) connect(group, number);
    if (group.wants_deferred_work) {
        EngineOptions options = runtime.network.engine_options();
        options.trigger_counters = runtime.network.counters_of(group.ranks);
        options.kept_trigger_counters = runtime.network.kept_counters_of(group.ranks);
        group.engines.use(*runtime.network.deferred_work(), options);
    }
    if (runtime.network.card() != nullptr && !group.intercommunicator)
        group.engines.use(*runtime.network.card(), *runtime.network.card_variant());
    group.settled = true;
}

}  // namespace

int begin_links(Communicator& group) {
    if (group.begun) return MPI_SUCCESS;
    free_communicators();
    if (!group.intercommunicator && runtime.locations.known())
        group.members = runtime.network.members(group.communicator, group.ranks);
    if (!group.members.empty()) group.placement = runtime.locations.placement_of(group.members);
    group.wants_memory = has_neighbors(group);
    group.all_intra_node = group.wants_memory && runtime.locations.on_one_host(group.members);
    group.wants_connections = may_have_connections(group);
    group.wants_fabric = may_have_fabric(group);
    group.wants_deferred_work = may_have_deferred_work(group);
    if (group.needs_native_link()) {
        try {
            group.link.begin(group.communicator);
        } catch (const MpiError& error) {
            return error.mpi_code();
        }
    }
    group.begun = true;
    // Where the members' hosts are not known, they are taken to be like the whole job's.
    if (!group.members.empty() && runtime.locations.on_one_host(group.members)) {
        group.options.several_hosts = false;
    }
    if (!group.wants_connections && !group.wants_memory && !group.wants_fabric &&
        !group.wants_deferred_work) {
        make_links(group, 0);
        return MPI_SUCCESS;
    }
    if (group.communicator == MPI_COMM_WORLD) {
        make_links(group, Network::number_of_world);
        return MPI_SUCCESS;
    }
    // In the program's own communicator: this is the same place in the order of its collectives on all ranks.
    if (group.rank == 0) group.claim[0] = runtime.network.draw_number();
    if (group.wants_connections)
        group.holds_descriptors = runtime.network.reserve_descriptors(group.ranks, runtime.network.lanes());
    if (group.wants_deferred_work) group.holds_counters = runtime.network.reserve_counters(group.ranks);
    group.claim[1] = group.holds_descriptors ? 0 : 1;
    group.claim[2] = group.holds_counters ? 0 : 1;
    return PMPI_Iallreduce(group.claim, group.agreed, 3, MPI_UINT64_T, MPI_MAX, group.communicator,
                           &group.agreement);
}

bool settle(Communicator& group) {
    if (group.settled) return true;
    int complete = 0;
    const int error = PMPI_Test(&group.agreement, &complete, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) throw MpiError(error);
    if (!complete) return false;
    group.wants_connections = group.wants_connections && group.agreed[1] == 0;
    group.wants_deferred_work = group.wants_deferred_work && group.agreed[2] == 0;
    make_links(group, group.agreed[0]);
    return true;
}

void free_communicators() {
    std::vector<std::unique_ptr<Communicator>> freed;
    {
        const std::lock_guard lock(mutex);
        if (orphans.empty()) return;
        const auto idle = std::stable_partition(orphans.begin(), orphans.end(),
                                                [](const auto& group) { return group->in_flight > 0; });
        std::move(idle, orphans.end(), std::back_inserter(freed));
        orphans.erase(idle, orphans.end());
    }
    for (const auto& group : freed) free_link(*group);
}

void free_all_communicators(void (*finish)(Communicator&)) {
    for (;;) {
        Communicator* group = nullptr;
        {
            const std::lock_guard lock(mutex);
            if (groups.empty()) break;
            group = groups.back().get();
        }
        // Lists of the kernel engine do not need the duplicate. Open MPI cannot end with one that is half
        // made.
        finish(*group);
        const MPI_Comm communicator = group->communicator;
        // The communicator lives on, but not the group that its attribute names.
        orphan([&](const Communicator& other) { return &other == group; });
        PMPI_Comm_delete_attr(communicator, keyval);
    }
    free_communicators();
}

Communicator* existing_communicator(MPI_Comm communicator) {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group->communicator == communicator; });
    return found == groups.end() ? nullptr : found->get();
}

Communicator* give_up_communicator(MPI_Comm communicator) {
    return orphan([&](const Communicator& group) { return group.communicator == communicator; });
}

}  // namespace lapwing
