#include "links/mpi/mpi_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "links/mpi/byte_span.hpp"
#include "links/mpi/mpi_error.hpp"
#include "links/mpi/own_communicator.hpp"
#include "links/mpi/tags.hpp"

namespace lapwing {
namespace {

// A request is a pointer in one MPI and an int in another.
static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));
void keep(MPI_Request request, Link::Transfer& transfer) {
    transfer.handle = 0;
    std::memcpy(&transfer.handle, &request, sizeof request);
    transfer.active = true;
}

}  // namespace

std::uint32_t MessageSlots::take() {
    const auto free = std::ranges::find(used_, false);
    const auto slot = static_cast<std::uint32_t>(free - used_.begin());
    if (slot >= message_slots()) {
        throw Error(ErrorCode::link,
                    "{} communicators use Lapwing's messages over the native MPI, which has no tags "
                    "for more; LAPWING_NETWORK=tcp has no such limit",
                    slot - 2);
    }
    if (free == used_.end())
        used_.push_back(true);
    else
        *free = true;
    return slot;
}

MpiLink::MpiLink(MPI_Comm communicator, std::vector<int> members, std::vector<std::uint32_t> slots, int rank)
    : communicator_(communicator),
      members_(std::move(members)),
      slots_(std::move(slots)),
      own_slot_(slots_[static_cast<std::size_t>(rank)]) {}

void MpiLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                   Transfer& transfer) {
    const ByteSpan span(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const auto to = static_cast<std::size_t>(peer);
    MpiError::check(PMPI_Isend(data, span.count(), span.type(), members_[to],
                               message_tag(slots_[to], channel), communicator_, &request));
    keep(request, transfer);
}

void MpiLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                   Transfer& transfer) {
    const ByteSpan span(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Irecv(data, span.count(), span.type(), members_[static_cast<std::size_t>(peer)],
                               message_tag(own_slot_, channel), communicator_, &request));
    keep(request, transfer);
}

bool MpiLink::test(Transfer& transfer) {
    if (!transfer.active) return true;
    MPI_Request request;
    std::memcpy(&request, &transfer.handle, sizeof request);
    int complete = 0;
    MpiError::check(PMPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    if (!complete) return false;
    transfer = {};
    return true;
}

void MpiLink::progress() {
    progress_mpi();
}

}  // namespace lapwing
