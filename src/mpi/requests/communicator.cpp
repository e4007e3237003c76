#include "mpi/requests/communicator.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "links/mpi/mpi_error.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/members.hpp"

namespace lapwing {
namespace {

// The mutex guards both containers. A thread that holds it may call the MPI: the MPI's callback must not take
// it, because other threads may be inside the MPI's own locks there.
std::mutex mutex;
// Never destroyed, as the request table.
auto& groups = *new std::unordered_map<MPI_Comm, std::unique_ptr<Communicator>>;
auto& ended = *new std::vector<std::unique_ptr<Communicator>>;  // whose end may wait for what is in flight
std::atomic<Communicator*> newly_freed{nullptr};                // by the MPI; the first of a list
std::atomic<bool> any_freed{false};
MessageSlots slots;  // inside Entry
int keyval = MPI_KEYVAL_INVALID;

// Called by the MPI when it frees the communicator, whichever call the program used; in MPICH that can be in
// the middle of its progress, where nothing else may be asked of it.
int communicator_freed(MPI_Comm, int, void* value, void*) {
    auto& group = *static_cast<Communicator*>(value);
    give_up(group);
    group.next_freed = newly_freed.load(std::memory_order_relaxed);
    while (!newly_freed.compare_exchange_weak(group.next_freed, &group, std::memory_order_release)) {
    }
    any_freed.store(true, std::memory_order_release);
    return MPI_SUCCESS;
}

Communicator* make(MPI_Comm communicator, int* error) {
    int rank = 0;
    int ranks = 0;
    int inter = 0;
    std::vector<int> members;
    if (const watch::CommunicatorRecord* const record = record_of(communicator)) {
        members = *record->members();
        rank = record->rank();
        ranks = static_cast<int>(members.size());
    } else {
        if ((*error = PMPI_Comm_test_inter(communicator, &inter)) != MPI_SUCCESS ||
            (*error = PMPI_Comm_rank(communicator, &rank)) != MPI_SUCCESS ||
            (*error = PMPI_Comm_size(communicator, &ranks)) != MPI_SUCCESS) {
            return nullptr;
        }
        if (inter == 0) members = members_within_world(communicator);
    }
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, communicator_freed, &keyval, nullptr);
    auto group = std::make_unique<Communicator>(communicator, rank, ranks, runtime.options);
    group->intercommunicator = inter != 0;
    group->members = std::move(members);
    group->in_world = !group->members.empty();
    *error = PMPI_Comm_set_attr(communicator, keyval, group.get());
    if (*error != MPI_SUCCESS) return nullptr;
    std::unique_ptr<Communicator>& place = groups[communicator];
    // The program's former communicator of this handle.
    if (place != nullptr) ended.push_back(std::move(place));
    place = std::move(group);
    return place.get();
}

// Null if there is none. Inside the mutex.
Communicator* find(MPI_Comm communicator) {
    const auto found = groups.find(communicator);
    const bool is_known = found != groups.end() && !found->second->given_up.load(std::memory_order_acquire);
    return is_known ? found->second.get() : nullptr;
}

// Inside Entry.
void open(Communicator& communicator) {
    JobGroup& group = *communicator.group;
    if (group.needs_link()) {
        const auto ranks = static_cast<std::size_t>(communicator.ranks);
        std::vector<std::uint32_t> of_ranks(ranks, slot_of_all);
        if (communicator.slot != slot_of_all) {
            const std::vector<std::uint64_t> of_all = std::exchange(communicator.agreed, {});
            const std::size_t words = communicator.claim.size();
            communicator.agreed.resize(words - 1);
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const std::uint64_t* const claim = &of_all[rank * words];
                for (std::size_t i = 0; i + 1 < words; ++i)
                    communicator.agreed[i] = std::max(communicator.agreed[i], claim[i]);
                of_ranks[rank] = static_cast<std::uint32_t>(claim[words - 1]);
            }
        }
        communicator.link.emplace(runtime.job->communicator(), group.members(), std::move(of_ranks),
                                  communicator.rank);
    }
    group.open(communicator.agreed, communicator.link ? &*communicator.link : nullptr);
}

}  // namespace

Communicator::~Communicator() {
    if (slot != slot_of_all) lapwing::slots.release(slot);
}

Communicator* find_or_make(MPI_Comm communicator, int* error) {
    const std::lock_guard lock(mutex);
    Communicator* group = find(communicator);
    if (group == nullptr) group = make(communicator, error);
    return known_communicator(communicator).kept = group;
}

int make_group(Communicator& communicator) {
    free_communicators();
    const bool of_all = communicator.communicator == MPI_COMM_WORLD;
    const watch::CommunicatorRecord* const record = record_of(communicator.communicator);
    // Above all numbers that the job draws.
    const std::uint64_t known =
        record != nullptr && record->has_id_everywhere() ? record->id()[0] | std::uint64_t{1} << 63 : 0;
    JobGroup& group =
        communicator.group.emplace(*runtime.network, communicator.rank, std::move(communicator.members),
                                   communicator.options, of_all ? JobNetwork::number_of_all : known);
    const bool exchanges_slots = group.needs_link() && !of_all && communicator.ranks > 1;
    {
        // Threads may make groups of several communicators at once, which share the job's engines.
        const Entry entry;
        communicator.claim = group.claim();
        if (exchanges_slots) {
            communicator.slot = lapwing::slots.take();
            communicator.claim.push_back(communicator.slot);
        } else if (communicator.claim.empty()) {
            open(communicator);
            return MPI_SUCCESS;
        }
    }
    // In the program's own communicator: this is the same place in the order of its collectives on all ranks.
    const std::size_t words = communicator.claim.size();
    const auto count = static_cast<int>(words);
    communicator.agreed.resize(words * (exchanges_slots ? static_cast<std::size_t>(communicator.ranks) : 1));
    std::uint64_t* const agreed = communicator.agreed.data();
    return exchanges_slots ? PMPI_Iallgather(communicator.claim.data(), count, MPI_UINT64_T, agreed, count,
                                             MPI_UINT64_T, communicator.communicator, &communicator.agreement)
                           : PMPI_Iallreduce(communicator.claim.data(), agreed, count, MPI_UINT64_T, MPI_MAX,
                                             communicator.communicator, &communicator.agreement);
}

bool open_agreed_group(Communicator& communicator) {
    int complete = 0;
    const int error = PMPI_Test(&communicator.agreement, &complete, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) throw MpiError(error);
    if (complete) open(communicator);
    return complete != 0;
}

void unmake_group(Communicator& communicator) {
    const Entry entry;
    communicator.members = communicator.group->members();
    communicator.group.reset();
}

void give_up(Communicator& communicator) {
    communicator.given_up.store(true, std::memory_order_release);
    communicator_changes.fetch_add(1, std::memory_order_release);
}

void free_communicators() {
    if (!any_freed.exchange(false, std::memory_order_acq_rel)) return;
    // What is in flight changes inside Entry only. Lists and connections return there what they share with
    // those of other communicators. A thread inside Entry must not wait for the mutex, whose owner may wait
    // for a lock of the MPI.
    const Entry entry;
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock) {
        any_freed.store(true, std::memory_order_release);
        return;
    }
    for (Communicator* freed = newly_freed.exchange(nullptr, std::memory_order_acquire); freed != nullptr;
         freed = freed->next_freed) {
        freed->freed_by_mpi = true;
        const auto found = groups.find(freed->communicator);
        if (found == groups.end() || found->second.get() != freed) continue;
        ended.push_back(std::move(found->second));
        groups.erase(found);
    }
    std::erase_if(ended, [](const auto& group) {
        // Another thread may make the group of one that is in use.
        if (!group->freed_by_mpi) return false;
        const bool agrees = group->begun() && !group->is_open();  // the MPI still writes there
        return group->in_flight == 0 && !agrees;
    });
    if (!ended.empty()) any_freed.store(true, std::memory_order_release);
}

void free_all_communicators(const std::function<void(Communicator&)>& finish) {
    std::vector<Communicator*> left;
    {
        const std::lock_guard lock(mutex);
        for (const auto& [communicator, group] : groups)
            if (!group->given_up) left.push_back(group.get());
    }
    for (Communicator* group : left) {
        finish(*group);
        // The communicator lives on, but not the group that its attribute names.
        PMPI_Comm_delete_attr(group->communicator, keyval);
    }
    free_communicators();
}

Communicator* existing_communicator(MPI_Comm communicator) {
    const std::lock_guard lock(mutex);
    return find(communicator);
}

}  // namespace lapwing
