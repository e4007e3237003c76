// The calls of native_calls.def that send or receive messages: the profile sums up their time. And those that
// make communicators, because it tells communicators with the same ranks apart by the order in which they are
// made.
#include <algorithm>
#include <cstdint>

#include "mpi/calls/signatures.hpp"
#include "mpi/profile/profile.hpp"

namespace {

using lapwing::CallSite;

constexpr std::uint64_t no_message = UINT64_MAX;

// The bytes of a message.
constexpr auto sends = lapwing::bytes_of;
constexpr auto receives = lapwing::bytes_of;
std::uint64_t exchanges(std::uint64_t sent, std::uint64_t received) {
    return std::max(sent, received);
}
std::uint64_t probes() {
    return 0;
}

// `get_bytes`: what the call sends or receives. `request`: that it makes, null if it makes none.
template <typename Native, typename GetBytes>
int timed(const CallSite& site, const MPI_Request* request, Native native, GetBytes get_bytes) {
    const std::uint64_t bytes = lapwing::trace::on() ? get_bytes() : no_message;
    if (bytes == no_message) return native();
    return lapwing::profile::profiled(site, request, native,
                                      [bytes] { return lapwing::profile::Recorded{.bytes = bytes}; });
}

int define(const MPI_Comm* made, int error) {
    if (!lapwing::trace::on() || made == nullptr || error != MPI_SUCCESS || *made == MPI_COMM_NULL)
        return error;
    lapwing::profile::find(*made);
    return error;
}

}  // namespace

#define LAPWING_TIMED(function, parameters, names, request, bytes)                \
    LAPWING_MPI function parameters {                                             \
        return timed(                                                             \
            CallSite{#function, __builtin_return_address(0)}, request,            \
            [&] { return LAPWING_NEXT(function) names; }, [&] { return bytes; }); \
    }
#define LAPWING_CALL(function, parameters, names, communicator, peer, tag, bytes) \
    LAPWING_TIMED(function, parameters, names, nullptr, bytes)
#define LAPWING_STARTS(function, parameters, names, bytes) \
    LAPWING_TIMED(function, parameters, names, request, bytes)
#define LAPWING_MAKES(function, parent, parameters, names, made) \
    LAPWING_MPI function parameters {                            \
        return define(made, LAPWING_NEXT(function) names);       \
    }
#include "mpi/calls/native_calls.def"
