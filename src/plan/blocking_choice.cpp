#include "plan/blocking_choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "base/samples.hpp"

namespace lapwing {
namespace {

// 0, and then 8, 32, 128, ...
std::uint64_t max_bytes_of_class(std::uint64_t bytes) {
    if (bytes == 0) return 0;
    const auto width = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(bytes, 8) - 1));
    return std::uint64_t{1} << std::min(63U, width % 2 == 0 ? width + 1 : width);
}

constexpr int samples = BlockingChoice::samples;

auto begin_of(BlockingChoice::Way way, auto& times) {
    return times.begin() + static_cast<int>(way) * samples;
}

}  // namespace

BlockingChoice::Case& BlockingChoice::find(Collective collective, std::uint64_t bytes) {
    const std::uint64_t max_bytes = max_bytes_of_class(bytes);
    const auto found = std::find_if(cases_.begin(), cases_.end(), [&](const Case& one) {
        return one.collective_ == collective && one.max_bytes_ == max_bytes;
    });
    if (found == cases_.end()) {
        cases_.insert(cases_.begin(), Case(collective, max_bytes, ranks_));
    } else if (found != cases_.begin()) {
        std::rotate(cases_.begin(), found, found + 1);
    }
    return cases_.front();
}

void BlockingChoice::Case::next_call() {
    if (!decided_ || left_-- > 0) return;
    decided_ = false;
    calls_ = 0;
}

void BlockingChoice::Case::took(std::uint64_t nanoseconds, bool taken) {
    const Way tried = way();
    const int number = calls_++ / 2 - warm_ups;
    if (number >= 0) begin_of(tried, times_)[number] = static_cast<double>(nanoseconds);
    declined_ = declined_ || (tried == Way::lists && !taken);
}

BlockingChoice::Times BlockingChoice::Case::times() const {
    Times result = times_;
    if (declined_)
        std::fill_n(begin_of(Way::lists, result), samples, std::numeric_limits<double>::infinity());
    return result;
}

void BlockingChoice::Case::decide(const Times& sums) {
    decided_ = true;
    left_ = lasts_ - 1;  // the call that has decided is the first
    lasts_ *= next_lasts;
    // No list takes these calls on any rank.
    if (std::isinf(sums.back())) left_ = std::numeric_limits<std::uint64_t>::max();
    const auto of = [&sums](Way way) { return std::span(begin_of(way, sums), samples); };
    const std::size_t pairs = pairs_below(of(Way::lists), of(Way::mpi), clearly);
    chosen_ = pairs >= clear_pairs ? Way::lists : Way::mpi;
    Times sorted = sums;
    for (const Way way : {Way::mpi, Way::lists}) {
        medians_[static_cast<std::size_t>(way)] = median(std::span(begin_of(way, sorted), samples)) / ranks_;
    }
}

}  // namespace lapwing
