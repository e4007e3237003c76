// What a comparison has found.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lapwing/compare/runs.hpp"

namespace lapwing::tool {

// A sentence for each variant but the first, native one: what it saves or costs. `within`: the difference
// that further rounds would show.
std::string answer(const std::vector<Variant>& variants, double within);

// `printed`: the seconds are those that the program prints.
std::string comparison_table(const std::vector<Variant>& variants, bool printed);

// A row in the form of `lapwing bench --json`, which `lapwing report` draws.
nlohmann::json comparison_row(const std::vector<Variant>& variants);

}  // namespace lapwing::tool
