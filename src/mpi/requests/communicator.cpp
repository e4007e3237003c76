#include "mpi/requests/communicator.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {
namespace {

// Communicators are few. Guarded by a mutex of its own, because communicators are freed by calls that are not
// Lapwing's.
std::recursive_mutex mutex;
// Never destroyed, as the request table.
auto& groups = *new std::vector<std::unique_ptr<Communicator>>;
auto& orphans = *new std::vector<std::unique_ptr<Communicator>>;  // freed with something in flight
int keyval = MPI_KEYVAL_INVALID;

void free_link(Communicator& group) {
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

// The ranks of a communicator in MPI_COMM_WORLD; empty if they are unknown or one of them is not in it.
std::vector<int> members_of(const Communicator& communicator) {
    if (communicator.intercommunicator || !runtime.locations.known()) return {};
    return members_within_world(communicator.communicator);
}

}  // namespace

int make_group(Communicator& communicator) {
    free_communicators();
    std::vector<int> members = members_of(communicator);
    JobGroup& group = communicator.group.emplace(
        *runtime.network, communicator.rank, std::move(members), communicator.options,
        communicator.communicator == MPI_COMM_WORLD && runtime.locations.known());
    if (group.needs_link()) {
        try {
            communicator.link.begin(communicator.communicator);
        } catch (const MpiError& error) {
            communicator.group.reset();
            return error.mpi_code();
        }
    }
    {
        // Threads may make groups of several communicators at once, which share the job's engines.
        const Entry entry;
        communicator.claim = group.claim();
        if (communicator.claim.empty()) {
            group.open({}, &communicator.link);
            return MPI_SUCCESS;
        }
    }
    communicator.agreed.resize(communicator.claim.size());
    // In the program's own communicator: this is the same place in the order of its collectives on all ranks.
    return PMPI_Iallreduce(communicator.claim.data(), communicator.agreed.data(),
                           static_cast<int>(communicator.claim.size()), MPI_UINT64_T, MPI_MAX,
                           communicator.communicator, &communicator.agreement);
}

bool open_agreed_group(Communicator& communicator) {
    int complete = 0;
    const int error = PMPI_Test(&communicator.agreement, &complete, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) throw MpiError(error);
    if (complete) communicator.group->open(communicator.agreed, &communicator.link);
    return complete != 0;
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
    // Their lists and connections give back what they share with those of other communicators.
    const Entry entry;
    freed.clear();
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
