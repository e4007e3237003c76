// The predefined types of the MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>

#include "task/task.hpp"

namespace lapwing {

// An integer, real or complex type of C and of Fortran with the same size is one kind.
enum class TypeKind : std::uint8_t { signed_integer, unsigned_integer, real, complex, logical, other };

struct NamedType {
    MPI_Datatype handle;
    TypeKind kind;
    const char* name;
    Type own = Type::opaque;  // of the kind `other`, where its size is that of `own`
};
// Those that every MPI has; of the types of one kind and size, a type of C is the first. A type that this MPI
// was built without is MPI_DATATYPE_NULL here.
std::span<const NamedType> named_types();

// The elements of lists that have the representation of a predefined type.
struct ElementType {
    Type type;
    bool truth;  // 0 or 1
};
// `size`: of an element of `type`, in bytes. A type that not every MPI has is recognized by its name.
std::optional<ElementType> element_type(MPI_Datatype type, std::uint64_t size);

}  // namespace lapwing
