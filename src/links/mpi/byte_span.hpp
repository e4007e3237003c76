// Any number of bytes as elements of a datatype.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstdint>

#include "links/mpi/mpi_error.hpp"

namespace lapwing {

// Counts of MPI-3 are ints: more bytes are one element of a derived type.
class ByteSpan {
  public:
    // `byte`: MPI_BYTE or MPI_PACKED. Throws MpiError.
    explicit ByteSpan(std::uint64_t bytes, MPI_Datatype byte = MPI_BYTE) : type_(byte) {
        if (bytes <= INT_MAX) {
            count_ = static_cast<int>(bytes);
            return;
        }
        constexpr std::uint64_t piece = 1U << 30;
        MPI_Datatype pieces = MPI_DATATYPE_NULL;
        MPI_Datatype whole = MPI_DATATYPE_NULL;
        MpiError::check(PMPI_Type_contiguous(static_cast<int>(piece), byte, &pieces));
        int lengths[2] = {static_cast<int>(bytes / piece), static_cast<int>(bytes % piece)};
        MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / piece * piece)};
        MPI_Datatype types[2] = {pieces, byte};
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
    ByteSpan& operator=(ByteSpan&&) = delete;

    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

  private:
    MPI_Datatype type_;
    int count_ = 0;
    bool made_ = false;
};

}  // namespace lapwing
