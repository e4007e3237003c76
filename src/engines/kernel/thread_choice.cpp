#include "engines/kernel/thread_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lapwing::kernel {

namespace {

double median(std::array<std::uint64_t, ThreadChoice::samples> values) {
    const auto middle = values.begin() + values.size() / 2;
    std::nth_element(values.begin(), middle, values.end());
    return static_cast<double>(*middle);
}

}  // namespace

bool ThreadChoice::in_trial() const {
    return !decided_ || (runs_ >= first_repetition && runs_ - std::bit_floor(runs_) < repetition);
}

bool ThreadChoice::next() {
    const bool by_thread = in_trial() ? runs_ / block % 2 == 1 : chosen_;
    ++runs_;
    return by_thread && overlapped_in_a_row_ >= 2;
}

void ThreadChoice::completed(const RunTimes& times) {
    if (times.away < min_away) {
        overlapped_in_a_row_ = 0;
        return;
    }
    ++overlapped_in_a_row_;
    Samples& mine = samples_[times.by_thread ? 1 : 0];
    const std::size_t slot = mine.count++ % samples;
    mine.in_calls[slot] = times.start + times.wait;
    mine.away[slot] = times.away;
    mine.thread[slot] = times.thread;
    const auto& [by_calls, by_thread] = samples_;
    if (by_calls.count < samples || by_thread.count < samples) return;
    const double longer = median(by_thread.away) - median(by_calls.away);
    costs_ = {median(by_calls.in_calls),
              median(by_thread.in_calls) + std::clamp(longer, 0.0, median(by_thread.thread))};
    decided_ = true;
    chosen_ = costs_[1] < costs_[0];
}

void ThreadRecords::add(const Problem& problem, bool by_thread, const std::array<double, 2>& costs) {
    constexpr std::size_t max_rows = 32;
    const std::lock_guard lock(mutex_);
    const std::tuple key{problem.collective, problem.ranks, problem.bytes};
    if (rows_.size() >= max_rows && !rows_.contains(key)) return;
    Row& row = rows_[key];
    ++row.runs[by_thread ? 1 : 0];
    for (const std::size_t way : {0U, 1U}) {
        if (costs[way] >= 0) row.costs[way] = costs[way];
    }
}

std::vector<std::string> ThreadRecords::in_words() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> result;
    for (const auto& [key, row] : rows_) {
        const auto& [collective, ranks, bytes] = key;
        // Only runs that the program has overlapped can be measured.
        if (row.costs[0] < 0 || row.costs[1] < 0) continue;
        result.push_back(fmt::format(
            "{} of {} B on {} ranks: the event thread advanced {} of {} runs; a run takes {:.1f} us from the "
            "program with the event thread, {:.1f} us without",
            mpi_name(collective), bytes, ranks, row.runs[1], row.runs[0] + row.runs[1], row.costs[1] * 1e-3,
            row.costs[0] * 1e-3));
    }
    return result;
}

}  // namespace lapwing::kernel
