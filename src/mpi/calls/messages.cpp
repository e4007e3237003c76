// The calls of native_calls.def that make requests of messages.
#include <mpi.h>

#include <atomic>
#include <string_view>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/profiled_bytes.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/async_progress.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/native.hpp"
#include "mpi/requests/native_requests.hpp"

namespace lapwing {
namespace {

// Bytes of an element. A program mostly passes the same type again; a freed handle may be used again, and
// then the size is an estimate.
std::uint64_t size_of(MPI_Datatype type) {
    static constinit thread_local MPI_Datatype last{};
    static constinit thread_local int size = -1;
    if (size < 0 || type != last) {
        last = type;
        if (PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) size = 0;
    }
    return static_cast<std::uint64_t>(size);
}

// Bytes of a message.
std::uint64_t sends(MPI_Count count, MPI_Datatype type) {
    return count > 0 ? static_cast<std::uint64_t>(count) * size_of(type) : 0;
}
std::uint64_t receives(MPI_Count count, MPI_Datatype type) {
    return sends(count, type);
}
[[maybe_unused]] std::uint64_t exchanges(std::uint64_t sent, std::uint64_t received) {
    return sent + received;
}

consteval bool is_persistent(std::string_view function) {
    return function.find("_init") != std::string_view::npos;
}

void before_persistent_message() {
    if (runtime.loses_persistent_messages && async_progress.leave_messages())
        runtime.mode.why_no_messages =
            "this MPI loses persistent messages that complete in the progress of a thread";
}

#ifdef OPEN_MPI
// In Open MPI 5 a partitioned message never completes, also without Lapwing, if the MPI makes progress
// between its start and the last MPI_Pready.
int partitioned_message_made(int error) {
    if (error == MPI_SUCCESS && async_progress.leave_messages())
        runtime.mode.why_no_messages =
            "this MPI loses partitioned messages while a thread drives its progress";
    return error;
}
#endif

}  // namespace
}  // namespace lapwing

using namespace lapwing;

// `straight`: the MPI's function, once Lapwing's thread is known never to run.
#define LAPWING_STARTS(function, parameters, names, message)                                           \
    static constinit std::atomic<decltype(&::function)> straight_##function{nullptr};                  \
    [[gnu::noinline]] static int through_gate_##function(LAPWING_LIST parameters const void* site) {   \
        const InMpi inside(site);                                                                      \
        if (gate::stays_open) straight_##function = LAPWING_NEXT(function);                            \
        if constexpr (is_persistent(#function)) before_persistent_message();                           \
        const int error = LAPWING_NEXT(function) names;                                                \
        if (!async_progress.serves_messages() || error != MPI_SUCCESS) return error;                   \
        const std::uint64_t bytes = message;                                                           \
        if (bytes < large_message) return error;                                                       \
        const Entry entry;                                                                             \
        native_requests.add_message(*request, bytes, is_persistent(#function));                        \
        return error;                                                                                  \
    }                                                                                                  \
    LAPWING_MPI function parameters {                                                                  \
        if (auto* const next = straight_##function.load(std::memory_order_relaxed)) return next names; \
        return through_gate_##function(LAPWING_LIST names __builtin_return_address(0));                \
    }
#define LAPWING_FREES(function, parameters, names, communicator)
#include "mpi/calls/native_calls.def"

#ifdef OPEN_MPI
LAPWING_MPI MPI_Psend_init(const void* data, int parts, MPI_Count count, MPI_Datatype type, int to, int tag,
                           MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    const InMpi inside(__builtin_return_address(0));
    return partitioned_message_made(
        LAPWING_NEXT(MPI_Psend_init)(data, parts, count, type, to, tag, comm, info, request));
}

LAPWING_MPI MPI_Precv_init(void* data, int parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                           MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    const InMpi inside(__builtin_return_address(0));
    return partitioned_message_made(
        LAPWING_NEXT(MPI_Precv_init)(data, parts, count, type, from, tag, comm, info, request));
}
#endif
