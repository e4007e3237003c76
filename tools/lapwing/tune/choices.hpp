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
};

// What the MPI program said (bench/tune/main.cpp).
std::vector<MeasuredTable> measured_tables(const nlohmann::json& result);

// A table of the file: rows of choices, constants, what was measured, and `made`, how. Where two algorithms
// are as fast as each other within the noise, the one of the next smaller size stays.
nlohmann::ordered_json table_of_file(const MeasuredTable& table, const Machine& start,
                                     const nlohmann::ordered_json& made);

// Adds tables to a file's, in place of those for the same engine, hosts and ranks.
void put_tables(nlohmann::ordered_json& file, const std::vector<nlohmann::ordered_json>& tables);

// What was chosen, beside what is shipped, and how well the cost model does.
std::string summary_of(const MeasuredTable& table, const Tuning& made);

}  // namespace lapwing::tool
