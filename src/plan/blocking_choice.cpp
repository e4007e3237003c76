#include "plan/blocking_choice.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace lapwing {
namespace {

// 0, and then 8, 32, 128, ...
std::uint64_t max_bytes_of_class(std::uint64_t bytes) {
    if (bytes == 0) return 0;
    const auto width = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(bytes, 8) - 1));
    return std::uint64_t{1} << std::min(63U, width % 2 == 0 ? width + 1 : width);
}

std::size_t index(BlockingChoice::Way way) {
    return static_cast<std::size_t>(way);
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

void BlockingChoice::Case::took(std::uint64_t nanoseconds, bool taken) {
    const Way tried = way();
    const int number = calls_++ / 2 - warm_ups;
    if (number >= 0) nanoseconds_[index(tried)][static_cast<std::size_t>(number)] = nanoseconds;
    declined_ = declined_ || (tried == Way::lists && !taken);
}

std::array<double, 2> BlockingChoice::Case::medians() const {
    std::array<double, 2> result{};
    for (const Way way : {Way::mpi, Way::lists}) {
        auto sorted = nanoseconds_[index(way)];
        std::sort(sorted.begin(), sorted.end());
        result[index(way)] = static_cast<double>(sorted[samples / 2]);
    }
    if (declined_) result[index(Way::lists)] = std::numeric_limits<double>::infinity();
    return result;
}

void BlockingChoice::Case::decide(const std::array<double, 2>& sums) {
    decided_ = true;
    for (const Way way : {Way::mpi, Way::lists}) means_[index(way)] = sums[index(way)] / ranks_;
    chosen_ = sums[index(Way::lists)] < clearly * sums[index(Way::mpi)] ? Way::lists : Way::mpi;
}

}  // namespace lapwing
