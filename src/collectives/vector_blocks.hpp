// The blocks of a vector, side by side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "task/problem.hpp"

namespace lapwing {

class VectorBlocks {
  public:
    // `count` blocks of whole elements whose lengths differ by one element at most.
    VectorBlocks(std::uint64_t bytes, std::uint64_t element, int count)
        : count_(count),
          element_(element),
          each_(bytes / element / static_cast<std::uint64_t>(count)),
          longer_(bytes / element % static_cast<std::uint64_t>(count)) {}

    // Block r is that of rank r, in a reduce_scatter or reduce_scatter_block.
    explicit VectorBlocks(const Problem& problem)
        : VectorBlocks(problem.bytes * static_cast<std::uint64_t>(problem.ranks), problem.element_bytes(),
                       problem.ranks) {
        if (problem.parts.empty()) return;
        // Not by the parts' offsets: those of empty ones mean nothing.
        begins_.reserve(problem.parts.front().sends.size() + 1);
        begins_.push_back(0);
        for (const Part& part : problem.parts.front().sends) begins_.push_back(begins_.back() + part.bytes);
    }

    int count() const { return count_; }
    // In bytes; of count(): where the last one ends.
    std::uint64_t begin(int block) const {
        const auto at = static_cast<std::uint64_t>(block);
        if (!begins_.empty()) return begins_[at];
        return (at * each_ + std::min(at, longer_)) * element_;
    }
    std::uint64_t bytes(int block) const { return begin(block + 1) - begin(block); }
    std::uint64_t total() const { return begin(count_); }
    std::uint64_t largest() const {
        if (begins_.empty()) return bytes(0);
        std::uint64_t most = 0;
        for (int block = 0; block < count_; ++block) most = std::max(most, bytes(block));
        return most;
    }
    // That block of a vector.
    Span of(Span vector, int block) const { return vector.part(begin(block), bytes(block)); }

  private:
    int count_;
    std::uint64_t element_;
    std::uint64_t each_;                 // elements of a block
    std::uint64_t longer_;               // blocks that have one more
    std::vector<std::uint64_t> begins_;  // of blocks of several lengths
};

}  // namespace lapwing
