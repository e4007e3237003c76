#include "mpi/requests/persistent.hpp"

#include "links/mpi/own_communicator.hpp"

namespace lapwing {
namespace {

// Each handle has a tag of its own.
auto& free_tags = *new std::vector<int>;  // never destroyed, see request_table.hpp
int next_tag = first_persistent_tag;

}  // namespace

int PersistentHandle::make() {
    if (free_tags.empty()) free_tags.push_back(next_tag++);
    tag_ = free_tags.back();
    const int error = PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, own_communicator(), &handle_);
    if (error == MPI_SUCCESS) free_tags.pop_back();
    return error;
}

void PersistentHandle::start() {
    if (active_) return;
    PMPI_Start(&handle_);
    active_ = true;
}

void PersistentHandle::complete(int error) {
    start();
    // Only a message that is too long makes a receive fail.
    static const char too_long = 0;
    MPI_Request sent = MPI_REQUEST_NULL;
    PMPI_Isend(&too_long, error == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag_, own_communicator(), &sent);
    PMPI_Request_free(&sent);
    active_ = false;
}

void PersistentHandle::free(int error) {
    if (active_) complete(error);
    PMPI_Request_free(&handle_);
    free_tags.push_back(tag_);
}

Persistent::Persistent(const UserBuffers& given) : buffers(given) {
    buffers.sent.for_each_type(hold_type);
    buffers.received.for_each_type(hold_type);
    if (buffers.reduction) reduction.hold(*buffers.reduction);
}

Persistent::~Persistent() {
    reduction.release();
    buffers.sent.for_each_type(release_type);
    buffers.received.for_each_type(release_type);
}

}  // namespace lapwing
