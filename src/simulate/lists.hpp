// The lists of all ranks in a compact form: 12 bytes a step, made once and then only read. Receives, which
// stand at the top of a list, are no steps; each is a slot, and a send names the slot of the receive that it
// meets, as a wait does.
#pragma once

#include <cstdint>
#include <functional>
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
    std::vector<std::uint64_t> lengths;     // those that occur
    std::uint64_t bytes_sent = 0;
    std::uint64_t max_bytes_of_a_rank = 0;  // that one sends and receives

    std::uint64_t messages() const { return first_slot.back(); }
    std::span<const Step> of(int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return std::span(steps).subspan(first_step[r], first_step[r + 1] - first_step[r]);
    }
};

// What a simulation of lists needs. Of a problem it is an estimate, from the lists of some ranks.
struct Needs {
    std::uint64_t messages = 0;
    std::uint64_t steps = 0;
    int ranks = 0;

    // Bytes of memory while it runs.
    std::uint64_t memory() const;
};
Needs estimate(const Problem& problem, const Choice& choice);

// Makes the lists of a problem that the algorithm applies to, one after the other. `advance`, where there is
// one, is told how many are made. Throws Error (unsupported) as soon as the simulation would take more than
// `max_memory` bytes, or when a list is not of the form above.
Lists make_lists(const Problem& problem, const Choice& choice, std::uint64_t max_memory = UINT64_MAX,
                 const std::function<void(int lists)>& advance = {});
// The same of lists from elsewhere, one for each rank in order, which the checker has found right.
Lists make_lists(std::span<const List> lists);

}  // namespace lapwing::simulate
