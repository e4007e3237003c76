// How a datatype was constructed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace lapwing {

// The combiner of the type: MPI_COMBINER_NAMED for a predefined type.
int combiner_of(MPI_Datatype type);
inline bool is_predefined(MPI_Datatype type) {
    const int combiner = combiner_of(type);
#ifdef OPEN_MPI
    // Those of MPI_Type_create_f90_* are predefined, and Open MPI refuses to free them.
    if (combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_INTEGER ||
        combiner == MPI_COMBINER_F90_COMPLEX)
        return true;
#endif
    return combiner == MPI_COMBINER_NAMED;
}

// Owns a handle, and frees it unless the type is predefined.
class TypeHandle {
  public:
    explicit TypeHandle(MPI_Datatype handle) : handle_(handle) {}
    TypeHandle(TypeHandle&& other) noexcept;
    ~TypeHandle();
    TypeHandle& operator=(TypeHandle&&) = delete;
    MPI_Datatype handle() const { return handle_; }

  private:
    MPI_Datatype handle_;
};

// In the order of MPI_Type_get_contents; where the type was made with large counts, only if it
// has_addresses().
struct Contents {
    int combiner = MPI_COMBINER_NAMED;
    std::vector<std::int64_t> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<TypeHandle> types;

    // Returns the MPI's error code. Of a predefined type, sets only the combiner.
    int read(MPI_Datatype type);
    // Of a type that is made of addresses, which are those of its elements where they are at MPI_BOTTOM.
    bool has_addresses() const;
};

}  // namespace lapwing
