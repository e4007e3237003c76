#include "lapwing/bench/statistics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/values.hpp"
#include "lapwing/bench/catalogue.hpp"
#include "lapwing/common/tables.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

std::string note(const Json& engine) {
    if (engine.contains("not_driven"))
        return fmt::format("not driven: {}", engine.at("not_driven").get<std::string>());
    if (engine.at("confirmed").get<bool>()) return "";
    return fmt::format("NOT CONFIRMED: {}", engine.at("unconfirmed").get<std::string>());
}

// An engine as it was asked for; what "auto" was behind it.
std::string engine_asked_for(const Json& engine) {
    const std::string asked = engine.at("engine");
    const std::string used = engine.at("used");
    return asked == "auto" && engine.at("confirmed").get<bool>() ? fmt::format("auto ({})", used) : asked;
}

// Cells before the last column, `first` on, to the right, as numbers stand.
std::string align_numbers(Rows rows, std::size_t first) {
    for (std::size_t column = first; column + 1 < rows.front().size(); ++column) {
        std::size_t width = 0;
        for (const auto& row : rows) width = std::max(width, row[column].size());
        for (auto& row : rows) row[column] = fmt::format("{:>{}}", row[column], width);
    }
    return align(rows);
}

bool by_steps(const Json& row) {
    return row.contains("parameter") && row.at("parameter").at("name") == "work_share";
}

// What differs between rows beside collective and method, as titles or as cells.
std::vector<std::string> place_titles(const Json& row) {
    std::vector<std::string> titles{"bytes"};
    if (row.contains("frequency_hz")) titles.insert(titles.end(), {"Hz", "burst us"});
    if (row.contains("parameter"))
        titles.push_back(by_steps(row) ? "work %" : row.at("parameter").at("name"));
    if (row.contains("variant")) titles.emplace_back("variant");
    titles.emplace_back("engine");
    return titles;
}

std::vector<std::string> place_cells(const Json& row, const Json& engine) {
    std::vector<std::string> cells{std::to_string(row.at("bytes").get<std::uint64_t>())};
    if (row.contains("frequency_hz")) {
        cells.push_back(fmt::format("{:.0f}", row.at("frequency_hz").get<double>()));
        cells.push_back(fmt::format("{:.0f}", row.at("burst_seconds").get<double>() * 1e6));
    }
    if (row.contains("parameter")) {
        const double value = row.at("parameter").at("value");
        cells.push_back(fmt::format("{:.0f}", by_steps(row) ? value * 100 : value));
    }
    if (row.contains("variant")) cells.push_back(row.at("variant"));
    cells.push_back(engine_asked_for(engine));
    return cells;
}

std::vector<Json> rows_of(const Json& result, const std::string& collective, const std::string& method) {
    std::vector<Json> rows;
    for (const Json& row : result.at("rows")) {
        if (row.at("collective") == collective && row.at("method") == method) rows.push_back(row);
    }
    return rows;
}

// Where and on what it was measured.
std::string title(const Json& result) {
    const Json& hosts = result.at("hosts");
    const std::set<std::string> different(hosts.begin(), hosts.end());
    const auto machines = result.at("machines").get<std::size_t>();
    const int ranks = result.at("ranks");
    const auto rounds = result.at("rows").front().at("engines").front().at("rounds").size();
    const int passes = result.at("settings").at("passes");
    return fmt::format(
        "{}, {} on {}{}, {}; medians of {} in {} of each engine, in turns\n\n",
        result.at("mpi").get<std::string>(), counted(ranks, "rank"), counted(different.size(), "host"),
        machines < different.size() ? " of " + counted(machines, "machine") : "",
        result.at("kernel").get<std::string>(), counted(rounds, "round"), counted(passes, "job"));
}

std::string in_unit(double value, Column::Unit unit) {
    switch (unit) {
        case Column::Unit::microseconds: {
            const double microseconds = value * 1e6;
            return fmt::format("{:.{}f}", microseconds, microseconds < 10 ? 3 : microseconds < 1000 ? 1 : 0);
        }
        case Column::Unit::percent:
            return fmt::format("{:.1f}", value * 100);
        case Column::Unit::share:
            return fmt::format("{:.1f}", std::clamp(value * 100, 0.0, 100.0));
        case Column::Unit::percent_per_ms:
            return fmt::format("{:.3g}", value / 10);
        case Column::Unit::gflops:
            return fmt::format("{:.3f}", value * 1e-9);
        case Column::Unit::number:
            break;
    }
    return value < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

void add_cells(std::vector<std::string>& cells, const Json& summary, const std::vector<Column>& columns) {
    for (const Column& column : columns) {
        const bool known = summary.contains(column.quantity);
        const auto value = [&](const char* which) {
            return in_unit(summary.at(column.quantity).at(which).get<double>(), column.unit);
        };
        cells.push_back(known ? value("median") : "-");
        if (column.quartiles) {
            cells.push_back(known ? fmt::format("{}..{}", value("q1"), value("q3")) : "-");
        }
    }
}

void add_titles(std::vector<std::string>& titles, const std::vector<Column>& columns) {
    for (const Column& column : columns) {
        titles.emplace_back(column.title);
        if (column.quartiles) titles.emplace_back("quartiles");
    }
}

// What is measured in the rows of a collective and a method.
std::string heading(const Json& result, const Json& row) {
    const std::string benchmark = result.at("benchmark");
    const std::string method = row.at("method");
    if (benchmark == "overlap" && method == "fixed") return "overlap for a fixed time";
    if (benchmark != "overlap" || by_steps(row)) return benchmark;
    const Json& settings = result.at("settings");
    const char* const what = settings.at("compute") == "work" ? "work" : "sleep";
    if (method == "poll") return fmt::format("poll method, quanta of {}", what);
    return fmt::format("{} method, the same {} for all: {} x the base time of {}", method, what,
                       settings.at("work_factor").get<double>(),
                       row.at("engines").front().at("engine").get<std::string>());
}

std::string table_of(const Json& result, const std::string& collective, const std::string& method) {
    const std::vector<Json> all = rows_of(result, collective, method);
    const std::vector<Column>& columns = columns_of(result.at("benchmark"), method, by_steps(all.front()));
    Rows rows = {place_titles(all.front())};
    const std::size_t first_number = rows.front().size();
    add_titles(rows.front(), columns);
    rows.front().emplace_back("");
    for (const Json& row : all) {
        for (const Json& engine : row.at("engines")) {
            std::vector<std::string> cells = place_cells(row, engine);
            add_cells(cells, engine.at("summary"), columns);
            cells.push_back(note(engine));
            rows.push_back(std::move(cells));
        }
    }
    return fmt::format("{}: {}\n", collective, heading(result, all.front())) +
           align_numbers(rows, first_number) + "\n";
}

}  // namespace

std::string bench_tables(const Json& result) {
    std::string text = title(result);
    if (const std::string sentence = result.at("conclusion"); !sentence.empty()) text += sentence + "\n\n";
    std::vector<std::pair<std::string, std::string>> shown;
    for (const Json& row : result.at("rows")) {
        const std::pair<std::string, std::string> key{row.at("collective"), row.at("method")};
        if (std::find(shown.begin(), shown.end(), key) != shown.end()) continue;
        shown.push_back(key);
        text += table_of(result, key.first, key.second);
    }
    if (result.at("more_ranks_than_processors").get<bool>() && result.contains("operations_per_second") &&
        result.at("settings").at("compute") == "work") {
        text +=
            "More ranks than cores: ranks share cores, and times include whole scheduler time slices.\n\n";
    }
    text.pop_back();
    return text;
}

}  // namespace lapwing::tool
