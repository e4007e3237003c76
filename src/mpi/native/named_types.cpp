#include "mpi/native/named_types.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "mpi/native/contents.hpp"

namespace lapwing {
namespace {

// Types that not every MPI has, by how their names begin. The first row that fits is taken. No bfloat16:
// MPICH 5 rounds ties up, and ends the process at all operators but MPI_SUM; Intel MPI's results depend on
// the processor.
struct Beginning {
    std::string_view name;
    TypeKind kind;
};
constexpr Beginning beginnings[] = {
    {"MPI_INTEGER", TypeKind::signed_integer},  // and the bytes of one: MPI_INTEGER8
    {"MPI_REAL", TypeKind::real},
    {"MPI_COMPLEX", TypeKind::complex},
    {"MPI_LOGICAL", TypeKind::logical},
    {"MPI_CXX_BOOL", TypeKind::logical},
    {"MPI_CXX_", TypeKind::complex},
    {"MPIX_C_FLOAT16", TypeKind::real},
    {"MPIX_SHORT_FLOAT", TypeKind::real},
    {"MPI_SHORT_FLOAT", TypeKind::real},  // the name of MPIX_SHORT_FLOAT in Open MPI 5
};

std::optional<NamedType> find_named(MPI_Datatype type) {
    const auto all = named_types();
    const auto found = std::ranges::find(all, type, &NamedType::handle);
    if (found != all.end()) return *found;
    if (!is_predefined(type)) return std::nullopt;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    PMPI_Type_get_name(type, name, &length);
    const auto* const beginning = std::ranges::find_if(
        beginnings, [&](const Beginning& row) { return std::string_view(name).starts_with(row.name); });
    if (beginning == std::end(beginnings)) return std::nullopt;
    return NamedType{type, beginning->kind, ""};
}

std::optional<Type> of_size(std::uint64_t size, std::initializer_list<Type> types) {
    const auto* const found = std::ranges::find(types, size, size_in_bytes);
    return found != types.end() ? std::optional(*found) : std::nullopt;
}

std::optional<Type> own_type(const NamedType& type, std::uint64_t size) {
    using enum Type;
    switch (type.kind) {
        case TypeKind::signed_integer:
        case TypeKind::logical:
            return of_size(size, {int8, int16, int32, int64});
        case TypeKind::unsigned_integer:
            return of_size(size, {uint8, uint16, uint32, uint64});
        case TypeKind::real:
            return of_size(size, {float16, float32, float64, long_double});
        case TypeKind::complex:
            return of_size(size, {complex64, complex128, complex_long_double});
        case TypeKind::other:
            return of_size(size, {type.own});
    }
    return std::nullopt;
}

}  // namespace

std::span<const NamedType> named_types() {
    using enum TypeKind;
    static const NamedType table[] = {
        {MPI_DOUBLE, real, "MPI_DOUBLE"},
        {MPI_INT, signed_integer, "MPI_INT"},
        {MPI_FLOAT, real, "MPI_FLOAT"},
        {MPI_BYTE, other, "MPI_BYTE", Type::uint8},
        {MPI_CHAR, other, "MPI_CHAR", Type::int8},
        {MPI_LONG, signed_integer, "MPI_LONG"},
        {MPI_LONG_LONG_INT, signed_integer, "MPI_LONG_LONG_INT"},
        {MPI_SHORT, signed_integer, "MPI_SHORT"},
        {MPI_SIGNED_CHAR, signed_integer, "MPI_SIGNED_CHAR"},
        {MPI_UNSIGNED, unsigned_integer, "MPI_UNSIGNED"},
        {MPI_UNSIGNED_LONG, unsigned_integer, "MPI_UNSIGNED_LONG"},
        {MPI_UNSIGNED_LONG_LONG, unsigned_integer, "MPI_UNSIGNED_LONG_LONG"},
        {MPI_UNSIGNED_SHORT, unsigned_integer, "MPI_UNSIGNED_SHORT"},
        {MPI_UNSIGNED_CHAR, unsigned_integer, "MPI_UNSIGNED_CHAR"},
        {MPI_INT8_T, signed_integer, "MPI_INT8_T"},
        {MPI_INT16_T, signed_integer, "MPI_INT16_T"},
        {MPI_INT32_T, signed_integer, "MPI_INT32_T"},
        {MPI_INT64_T, signed_integer, "MPI_INT64_T"},
        {MPI_UINT8_T, unsigned_integer, "MPI_UINT8_T"},
        {MPI_UINT16_T, unsigned_integer, "MPI_UINT16_T"},
        {MPI_UINT32_T, unsigned_integer, "MPI_UINT32_T"},
        {MPI_UINT64_T, unsigned_integer, "MPI_UINT64_T"},
        {MPI_AINT, signed_integer, "MPI_AINT"},
        {MPI_OFFSET, signed_integer, "MPI_OFFSET"},
        {MPI_COUNT, signed_integer, "MPI_COUNT"},
        {MPI_INTEGER, signed_integer, "MPI_INTEGER"},
        {MPI_REAL, real, "MPI_REAL"},
        {MPI_DOUBLE_PRECISION, real, "MPI_DOUBLE_PRECISION"},
        {MPI_LONG_DOUBLE, real, "MPI_LONG_DOUBLE"},
        {MPI_C_FLOAT_COMPLEX, complex, "MPI_C_FLOAT_COMPLEX"},
        {MPI_C_DOUBLE_COMPLEX, complex, "MPI_C_DOUBLE_COMPLEX"},
        {MPI_C_LONG_DOUBLE_COMPLEX, complex, "MPI_C_LONG_DOUBLE_COMPLEX"},
        {MPI_COMPLEX, complex, "MPI_COMPLEX"},
        {MPI_DOUBLE_COMPLEX, complex, "MPI_DOUBLE_COMPLEX"},
        {MPI_C_BOOL, logical, "MPI_C_BOOL"},
        {MPI_LOGICAL, logical, "MPI_LOGICAL"},
        {MPI_2INT, other, "MPI_2INT", Type::int32_int32},
        {MPI_FLOAT_INT, other, "MPI_FLOAT_INT", Type::float32_int32},
        {MPI_DOUBLE_INT, other, "MPI_DOUBLE_INT", Type::float64_int32},
        {MPI_LONG_INT, other, "MPI_LONG_INT", Type::int64_int32},
        {MPI_SHORT_INT, other, "MPI_SHORT_INT", Type::int16_int32},
        {MPI_LONG_DOUBLE_INT, other, "MPI_LONG_DOUBLE_INT", Type::long_double_int32},
        {MPI_2REAL, other, "MPI_2REAL", Type::float32_float32},
        {MPI_2DOUBLE_PRECISION, other, "MPI_2DOUBLE_PRECISION", Type::float64_float64},
        {MPI_2INTEGER, other, "MPI_2INTEGER", Type::int32_int32},
    };
    return table;
}

std::optional<ElementType> element_type(MPI_Datatype type, std::uint64_t size) {
    if (type == MPI_DATATYPE_NULL) return std::nullopt;
    const std::optional<NamedType> named = find_named(type);
    const std::optional<Type> own = named ? own_type(*named, size) : std::nullopt;
    if (!own) return std::nullopt;
    return ElementType{*own, named->kind == TypeKind::logical};
}

}  // namespace lapwing
