#include "task/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

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

template <typename... Arguments>
[[noreturn]] void refuse(int rank, fmt::format_string<Arguments...> why, Arguments&&... arguments) {
    throw PartsError(rank, fmt::format(why, std::forward<Arguments>(arguments)...));
}

enum class Peers { none, root, self, all_in_order, any };

Peers peers_of_sends(const Problem& p, int rank) {
    switch (p.collective) {
        case Collective::gatherv:
            return rank == p.root && p.in_place ? Peers::none : Peers::root;
        case Collective::scatterv:
            return rank == p.root ? Peers::all_in_order : Peers::none;
        case Collective::allgatherv:
            return p.in_place ? Peers::none : Peers::self;
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            return Peers::any;
        default:
            return Peers::all_in_order;
    }
}

Peers peers_of_receives(const Problem& p, int rank) {
    switch (p.collective) {
        case Collective::gatherv:
            return rank == p.root ? Peers::all_in_order : Peers::none;
        case Collective::scatterv:
            return rank == p.root && p.in_place ? Peers::none : Peers::root;
        case Collective::reduce_scatter:
            return Peers::self;
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            return Peers::any;
        default:
            return Peers::all_in_order;
    }
}

void check_peers(const Problem& p, int rank, const std::vector<Part>& parts, Peers wanted, const char* what) {
    const auto wants = [&](const std::string& peers) {
        refuse(rank, "{}: the {} of rank {} must be with {}", name(p.collective), what, rank, peers);
    };
    switch (wanted) {
        case Peers::none:
            if (!parts.empty()) refuse(rank, "{}: rank {} must have no {}", name(p.collective), rank, what);
            break;
        case Peers::root:
        case Peers::self: {
            const int peer = wanted == Peers::root ? p.root : rank;
            if (parts.size() != 1 || parts[0].peer != peer) wants(fmt::format("rank {} only", peer));
            break;
        }
        case Peers::all_in_order:
            for (std::size_t i = 0; i < parts.size(); ++i) {
                if (parts[i].peer != static_cast<int>(i)) wants("all ranks, in rank order");
            }
            if (parts.size() != static_cast<std::size_t>(p.ranks)) wants("all ranks, in rank order");
            break;
        case Peers::any:
            for (const Part& part : parts) {
                if (part.peer < 0 || part.peer >= p.ranks) {
                    refuse(rank, "neighbour {} of rank {} is out of range: the group has ranks 0 to {}",
                           part.peer, rank, p.ranks - 1);
                }
            }
            break;
    }
    for (const Part& part : parts) {
        if (part.bytes > max_bytes || part.offset > max_bytes - part.bytes) {
            refuse(rank, "a block of rank {} ends beyond 2^62 bytes", rank);
        }
    }
}

// No two blocks overlap.
void check_apart(int rank, std::vector<Part> receives) {
    std::erase_if(receives, [](const Part& part) { return part.bytes == 0; });
    std::sort(receives.begin(), receives.end(),
              [](const Part& a, const Part& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < receives.size(); ++i) {
        if (receives[i].offset < receives[i - 1].offset + receives[i - 1].bytes) {
            refuse(rank, "the blocks from ranks {} and {} overlap in out of rank {}", receives[i - 1].peer,
                   receives[i].peer, rank);
        }
    }
}

void check_rank(const Problem& p, const Parts& parts, int rank) {
    check_peers(p, rank, parts.sends, peers_of_sends(p, rank), "sends");
    check_peers(p, rank, parts.receives, peers_of_receives(p, rank), "receives");
    check_apart(rank, parts.receives);
    if (p.collective == Collective::neighbor_allgather) {
        for (const Part& part : parts.sends) {
            if (part.offset != parts.sends[0].offset || part.bytes != parts.sends[0].bytes)
                refuse(rank, "rank {} sends different blocks to its neighbours", rank);
        }
    }
    if (p.collective == Collective::reduce_scatter) {
        std::uint64_t end = 0;
        for (const Part& part : parts.sends) {
            if (part.bytes > 0 && part.offset != end)
                refuse(rank, "the blocks in the input of rank {} must be adjacent", rank);
            end += part.bytes;
        }
        if (parts.receives[0].bytes > 0 && parts.receives[0].offset != 0)
            refuse(rank, "the block of rank {} must be at the beginning of its out", rank);
    }
}

// The block that `from` sends to `to`, as both ranks describe it.
void check_equal(const Problem& p, int from, int to, std::uint64_t sent, std::uint64_t received) {
    if (sent == received) return;
    refuse(to, "{}: rank {} sends {} bytes to rank {}, which expects {}", name(p.collective), from, sent, to,
           received);
}

// The block of rank `of`, as rank 0 and `rank` describe it.
void check_agreement(const Problem& p, int of, std::uint64_t bytes_at_0, int rank, std::uint64_t bytes) {
    if (bytes_at_0 == bytes) return;
    refuse(rank, "{}: the block of rank {} has {} bytes at rank 0 and {} at rank {}", name(p.collective), of,
           bytes_at_0, bytes, rank);
}

// The blocks between neighbours, as both sides describe them: the first send matches the first receive.
void check_graph(const Problem& p) {
    struct Block {
        int from;
        int to;
        std::uint64_t bytes;
        std::pair<int, int> pair() const { return {from, to}; }
    };
    std::vector<Block> sent;
    std::vector<Block> expected;
    for (int rank = 0; rank < p.ranks; ++rank) {
        for (const Part& part : p.parts_of(rank).sends) sent.push_back({rank, part.peer, part.bytes});
        for (const Part& part : p.parts_of(rank).receives) expected.push_back({part.peer, rank, part.bytes});
    }
    for (std::vector<Block>* blocks : {&sent, &expected}) {
        std::stable_sort(blocks->begin(), blocks->end(),
                         [](const Block& a, const Block& b) { return a.pair() < b.pair(); });
    }
    for (std::size_t i = 0; i < sent.size() || i < expected.size(); ++i) {
        const bool no_more_sent = i == sent.size();
        const bool no_more_expected = i == expected.size();
        if (no_more_expected || (!no_more_sent && sent[i].pair() < expected[i].pair())) {
            refuse(sent[i].to, "rank {} sends rank {} more blocks than rank {} expects", sent[i].from,
                   sent[i].to, sent[i].to);
        }
        if (no_more_sent || expected[i].pair() < sent[i].pair()) {
            refuse(expected[i].to, "rank {} sends rank {} fewer blocks than rank {} expects",
                   expected[i].from, expected[i].to, expected[i].to);
        }
        check_equal(p, sent[i].from, sent[i].to, sent[i].bytes, expected[i].bytes);
    }
}

void check_meeting(const Problem& p, int rank) {
    const auto place = static_cast<std::size_t>(rank);
    const Parts& own = p.parts_of(rank);
    const Parts& of_root = p.parts_of(p.root);
    switch (p.collective) {
        case Collective::gatherv:
            if (!own.sends.empty())
                check_equal(p, rank, p.root, own.sends[0].bytes, of_root.receives[place].bytes);
            break;
        case Collective::scatterv:
            if (!own.receives.empty())
                check_equal(p, p.root, rank, of_root.sends[place].bytes, own.receives[0].bytes);
            break;
        case Collective::allgatherv:
            if (!own.sends.empty()) {
                check_equal(p, rank, rank, own.sends[0].bytes, own.receives[place].bytes);
            }
            for (std::size_t from = 0; from < own.receives.size(); ++from) {
                check_agreement(p, static_cast<int>(from), of_root.receives[from].bytes, rank,
                                own.receives[from].bytes);
            }
            break;
        case Collective::reduce_scatter:
            check_equal(p, rank, rank, own.sends[place].bytes, own.receives[0].bytes);
            for (std::size_t to = 0; to < own.sends.size(); ++to) {
                check_agreement(p, static_cast<int>(to), of_root.sends[to].bytes, rank, own.sends[to].bytes);
            }
            break;
        case Collective::alltoallv:
            for (int from = 0; from < p.ranks; ++from) {
                check_equal(p, from, rank, p.parts_of(from).sends[place].bytes,
                            own.receives[static_cast<std::size_t>(from)].bytes);
            }
            break;
        default:
            break;
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

std::optional<OwnBlock> differing_own_block(const Parts& parts, int rank) {
    if (parts.sends.empty() || parts.receives.empty()) return {};
    const auto next = [rank](const std::vector<Part>& all, auto from) {
        return std::find_if(from, all.end(), [rank](const Part& part) { return part.peer == rank; });
    };
    auto sent = next(parts.sends, parts.sends.begin());
    auto received = next(parts.receives, parts.receives.begin());
    while (sent != parts.sends.end() || received != parts.receives.end()) {
        OwnBlock block{};
        if (sent != parts.sends.end()) {
            block.sent = sent->bytes;
            sent = next(parts.sends, sent + 1);
        }
        if (received != parts.receives.end()) {
            block.received = received->bytes;
            received = next(parts.receives, received + 1);
        }
        if (block.sent != block.received) return block;
    }
    return {};
}

void validate_parts(const Problem& p, int rank) {
    check_rank(p, p.parts_of(rank), rank);
    if (const auto own = differing_own_block(p.parts_of(rank), rank))
        check_equal(p, rank, rank, own->sent, own->received);
}

void validate_parts(const Problem& p) {
    const auto ranks = static_cast<std::size_t>(p.ranks);
    if (p.parts.size() != 1 && p.parts.size() != ranks) {
        throw_invalid(fmt::format("{} needs the parts of one rank or of all {}, not of {}",
                                  name(p.collective), p.ranks, p.parts.size()));
    }
    if (p.parts.size() != ranks) return;
    for (int rank = 0; rank < p.ranks; ++rank) check_rank(p, p.parts_of(rank), rank);
    if (has_neighbors(p.collective)) return check_graph(p);
    for (int rank = 0; rank < p.ranks; ++rank) check_meeting(p, rank);
}

}  // namespace lapwing
