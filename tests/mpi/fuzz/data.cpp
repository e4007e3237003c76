#include "fuzz/data.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "numbers.hpp"

namespace fuzz {
namespace {

bool is_drawn(const operator_table::OperatorRow& op, const operator_table::TypeRow& type) {
    if ((op.groups & type.group) == 0) return false;
    // An MPI may multiply complex numbers by another formula on another rank or for another operand order.
    return op.op != MPI_PROD || type.group != operator_table::COMPLEX;
}

std::vector<Basic> make_basics() {
    std::vector<Basic> all;
    for (const operator_table::TypeRow& row : operator_table::types()) {
        MPI_Aint lower = 0;
        MPI_Aint extent = 0;
        MPI_Type_get_extent(row.type, &lower, &extent);
        Basic basic{row, static_cast<int>(extent), std::vector<bool>(static_cast<std::size_t>(extent)), {}};
        std::byte element[64];
        for (const operator_table::Part& part : row.parts) {
            const std::size_t bytes = write_number(part.type, element, 0);
            std::fill_n(basic.data.begin() + static_cast<std::ptrdiff_t>(part.offset), bytes, true);
        }
        for (const operator_table::OperatorRow& op : operator_table::operators())
            if (is_drawn(op, row)) basic.operators.push_back(op);
        all.push_back(std::move(basic));
    }
    return all;
}

}  // namespace

void Basic::fill(std::byte* at, int value) const {
    std::memset(at, 0, static_cast<std::size_t>(bytes));
    if (row.group == operator_table::LOGICAL) value %= 2;
    const bool pair = row.group == operator_table::PAIR;
    // Few values, so that the index decides.
    for (const operator_table::Part& part : row.parts)
        write_number(part.type, at + part.offset, pair && part.offset == 0 ? value / 4 : value);
}

const std::vector<Basic>& basics() {
    static const std::vector<Basic> all = make_basics();
    return all;
}

const std::vector<Basic>& basics_to_move() {
    static const std::vector<Basic> all = [] {
        std::vector<Basic> some = basics();
        std::erase_if(some, [](const Basic& basic) { return basic.has_padding(); });
        return some;
    }();
    return all;
}

Layout::Layout(const Basic& basic, int units, Kind kind) {
    const MPI_Aint step = basic.bytes;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    std::vector<int> places;
    if (kind == Kind::contiguous) MPI_Type_contiguous(units, basic.row.type, &type_);
    if (kind == Kind::strided) MPI_Type_create_hvector(units, 1, 2 * step, basic.row.type, &type_);
    if (kind == Kind::reversed) {
        for (int i = units; i-- > 0;) places.push_back(i);
        MPI_Type_create_indexed_block(units, 1, places.data(), basic.row.type, &type_);
    }
    // A hole before and behind; or each element stands below the one before.
    if (kind == Kind::spread || kind == Kind::backwards) MPI_Type_contiguous(units, basic.row.type, &made);
    if (kind == Kind::spread) MPI_Type_create_resized(made, -step, (units + 2) * step, &type_);
    if (kind == Kind::backwards) MPI_Type_create_resized(made, 0, -(units + 1) * step, &type_);
    if (made != MPI_DATATYPE_NULL) MPI_Type_free(&made);
    if (kind == Kind::plain) {
        type_ = basic.row.type;
        owned_ = false;
        per_block_ = units;
    } else {
        MPI_Type_commit(&type_);
    }
    MPI_Aint lower = 0;
    MPI_Type_get_extent(type_, &lower, &extent_);
    MPI_Aint length = 0;
    MPI_Type_get_true_extent(type_, &lower_, &length);
    upper_ = lower_ + length;
}

Layout::~Layout() {
    if (owned_) MPI_Type_free(&type_);
}

Memory::Memory(const Basic& basic, const std::vector<Block>& blocks, std::uint64_t seed, bool on_device)
    : basic_(basic) {
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
    size_ = static_cast<std::size_t>((end - begin_ + step) / step * step);
    bytes_.emplace(on_device, random_bytes(seed));
}

std::vector<std::byte> Memory::random_bytes(std::uint64_t seed) const {
    std::vector<std::byte> bytes(size_);
    Random random(seed);
    const auto step = static_cast<std::size_t>(basic_.bytes);
    for (std::size_t at = 0; at + step <= size_; at += step) basic_.fill(bytes.data() + at, random.below(5));
    return bytes;
}

std::ptrdiff_t Memory::first_difference(const Memory& other, std::ptrdiff_t limit) const {
    const std::vector<std::byte> own = bytes_->content();
    const std::vector<std::byte> others = other.bytes_->content();
    for (std::size_t i = 0; i < size_; ++i) {
        if (own[i] == others[i] || !basic_.data[i % basic_.data.size()]) continue;
        const auto at = static_cast<std::ptrdiff_t>(i);
        return limit == PTRDIFF_MAX || at < limit - begin_ ? at : -1;
    }
    return -1;
}

}  // namespace fuzz
