#include "mpi/group.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/runtime.hpp"

namespace lapwing {
namespace {

// Communicators are few; the one that was used last is looked at first. Guarded by a mutex of its own, because
// communicators are freed by calls that are not Lapwing's.
std::recursive_mutex mutex;
std::vector<std::unique_ptr<Group>> groups;
std::vector<std::unique_ptr<Group>> orphans;  // freed with something in flight
Group* last = nullptr;
int keyval = MPI_KEYVAL_INVALID;

void free_link(Group& group) {
    try {
        group.link.free();
    } catch (const MpiError&) {
        // The communicator is gone for the program already: nobody is left to tell.
    }
}

// Called by the MPI when the program frees the communicator, by whichever call.
int communicator_freed(MPI_Comm, int, void* value, void*) {
    std::unique_ptr<Group> freed;
    {
        const std::lock_guard lock(mutex);
        const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.get() == value; });
        if (found == groups.end()) return MPI_SUCCESS;
        freed = std::move(*found);
        groups.erase(found);
        last = nullptr;
        if (freed->in_flight > 0 || (freed->begun && !freed->link.ready())) {
            orphans.push_back(std::move(freed));
            return MPI_SUCCESS;
        }
    }
    free_link(*freed);
    return MPI_SUCCESS;
}

Group* make(MPI_Comm communicator, int* error) {
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
    auto group = std::make_unique<Group>(communicator, rank, ranks, runtime.options);
    group->intercommunicator = inter != 0;
    *error = PMPI_Comm_set_attr(communicator, keyval, group.get());
    if (*error != MPI_SUCCESS) return nullptr;
    groups.push_back(std::move(group));
    return groups.back().get();
}

}  // namespace

Group* find_group(MPI_Comm communicator, int* error) {
    *error = MPI_SUCCESS;
    std::unique_lock lock(mutex, std::defer_lock);
    if (runtime.threads) lock.lock();
    if (last != nullptr && last->communicator == communicator) return last;
    for (const auto& group : groups) {
        if (group->communicator == communicator) return last = group.get();
    }
    return last = make(communicator, error);
}

int begin_link(Group& group) {
    if (group.begun) return MPI_SUCCESS;
    free_groups(false);
    try {
        group.link.begin(group.communicator);
    } catch (const MpiError& error) {
        return error.mpi_code();
    }
    group.begun = true;
    return MPI_SUCCESS;
}

void free_groups(bool all) {
    std::vector<std::unique_ptr<Group>> freed;
    {
        const std::lock_guard lock(mutex);
        if (!all && orphans.empty()) return;
        const auto idle = std::stable_partition(orphans.begin(), orphans.end(), [](const auto& group) {
            return group->in_flight > 0 || !group->link.ready();
        });
        std::move(idle, orphans.end(), std::back_inserter(freed));
        orphans.erase(idle, orphans.end());
        if (all) {
            std::move(groups.begin(), groups.end(), std::back_inserter(freed));
            groups.clear();
            last = nullptr;
        }
    }
    for (const auto& group : freed) {
        if (group->in_flight == 0) free_link(*group);
        // The communicator lives on, but not the group that its attribute names.
        if (all) PMPI_Comm_delete_attr(group->communicator, keyval);
    }
}

}  // namespace lapwing
