// How a datatype was constructed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace lapwing {

// The combiner of the type: MPI_COMBINER_NAMED for a predefined type.
int combiner_of(MPI_Datatype type);
inline bool is_predefined(MPI_Datatype type) {
    return combiner_of(type) == MPI_COMBINER_NAMED;
}

// Owns a handle, and frees it unless the type is predefined.
class TypeHandle {
  public:
    explicit TypeHandle(MPI_Datatype handle) : handle_(handle) {}
    TypeHandle(TypeHandle&& other) noexcept;
    ~TypeHandle();
    TypeHandle(const TypeHandle&) = delete;
    TypeHandle& operator=(const TypeHandle&) = delete;
    MPI_Datatype handle() const { return handle_; }
    std::uint64_t size() const;
    MPI_Aint extent() const;

  private:
    MPI_Datatype handle_;
};

// In the order of MPI_Type_get_contents, also where the type was made with large counts.
struct Contents {
    int combiner = MPI_COMBINER_NAMED;
    std::vector<std::int64_t> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<TypeHandle> types;

    // Returns the MPI's error code. Of a predefined type, sets only the combiner.
    int read(MPI_Datatype type);
};

}  // namespace lapwing
