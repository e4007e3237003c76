#include "links/mpi/mpi_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <utility>

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

// Bytes as a count of one type. Counts of MPI-3 are ints: a longer message is one element of a derived type.
class ByteSpan {
  public:
    explicit ByteSpan(std::uint64_t bytes) {
        if (bytes <= INT_MAX) {
            count_ = static_cast<int>(bytes);
            return;
        }
        constexpr std::uint64_t piece = 1U << 30;
        MPI_Datatype pieces = MPI_DATATYPE_NULL;
        MPI_Datatype whole = MPI_DATATYPE_NULL;
        MpiError::check(PMPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &pieces));
        int lengths[2] = {static_cast<int>(bytes / piece), static_cast<int>(bytes % piece)};
        MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / piece * piece)};
        MPI_Datatype types[2] = {pieces, MPI_BYTE};
        MpiError::check(PMPI_Type_create_struct(2, lengths, places, types, &whole));
        MpiError::check(PMPI_Type_commit(&whole));
        MpiError::check(PMPI_Type_free(&pieces));
        type_ = whole;
        made_ = true;
        count_ = 1;
    }
    ~ByteSpan() {
        // The MPI frees the type when no message uses it any more.
        if (made_) PMPI_Type_free(&type_);
    }
    ByteSpan(const ByteSpan&) = delete;
    ByteSpan& operator=(const ByteSpan&) = delete;

    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_BYTE;
    int count_ = 0;
    bool made_ = false;
};

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

std::uint32_t MessageSlots::take() {
    const auto free = std::find(used_.begin(), used_.end(), false);
    const auto slot = static_cast<std::uint32_t>(free - used_.begin());
    if (slot >= tag_bits().slots()) {
        throw Error(
            ErrorCode::link,
            fmt::format("{} communicators use Lapwing's messages over the native MPI, which has no tags "
                        "for more; LAPWING_NETWORK=tcp has no such limit",
                        slot - 1));
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
