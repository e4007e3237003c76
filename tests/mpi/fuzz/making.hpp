// How an operation is drawn, with a function for each collective.
#pragma once

#include <algorithm>
#include <numeric>

#include "fuzz/operations.hpp"
#include "persistent_forms.hpp"

// Sets the start of the operation: the program's function, nonblocking or persistent; and, without a request,
// the MPI's own, blocking: the blocking functions are the better tested ones of most MPIs.
#define START(nonblocking, blocking, ...)                                                                 \
    made.start_ = [=, comm = place.communicator]([[maybe_unused]] void* sent,                             \
                                                 [[maybe_unused]] void* received, MPI_Request* request) { \
        return request == nullptr           ? PMPI_##blocking(__VA_ARGS__)                                \
               : Operation::is_persistent() ? PERSISTENT(blocking)(__VA_ARGS__, MPI_INFO_NULL, request)   \
                                            : MPI_##nonblocking(__VA_ARGS__, request);                    \
    }

namespace fuzz {

using Numbers = std::vector<int>;

// Draws the call. What all ranks must agree on is drawn by all of them in the same order.
struct Operation::Making {
    Operation& made;
    const Place& place;
    Random& random;
    const Basic& basic;
    int units;      // basic elements of the shortest block
    Numbers kinds;  // of layouts, by rank: of what it sends and of what it receives
    std::vector<Memory::Block> sent_blocks;
    std::vector<Memory::Block> received_blocks;
    bool& in_place = made.in_place_;
    int longest = 3;  // block, in units

    std::size_t own() const { return static_cast<std::size_t>(place.rank); }
    std::size_t ranks() const { return static_cast<std::size_t>(place.ranks); }

    const Layout& layout(int number) {
        made.layouts_.push_back(std::make_unique<Layout>(basic, units, static_cast<Layout::Kind>(number)));
        return *made.layouts_.back();
    }
    const Layout& sent_layout() { return layout(kinds[2 * own()]); }
    const Layout& received_layout() { return layout(kinds[2 * own() + 1]); }

    // Blocks of these lengths in an order of their own, with gaps; gives their displacements in elements.
    Numbers spread(const Layout& type, const Numbers& lengths, Random& by,
                   std::vector<Memory::Block>& blocks) {
        Numbers order(lengths.size());
        std::iota(order.begin(), order.end(), 0);
        by.shuffle(order);
        Numbers displacements(lengths.size());
        int at = by.one_in(3) ? -3 : 0;
        for (const int which : order) {
            const auto block = static_cast<std::size_t>(which);
            displacements[block] = at;
            const int count = type.count(lengths[block]);
            blocks.push_back({at * type.extent(), &type, count});
            at += count + by.below(3);
        }
        return displacements;
    }
    Numbers counts(const Layout& type, Numbers lengths) const {
        for (int& length : lengths) length = type.count(length);
        return lengths;
    }
    // Open MPI 4.1 refuses types that grow downwards in its alltoalls in place.
    void grow_upwards() {
        std::replace(kinds.begin(), kinds.end(), static_cast<int>(Layout::Kind::backwards),
                     static_cast<int>(Layout::Kind::spread));
    }
    // Lengths of blocks, zeros among them.
    Numbers lengths(std::size_t number) {
        Numbers drawn(number);
        for (int& one : drawn) one = random.one_in(4) ? 0 : random.between(1, longest);
        return drawn;
    }

    void buffers() {
        Random where(made.seed_);
        for (Buffers& one : made.buffers_) {
            const bool ours = device_ && &one == &made.buffers_[0];
            if (!sent_blocks.empty())
                one.sent = std::make_unique<Memory>(basic, sent_blocks, made.seed_, ours && where.one_in(2));
            one.received =
                std::make_unique<Memory>(basic, received_blocks, made.seed_ + 1, ours && where.one_in(2));
        }
    }

    void barrier();
    void broadcast();
    void gather(bool scatters);
    void gatherv(bool scatters);
    void allgather();
    void allgatherv();
    void alltoall();
    void alltoallv();
    void alltoallw();
    void reduction(int which);
    void reduce_scatter();
    void neighbors(int which);
};

}  // namespace fuzz
