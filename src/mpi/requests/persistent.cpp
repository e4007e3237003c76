#include "mpi/requests/persistent.hpp"

#include "mpi/native/contents.hpp"

namespace lapwing {

Persistent::Persistent(const UserBuffers& given) : buffers(given) {
    const auto replace = [this](MPI_Datatype type) { return duplicate(type); };
    buffers.sent.replace_types(replace);
    buffers.received.replace_types(replace);
    if (buffers.reduction) buffers.reduction->type = replace(buffers.reduction->type);
}

Persistent::~Persistent() {
    reduction.release();
    for (auto& [theirs, ours] : duplicates_) PMPI_Type_free(&ours);
}

// The same type if it is predefined. If the MPI cannot duplicate it, its error shows when the type is used.
MPI_Datatype Persistent::duplicate(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return type;
    for (const auto& [theirs, ours] : duplicates_) {
        if (theirs == type) return ours;
    }
    MPI_Datatype ours = MPI_DATATYPE_NULL;
    if (is_predefined(type) || PMPI_Type_dup(type, &ours) != MPI_SUCCESS) return type;
    duplicates_.emplace_back(type, ours);
    return ours;
}

}  // namespace lapwing
