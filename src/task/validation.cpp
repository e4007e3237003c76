#include "task/validation.hpp"

#include <fmt/format.h>

namespace lapwing {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;

void validate_reduction(const Problem& p) {
    if (p.type == Type::opaque && p.element == 0) throw_invalid("elements of an opaque type need a size");
    if (p.type != Type::opaque && p.element != 0) {
        throw_invalid(fmt::format("the size of an element of {} is known", name(p.type)));
    }
    if ((p.op == Operator::user) != (p.type == Type::opaque)) {
        throw_invalid("an opaque type is reduced by the caller's own function only");
    }
    if (!applies(p.op, p.type))
        throw_invalid(fmt::format("{} does not apply to elements of {}", name(p.op), name(p.type)));
    const auto why = [&](std::uint64_t bytes) {
        return fmt::format("{} bytes are not whole elements of {}", bytes, name(p.type));
    };
    const auto whole = [&](std::uint64_t bytes) { return bytes % p.element_bytes() == 0; };
    if (!has_parts(p.collective) && !whole(p.bytes)) throw_invalid(why(p.bytes));
    for (std::size_t rank = 0; rank < p.parts.size(); ++rank) {
        for (const Part& part : p.parts[rank].sends) {
            if (!whole(part.bytes)) throw PartsError(static_cast<int>(rank), why(part.bytes));
        }
    }
}

}  // namespace

void validate(const Problem& p) {
    if (p.ranks < 1) throw_invalid("a group has at least 1 rank, not " + std::to_string(p.ranks));
    if (p.root < 0 || p.root >= p.ranks) {
        throw_invalid(
            fmt::format("root {} is out of range: the group has ranks 0 to {}", p.root, p.ranks - 1));
    }
    if (p.root != 0 && !has_root(p.collective))
        throw_invalid(fmt::format("{} has no root", name(p.collective)));
    if (p.placement != nullptr && p.placement->ranks() != p.ranks) {
        throw_invalid(fmt::format("the hosts of {} ranks are given, but the group has {}",
                                  p.placement->ranks(), p.ranks));
    }
    if (p.bytes != 0 && p.collective == Collective::barrier) throw_invalid("barrier carries no bytes");
    if (p.in_place && !may_be_in_place(p.collective)) {
        throw_invalid(
            fmt::format("{} is never in_place: in and out must be different memory", name(p.collective)));
    }
    if (p.bytes > max_bytes / static_cast<std::uint64_t>(p.ranks)) {
        throw_invalid(fmt::format("{} bytes for each of {} ranks are too many", p.bytes, p.ranks));
    }
    if (has_parts(p.collective)) {
        if (p.bytes != 0 && !all_ranks_know_all_parts(p.collective)) {
            throw_invalid(fmt::format("the ranks of {} do not know each other's blocks: bytes must be 0",
                                      name(p.collective)));
        }
        validate_parts(p);
    } else if (!p.parts.empty()) {
        throw_invalid(fmt::format("{} has blocks of one length, and no parts", name(p.collective)));
    }
    if (is_reduction(p.collective)) {
        validate_reduction(p);
    } else if (p.ordered || p.element != 0) {
        throw_invalid(fmt::format("{} does not reduce: it has {}", name(p.collective),
                                  p.ordered ? "no order" : "no elements"));
    }
}

}  // namespace lapwing
