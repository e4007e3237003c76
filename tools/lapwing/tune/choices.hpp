// From what was measured to a tuning file (plan/tuning.hpp) and to what is printed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan/fit.hpp"

namespace lapwing::tool {

// One engine and one number of ranks.
struct MeasuredTable {
    Surroundings of;
    int ranks = 0;
    std::shared_ptr<const Placement> placement;  // null when there was none
    std::vector<Measured> measured;
    std::vector<std::string> instead;  // engines that ran in its place
    std::optional<MessageCosts> netgauge;
};

// What the MPI program said (bench/tune/main.cpp).
std::vector<MeasuredTable> measured_tables(const nlohmann::json& result);

// A table of the file: rows of choices, constants, what was measured, and `made`, how. Where two algorithms
// are as fast as each other within the noise, the one of the next smaller size stays. `burst_bytes` is what
// the links passed at once after a pause.
nlohmann::ordered_json table_of_file(const MeasuredTable& table, const Machine& start,
                                     std::uint64_t burst_bytes, const nlohmann::ordered_json& made);

// The same of simulated times: choices alone, marked.
nlohmann::ordered_json simulated_table_of_file(const MeasuredTable& table,
                                               const nlohmann::ordered_json& made);

// Fits what messages cost again, to what the file's tables hold. Returns for how many of them.
int fit_again(nlohmann::ordered_json& file, std::uint64_t burst_bytes);

// Adds tables to a file's, in place of those for the same engine, hosts and ranks.
void put_tables(nlohmann::ordered_json& file, const std::vector<nlohmann::ordered_json>& tables);

// What was chosen, beside what is shipped, and how well the cost model does.
std::string summary_of(const MeasuredTable& table, const Tuning& made);

}  // namespace lapwing::tool
