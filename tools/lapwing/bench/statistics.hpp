// From the samples of each round to tables.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lapwing::tool {

// Adds to each sample of each engine what follows from it (docs/benchmarks.md says what each benchmark has),
// and to each engine an object "summary": of each quantity the median and the quartiles over the rounds, as
// {"q1", "median", "q3"}.
// Shares are fractions, and not clipped: noise may take an overlap below 0 or above 1.
void summarize(nlohmann::json& result);

// Of values in any order, at least one: {"q1", "median", "q3"}.
nlohmann::json spread(std::vector<double> values);

// Of the first row that was not measured on what was asked for: which, and why. Empty: there is none.
std::string unconfirmed(const nlohmann::json& result);

// One sentence on what an overlap benchmark has found: how much the MPI alone and Lapwing hide of the longest
// collectives. Without a difference it has the likely reason. Empty where there is nothing to compare.
std::string conclusion(const nlohmann::json& result);

// Of results that summarize() has completed. Times in microseconds, shares in percent. A table for each
// collective and method; of base one for all.
std::string bench_tables(const nlohmann::json& result);

}  // namespace lapwing::tool
