#include "links/mpi/mpi_link.hpp"

#include <climits>
#include <cstring>

namespace lapwing {
namespace {

void check(int code) {
    if (code != MPI_SUCCESS) throw MpiError(code);
}

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
        check(PMPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &pieces));
        int lengths[2] = {static_cast<int>(bytes / piece), static_cast<int>(bytes % piece)};
        MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / piece * piece)};
        MPI_Datatype types[2] = {pieces, MPI_BYTE};
        check(PMPI_Type_create_struct(2, lengths, places, types, &whole));
        check(PMPI_Type_commit(&whole));
        check(PMPI_Type_free(&pieces));
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

std::string describe(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    PMPI_Error_string(code, text, &length);
    return text;
}

}  // namespace

MpiError::MpiError(int code) : Error(ErrorCode::link, describe(code)), mpi_code_(code) {}

void MpiLink::begin(MPI_Comm communicator) {
    int ranks = 0;
    check(PMPI_Comm_size(communicator, &ranks));
    if (ranks == 1) {
        ready_ = true;
        return;
    }
    int* most = nullptr;
    int found = 0;
    check(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found));
    if (found) tags_ = static_cast<std::uint32_t>(*most == INT_MAX ? *most : *most + 1);
    check(PMPI_Comm_idup(communicator, &duplicate_, &duplication_));
}

bool MpiLink::ready() {
    if (ready_) return true;
    if (duplication_ == MPI_REQUEST_NULL) return false;
    int complete = 0;
    check(PMPI_Test(&duplication_, &complete, MPI_STATUS_IGNORE));
    ready_ = complete != 0;
    // Otherwise errors would call the program's handler with a communicator that the program has not made.
    if (ready_) check(PMPI_Comm_set_errhandler(duplicate_, MPI_ERRORS_RETURN));
    return ready_;
}

void MpiLink::free() {
    if (ready_ && duplicate_ != MPI_COMM_NULL) check(PMPI_Comm_free(&duplicate_));
}

// The upper half of the tags is for persistent channels.
int MpiLink::tag(std::uint32_t channel) const {
    const std::uint32_t half = tags_ / 2;
    return static_cast<int>(channel < first_persistent_channel
                                ? channel % half
                                : half + (channel - first_persistent_channel) % half);
}

void MpiLink::send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                   Transfer& transfer) {
    const ByteSpan span(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Isend(data, span.count(), span.type(), peer, tag(channel), duplicate_, &request));
    keep(request, transfer);
}

void MpiLink::recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                   Transfer& transfer) {
    const ByteSpan span(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Irecv(data, span.count(), span.type(), peer, tag(channel), duplicate_, &request));
    keep(request, transfer);
}

bool MpiLink::test(Transfer& transfer) {
    if (!transfer.active) return true;
    MPI_Request request;
    std::memcpy(&request, &transfer.handle, sizeof request);
    int complete = 0;
    check(PMPI_Test(&request, &complete, MPI_STATUS_IGNORE));
    if (!complete) return false;
    transfer = {};
    return true;
}

// Any call advances all messages of the MPI.
void MpiLink::progress() {
    int found = 0;
    check(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
}

}  // namespace lapwing
