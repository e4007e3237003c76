// What all collectives share on their way from the program's call to a request: who takes the call, and who
// answers when it is not taken.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "mpi/calls/buffers.hpp"
#include "mpi/calls/completion.hpp"
#include "mpi/calls/init.hpp"
#include "mpi/native/guard.hpp"
#include "mpi/requests/persistent.hpp"
#include "mpi/requests/start.hpp"

namespace lapwing {

// All ranks of a communicator, as peers of a call.
struct AllRanks {
    std::size_t number;
    std::size_t size() const { return number; }
    int operator[](std::size_t rank) const { return static_cast<int>(rank); }
};

// One call of a collective: its communicator, and whether it is nonblocking, blocking or persistent. Elements
// are made here, because a persistent call must keep copies of their datatypes.
class CallContext {
  public:
    // `persistence`: of a persistent call; it is taken when a request is made.
    CallContext(Communicator& group, bool blocking, std::unique_ptr<Persistence>* persistence)
        : group_(group), blocking_(blocking), persistence_(persistence) {}

    MPI_Comm communicator() const { return group_.communicator; }
    int rank() const { return group_.rank; }
    int ranks() const { return group_.ranks; }
    std::size_t size() const { return static_cast<std::size_t>(group_.ranks); }
    AllRanks all_ranks() const { return {size()}; }
    bool has(int root) const { return root >= 0 && root < group_.ranks; }

    Elements elements(const void* address, std::uint64_t count, MPI_Datatype type) {
        return {address, count, persistence_ == nullptr ? type : (*persistence_)->keep(type),
                layout_of(type)};
    }
    // Blocks of elements, `block(i)` for the i-th of the peers; MPI_PROC_NULL has none.
    template <typename Peers, typename Block>
    static Blocks blocks(const Peers& peers, Block block) {
        Blocks blocks;
        blocks.reserve(peers.size());
        for (std::size_t i = 0; i < peers.size(); ++i) {
            if (peers[i] != MPI_PROC_NULL) blocks.add(peers[i], block(i));
        }
        return blocks;
    }

    // The problem is reduced by this operator of the MPI's.
    void reduce_by(MPI_Op op, const Elements& elements) {
        if (persistence_ != nullptr) (*persistence_)->keep_operator(op, elements.type, elements.layout);
    }

    // Starts the problem, or makes the request that is started later; `prepare(request, buffers, error)`
    // fills the buffers, from the program's. It holds by value all that it needs.
    template <typename Prepare>
    Started start(Problem& problem, Prepare prepare) {
        struct Own : Preparation {
            Prepare work;
            explicit Own(Prepare given) : work(std::move(given)) {}
            void prepare(Request& request, Buffers& buffers, int* error) const override {
                work(request, buffers, error);
            }
        };
        if (persistence_ != nullptr)
            return make_persistent(group_, problem, std::make_unique<Own>(std::move(prepare)), *persistence_);
        const Own own(std::move(prepare));
        return lapwing::start(group_, problem, own, blocking_);
    }

  private:
    Communicator& group_;
    bool blocking_;
    std::unique_ptr<Persistence>* persistence_;  // null: the call is not persistent
};

// The group that takes the call, or null when the native MPI must have it.
Communicator* taking_communicator(MPI_Comm communicator, Collective collective);

// A call is a struct of its arguments with `collective` and start(context), which declines arguments that are
// wrong on this rank: they are left to the MPI, whose message the program expects.
// Inline, so that each form pays for itself alone.
template <typename Call>
[[gnu::always_inline]] inline Started start_call(const Call& call, MPI_Comm communicator,
                                                 bool blocking = false,
                                                 std::unique_ptr<Persistence>* persistence = nullptr) {
    Communicator* group = taking_communicator(communicator, Call::collective);
    if (group == nullptr) return Started::declined();
    CallContext context(*group, blocking, persistence);
    return call.start(context);
}

// The end of a call that gives the program a request.
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

template <typename Call, typename Native>
int nonblocking(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    if (handle == nullptr) return native();
    return guarded([&] { return hand_over(start_call(call, communicator), communicator, handle, native); });
}

// It may wait for the other ranks.
template <typename Call, typename Native>
int persistent(const Call& call, MPI_Comm communicator, MPI_Request* handle, Native native) {
    if (handle == nullptr) return native();
    return guarded([&] {
        auto persistence = std::make_unique<Persistence>();
        return hand_over(start_call(call, communicator, false, &persistence), communicator, handle, native);
    });
}

template <typename Call, typename Native>
int blocking(const Call& call, MPI_Comm communicator, Native native) {
    if (!takes_calls() || !runtime.takes_blocking) return native();
    return guarded([&] {
        const Started started = start_call(call, communicator, true);
        MPI_Request handle = MPI_REQUEST_NULL;
        const int error = hand_over(started, communicator, &handle, native);
        return started.outcome == Outcome::taken
                   ? wait_for(*started.request, &handle, MPI_STATUS_IGNORE, trace::Call::blocking_wait)
                   : error;
    });
}

}  // namespace lapwing
