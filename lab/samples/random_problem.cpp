#include "samples/random_problem.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "simulate/random.hpp"
#include "task/parts.hpp"
#include "task/sample.hpp"

namespace lapwing {

Problem random_problem(Collective collective, int min_ranks, int max_ranks, bool on_hosts,
                       std::uint64_t seed) {
    std::uint64_t number = 0;
    const auto below = [&](std::uint64_t end) { return simulate::random_bits(seed, ++number) % end; };
    const auto bits = [](int value) { return std::bit_width(static_cast<unsigned>(value)); };
    const auto between = [&](int low, int high) {
        return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
    };
    Problem problem;
    problem.collective = collective;
    const int width = between(bits(min_ranks), bits(max_ranks));
    const int power = 1 << (width - 1);
    problem.ranks = between(std::max(min_ranks, power), std::min(max_ranks, 2 * power - 1));
    if (power >= min_ranks && below(3) == 0) problem.ranks = power;
    if (has_root(collective)) problem.root = between(0, problem.ranks - 1);
    problem.in_place = may_be_in_place(collective) && below(2) == 0;
    std::uint64_t element = 1;
    if (is_reduction(collective)) {
        problem.type = Type::uint32;
        if (below(2) == 0) {
            problem.op = Operator::user;
            problem.type = Type::opaque;
            problem.element = 8;
            problem.ordered = true;
        }
        element = problem.element_bytes();
    }
    // Fewer elements than ranks, or many.
    const std::uint64_t bytes =
        element * below(below(2) == 0 ? static_cast<std::uint64_t>(problem.ranks) : 10000);
    if (on_hosts) {
        const auto placements = placements_of_every_kind(problem.ranks);
        problem.placement = placements[below(placements.size())];
    }
    const Sizes sizes{static_cast<Sizes::Kind>(below(3)), seed, below(2) == 0};
    return with_blocks(std::move(problem), bytes, has_parts(collective) ? sizes : Sizes{});
}

}  // namespace lapwing
