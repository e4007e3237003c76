#include "lapwing/tune/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/messages.hpp"
#include "base/values.hpp"
#include "collectives/catalogue.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "plan/list_files.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;

// Algorithms whose times differ by less are taken to be equally fast.
constexpr double noise = 1.03;

// Earlier in the catalogue, then with its usual parameters.
bool stands_before(const Choice& one, const Choice& other) {
    if (one.algorithm != other.algorithm) {
        const auto all = catalogue();
        return std::find(all.begin(), all.end(), one.algorithm) <
               std::find(all.begin(), all.end(), other.algorithm);
    }
    const bool usual = one.parameters == default_parameters(*one.algorithm);
    if (usual != (other.parameters == default_parameters(*other.algorithm))) return usual;
    return one.parameters < other.parameters;
}

// All sizes of a collective whose problem does not include the size (alltoallv: each rank knows its own
// blocks only): one choice must do for all of them, the one that loses least against the fastest of each.
Choice best_for_all(const std::vector<const Measured*>& sizes) {
    std::optional<Choice> best;
    double least = 0;
    for (const auto& candidate : sizes.front()->seconds) {
        double lost = 0;
        bool everywhere = true;
        for (const Measured* size : sizes) {
            const double* seconds = size->of(candidate.first);
            everywhere = everywhere && seconds != nullptr;
            if (seconds != nullptr) lost += std::log(*seconds / size->best());
        }
        if (!everywhere || (best && lost >= least)) continue;
        best = candidate.first;
        least = lost;
    }
    return best ? *best : sizes.front()->seconds.front().first;
}

Choice fastest(const Measured& measured, const std::optional<Choice>& before) {
    const double enough = measured.best() * noise;
    if (before) {
        const double* seconds = measured.of(*before);
        if (seconds != nullptr && *seconds <= enough) return *before;
    }
    return std::find_if(measured.seconds.begin(), measured.seconds.end(),
                        [&](const auto& one) { return one.second <= enough; })
        ->first;
}

Json row_of(std::uint64_t from, const Choice& choice, const double* seconds) {
    Json row = {{"from", from}, {"take", print(choice)}};
    if (seconds != nullptr) row["seconds"] = *seconds;
    return row;
}

Json rows_of(const std::vector<const Measured*>& sizes) {
    Json rows = Json::array();
    if (sizes.back()->bytes > 0 && sizes.back()->problem.bytes == 0) {
        rows.push_back(row_of(0, best_for_all(sizes), nullptr));
        return rows;
    }
    std::optional<Choice> before;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Choice choice = fastest(*sizes[i], before);
        if (before == choice) continue;
        before = choice;
        // Half way between the sizes, as their ratio goes.
        const double from = i == 0 ? 0
                                   : std::sqrt(static_cast<double>(sizes[i - 1]->problem.bytes) *
                                               static_cast<double>(sizes[i]->problem.bytes));
        rows.push_back(row_of(static_cast<std::uint64_t>(std::llround(from)), choice, sizes[i]->of(choice)));
    }
    return rows;
}

// Of each collective the sizes, rising and each once.
std::vector<std::vector<const Measured*>> by_collective(const std::vector<Measured>& measured) {
    std::vector<std::vector<const Measured*>> groups;
    for (const Collective collective : all_collectives()) {
        std::vector<const Measured*> sizes;
        for (const Measured& one : measured) {
            if (one.collective == collective) sizes.push_back(&one);
        }
        std::stable_sort(sizes.begin(), sizes.end(), [](const Measured* one, const Measured* other) {
            return one->problem.bytes < other->problem.bytes;
        });
        if (!sizes.empty() && sizes.back()->problem.bytes > 0) {
            sizes.erase(std::unique(sizes.begin(), sizes.end(),
                                    [](const Measured* one, const Measured* other) {
                                        return one->problem.bytes == other->problem.bytes;
                                    }),
                        sizes.end());
        }
        if (!sizes.empty()) groups.push_back(std::move(sizes));
    }
    return groups;
}

Json choices_of(const MeasuredTable& table) {
    Json choices = Json::object();
    for (const auto& sizes : by_collective(table.measured)) {
        choices[name(sizes.front()->collective)] = rows_of(sizes);
    }
    return choices;
}

// For whom a table is.
Json head_of(const MeasuredTable& table) {
    Json head = {{"engine", table.of.engine},
                 {"hosts", table.of.several_hosts ? "several" : "one"},
                 {"ranks", {table.ranks, table.ranks}}};
    if (table.of.several_hosts) {
        const int per_host = table.placement != nullptr ? table.placement->largest_host() : 1;
        head["ranks_per_host"] = {per_host, per_host};
    }
    return head;
}

std::string told(const Choice& choice, const double* seconds) {
    return seconds == nullptr ? print(choice) : fmt::format("{} {}", print(choice), print_seconds(*seconds));
}

std::string told(const Quality& quality) {
    return fmt::format("within {:.0f} % of the fastest in {} of {} cases, on average {:.0f} % slower",
                       (slack - 1) * 100, quality.good, quality.cases, (quality.mean_ratio - 1) * 100);
}

// One row of "measured", of the MPI program's result.
Measured read_measured(const nlohmann::json& row, int ranks, std::shared_ptr<const Placement> placement) {
    Measured measured;
    measured.collective = *find_collective(row.at("collective").get<std::string>());
    measured.ranks = ranks;
    measured.bytes = row.at("bytes");
    measured.problem = measured_problem(measured.collective, ranks, measured.bytes);
    measured.problem.placement = std::move(placement);
    for (const auto& entry : row.at("seconds").items()) {
        measured.seconds.emplace_back(read_choice(measured.collective, entry.key()),
                                      entry.value().get<double>());
    }
    std::sort(measured.seconds.begin(), measured.seconds.end(),
              [](const auto& one, const auto& other) { return stands_before(one.first, other.first); });
    return measured;
}

}  // namespace

std::vector<MeasuredTable> measured_tables(const nlohmann::json& result) {
    std::vector<MeasuredTable> tables;
    for (const nlohmann::json& told : result.at("tables")) {
        MeasuredTable table;
        table.of.engine = told.at("engine").get<std::string>();
        table.of.several_hosts = told.at("hosts") == "several";
        table.ranks = told.at("ranks");
        if (told.contains("host_of")) {
            using Numbers = std::vector<std::uint64_t>;
            table.placement =
                std::make_shared<const Placement>(told.at("host_of").get<Numbers>(), std::span<const int>{},
                                                  told.value("groups", std::vector<Numbers>()));
        }
        told.at("instead").get_to(table.instead);
        for (const nlohmann::json& row : told.at("measured")) {
            table.measured.push_back(read_measured(row, table.ranks, table.placement));
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

Json table_of_file(const MeasuredTable& table, const Machine& start, const Json& made) {
    Machine machine = fit(table.measured, start);
    if (limit(machine)) {
        print_message(
            "lapwing tune: the measured times of {} ranks on {} imply more than 1 us for each byte: other "
            "programs kept the CPUs busy; measure again on a quiet machine\n",
            table.ranks, table.of.engine);
    }
    Json measured = Json::array();
    for (const Measured& one : table.measured) {
        Json seconds = Json::object();
        for (const auto& of : one.seconds) seconds[print(of.first)] = of.second;
        measured.push_back(
            {{"collective", name(one.collective)}, {"bytes", one.bytes}, {"seconds", std::move(seconds)}});
    }
    const bool two_kinds = table.placement != nullptr && table.placement->hosts() > 1;
    Json constants;
    for (const auto& [name, cost] : machine_costs) {
        if (two_kinds || !std::string_view(name).starts_with("intra_node_")) constants[name] = machine.*cost;
    }
    Json made_table = head_of(table);
    made_table["made"] = made;
    made_table["machine"] = std::move(constants);
    made_table["choices"] = choices_of(table);
    made_table["measured"] = std::move(measured);
    return made_table;
}

void put_tables(Json& file, const std::vector<Json>& tables) {
    Json kept = Json::array();
    for (Json& old : file.at("tables")) {
        const bool replaced = std::any_of(tables.begin(), tables.end(), [&](const Json& table) {
            // One that does not say how many ranks a host has is replaced by any.
            return table.at("engine") == old.at("engine") && table.at("hosts") == old.at("hosts") &&
                   table.at("ranks") == old.at("ranks") &&
                   (!old.contains("ranks_per_host") ||
                    table.value("ranks_per_host", Json()) == old.at("ranks_per_host"));
        });
        if (!replaced) kept.push_back(std::move(old));
    }
    for (const Json& table : tables) kept.push_back(table);
    file["tables"] = std::move(kept);
}

std::string summary_of(const MeasuredTable& table, const Tuning& made) {
    const Guidance shipped{nullptr, table.of};
    const Guidance tuned{&made, table.of};
    std::string text = fmt::format("{} engine, {}, {}\n", table.of.engine,
                                   table.of.several_hosts ? "between hosts" : "inside one host",
                                   counted(table.ranks, "rank"));
    std::vector<std::vector<std::string>> rows = {
        {"collective", "bytes", "fastest", "chosen without the file"}};
    for (const Measured& one : table.measured) {
        const Choice chosen = select(one.problem, {}, tuned).choice;
        const Choice usual = select(one.problem, {}, shipped).choice;
        rows.push_back({name(one.collective), std::to_string(one.bytes), told(chosen, one.of(chosen)),
                        chosen == usual ? "the same" : told(usual, one.of(usual))});
    }
    text += align(rows);
    text += fmt::format("by this file: {}\n", told(quality_of_selection(table.measured, tuned)));
    text += fmt::format("without it:   {}\n", told(quality_of_selection(table.measured, shipped)));
    Problem group{.collective = Collective::barrier, .ranks = table.ranks};
    group.placement = table.placement;
    text += fmt::format("by the cost model with these constants: {}\n",
                        told(quality_of_model(table.measured, tuned.machine(group))));
    return text;
}

}  // namespace lapwing::tool
