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

int reversed(std::uint32_t bits, int count) {
    std::uint32_t result = 0;
    for (int i = 0; i < count; ++i, bits >>= 1U) result = result << 1U | (bits & 1U);
    return static_cast<int>(result);
}

// Where the head stands in a run whose kept half begins the run.
int head_of_run(int ranks) {
    if (ranks == 1) return 0;
    const int kept = ranks - ranks / 2;
    return kept - 1 - head_of_run(kept);  // in that half, mirrored
}

struct Run {
    Subtree ranks;
    bool mirrored = false;  // the kept half ends the run
};

Run run_of(int begin, int end, bool mirrored) {
    const int head = head_of_run(end - begin);
    return {{begin, end, mirrored ? end - 1 - head : begin + head}, mirrored};
}

// As in the paper, whose root is 0 in the ranks -2, ..., 5 of eight and in -10, ..., 5 of sixteen.
Run whole_tree(int ranks) {
    return run_of(0, ranks, ceil_log2(ranks) % 2 == 0);
}

struct Halves {
    Run kept;
    Run given;
};

Halves halves_of(const Run& run) {
    const auto [begin, end, head] = run.ranks;
    const int given = (end - begin) / 2;
    if (run.mirrored) return {run_of(begin + given, end, false), run_of(begin, begin + given, true)};
    return {run_of(begin, end - given, true), run_of(end - given, end, false)};
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
    Run run = whole_tree(ranks);
    TreeNode node;
    node.first = first;
    node.own = run.ranks;
    while (run.ranks.end - run.ranks.begin > 1) {
        const auto [kept, given] = halves_of(run);
        if (place >= given.ranks.begin && place < given.ranks.end) {
            node.parent = kept.ranks.head;
            node.own = given.ranks;
            node.children.clear();
            run = given;
        } else {
            node.children.push_back(given.ranks);
            run = kept;
        }
    }
    std::reverse(node.children.begin(), node.children.end());
    return node;
}

int place_of_root(int ranks) {
    return whole_tree(ranks).ranks.head;
}

int first_of_tree(int ranks, int root) {
    return relative_rank(root, place_of_root(ranks), ranks);
}

}  // namespace lapwing::bine
