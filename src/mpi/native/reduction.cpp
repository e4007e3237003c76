#include "mpi/native/reduction.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include "mpi/native/packing.hpp"
#include "mpi/native/refusals.hpp"

namespace lapwing {
namespace {

std::optional<Operator> own_operator(MPI_Op op) {
    static const struct {
        MPI_Op mpi;
        Operator own;
    } table[] = {{MPI_SUM, Operator::sum},        {MPI_PROD, Operator::product},
                 {MPI_MIN, Operator::minimum},    {MPI_MAX, Operator::maximum},
                 {MPI_BAND, Operator::bit_and},   {MPI_BOR, Operator::bit_or},
                 {MPI_BXOR, Operator::bit_xor},   {MPI_LAND, Operator::logical_and},
                 {MPI_LOR, Operator::logical_or}, {MPI_LXOR, Operator::logical_xor}};
    for (const auto& row : table) {
        if (row.mpi == op) return row.own;
    }
    return std::nullopt;
}

template <typename Integer>
constexpr Type own_integer() {
    constexpr bool is_signed = std::is_signed_v<Integer>;
    switch (sizeof(Integer)) {
        case 1:
            return is_signed ? Type::int8 : Type::uint8;
        case 2:
            return is_signed ? Type::int16 : Type::uint16;
        case 4:
            return is_signed ? Type::int32 : Type::uint32;
        default:
            return is_signed ? Type::int64 : Type::uint64;
    }
}

struct KnownType {
    MPI_Datatype mpi;
    Type own;
    bool logical;  // the logical operators apply
    bool arithmetic;
};

// A type that this MPI was built without is MPI_DATATYPE_NULL here.
const std::vector<KnownType>& known_types() {
    static const std::vector<KnownType> table = {
        {MPI_INT, own_integer<int>(), true, true},
        {MPI_DOUBLE, Type::float64, false, true},
        {MPI_FLOAT, Type::float32, false, true},
        {MPI_LONG, own_integer<long>(), true, true},
        {MPI_LONG_LONG_INT, own_integer<long long>(), true, true},
        {MPI_SHORT, own_integer<short>(), true, true},
        {MPI_SIGNED_CHAR, Type::int8, true, true},
        {MPI_UNSIGNED, own_integer<unsigned>(), true, true},
        {MPI_UNSIGNED_LONG, own_integer<unsigned long>(), true, true},
        {MPI_UNSIGNED_LONG_LONG, own_integer<unsigned long long>(), true, true},
        {MPI_UNSIGNED_SHORT, own_integer<unsigned short>(), true, true},
        {MPI_UNSIGNED_CHAR, Type::uint8, true, true},
        {MPI_INT8_T, Type::int8, true, true},
        {MPI_INT16_T, Type::int16, true, true},
        {MPI_INT32_T, Type::int32, true, true},
        {MPI_INT64_T, Type::int64, true, true},
        {MPI_UINT8_T, Type::uint8, true, true},
        {MPI_UINT16_T, Type::uint16, true, true},
        {MPI_UINT32_T, Type::uint32, true, true},
        {MPI_UINT64_T, Type::uint64, true, true},
        {MPI_AINT, own_integer<MPI_Aint>(), false, true},
        {MPI_OFFSET, own_integer<MPI_Offset>(), false, true},
        {MPI_COUNT, own_integer<MPI_Count>(), false, true},
        {MPI_BYTE, Type::uint8, false, false},
    };
    return table;
}

bool is_logical(Operator op) {
    return op == Operator::logical_and || op == Operator::logical_or || op == Operator::logical_xor;
}
bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

// Fortran's types, by their size in this MPI. LOGICAL is left to the MPI.
std::optional<KnownType> fortran_type(MPI_Datatype type) {
    const auto sized = [&](bool real) -> std::optional<KnownType> {
        int size = 0;
        PMPI_Type_size(type, &size);
        if (real && size == 4) return KnownType{type, Type::float32, false, true};
        if (real && size == 8) return KnownType{type, Type::float64, false, true};
        if (!real && size == 4) return KnownType{type, Type::int32, false, true};
        if (!real && size == 8) return KnownType{type, Type::int64, false, true};
        return std::nullopt;
    };
    if (type == MPI_INTEGER) return sized(false);
    if (type == MPI_REAL || type == MPI_DOUBLE_PRECISION) return sized(true);
    return std::nullopt;
}

std::optional<KnownType> known_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return std::nullopt;
    for (const KnownType& known : known_types()) {
        if (known.mpi == type) return known;
    }
    return fortran_type(type);
}

// Handles that requests use. A handle that the program frees meanwhile is freed with its last request. Inside
// Entry.
template <typename Handle>
class Holdings {
  public:
    void hold(Handle handle) {
        const auto found = find(handle);
        if (found == held_.end())
            held_.push_back({handle, 1, false});
        else
            ++found->holders;
    }
    void release(Handle handle, int (*free)(Handle*)) {
        const auto found = find(handle);
        if (--found->holders > 0) return;
        if (found->freed) free(&found->handle);
        held_.erase(found);
    }
    // Called when the program frees the handle. Returns true if requests still use it.
    bool keeps(Handle handle) {
        const auto found = find(handle);
        if (found == held_.end()) return false;
        found->freed = true;
        return true;
    }

  private:
    struct Held {
        Handle handle;
        int holders;
        bool freed;
    };
    typename std::vector<Held>::iterator find(Handle handle) {
        return std::find_if(held_.begin(), held_.end(),
                            [&](const Held& held) { return held.handle == handle; });
    }
    std::vector<Held> held_;
};
// Never destroyed: a program may exit without MPI_Finalize.
auto& operators = *new Holdings<MPI_Op>;
auto& types = *new Holdings<MPI_Datatype>;

// Room for unpacked elements, whose bytes may lie before or after their address.
class TypedMemory {
  public:
    TypedMemory(Staging& staging, std::uint64_t count, MPI_Datatype type, const Layout& layout) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        PMPI_Type_get_true_extent(type, &lower, &extent);
        const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * layout.extent;
        const MPI_Aint begin = lower + std::min<MPI_Aint>(0, last);
        const MPI_Aint end = lower + extent + std::max<MPI_Aint>(0, last);
        elements_ = staging.take(static_cast<std::uint64_t>(end - begin)) - begin;
    }
    std::byte* elements() const { return elements_; }

  private:
    std::byte* elements_;
};

}  // namespace

bool reduction_of(MPI_Op op, MPI_Datatype type, const Layout& layout, Reduction& reduction) {
    reduction = {};
    const std::optional<Operator> own = own_operator(op);
    const std::optional<KnownType> known = own ? known_type(type) : std::nullopt;
    if (known && (is_logical(*own)   ? known->logical
                  : is_bitwise(*own) ? is_integer(known->own)
                                     : known->arithmetic)) {
        reduction.op = *own;
        reduction.type = known->own;
        return true;
    }
    if ((own || op == MPI_MINLOC || op == MPI_MAXLOC) && is_unfit(op, type)) return false;
    reduction.element = layout.size;
    int commutes = 1;
    if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS) return false;
    reduction.ordered = commutes == 0;
    return true;
}

void MpiReducer::hold(const MpiOperator& by) {
    holds_ = true;
    by_ = by;
    operators.hold(by.op);
    types.hold(by.type);
}

bool keeps_operator(MPI_Op op) {
    return operators.keeps(op);
}

bool keeps_type(MPI_Datatype type) {
    return types.keeps(type);
}

void MpiReducer::free() {
    operators.release(by_.op, PMPI_Op_free);
    types.release(by_.type, PMPI_Type_free);
    holds_ = false;
    error_ = MPI_SUCCESS;
    left_.trim();
    right_.trim();
}

void MpiReducer::reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    const std::uint64_t most = std::max<std::uint64_t>(1, INT_MAX / by_.layout.size);
    for (std::uint64_t left = bytes / by_.layout.size; left > 0 && error_ == MPI_SUCCESS;) {
        const std::uint64_t count = std::min(left, most);
        try {
            error_ = reduce_run(target, source, count);
        } catch (const std::bad_alloc&) {
            error_ = MPI_ERR_NO_MEM;
        }
        source += count * by_.layout.size;
        target += count * by_.layout.size;
        left -= count;
    }
}

// `count` fits an int.
int MpiReducer::reduce_run(std::byte* target, const std::byte* source, std::uint64_t count) {
    if (by_.layout.contiguous)
        return PMPI_Reduce_local(source, target, static_cast<int>(count), by_.type, by_.op);
    const TypedMemory a(left_, count, by_.type, by_.layout);
    const TypedMemory b(right_, count, by_.type, by_.layout);
    int error = unpack(source, a.elements(), count, by_.type, by_.layout);
    if (error == MPI_SUCCESS) error = unpack(target, b.elements(), count, by_.type, by_.layout);
    if (error == MPI_SUCCESS)
        error = PMPI_Reduce_local(a.elements(), b.elements(), static_cast<int>(count), by_.type, by_.op);
    return error == MPI_SUCCESS ? pack(b.elements(), count, by_.type, by_.layout, target) : error;
}

}  // namespace lapwing
