#include "links/mpi/mpi_link.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "links/mpi/byte_span.hpp"
#include "links/mpi/mpi_error.hpp"
#include "links/mpi/mpi_progress.hpp"

namespace lapwing {
namespace {

// A request is a pointer in one MPI and an int in another.
static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));
void keep(MPI_Request request, Link::Transfer& transfer) {
    transfer.handle = 0;
    std::memcpy(&transfer.handle, &request, sizeof request);
    transfer.active = true;
}

// How the bits of a tag are divided.
struct TagBits {
    int channel;
    int slot;
    std::uint32_t slots() const { return std::uint32_t{1} << slot; }
};

TagBits tag_bits() {
    static const TagBits bits = [] {
        int* max_tag = nullptr;
        int found = 0;
        MpiError::check(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &max_tag, &found));
        const auto tags =
            static_cast<std::uint32_t>(found ? *max_tag : 32767) + 1;  // at least those of the standard
        const int all = std::bit_width(tags) - 1;
        const int channel = std::min(15, all / 2);
        return TagBits{channel, all - channel};
    }();
    return bits;
}

// The upper half of the channels is for persistent ones.
int tag(std::uint32_t slot, std::uint32_t channel) {
    const int bits = tag_bits().channel;
    const std::uint32_t half = std::uint32_t{1} << (bits - 1);
    const std::uint32_t number = channel < first_persistent_channel
                                     ? channel % half
                                     : half + (channel - first_persistent_channel) % half;
    return static_cast<int>(slot << bits | number);
}

}  // namespace

int tag_of_exchanges() {
    return tag(MessageSlots::of_job, 0);
}

std::uint32_t MessageSlots::take() {
    const auto free = std::ranges::find(used_, false);
    const auto slot = static_cast<std::uint32_t>(free - used_.begin());
    if (slot >= tag_bits().slots()) {
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
    MpiError::check(PMPI_Isend(data, span.count(), span.type(), members_[to], tag(slots_[to], channel),
                               communicator_, &request));
    keep(request, transfer);
}

void MpiLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                   Transfer& transfer) {
    const ByteSpan span(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    MpiError::check(PMPI_Irecv(data, span.count(), span.type(), members_[static_cast<std::size_t>(peer)],
                               tag(own_slot_, channel), communicator_, &request));
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
