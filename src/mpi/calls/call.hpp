// What all collectives share on their way from the program's call to a request: who takes it, where the bytes
// stand, who answers when it is not taken.
#pragma once

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "mpi/calls/completion.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/datatype.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/communicator.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/timeline.hpp"

namespace lapwing {

// The group that takes the call, or null when the native MPI must have it.
Communicator* taking_communicator(MPI_Comm communicator, Collective collective);
// Counts a call that the native MPI must have for a reason that all ranks see.
void count_fallback(Collective collective, Fallback reason);

// Elements of one of the program's buffers, or none.
struct Elements {
    const void* address = nullptr;
    std::uint64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Layout layout;

    Elements() = default;
    Elements(const void* where, std::uint64_t number, MPI_Datatype datatype)
        : address(where), count(number), type(kept_for_starts(datatype)), layout(layout_of(datatype)) {}
    std::uint64_t bytes() const { return count * layout.size; }
    Elements from(std::int64_t first, std::uint64_t number) const {
        Elements some = *this;
        some.address = static_cast<const char*>(address) + static_cast<MPI_Aint>(first) * layout.extent;
        some.count = number;
        return some;
    }
};

// Where a list finds the bytes of `elements`: in place, or packed.
const std::byte* input(Request& request, const Elements& elements, int* error);
// The same as a copy of its own, when a list may overwrite the original before it is sent.
const std::byte* copied_input(Request& request, const Elements& elements, int* error);
// Where a list puts the bytes of `elements`. What is not in place there is put right at the end.
std::byte* output(Request& request, const Elements& elements, int* error);
// The same when the elements [first, first + number) hold the rank's own contribution already.
std::byte* output_in_place(Request& request, const Elements& elements, std::uint64_t first,
                           std::uint64_t number, int* error);

// Blocks of elements, one for each peer, at places of their own.
class Blocks {
  public:
    void reserve(std::size_t count) { blocks_.reserve(count); }
    void add(int peer, const Elements& elements) { blocks_.push_back({peer, elements}); }
    // Not MPI_SUCCESS: the first error of a datatype.
    int error() const;
    bool in_place() const;  // no packing anywhere
    // Where they stand for a list: in place, counted from base(); or packed side by side.
    std::vector<Part> parts() const;
    std::uint64_t bytes() const;  // of all together

    // As the functions above, for the memory that parts() counts from.
    const std::byte* input(Request& request, int* error) const;
    const std::byte* copied_input(Request& request, int* error) const;
    std::byte* output(Request& request, int* error) const;
    // The block at `own` holds the rank's own contribution already.
    std::byte* output_in_place(Request& request, std::size_t own, int* error) const;

  private:
    struct Block {
        int peer;
        Elements elements;
    };
    const char* base() const;
    int pack_one(std::size_t which, std::byte* packed) const;
    std::vector<Block> blocks_;
};

// Block r at displacements[r], counted in elements, for `number` peers 0, 1, ...
template <typename Count, typename Displacement>
Blocks blocks_of(std::size_t number, const void* buffer, const Count* counts,
                 const Displacement* displacements, MPI_Datatype type) {
    Blocks blocks;
    if (number == 0) return blocks;
    blocks.reserve(number);
    const Elements all(buffer, 0, type);
    for (std::size_t i = 0; i < number; ++i) {
        blocks.add(static_cast<int>(i), all.from(static_cast<std::int64_t>(displacements[i]),
                                                 static_cast<std::uint64_t>(counts[i])));
    }
    return blocks;
}

// The same with displacements in bytes and a type for each block.
template <typename Count, typename Displacement>
Blocks typed_blocks_of(std::size_t number, const void* buffer, const Count* counts,
                       const Displacement* displacements, const MPI_Datatype* types) {
    Blocks blocks;
    blocks.reserve(number);
    for (std::size_t i = 0; i < number; ++i) {
        // A block without elements need not have a type that makes sense.
        const auto count = static_cast<std::uint64_t>(counts[i]);
        blocks.add(static_cast<int>(i),
                   count == 0
                       ? Elements()
                       : Elements(static_cast<const char*>(buffer) + displacements[i], count, types[i]));
    }
    return blocks;
}

enum class Outcome { taken, declined, failed };

struct Started {
    Outcome outcome;
    int error = MPI_SUCCESS;
    Request* request = nullptr;

    static Started failed_by(int code) { return {Outcome::failed, code, nullptr}; }
};

// Whether an MPI would take it at all.
bool fits(const Problem& problem);
Started start(Communicator& group, Problem& problem, const Preparation& preparation);
// Makes a request that is started by MPI_Start.
Started keep(KeptForStarts& kept, Communicator& group, Problem& problem,
             std::unique_ptr<const Preparation> preparation);

// Starts the problem, or keeps it for starts; `prepare(request, buffers, error)` fills the buffers, from the
// program's. It holds by value all that it needs.
template <typename Prepare>
Started start(Communicator& group, Problem& problem, Prepare prepare) {
    struct Own : Preparation {
        Prepare work;
        explicit Own(Prepare given) : work(std::move(given)) {}
        void prepare(Request& request, Buffers& buffers, int* error) const override {
            work(request, buffers, error);
        }
    };
    if (KeptForStarts* kept = KeptForStarts::present())
        return keep(*kept, group, problem, std::make_unique<Own>(std::move(prepare)));
    const Own own(std::move(prepare));
    return start(group, problem, static_cast<const Preparation&>(own));
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

// A call is a struct of its arguments with `collective`, plausible(group), false for arguments that are wrong
// on this rank (they are left to the MPI, whose message the program expects), and start(group).
template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    return guarded([&] {
        Communicator* group =
            handle == nullptr ? nullptr : taking_communicator(communicator, Call::collective);
        if (group == nullptr || !call.plausible(*group)) return native();
        return hand_over(call.start(*group), communicator, handle, native);
    });
}

// The same for a request that is started later, and again and again. It may wait for the other ranks.
template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    return guarded([&] {
        Communicator* group =
            handle == nullptr ? nullptr : taking_communicator(communicator, Call::collective);
        if (group == nullptr || !call.plausible(*group)) return native();
        if (!takes_persistent_requests()) {
            count_fallback(Call::collective, Fallback::tool);
            return native();
        }
        const Started made = [&] {
            KeptForStarts kept;
            return call.start(*group);
        }();
        return hand_over(made, communicator, handle, native);
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, Native native) {
    if (!takes_calls() || !runtime.takes_blocking) return native();
    return guarded([&] {
        Communicator* group = taking_communicator(communicator, Call::collective);
        if (group == nullptr || !call.plausible(*group)) return native();
        timeline::blocks = true;
        const Started started = call.start(*group);
        timeline::blocks = false;
        MPI_Request handle = MPI_REQUEST_NULL;
        const int error = hand_over(started, communicator, &handle, native);
        return started.outcome == Outcome::taken
                   ? wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait)
                   : error;
    });
}

inline bool plausible(MPI_Count count, MPI_Datatype type) {
    return count >= 0 && type != MPI_DATATYPE_NULL;
}
template <typename Count, typename Displacement>
bool plausible_blocks(std::size_t number, const Count* counts, const Displacement* displacements,
                      MPI_Datatype type) {
    if (counts == nullptr || displacements == nullptr || type == MPI_DATATYPE_NULL) return number == 0;
    return std::all_of(counts, counts + number, [](Count count) { return count >= 0; });
}
template <typename Count, typename Displacement>
bool plausible_typed_blocks(std::size_t number, const Count* counts, const Displacement* displacements,
                            const MPI_Datatype* types) {
    if (counts == nullptr || displacements == nullptr || types == nullptr) return number == 0;
    for (std::size_t i = 0; i < number; ++i) {
        if (counts[i] < 0 || (counts[i] > 0 && types[i] == MPI_DATATYPE_NULL)) return false;
    }
    return true;
}
inline std::size_t size(const Communicator& group) {
    return static_cast<std::size_t>(group.ranks);
}
inline bool plausible_root(const Communicator& group, int root) {
    return root >= 0 && root < group.ranks;
}

// The MPI's own function, which is null where an MPI has taken the place of an older one with an extension.
template <typename... Parameters, typename... Arguments>
int native_init(int (*function)(Parameters...), Arguments... arguments) {
    return function != nullptr ? function(arguments...) : MPI_ERR_UNSUPPORTED_OPERATION;
}

}  // namespace lapwing

// Persistent collectives stand in MPI-4; in Open MPI 4 they are an extension, with names of its own. A
// library without it may take the place of the one that this is compiled against.
#if MPI_VERSION >= 4
#define LAPWING_HAS_PERSISTENT
#define LAPWING_INIT(name) LAPWING_MPI MPI_##name
#define LAPWING_NATIVE_INIT(name) PMPI_##name
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define LAPWING_HAS_PERSISTENT
#define LAPWING_INIT(name)                                                \
    extern "C" __attribute__((weak)) decltype(PMPIX_##name) PMPIX_##name; \
    LAPWING_MPI MPIX_##name
#define LAPWING_NATIVE_INIT(name) PMPIX_##name
#endif

// A nonblocking function, the blocking one, and the persistent one: of a call, with the parameters before the
// communicator, and their names. Both lists in parentheses.
#define LAPWING_LIST(...) __VA_ARGS__
#ifdef LAPWING_HAS_PERSISTENT
#define LAPWING_PERSISTENT(Init, Call, parameters, names)                                              \
    LAPWING_INIT(Init)(LAPWING_LIST parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request) { \
        return persistent(Call{LAPWING_LIST names}, comm, request, [&] {                               \
            return native_init(LAPWING_NATIVE_INIT(Init), LAPWING_LIST names, comm, info, request);    \
        });                                                                                            \
    }
#else
#define LAPWING_PERSISTENT(Init, Call, parameters, names)
#endif
#define LAPWING_FUNCTIONS(Nonblocking, Blocking, Init, Call, parameters, names)                    \
    LAPWING_PERSISTENT(Init, Call, parameters, names)                                              \
    LAPWING_MPI MPI_##Nonblocking(LAPWING_LIST parameters, MPI_Comm comm, MPI_Request* request) {  \
        return nonblocking(Call{LAPWING_LIST names}, comm, request,                                \
                           [&] { return PMPI_##Nonblocking(LAPWING_LIST names, comm, request); }); \
    }                                                                                              \
    LAPWING_MPI MPI_##Blocking(LAPWING_LIST parameters, MPI_Comm comm) {                           \
        return blocking(Call{LAPWING_LIST names}, comm,                                            \
                        [&] { return PMPI_##Blocking(LAPWING_LIST names, comm); });                \
    }

// The functions with data exist twice since MPI-4: with counts that are ints, and with large ones.
// `functions` is a macro of (suffix, Count, Displacement).
#if MPI_VERSION >= 4
#define LAPWING_WITH_COUNTS(functions) functions(, int, int) functions(_c, MPI_Count, MPI_Aint)
#else
#define LAPWING_WITH_COUNTS(functions) functions(, int, int)
#endif
