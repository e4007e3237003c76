#include "fuzz/data.hpp"

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <cstring>

namespace fuzz {
namespace {

template <typename Value>
void fill_value(std::byte* at, int value) {
    const Value written = static_cast<Value>(value);
    std::memcpy(at, &written, sizeof written);
}

template <typename Real>
void fill_complex(std::byte* at, int value) {
    fill_value<Real>(at, value);
    fill_value<Real>(at + sizeof(Real), 1 - value % 3);
}

template <typename Value>
struct Pair {
    Value value;
    int index;
};
template <typename Value>
void fill_pair(std::byte* at, int value) {
    std::memset(at, 0, sizeof(Pair<Value>));
    fill_value<Value>(at + offsetof(Pair<Value>, value), value / 4);
    fill_value<int>(at + offsetof(Pair<Value>, index), value);
}

template <typename Value>
constexpr int bytes_of_pair = sizeof(Pair<Value>);

}  // namespace

const std::vector<Basic>& basics() {
    static const std::vector<Basic> all = {
        {MPI_INT, 4, 4, Basic::integer, fill_value<int>},
        {MPI_DOUBLE, 8, 8, Basic::real, fill_value<double>},
        {MPI_UNSIGNED_CHAR, 1, 1, Basic::integer, fill_value<unsigned char>},
        {MPI_SHORT, 2, 2, Basic::integer, fill_value<short>},
        {MPI_INT64_T, 8, 8, Basic::integer, fill_value<std::int64_t>},
        {MPI_FLOAT, 4, 4, Basic::real, fill_value<float>},
        {MPI_2INT, 8, 8, Basic::pair, fill_pair<int>},
        {MPI_FLOAT_INT, 8, 8, Basic::pair, fill_pair<float>},
        {MPI_C_FLOAT_COMPLEX, 8, 8, Basic::complex, fill_complex<float>},
        {MPI_C_DOUBLE_COMPLEX, 16, 16, Basic::complex, fill_complex<double>},
        {MPI_C_BOOL, 1, 1, Basic::truth, fill_value<bool>},
        {MPI_LONG_DOUBLE, sizeof(long double), LDBL_MANT_DIG == 64 ? 10 : sizeof(long double), Basic::real,
         fill_value<long double>},
        {MPI_DOUBLE_INT, bytes_of_pair<double>, bytes_of_pair<double>, Basic::pair, fill_pair<double>},
        {MPI_LONG_INT, bytes_of_pair<long>, bytes_of_pair<long>, Basic::pair, fill_pair<long>},
        {MPI_SHORT_INT, bytes_of_pair<short>, bytes_of_pair<short>, Basic::pair, fill_pair<short>},
    };
    return all;
}

Layout::Layout(const Basic& basic, int units, Kind kind) {
    const MPI_Aint step = basic.bytes;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    std::vector<int> places;
    switch (kind) {
        case Kind::plain:
            type_ = basic.type;
            owned_ = false;
            per_block_ = units;
            break;
        case Kind::contiguous:
            MPI_Type_contiguous(units, basic.type, &type_);
            break;
        case Kind::strided:
            MPI_Type_create_hvector(units, 1, 2 * step, basic.type, &type_);
            break;
        case Kind::reversed:
            for (int i = units; i-- > 0;) places.push_back(i);
            MPI_Type_create_indexed_block(units, 1, places.data(), basic.type, &type_);
            break;
        case Kind::spread:  // a hole before and behind
            MPI_Type_contiguous(units, basic.type, &made);
            MPI_Type_create_resized(made, -step, (units + 2) * step, &type_);
            MPI_Type_free(&made);
            break;
        case Kind::backwards:  // each element stands below the one before
            MPI_Type_contiguous(units, basic.type, &made);
            MPI_Type_create_resized(made, 0, -(units + 1) * step, &type_);
            MPI_Type_free(&made);
            break;
    }
    if (owned_) MPI_Type_commit(&type_);
    MPI_Aint lower = 0;
    MPI_Type_get_extent(type_, &lower, &extent_);
    MPI_Aint length = 0;
    MPI_Type_get_true_extent(type_, &lower_, &length);
    upper_ = lower_ + length;
}

Layout::~Layout() {
    if (owned_) MPI_Type_free(&type_);
}

Memory::Memory(const Basic& basic, const std::vector<Block>& blocks, std::uint64_t seed) {
    std::ptrdiff_t end = 0;
    for (const Block& block : blocks) {
        if (block.count == 0) continue;
        const MPI_Aint last = block.displacement + (block.count - 1) * block.layout->extent();
        begin_ = std::min({begin_, std::ptrdiff_t{block.displacement + block.layout->lower()},
                           std::ptrdiff_t{last + block.layout->lower()}});
        end = std::max({end, std::ptrdiff_t{block.displacement + block.layout->upper()},
                        std::ptrdiff_t{last + block.layout->upper()}});
    }
    // Every place that an element may have is whole steps of the basic type away from address().
    const std::ptrdiff_t step = basic.bytes;
    step_ = step;
    data_ = basic.data;
    begin_ = -((-begin_ + step - 1) / step) * step;
    bytes_.resize(static_cast<std::size_t>((end - begin_ + step) / step * step));
    Random random(seed);
    for (std::size_t at = 0; at + static_cast<std::size_t>(step) <= bytes_.size();
         at += static_cast<std::size_t>(step))
        basic.fill(bytes_.data() + at, random.below(5));
}

std::ptrdiff_t Memory::first_difference(const Memory& other, std::ptrdiff_t limit) const {
    for (std::ptrdiff_t i = 0; i < std::ssize(bytes_); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (bytes_[at] != other.bytes_[at] && i % step_ < data_)
            return i < limit - begin_ || limit == PTRDIFF_MAX ? i : -1;
    }
    return -1;
}

}  // namespace fuzz
