#include "mpi/requests/persistence.hpp"

#include "mpi/job/runtime.hpp"
#include "mpi/native/contents.hpp"
#include "mpi/native/entry.hpp"
#include "mpi/native/own_communicator.hpp"

namespace lapwing {

std::atomic<int> persistent_requests{0};

namespace {

// A tag of the own communicator for each request that is there.
auto& free_tags = *new std::vector<int>;  // never destroyed, see in_flight.cpp
int next_tag = 0;

}  // namespace

int PersistentHandle::make(MPI_Request* handle) {
    if (free_tags.empty()) free_tags.push_back(next_tag++);
    tag_ = free_tags.back();
    // Errors are raised on the collective's communicator.
    const int error = PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, own_communicator(), handle);
    if (error == MPI_SUCCESS) free_tags.pop_back();
    return error;
}

void PersistentHandle::start(MPI_Request handle) {
    if (active_) return;
    PMPI_Start(&handle);
    active_ = true;
}

void PersistentHandle::complete(MPI_Request handle, int error) {
    start(handle);
    // A message that is too long is the one way to make a receive fail.
    static const char too_long = 0;
    MPI_Request sent = MPI_REQUEST_NULL;
    PMPI_Isend(&too_long, error == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag_, own_communicator(), &sent);
    PMPI_Request_free(&sent);
    active_ = false;
}

void PersistentHandle::free(MPI_Request handle, int error) {
    if (active_) complete(handle, error);
    PMPI_Request_free(&handle);
    free_tags.push_back(tag_);
}

Persistence::~Persistence() {
    operands.release();
    for (auto& [theirs, ours] : types) {
        if (ours != theirs) PMPI_Type_free(&ours);
    }
}

MPI_Datatype Persistence::keep(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return type;
    for (const auto& [theirs, ours] : types) {
        if (theirs == type) return ours;
    }
    if (is_predefined(type)) return type;
    MPI_Datatype ours = MPI_DATATYPE_NULL;
    if (PMPI_Type_dup(type, &ours) != MPI_SUCCESS) return type;
    types.emplace_back(type, ours);
    return ours;
}

void Persistence::keep_operator(MPI_Op reduction, MPI_Datatype type, const Layout& of_type) {
    reduces = true;
    op = reduction;
    operand = type;
    layout = of_type;
}

void Persistence::hold_operator() {
    if (reduces) operands.hold(op, operand, layout);
}

}  // namespace lapwing
