// The collectives that are taken: arguments become a problem and bytes, a plan runs them, the program gets a
// request. What cannot be taken goes to the MPI underneath, by what all ranks of the communicator share.
#include <mpi.h>

#include <cstring>

#include "base/error.hpp"
#include "mpi/completion.hpp"
#include "mpi/datatype.hpp"
#include "mpi/group.hpp"
#include "mpi/guard.hpp"
#include "mpi/request.hpp"
#include "mpi/runtime.hpp"

namespace lapwing {
namespace {

CollectiveCount& count_of(Collective collective) {
    return runtime.report.collectives[static_cast<std::size_t>(collective)];
}

// The group that takes the call, or null when the MPI underneath must have it.
Group* taking_group(MPI_Comm communicator, Collective collective) {
    if (communicator == MPI_COMM_NULL) return nullptr;
    if (!takes_calls()) {
        if (runtime_started) ++count_of(collective).fell_back[static_cast<std::size_t>(runtime.why_not)];
        return nullptr;
    }
    int error = MPI_SUCCESS;
    Group* group = find_group(communicator, &error);
    if (group == nullptr) return nullptr;  // the MPI will say the same to the program
    if (group->intercommunicator) {
        ++count_of(collective).fell_back[static_cast<std::size_t>(Fallback::intercommunicator)];
        return nullptr;
    }
    if (group->options.engine == "mpi") {  // by a hint
        ++count_of(collective).fell_back[static_cast<std::size_t>(Fallback::engine_mpi)];
        return nullptr;
    }
    return group;
}

// Elements of one of the program's buffers, or none.
struct Elements {
    const void* address = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Layout layout;

    Elements() = default;
    Elements(const void* where, std::uint64_t number, MPI_Datatype datatype)
        : address(where), count(number), type(datatype), layout(layout_of(datatype)) {}
    std::uint64_t bytes() const { return count * layout.size; }
    Elements from(std::uint64_t first, std::uint64_t number) const {
        Elements some = *this;
        some.address = static_cast<const char*>(address) + static_cast<MPI_Aint>(first) * layout.extent;
        some.count = number;
        return some;
    }
};

// Where a list finds the bytes of `elements`: in place, or packed.
const std::byte* input(Request& request, const Elements& elements, int* error) {
    if (elements.bytes() == 0 || elements.layout.contiguous)
        return static_cast<const std::byte*>(elements.address);
    std::byte* packed = request.in_staging.take(elements.bytes());
    *error = pack(elements.address, elements.count, elements.type, elements.layout, packed);
    return packed;
}

// Where a list puts the bytes of `elements`. Packed ones are put right at the end, those of `first` and
// `last` (counted in elements) only: between them stands what the list does not write.
std::byte* output(Request& request, const Elements& elements, std::uint64_t first, std::uint64_t last,
                  int* error) {
    std::byte* in_place = static_cast<std::byte*>(const_cast<void*>(elements.address));
    if (elements.bytes() == 0 || elements.layout.contiguous) return in_place;
    std::byte* packed = request.out_staging.take(elements.bytes());
    const std::uint64_t starts[2] = {0, elements.count - last};
    const std::uint64_t counts[2] = {first, last};
    for (int i = 0; i < 2; ++i) {
        if (counts[i] == 0) continue;
        const Elements part = elements.from(starts[i], counts[i]);
        Unpacking& unpacking = request.unpacking[i];
        unpacking.bytes = packed + starts[i] * elements.layout.size;
        unpacking.elements = static_cast<char*>(const_cast<void*>(part.address));
        unpacking.count = counts[i];
        unpacking.layout = elements.layout;
        // The program may free its datatype as soon as the call returns.
        *error = PMPI_Type_dup(elements.type, &unpacking.type);
        if (*error != MPI_SUCCESS) return nullptr;
    }
    return packed;
}
std::byte* output(Request& request, const Elements& elements, int* error) {
    return output(request, elements, elements.count, 0, error);
}

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

enum class Outcome { taken, declined, failed };

struct Started {
    Outcome outcome;
    int error = MPI_SUCCESS;
    Request* request = nullptr;
};

// `prepare` fills the buffers of the problem, from the program's.
template <typename Prepare>
Started start(Group& group, const Problem& problem, Prepare prepare) {
    if (problem.bytes > most_bytes / static_cast<std::uint64_t>(problem.ranks)) {
        return {Outcome::declined, MPI_SUCCESS, nullptr};  // for the MPI to refuse
    }
    const std::uint64_t began = runtime.measures ? nanoseconds() : 0;
    int error = begin_links(group);
    if (error != MPI_SUCCESS) return {Outcome::failed, error, nullptr};
    const Entry entry;
    CollectiveCount& count = count_of(problem.collective);
    Plan* plan = nullptr;
    try {
        if (group.deferred.empty() && settle(group)) {
            plan = &group.planner.plan(problem);
        } else {
            select(problem, group.options.wishes);  // whether there will be one
        }
    } catch (const Error& declined) {
        if (declined.code() != ErrorCode::unsupported) throw;
        ++count.fell_back[static_cast<std::size_t>(Fallback::no_plan)];
        return {Outcome::declined, MPI_SUCCESS, nullptr};
    }
    Request* request = take_request(&error);
    if (request == nullptr) return {Outcome::failed, error, nullptr};
    request->group = &group;
    request->plan = plan;
    request->problem = problem;
    request->buffers = {};
    prepare(*request, request->buffers, &error);
    if (error == MPI_SUCCESS) {
        try {
            run(*request);
        } catch (const MpiError& failed) {
            error = failed.mpi_code();
        }
    }
    if (error != MPI_SUCCESS) {
        give_back(*request);
        return {Outcome::failed, error, nullptr};
    }
    ++count.taken;
    if (runtime.measures) {
        request->started = nanoseconds();
        count.start_time += request->started - began;
    }
    return {Outcome::taken, MPI_SUCCESS, request};
}

// The end of a nonblocking call: the program gets its request.
template <typename Native>
int hand_over(const Started& started, MPI_Comm communicator, MPI_Request* handle, Native native) {
    switch (started.outcome) {
        case Outcome::taken:
            *handle = started.request->handle;
            return MPI_SUCCESS;
        case Outcome::declined:
            return native();
        case Outcome::failed:
            break;
    }
    PMPI_Comm_call_errhandler(communicator, started.error);
    return started.error;
}

// The end of a blocking call.
template <typename Native>
int complete(const Started& started, MPI_Comm communicator, Native native) {
    MPI_Request handle = MPI_REQUEST_NULL;
    const int error = hand_over(started, communicator, &handle, native);
    return started.outcome == Outcome::taken ? wait_for(*started.request, &handle, MPI_STATUS_IGNORE) : error;
}

// Arguments that are wrong on this rank are left to the MPI, whose message the program expects.
bool plausible(MPI_Count count, MPI_Datatype type) {
    return count >= 0 && type != MPI_DATATYPE_NULL;
}
bool plausible_root(const Group& group, int root) {
    return root >= 0 && root < group.ranks;
}

struct Barrier {
    bool plausible(const Group&) const { return true; }
    Started start(Group& group) const {
        return lapwing::start(group, {.collective = Collective::barrier, .ranks = group.ranks},
                              [](Request&, Buffers&, int*) {});
    }
};

struct Broadcast {
    void* buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;

    bool plausible(const Group& group) const {
        return lapwing::plausible(count, type) && plausible_root(group, root);
    }
    Started start(Group& group) const {
        const Elements elements(buffer, static_cast<std::uint64_t>(count), type);
        if (elements.layout.error != MPI_SUCCESS) return {Outcome::failed, elements.layout.error, nullptr};
        const Problem problem = {.collective = Collective::broadcast,
                                 .ranks = group.ranks,
                                 .root = root,
                                 .bytes = elements.bytes()};
        return lapwing::start(group, problem, [&](Request& request, Buffers& buffers, int* error) {
            if (group.rank == root) {
                // A group of one moves nothing.
                if (group.ranks > 1) buffers.in = input(request, elements, error);
            } else {
                buffers.out = output(request, elements, error);
            }
        });
    }
};

struct Gather {
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;
    int root;

    bool plausible(const Group& group) const {
        if (!plausible_root(group, root)) return false;
        if (group.rank != root)
            return send_buffer != MPI_IN_PLACE && lapwing::plausible(send_count, send_type);
        return lapwing::plausible(receive_count, receive_type) &&
               (send_buffer == MPI_IN_PLACE || lapwing::plausible(send_count, send_type));
    }
    Started start(Group& group) const {
        const bool is_root = group.rank == root;
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const std::uint64_t block = static_cast<std::uint64_t>(receive_count);
        const Elements own =
            in_place ? Elements() : Elements(send_buffer, static_cast<std::uint64_t>(send_count), send_type);
        const Elements all =
            is_root ? Elements(receive_buffer, block * static_cast<std::uint64_t>(group.ranks), receive_type)
                    : Elements();
        for (const Elements* elements : {&own, &all}) {
            if (elements->layout.error != MPI_SUCCESS)
                return {Outcome::failed, elements->layout.error, nullptr};
        }
        const Problem problem = {.collective = Collective::gather,
                                 .ranks = group.ranks,
                                 .root = root,
                                 .bytes = is_root ? block * all.layout.size : own.bytes(),
                                 .in_place = is_root && in_place};
        return lapwing::start(group, problem, [&](Request& request, Buffers& buffers, int* error) {
            if (!in_place) buffers.in = input(request, own, error);
            if (!is_root || *error != MPI_SUCCESS) return;
            if (in_place) {
                const std::uint64_t before = block * static_cast<std::uint64_t>(root);
                buffers.out = output(request, all, before, all.count - before - block, error);
            } else {
                buffers.out = output(request, all, error);
            }
        });
    }
};

struct Alltoall {
    const void* send_buffer;
    MPI_Count send_count;
    MPI_Datatype send_type;
    void* receive_buffer;
    MPI_Count receive_count;
    MPI_Datatype receive_type;

    bool plausible(const Group&) const {
        return lapwing::plausible(receive_count, receive_type) &&
               (send_buffer == MPI_IN_PLACE || lapwing::plausible(send_count, send_type));
    }
    Started start(Group& group) const {
        const std::uint64_t ranks = static_cast<std::uint64_t>(group.ranks);
        const Elements received(receive_buffer, static_cast<std::uint64_t>(receive_count) * ranks,
                                receive_type);
        const bool in_place = send_buffer == MPI_IN_PLACE;
        const Elements sent =
            in_place ? received
                     : Elements(send_buffer, static_cast<std::uint64_t>(send_count) * ranks, send_type);
        for (const Elements* elements : {&sent, &received}) {
            if (elements->layout.error != MPI_SUCCESS)
                return {Outcome::failed, elements->layout.error, nullptr};
        }
        const Problem problem = {
            .collective = Collective::alltoall, .ranks = group.ranks, .bytes = received.bytes() / ranks};
        return lapwing::start(group, problem, [&](Request& request, Buffers& buffers, int* error) {
            buffers.in = input(request, sent, error);
            if (in_place && sent.layout.contiguous && sent.bytes() > 0) {
                // Blocks arrive where others are still waiting to be sent.
                std::byte* copy = request.in_staging.take(sent.bytes());
                std::memcpy(copy, sent.address, sent.bytes());
                buffers.in = copy;
            }
            if (*error == MPI_SUCCESS) buffers.out = output(request, received, error);
        });
    }
};

template <typename Call, typename Native>
int nonblocking(const Call& call, Collective collective, MPI_Comm communicator, MPI_Request* handle,
                Native native) {
    return guarded([&] {
        Group* group = handle == nullptr ? nullptr : taking_group(communicator, collective);
        if (group == nullptr || !call.plausible(*group)) return native();
        return hand_over(call.start(*group), communicator, handle, native);
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, Collective collective, MPI_Comm communicator, Native native) {
    if (!takes_calls() || !runtime.takes_blocking) return native();
    return guarded([&] {
        Group* group = taking_group(communicator, collective);
        if (group == nullptr || !call.plausible(*group)) return native();
        return complete(call.start(*group), communicator, native);
    });
}

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_MPI MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return nonblocking(Barrier{}, Collective::barrier, comm, request,
                       [&] { return PMPI_Ibarrier(comm, request); });
}

LAPWING_MPI MPI_Barrier(MPI_Comm comm) {
    return blocking(Barrier{}, Collective::barrier, comm, [&] { return PMPI_Barrier(comm); });
}

// The functions with data exist twice since MPI-4: with counts that are ints, and with large ones.
#define LAPWING_WITH_COUNTS(suffix, Count)                                                                   \
    LAPWING_MPI MPI_Ibcast##suffix(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm,    \
                                   MPI_Request* request) {                                                   \
        return nonblocking(Broadcast{buffer, count, type, root}, Collective::broadcast, comm, request,       \
                           [&] { return PMPI_Ibcast##suffix(buffer, count, type, root, comm, request); });   \
    }                                                                                                        \
    LAPWING_MPI MPI_Bcast##suffix(void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm) {   \
        return blocking(Broadcast{buffer, count, type, root}, Collective::broadcast, comm,                   \
                        [&] { return PMPI_Bcast##suffix(buffer, count, type, root, comm); });                \
    }                                                                                                        \
    LAPWING_MPI MPI_Igather##suffix(const void* sent, Count send_count, MPI_Datatype send_type,              \
                                    void* received, Count receive_count, MPI_Datatype receive_type,          \
                                    int root, MPI_Comm comm, MPI_Request* request) {                         \
        return nonblocking(Gather{sent, send_count, send_type, received, receive_count, receive_type, root}, \
                           Collective::gather, comm, request, [&] {                                          \
                               return PMPI_Igather##suffix(sent, send_count, send_type, received,            \
                                                           receive_count, receive_type, root, comm,          \
                                                           request);                                         \
                           });                                                                               \
    }                                                                                                        \
    LAPWING_MPI MPI_Gather##suffix(const void* sent, Count send_count, MPI_Datatype send_type,               \
                                   void* received, Count receive_count, MPI_Datatype receive_type, int root, \
                                   MPI_Comm comm) {                                                          \
        return blocking(Gather{sent, send_count, send_type, received, receive_count, receive_type, root},    \
                        Collective::gather, comm, [&] {                                                      \
                            return PMPI_Gather##suffix(sent, send_count, send_type, received, receive_count, \
                                                       receive_type, root, comm);                            \
                        });                                                                                  \
    }                                                                                                        \
    LAPWING_MPI MPI_Ialltoall##suffix(const void* sent, Count send_count, MPI_Datatype send_type,            \
                                      void* received, Count receive_count, MPI_Datatype receive_type,        \
                                      MPI_Comm comm, MPI_Request* request) {                                 \
        return nonblocking(Alltoall{sent, send_count, send_type, received, receive_count, receive_type},     \
                           Collective::alltoall, comm, request, [&] {                                        \
                               return PMPI_Ialltoall##suffix(sent, send_count, send_type, received,          \
                                                             receive_count, receive_type, comm, request);    \
                           });                                                                               \
    }                                                                                                        \
    LAPWING_MPI MPI_Alltoall##suffix(const void* sent, Count send_count, MPI_Datatype send_type,             \
                                     void* received, Count receive_count, MPI_Datatype receive_type,         \
                                     MPI_Comm comm) {                                                        \
        return blocking(Alltoall{sent, send_count, send_type, received, receive_count, receive_type},        \
                        Collective::alltoall, comm, [&] {                                                    \
                            return PMPI_Alltoall##suffix(sent, send_count, send_type, received,              \
                                                         receive_count, receive_type, comm);                 \
                        });                                                                                  \
    }

LAPWING_WITH_COUNTS(, int)
#if MPI_VERSION >= 4
LAPWING_WITH_COUNTS(_c, MPI_Count)
#endif
