// What every result of `lapwing predict` begins with, and how its numbers are written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "predict/jobs.hpp"

namespace lapwing::tool {

// With the constants of all engines for `problem`.
nlohmann::ordered_json head_of(const Study& study, const Problem& problem);
// What was simulated of one engine: its rounds, and their spread. `algorithm` may be empty.
nlohmann::ordered_json measurement_of(const simulate::Engine& engine, const std::string& algorithm,
                                      std::uint64_t messages, nlohmann::ordered_json rounds);
// Adds a measurement to the row that `head` names: engines are side by side in a row.
void add_row(nlohmann::ordered_json& rows, nlohmann::ordered_json head, nlohmann::ordered_json measurement);

// What stands above a table: what was simulated, and the constants of all engines for `problem`.
std::string headline(const Study& study, const Problem& problem);
// The cells of a row, with the titles of their columns.
using Columns = std::vector<std::pair<std::string, std::string>>;
std::string align(const std::vector<Columns>& rows);
std::string lines_of(const std::vector<std::string>& left_out);

std::string microseconds(double seconds);
std::string percent(double share);

}  // namespace lapwing::tool
