#include "collectives/bine.hpp"

#include <algorithm>
#include <cstdint>

#include "collectives/arithmetic.hpp"

namespace lapwing::bine {
namespace {

// The lowest `digits` digits of `n` with base -2.
std::uint32_t negabinary(std::int64_t n, int digits) {
    constexpr std::uint32_t odd_digits = 0xAAAAAAAA;
    const std::uint32_t all = (static_cast<std::uint32_t>(n) + odd_digits) ^ odd_digits;
    return all & ((std::uint32_t{1} << static_cast<unsigned>(digits)) - 1);
}

// The lowest `count` bits, the other way round. Without a loop: lists are built of as many places as ranks.
int reversed(std::uint32_t bits, int count) {
    const auto swap = [&](unsigned width, std::uint32_t mask) {
        bits = (bits >> width & mask) | (bits & mask) << width;
    };
    swap(1, 0x55555555);
    swap(2, 0x33333333);
    swap(4, 0x0F0F0F0F);
    swap(8, 0x00FF00FF);
    swap(16, 0x0000FFFF);
    return static_cast<int>(std::uint64_t{bits} >> static_cast<unsigned>(32 - count));
}

// As in the paper, whose root is 0 in the ranks -2, ..., 5 of eight and in -10, ..., 5 of sixteen.
Subtree whole_tree(int ranks) {
    const int third = ranks / 3;
    return {0, ranks, ceil_log2(ranks) % 2 == 0 ? ranks - 1 - third : third};
}

struct Halves {
    Subtree kept;   // has the head
    Subtree given;  // its own head has a third of this half between itself and the other
};

Halves halves_of(Subtree run) {
    const int given = run.size() / 2;
    const int kept = run.size() - given;
    if (run.head - run.begin < kept) {
        const int middle = run.begin + kept;
        return {{run.begin, middle, run.head}, {middle, run.end, middle + given / 3}};
    }
    const int middle = run.end - kept;
    return {{middle, run.end, run.head}, {run.begin, middle, middle - 1 - given / 3}};
}

}  // namespace

int peer(int rank, int step, int ranks) {
    const std::int64_t power = std::int64_t{1} << (step + 1);  // without its sign
    const std::int64_t distance = (step % 2 == 0 ? 1 + power : 1 - power) / 3;
    const std::int64_t sum = rank + (rank % 2 == 0 ? distance : -distance);
    return static_cast<int>((sum + ranks) % ranks);
}

int place(int rank, int ranks) {
    const int digits = ceil_log2(ranks);
    const std::uint32_t number = negabinary(rank % 2 == 0 ? -std::int64_t{rank} : rank, digits);
    // From a rank r to its peer, the number h becomes distance - h: the lowest step + 1 digits of h flip, and
    // of the others the lowest stays. So of neighbouring digits' exclusive ors, one changes, and none below
    // it.
    return reversed(number ^ number >> 1U, digits);
}

Verdict applies_to(int ranks) {
    if (floor_power_of_two(ranks) == ranks) return Verdict::yes();
    return Verdict::no("the number of ranks is not a power of two");
}

TreeNode tree_node(int ranks, int rank, int first) {
    const int place = relative_rank(rank, first, ranks);
    Subtree run = whole_tree(ranks);
    TreeNode node;
    node.first = first;
    node.own = run;
    while (run.size() > 1) {
        const auto [kept, given] = halves_of(run);
        if (place >= given.begin && place < given.end) {
            node.parent = run.head;
            node.own = given;
            node.children.clear();
            run = given;
        } else {
            node.children.push_back(given);
            run = kept;
        }
    }
    std::reverse(node.children.begin(), node.children.end());
    return node;
}

int place_of_root(int ranks) {
    return whole_tree(ranks).head;
}

int first_of_tree(int ranks, int root) {
    return relative_rank(root, place_of_root(ranks), ranks);
}

}  // namespace lapwing::bine
