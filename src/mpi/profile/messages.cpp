// The calls of native_calls.def: messages between two ranks, communicators, files and windows. They are
// recorded, and the profile sums up the time of those that send or receive messages.
#include <algorithm>
#include <type_traits>

#include "mpi/calls/signatures.hpp"
#include "mpi/profile/profile.hpp"
#include "task/mpi_function.hpp"

namespace {

using lapwing::bytes_of;
using lapwing::CallSite;
using lapwing::MpiFunction;
using lapwing::profile::add_request;
using lapwing::profile::Called;
using lapwing::profile::observed;
using lapwing::profile::observes;
using lapwing::profile::RecordedCall;
using lapwing::recording::Call;

constexpr int no_rank = lapwing::recording::no_rank;
constexpr int no_message = 0;
// Looked up at each use: Open MPI's handles are addresses inside its library, which a program may load late.
constexpr struct {
    operator MPI_Comm() const { return MPI_COMM_NULL; }
} no_communicator;
[[maybe_unused]] constexpr int no_peer = -1;
[[maybe_unused]] constexpr int no_tag = -1;

int rank_of(int rank) {
    if (rank == MPI_ANY_SOURCE) return lapwing::recording::any_rank;
    return rank < 0 ? no_rank : rank;
}

int tag_of(int tag) {
    return tag == MPI_ANY_TAG ? lapwing::recording::any_rank : tag;
}

struct Message {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    int peer = no_rank;
    int source = no_rank;
    int tag = no_rank;
    int receive_tag = no_rank;
};

template <typename Count>
Message sends(const void*, Count count, MPI_Datatype type, int peer, int tag) {
    return {.sent = bytes_of(count, type), .peer = rank_of(peer), .tag = tag};
}

template <typename Count>
Message matched(const void*, Count count, MPI_Datatype type) {
    return {.received = bytes_of(count, type)};
}

Message probes(int source, int tag) {
    return {.source = rank_of(source), .receive_tag = tag_of(tag)};
}

template <typename Count>
Message receives(const void* data, Count count, MPI_Datatype type, int source, int tag) {
    Message message = matched(data, count, type);
    message.source = rank_of(source);
    message.receive_tag = tag_of(tag);
    return message;
}

Message exchanges(const Message& sent, const Message& received) {
    return {sent.sent, received.received, sent.peer, received.source, sent.tag, received.receive_tag};
}

void fill(Call&, int) {}

void fill(Call& call, const Message& message) {
    call.sent = message.sent;
    call.received = message.received;
    call.peer = message.peer;
    call.source = message.source;
    call.tag = message.tag;
    call.receive_tag = message.receive_tag;
}

std::uint64_t bytes_of(const Message& message) {
    return std::max(message.sent, message.received);
}

Called enter(const CallSite& site, const Message& message) {
    return lapwing::profile::enter_message(site, bytes_of(message));
}
Called enter(const CallSite&, int) {
    return {};
}

void leave(const char* function, const Called& called, const Message& message, const MPI_Request* request,
           bool persistent, int error) {
    const MPI_Request made = request == nullptr || error != MPI_SUCCESS ? MPI_REQUEST_NULL : *request;
    if (request == nullptr)
        lapwing::profile::leave(called);
    else if (!persistent)
        lapwing::profile::leave(called, made);
    else if (made != MPI_REQUEST_NULL)
        lapwing::profile::remember_message(function, bytes_of(message), made);
}
void leave(const char*, const Called&, int, const MPI_Request*, bool, int) {}

// Calls the MPI, and then fill(recorded call, error) if the call is recorded.
template <typename Native, typename Fill>
int record(const CallSite& site, MPI_Comm communicator, Native native, Fill fill_in) {
    if (!observes()) return native();
    return observed(
        site, native,
        [&](RecordedCall& recorded) {
            // The call may free the communicator.
            if (recorded.on()) recorded.set_communicator(communicator);
        },
        [&](RecordedCall& recorded, int error) {
            if (recorded.on()) fill_in(recorded, error);
        });
}

// The same of a call that sends or receives what message() describes. `request`: that the call makes, null if
// it makes none.
template <typename Native, typename GetMessage>
int record_message(const CallSite& site, MPI_Comm communicator, const MPI_Request* request, Native native,
                   GetMessage message) {
    if (!observes()) return native();
    // One instance of this template serves one function.
    static const bool persistent = MpiFunction::of(site.function).form == MpiFunction::Form::persistent;
    const bool times = lapwing::trace::on() && std::is_same_v<decltype(message()), Message>;
    Called called;
    return observed(
        site, native,
        [&](RecordedCall& recorded) {
            if (recorded.on()) recorded.set_communicator(communicator);
            if (times && !persistent) called = enter(site, message());
        },
        [&](RecordedCall& recorded, int error) {
            if (times) leave(site.function, called, message(), request, persistent, error);
            if (!recorded.on()) return;
            fill(recorded.call(), message());
            if (request != nullptr && error == MPI_SUCCESS)
                add_request(recorded.call(), *request, persistent);
        });
}

// Communicators have numbers in the order in which they are made, which is the same on all their ranks.
void define(const MPI_Comm* made, int error) {
    if (made == nullptr || error != MPI_SUCCESS || *made == MPI_COMM_NULL) return;
    const std::lock_guard lock(lapwing::profile::shared_lock());
    lapwing::profile::find(*made);
}

// Calls of windows and files are recorded without their communicator.
template <typename Handle>
[[maybe_unused]] MPI_Comm made_from(Handle) {
    return MPI_COMM_NULL;
}

}  // namespace

#define LAPWING_CALL(function, parameters, names, communicator, peer, tag, message)  \
    LAPWING_MPI function parameters {                                                \
        return record_message(                                                       \
            CallSite{#function, __builtin_return_address(0)}, communicator, nullptr, \
            [&] { return LAPWING_NEXT(function) names; }, [&] { return message; });  \
    }
#define LAPWING_STARTS(function, parameters, names, communicator, message)           \
    LAPWING_MPI function parameters {                                                \
        return record_message(                                                       \
            CallSite{#function, __builtin_return_address(0)}, communicator, request, \
            [&] { return LAPWING_NEXT(function) names; }, [&] { return message; });  \
    }
#define LAPWING_POLLS(function, parameters, names, communicator, message)   \
    LAPWING_MPI function parameters {                                       \
        return record(                                                      \
            CallSite{#function, __builtin_return_address(0)}, communicator, \
            [&] { return LAPWING_NEXT(function) names; },                   \
            [&](RecordedCall& recorded, int error) {                        \
                fill(recorded.call(), message);                             \
                const bool found = error == MPI_SUCCESS && *flag != 0;      \
                recorded.call().completed = found ? 1 : 0;                  \
                if (!found) recorded.set_fruitless();                       \
            });                                                             \
    }
#define LAPWING_MAKES(function, parent, parameters, names, made)      \
    LAPWING_MPI function parameters {                                 \
        return record(                                                \
            CallSite{#function, __builtin_return_address(0)}, parent, \
            [&] { return LAPWING_NEXT(function) names; },             \
            [&](RecordedCall&, int error) { define(made, error); });  \
    }
#define LAPWING_OPENS(function, parent, parameters, names, made)                      \
    LAPWING_MPI function parameters {                                                 \
        return record(                                                                \
            CallSite{#function, __builtin_return_address(0)}, parent,                 \
            [&] { return LAPWING_NEXT(function) names; }, [](RecordedCall&, int) {}); \
    }
#define LAPWING_LAST(function)
#include "mpi/calls/native_calls.def"

LAPWING_MPI MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    return record(
        CallSite{"MPI_Comm_dup", __builtin_return_address(0)}, comm,
        [&] { return NEXT_Comm_dup(comm, made); }, [&](RecordedCall&, int error) { define(made, error); });
}

LAPWING_MPI MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    return record(
        CallSite{"MPI_Comm_dup_with_info", __builtin_return_address(0)}, comm,
        [&] { return NEXT_Comm_dup_with_info(comm, info, made); },
        [&](RecordedCall&, int error) { define(made, error); });
}

// The communicator has a number when it is used.
LAPWING_MPI MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
    return record(
        CallSite{"MPI_Comm_idup", __builtin_return_address(0)}, comm,
        [&] { return NEXT_Comm_idup(comm, made, request); },
        [&](RecordedCall& recorded, int error) {
            if (error == MPI_SUCCESS) add_request(recorded.call(), *request, false);
        });
}

LAPWING_MPI MPI_Comm_free(MPI_Comm* communicator) {
    return record(
        CallSite{"MPI_Comm_free", __builtin_return_address(0)},
        communicator == nullptr ? MPI_COMM_NULL : *communicator, [&] { return NEXT_Comm_free(communicator); },
        [](RecordedCall&, int) {});
}

LAPWING_MPI MPI_Comm_disconnect(MPI_Comm* communicator) {
    return record(
        CallSite{"MPI_Comm_disconnect", __builtin_return_address(0)},
        communicator == nullptr ? MPI_COMM_NULL : *communicator,
        [&] { return NEXT_Comm_disconnect(communicator); }, [](RecordedCall&, int) {});
}
