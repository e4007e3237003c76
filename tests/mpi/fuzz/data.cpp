#include "fuzz/data.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fuzz {
namespace {

template <typename Value>
void fill_value(std::byte* at, int value) {
    const Value written = static_cast<Value>(value);
    std::memcpy(at, &written, sizeof written);
}

template <typename Value>
void fill_pair(std::byte* at, int value) {
    struct Pair {
        Value value;
        int index;
    };
    std::memset(at, 0, sizeof(Pair));
    fill_value<Value>(at + offsetof(Pair, value), value / 4);
    fill_value<int>(at + offsetof(Pair, index), value);
}

struct DoubleInt {
    double value;
    int index;
};

}  // namespace

const std::vector<Basic>& basics() {
    static const std::vector<Basic> all = {
        {MPI_INT, 4, true, false, fill_value<int>},
        {MPI_DOUBLE, 8, false, false, fill_value<double>},
        {MPI_UNSIGNED_CHAR, 1, true, false, fill_value<unsigned char>},
        {MPI_SHORT, 2, true, false, fill_value<short>},
        {MPI_INT64_T, 8, true, false, fill_value<std::int64_t>},
        {MPI_FLOAT, 4, false, false, fill_value<float>},
        {MPI_2INT, 8, false, true, fill_pair<int>},
        {MPI_DOUBLE_INT, sizeof(DoubleInt), false, true, fill_pair<double>},
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
    begin_ = -((-begin_ + step - 1) / step) * step;
    bytes_.resize(static_cast<std::size_t>((end - begin_ + step) / step * step));
    Random random(seed);
    for (std::size_t at = 0; at + static_cast<std::size_t>(step) <= bytes_.size();
         at += static_cast<std::size_t>(step))
        basic.fill(bytes_.data() + at, random.below(5));
}

std::ptrdiff_t Memory::first_difference(const Memory& other, std::ptrdiff_t limit) const {
    const auto [here, there] =
        std::mismatch(bytes_.begin(), bytes_.end(), other.bytes_.begin(), other.bytes_.end());
    if (here == bytes_.end()) return -1;
    return here - bytes_.begin() < limit - begin_ || limit == PTRDIFF_MAX ? here - bytes_.begin() : -1;
}

}  // namespace fuzz
