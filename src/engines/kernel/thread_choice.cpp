#include "engines/kernel/thread_choice.hpp"

#include <fmt/format.h>

#include <bit>

#include "base/floating_point.hpp"

namespace lapwing::kernel {

void ThreadChoice::end_block(std::uint64_t now) {
    // The last run of the block may have been the first that was not overlapped.
    if (!block_.measured || overlapped_in_a_row_ == 0) return;
    const DefaultFloatingPoint default_floating_point;
    samples_[block_.by_thread ? 1 : 0].add(static_cast<double>(now - block_.began) / (block - 1));
    const auto& [by_calls, by_thread] = samples_;
    if (!by_calls.full() || !by_thread.full()) return;
    decided_ = true;
    chosen_ = 2 * pairs_below(by_thread.times(), by_calls.times(), clearly) > samples * samples;
    periods_ = {by_calls.median(), by_thread.median()};
}

bool ThreadChoice::next(std::uint64_t now) {
    const std::uint64_t position = runs_ % block;
    if (position == 0) {
        end_block(now);
        const bool trial =
            !decided_ || (runs_ >= first_repetition && runs_ - std::bit_floor(runs_) < repetition);
        block_.by_thread = trial ? runs_ / block % 2 == 1 : chosen_;
        block_.measured = trial;
    }
    if (position == 1) block_.began = now;
    ++runs_;
    crowded_ = false;
    const bool overlapped = overlapped_in_a_row_ >= 2;
    block_.measured = block_.measured && overlapped;
    return block_.by_thread && overlapped;
}

void ThreadChoice::completed(std::uint64_t away) {
    overlapped_in_a_row_ = away < min_away || crowded_ ? 0 : overlapped_in_a_row_ + 1;
}

void ThreadRecords::add(const Problem& problem, bool by_thread, const std::array<double, 2>& periods) {
    constexpr std::size_t max_rows = 32;
    const std::lock_guard lock(mutex_);
    const std::tuple key{problem.collective, problem.ranks, problem.bytes};
    if (rows_.size() >= max_rows && !rows_.contains(key)) return;
    Row& row = rows_[key];
    ++row.runs[by_thread ? 1 : 0];
    for (const std::size_t way : {0U, 1U}) {
        if (periods[way] >= 0) row.periods[way] = periods[way];
    }
}

std::vector<std::string> ThreadRecords::in_words() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> result;
    for (const auto& [key, row] : rows_) {
        const auto& [collective, ranks, bytes] = key;
        // Only runs that the program has overlapped can be measured.
        if (row.periods[0] < 0 || row.periods[1] < 0) continue;
        result.push_back(fmt::format(
            "{} of {} B on {} ranks: the event thread advanced {} of {} runs; mean time from start to start "
            "{:.1f} us with the event thread, {:.1f} us without",
            mpi_name(collective), bytes, ranks, row.runs[1], row.runs[0] + row.runs[1], row.periods[1] * 1e-3,
            row.periods[0] * 1e-3));
    }
    return result;
}

}  // namespace lapwing::kernel
