// The calls of native_calls.def, and others that make communicators or end them.
#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/hints.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/calls/recorded.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/request_table.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {
namespace {

constexpr MPI_Comm* no_communicator = nullptr;
constexpr int no_peer = watch::Journal::no_peer;
constexpr int no_tag = -1;

// Words of windows and files, which the journal maps to their communicators.
template <typename Handle>
std::uint64_t made_from(Handle handle) {
    return word_of(handle);
}
std::uint64_t made_from(MPI_Win* window) {
    return window == nullptr ? 0 : made_from(*window);
}
std::uint64_t made_from(MPI_File* file) {
    return file == nullptr ? 0 : made_from(*file);
}

// `original`: that of a duplicate, otherwise MPI_COMM_NULL.
template <typename Native>
int make_communicator(const CallSite& site, MPI_Comm parent, MPI_Comm original, MPI_Info hints,
                      const MPI_Comm* made, Native native) {
    const InRecordedMpi inside(site.function, site.address, word_of(parent));
    if (!runtime.started) return native();
    return guarded([&] {
        const auto creation = watch::journal().creation(word_of(parent));
        const int error = native();
        if (error != MPI_SUCCESS || *made == MPI_COMM_NULL) return error;
        add_to_journal(*made, creation, original);
        return apply_hints(*made, hints);
    });
}

template <typename Made, typename Native>
int make_window_or_file(const CallSite& site, MPI_Comm parent, const Made* made, Native native) {
    const InRecordedMpi inside(site.function, site.address, word_of(parent));
    return guarded([&] {
        const int error = native();
        if (error != MPI_SUCCESS) return error;
        watch::journal().add_made_from(word_of(parent), made_from(*made));
        if constexpr (std::is_same_v<Made, MPI_Win>) async_progress.add_windows(1);
        return error;
    });
}

// MPI_Comm_idup. An MPI may return the communicator's handle at once, or when the request is complete: then
// the communicator's collectives are not recorded.
template <typename Native>
int make_duplicate_later(MPI_Comm parent, MPI_Comm* made, Native native) {
    if (parent == MPI_COMM_NULL || made == nullptr) return native();
    return guarded([&] {
#ifdef OPEN_MPI
        // Open MPI duplicates in steps, each a nonblocking collective of `parent` that begins at a time of
        // its own. Lapwing's agreement on `parent`, another one, must not come between the steps.
        int unknown = MPI_SUCCESS;
        Communicator* const group = takes_calls() ? find_communicator(parent, &unknown) : nullptr;
        if (group != nullptr && group->in_world) begin_group(*group);
#endif
        auto creation = watch::journal().creation(word_of(parent));
        if (creation) creation->everywhere = false;  // some ranks may get the handle, and others not
        *made = MPI_COMM_NULL;
        const int error = native();
        if (error == MPI_SUCCESS) add_to_journal(*made, creation, parent);
        return error;
    });
}

template <typename Native>
int free_communicator(const CallSite& site, const MPI_Comm* communicator, Native native) {
    if (!runtime.started || communicator == nullptr) return native();
    const MPI_Comm freed = *communicator;
    const watch::InCall inside(site.function, site.address, word_of(freed));
    return guarded([&] {
        // An MPI may lose its part of the agreement with the communicator.
        if (Communicator* group = existing_communicator(freed)) {
            finish_group(*group);
            give_up(*group);
        }
        remove_from_journal(freed);
        const int error = native();
        inside_entry([] { request_table.collect_freed(); });
        free_communicators();
        return error;
    });
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_CALL(function, parameters, names, communicator, peer, tag, message)       \
    LAPWING_RECORDED(function, parameters, names, word_of(communicator), peer, tag, true, \
                     LAPWING_NEXT(function) names)
#define LAPWING_MAKES(function, parent, parameters, names, made)                                     \
    LAPWING_MPI function parameters {                                                                \
        return make_communicator({#function, __builtin_return_address(0)}, parent, MPI_COMM_NULL,    \
                                 MPI_INFO_NULL, made, [&] { return LAPWING_NEXT(function) names; }); \
    }
#define LAPWING_DUPLICATES(function, parameters, names, hints)                                      \
    LAPWING_MPI function parameters {                                                               \
        return make_communicator({#function, __builtin_return_address(0)}, comm, comm, hints, made, \
                                 [&] { return LAPWING_NEXT(function) names; });                     \
    }
#define LAPWING_OPENS(function, parent, parameters, names, made)                           \
    LAPWING_MPI function parameters {                                                      \
        return make_window_or_file({#function, __builtin_return_address(0)}, parent, made, \
                                   [&] { return LAPWING_NEXT(function) names; });          \
    }
#define LAPWING_POLLS(function, parameters, names, communicator, message)                              \
    LAPWING_RECORDED(function, parameters, names, word_of(communicator), source, tag, !list_completed, \
                     look(flag, [&] { return LAPWING_NEXT(function) names; }))
#define LAPWING_FREES(function, parameters, names, communicator)                                   \
    LAPWING_MPI function parameters {                                                              \
        const InRecordedMpi inside(#function, __builtin_return_address(0), word_of(communicator)); \
        const int error = LAPWING_NEXT(function) names;                                            \
        if (error == MPI_SUCCESS) async_progress.add_windows(-1);                                  \
        return error;                                                                              \
    }
#include "mpi/calls/native_calls.def"

LAPWING_MPI MPI_Win_test(MPI_Win window, int* flag) {
    const InMpi in_mpi(__builtin_return_address(0));
    return look(flag, [&] { return NEXT_Win_test(window, flag); });
}

#if MPI_VERSION >= 4
LAPWING_MPI MPI_Parrived(MPI_Request request, int partition, int* flag) {
    const InMpi in_mpi(__builtin_return_address(0));
    return look(flag, [&] { return NEXT_Parrived(request, partition, flag); });
}
#endif

LAPWING_MPI MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    const InMpi in_mpi(__builtin_return_address(0));
    return make_duplicate_later(comm, made, [&] { return NEXT_Comm_idup(comm, made, request); });
}

#if MPI_VERSION >= 4
LAPWING_MPI MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request) {
    const InMpi in_mpi(__builtin_return_address(0));
    return make_duplicate_later(comm, made,
                                [&] { return NEXT_Comm_idup_with_info(comm, info, made, request); });
}
#endif

LAPWING_MPI MPI_Comm_set_name(MPI_Comm comm, const char* name) {
    const InMpi in_mpi(__builtin_return_address(0));
    const int error = NEXT_Comm_set_name(comm, name);
    if (error != MPI_SUCCESS || name == nullptr) return error;
    return guarded([&] {
        if (record_of(comm) != nullptr) watch::journal().rename(word_of(comm), name);
        return error;
    });
}

LAPWING_MPI MPI_Comm_free(MPI_Comm* communicator) {
    const InMpi in_mpi(__builtin_return_address(0));
    return free_communicator({"MPI_Comm_free", __builtin_return_address(0)}, communicator,
                             [&] { return NEXT_Comm_free(communicator); });
}

LAPWING_MPI MPI_Comm_disconnect(MPI_Comm* communicator) {
    const InMpi in_mpi(__builtin_return_address(0));
    return free_communicator({"MPI_Comm_disconnect", __builtin_return_address(0)}, communicator,
                             [&] { return NEXT_Comm_disconnect(communicator); });
}

#ifdef OPEN_MPI
// Of mpi-ext.h. Where the MPI does not run fault-tolerant, it revokes the communicator on this rank only.
LAPWING_MPI MPIX_Comm_revoke(MPI_Comm comm) {
    const InMpi in_mpi(__builtin_return_address(0));
    const int error = LAPWING_NEXT(MPIX_Comm_revoke)(comm);
    if (error != MPI_SUCCESS || !takes_calls()) return error;
    return guarded([&] {
        int unknown = MPI_SUCCESS;
        Communicator* const group = find_communicator(comm, &unknown);
        if (group != nullptr) group->left_to_mpi = Fallback::revoked;
        return error;
    });
}
#endif
