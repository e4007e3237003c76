// The lists of all ranks in a compact, read-only form with 12 bytes per step. Receives, which are at the top
// of a list, are not steps. Each receive is a slot, and its send and its wait name the slot.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/catalogue.hpp"
#include "task/list.hpp"

namespace lapwing::simulate {

struct Step {
    enum class Kind : std::uint32_t { send, wait, copy, reduce };

    std::uint32_t kind : 2;
    std::uint32_t length : 30;  // index of a length in Lists::lengths
    std::uint32_t slot = 0;     // send, wait
    std::int32_t peer = -1;     // send, wait

    Kind what() const { return static_cast<Kind>(kind); }
};

struct Lists {
    int ranks = 0;
    std::vector<Step> steps;                // rank after rank
    std::vector<std::uint32_t> first_step;  // of each rank, and the end
    std::vector<std::uint32_t> first_slot;  // of each rank, and the end
    std::vector<std::uint64_t> lengths;     // all that occur
    std::uint64_t max_bytes_of_a_rank = 0;  // that one rank sends and receives

    std::uint64_t messages() const { return first_slot.back(); }
    std::span<const Step> of(int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return std::span(steps).subspan(first_step[r], first_step[r + 1] - first_step[r]);
    }
};

// The resources of a simulation. estimate() estimates them from the lists of some ranks.
struct Needs {
    std::uint64_t messages = 0;
    std::uint64_t steps = 0;
    int ranks = 0;

    // Returns the bytes of memory of the running simulation.
    std::uint64_t memory() const;
};
Needs estimate(const Problem& problem, const Choice& choice);

// Builds the lists of a problem, one after the other. The algorithm must apply to the problem. Throws Error
// (unsupported) as soon as the simulation would need more than `max_memory` bytes, or if a list does not have
// the form above.
Lists make_lists(const Problem& problem, const Choice& choice, std::uint64_t max_memory = UINT64_MAX);
// The same for given lists, one per rank in order, proven by the checker.
Lists make_lists(std::span<const List> lists);

}  // namespace lapwing::simulate
