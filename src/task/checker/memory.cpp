#include "task/checker/memory.hpp"

#include <algorithm>

namespace lapwing::checker {

void Memory::set_own(int rank, const Span& span, std::uint64_t offset) {
    const auto shift = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(span.offset);
    space(rank, span).assign(span.offset, span.end(), {static_cast<std::uint32_t>(rank), shift});
}

void Memory::move(int source_rank, const Span& source, int target_rank, const Span& target) {
    read(source_rank, source, target.offset, pieces_);
    space(target_rank, target).replace(target.offset, target.end(), pieces_);
}

bool Memory::reduce(int rank, const Task& task, std::uint64_t element_bytes) {
    const Span& target = task.target;
    read(rank, task.source, target.offset, pieces_);
    read(rank, target, target.offset, other_pieces_);
    const auto size = static_cast<std::int64_t>(element_bytes);
    const auto whole = [&](const Piece& piece) {
        return (static_cast<std::int64_t>(target.offset) + piece.value.shift) % size == 0;
    };
    if (!std::all_of(pieces_.begin(), pieces_.end(), whole)) return false;
    if (!std::all_of(other_pieces_.begin(), other_pieces_.end(), whole)) return false;

    // Where either of the two was never written, the result is not, either.
    reduced_.clear();
    auto a = pieces_.begin();
    auto b = other_pieces_.begin();
    while (a != pieces_.end() && b != other_pieces_.end()) {
        const std::uint64_t offset = std::max(a->offset, b->offset);
        const std::uint64_t end = std::min(a->end, b->end);
        if (offset < end) reduced_.push_back({offset, end, contributions_.combine(a->value, b->value)});
        const bool a_first = a->end <= b->end;
        const bool b_first = b->end <= a->end;
        if (a_first) ++a;
        if (b_first) ++b;
    }
    space(rank, target).replace(target.offset, target.end(), reduced_);
    return true;
}

void Memory::read(int rank, const Span& source, std::uint64_t offset, std::vector<Piece>& pieces) const {
    pieces.clear();
    // Offsets wrap around on the way down, as unsigned numbers may.
    const std::uint64_t up = offset - source.offset;
    visit(rank, source, [&](const Piece& piece) {
        pieces.push_back({piece.offset + up,
                          piece.end + up,
                          {piece.value.what, piece.value.shift - static_cast<std::int64_t>(up)}});
        return true;
    });
}

}  // namespace lapwing::checker
