// The predefined operators and types of MPI's reductions, as the MPI standard's tables have them.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "task/task.hpp"

namespace operator_table {

// Groups of types, as bits.
enum Group : unsigned {
    C_INTEGER = 1,
    FORTRAN_INTEGER = 2,
    FLOATING_POINT = 4,
    LOGICAL = 8,
    COMPLEX = 16,
    BYTE = 32,
    MULTI_LANGUAGE = 64,
    PAIR = 128
};

struct OperatorRow {
    MPI_Op op;
    const char* name;
    unsigned groups;
};
inline std::vector<OperatorRow> operators() {
    const unsigned integers = C_INTEGER | FORTRAN_INTEGER | MULTI_LANGUAGE;
    return {{MPI_MAX, "MPI_MAX", integers | FLOATING_POINT},
            {MPI_MIN, "MPI_MIN", integers | FLOATING_POINT},
            {MPI_SUM, "MPI_SUM", integers | FLOATING_POINT | COMPLEX},
            {MPI_PROD, "MPI_PROD", integers | FLOATING_POINT | COMPLEX},
            {MPI_LAND, "MPI_LAND", C_INTEGER | LOGICAL},
            {MPI_LOR, "MPI_LOR", C_INTEGER | LOGICAL},
            {MPI_LXOR, "MPI_LXOR", C_INTEGER | LOGICAL},
            {MPI_BAND, "MPI_BAND", integers | BYTE},
            {MPI_BOR, "MPI_BOR", integers | BYTE},
            {MPI_BXOR, "MPI_BXOR", integers | BYTE},
            {MPI_MINLOC, "MPI_MINLOC", PAIR},
            {MPI_MAXLOC, "MPI_MAXLOC", PAIR}};
}

// `parts`: what an element in memory is made of, each at its offset. A pair has a value and an index.
struct Part {
    lapwing::Type type;
    std::size_t offset;
};
struct TypeRow {
    MPI_Datatype type;
    const char* name;
    unsigned group;
    std::vector<Part> parts;
};

template <typename Value, typename Index>
std::size_t index_of() {
    struct InMemory {
        Value value;
        Index index;
    };
    return offsetof(InMemory, index);
}

// Those that this MPI has.
inline std::vector<TypeRow> types() {
    using enum lapwing::Type;
    using lapwing::Type;
    const auto integer = [](std::size_t bytes, bool is_signed) {
        const Type types[2][4] = {{uint8, uint16, uint32, uint64}, {int8, int16, int32, int64}};
        return types[is_signed ? 1 : 0][bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
    };
    std::vector<TypeRow> rows;
    const auto add = [&](MPI_Datatype type, const char* name, unsigned group, std::vector<Part> parts) {
        if (type == MPI_DATATYPE_NULL) return;
        int size = 0;
        char known_as[MPI_MAX_OBJECT_NAME] = "";  // empty in MPICH 4 that was built without the type
        int length = 0;
        PMPI_Type_size(type, &size);
        PMPI_Type_get_name(type, known_as, &length);
        if (size > 0 && length > 0) rows.push_back({type, name, group, std::move(parts)});
    };
    const auto add_integer = [&](MPI_Datatype type, const char* name, unsigned group, bool is_signed) {
        int size = 0;
        if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &size);
        if (size > 0 && size <= 8)
            add(type, name, group, {{integer(static_cast<std::size_t>(size), is_signed), 0}});
    };
    const auto add_complex = [&](MPI_Datatype type, const char* name, Type real, std::size_t bytes) {
        add(type, name, COMPLEX, {{real, 0}, {real, bytes}});
    };
#define OF_TYPE(type) type, #type
    add_integer(OF_TYPE(MPI_INT), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_LONG), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_SHORT), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_LONG_LONG), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_SIGNED_CHAR), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_UNSIGNED), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UNSIGNED_LONG), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UNSIGNED_LONG_LONG), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UNSIGNED_SHORT), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UNSIGNED_CHAR), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_INT8_T), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_INT16_T), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_INT32_T), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_INT64_T), C_INTEGER, true);
    add_integer(OF_TYPE(MPI_UINT8_T), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UINT16_T), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UINT32_T), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_UINT64_T), C_INTEGER, false);
    add_integer(OF_TYPE(MPI_INTEGER), FORTRAN_INTEGER, true);
    add_integer(OF_TYPE(MPI_AINT), MULTI_LANGUAGE, true);
    add_integer(OF_TYPE(MPI_OFFSET), MULTI_LANGUAGE, true);
    add_integer(OF_TYPE(MPI_COUNT), MULTI_LANGUAGE, true);
    add(OF_TYPE(MPI_FLOAT), FLOATING_POINT, {{float32, 0}});
    add(OF_TYPE(MPI_DOUBLE), FLOATING_POINT, {{float64, 0}});
    add(OF_TYPE(MPI_LONG_DOUBLE), FLOATING_POINT, {{long_double, 0}});
    add(OF_TYPE(MPI_REAL), FLOATING_POINT, {{float32, 0}});
    add(OF_TYPE(MPI_DOUBLE_PRECISION), FLOATING_POINT, {{float64, 0}});
    add_integer(OF_TYPE(MPI_C_BOOL), LOGICAL, false);
    add_integer(OF_TYPE(MPI_LOGICAL), LOGICAL, true);
    add_complex(OF_TYPE(MPI_C_FLOAT_COMPLEX), float32, 4);
    add_complex(OF_TYPE(MPI_C_DOUBLE_COMPLEX), float64, 8);
    add_complex(OF_TYPE(MPI_C_LONG_DOUBLE_COMPLEX), long_double, sizeof(long double));
    add_complex(OF_TYPE(MPI_COMPLEX), float32, 4);
    add_complex(OF_TYPE(MPI_DOUBLE_COMPLEX), float64, 8);
    add_integer(OF_TYPE(MPI_BYTE), BYTE, false);
    const auto add_pair = [&](MPI_Datatype type, const char* name, Type value, Type index,
                              std::size_t offset) {
        add(type, name, PAIR, {{value, 0}, {index, offset}});
    };
    add_pair(OF_TYPE(MPI_FLOAT_INT), float32, int32, index_of<float, int>());
    add_pair(OF_TYPE(MPI_DOUBLE_INT), float64, int32, index_of<double, int>());
    add_pair(OF_TYPE(MPI_LONG_INT), int64, int32, index_of<long, int>());
    add_pair(OF_TYPE(MPI_2INT), int32, int32, index_of<int, int>());
    add_pair(OF_TYPE(MPI_SHORT_INT), int16, int32, index_of<short, int>());
    add_pair(OF_TYPE(MPI_LONG_DOUBLE_INT), long_double, int32, index_of<long double, int>());
    add_pair(OF_TYPE(MPI_2REAL), float32, float32, 4);
    add_pair(OF_TYPE(MPI_2DOUBLE_PRECISION), float64, float64, 8);
    add_pair(OF_TYPE(MPI_2INTEGER), int32, int32, 4);
#ifdef MPI_INTEGER1  // and with it those of all sizes
    add_integer(OF_TYPE(MPI_INTEGER1), FORTRAN_INTEGER, true);
    add_integer(OF_TYPE(MPI_INTEGER2), FORTRAN_INTEGER, true);
    add_integer(OF_TYPE(MPI_INTEGER4), FORTRAN_INTEGER, true);
    add_integer(OF_TYPE(MPI_INTEGER8), FORTRAN_INTEGER, true);
    add(OF_TYPE(MPI_REAL4), FLOATING_POINT, {{float32, 0}});
    add(OF_TYPE(MPI_REAL8), FLOATING_POINT, {{float64, 0}});
    add_complex(OF_TYPE(MPI_COMPLEX8), float32, 4);
    add_complex(OF_TYPE(MPI_COMPLEX16), float64, 8);
#endif
#ifdef MPI_CXX_BOOL  // and with it the complex ones
    add_integer(OF_TYPE(MPI_CXX_BOOL), LOGICAL, false);
    add_complex(OF_TYPE(MPI_CXX_FLOAT_COMPLEX), float32, 4);
    add_complex(OF_TYPE(MPI_CXX_DOUBLE_COMPLEX), float64, 8);
    add_complex(OF_TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX), long_double, sizeof(long double));
#endif
#ifdef MPIX_C_FLOAT16
    add(OF_TYPE(MPIX_C_FLOAT16), FLOATING_POINT, {{float16, 0}});
#endif
#undef OF_TYPE
    return rows;
}

}  // namespace operator_table
