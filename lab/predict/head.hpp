// What every result of `lapwing predict` begins with, and how its numbers are written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "predict/study.hpp"

namespace lapwing::tool {

nlohmann::ordered_json head_of(const Study& study);
// The problem for which a program's constants are printed: one of all ranks.
inline Problem all_ranks(int ranks) {
    return {.collective = Collective::barrier, .ranks = ranks};
}
// The constants of an engine, for a collective of the study.
nlohmann::ordered_json parameters_of(const Study& study, const Problem& problem,
                                     const simulate::Engine& engine);
// What was simulated of one engine: its rounds, and their spread. `algorithm` may be empty.
nlohmann::ordered_json measurement_of(const simulate::Engine& engine, const std::string& algorithm,
                                      std::uint64_t messages, nlohmann::ordered_json rounds);
// Adds a measurement to the row that `head` names: engines are side by side in a row.
void add_row(nlohmann::ordered_json& rows, nlohmann::ordered_json head, nlohmann::ordered_json measurement);

// Of a table.
std::string headline(const Study& study);
std::string line_of(const Study& study, const Problem& problem, const simulate::Engine& engine);
// What was left out.
std::string lines_of(const std::vector<std::string>& left_out);

std::string microseconds(double seconds);
std::string percent(double share);

}  // namespace lapwing::tool
