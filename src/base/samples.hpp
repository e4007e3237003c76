// Measured times of two ways to do the same, and which way is faster. Medians and pairs do not depend on how
// late a few late samples are, as means do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {

// Changes the order of `times`, of which there must be one at least. The higher of two in the middle.
template <typename Time>
Time median(std::span<Time> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

// Returns in how many of all pairs of one of `times` and one of `others` the first is less than `factor`
// times the second.
inline std::size_t pairs_below(std::span<const double> times, std::span<const double> others, double factor) {
    std::size_t pairs = 0;
    for (const double time : times) {
        for (const double other : others) pairs += time < factor * other ? 1 : 0;
    }
    return pairs;
}

// The last times of one way, up to `size`.
template <typename Time, std::size_t size>
class Samples {
  public:
    void add(Time time) { times_[added_++ % size] = time; }
    bool empty() const { return added_ == 0; }
    bool full() const { return added_ >= size; }
    std::span<const Time> times() const { return {times_.data(), std::min<std::size_t>(added_, size)}; }
    // Must not be empty.
    Time median() const {
        std::array<Time, size> copy = times_;
        return lapwing::median(std::span(copy.data(), times().size()));
    }

  private:
    std::array<Time, size> times_{};
    std::uint32_t added_ = 0;
};

}  // namespace lapwing
