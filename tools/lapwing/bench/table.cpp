#include "lapwing/bench/table.hpp"

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

std::string microseconds(const Json& summary, const char* what) {
    if (!summary.contains(what)) return "-";
    const double value = summary.at(what).at("median").get<double>() * 1e6;
    return fmt::format("{:.{}f}", value, value < 100 ? 2 : 0);
}

double percent(const Json& share) {
    return std::clamp(share.get<double>() * 100, 0.0, 100.0);
}

std::string share(const Json& summary, const char* what) {
    return summary.contains(what) ? fmt::format("{:.1f}", percent(summary.at(what).at("median"))) : "-";
}

std::string quartiles(const Json& summary, const char* what) {
    const Json& spread = summary.at(what);
    return fmt::format("{:.1f}..{:.1f}", percent(spread.at("q1")), percent(spread.at("q3")));
}

std::string note(const Json& engine) {
    if (engine.at("confirmed").get<bool>()) return "";
    const std::string used = engine.at("used");
    return used.empty() ? "not confirmed: Lapwing did not report the engine" : "not taken: ran on " + used;
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

std::string heading(const Json& result, const std::string& collective, const std::string& method) {
    const Json& settings = result.at("settings");
    const bool works = settings.at("compute") == "work";
    const std::string block = method == "wait"
                                  ? fmt::format("{} of {} x the base time", works ? "work" : "sleep",
                                                settings.at("work_factor").get<double>())
                                  : fmt::format("quanta of {}", works ? "work" : "sleep");
    return fmt::format("{}: {} method, {}\n", collective, method, block);
}

std::string parameter_title(const std::string& name) {
    return name == "work_share" ? "work %" : name;
}

std::string parameter_value(const Json& parameter) {
    const double value = parameter.at("value");
    return parameter.at("name") == "work_share" ? fmt::format("{:.0f}", value * 100)
                                                : fmt::format("{:.0f}", value);
}

bool by_steps(const Json& row) {
    return row.contains("parameter") && row.at("parameter").at("name") == "work_share";
}

// What differs between rows beside collective and method, as titles or as cells.
std::vector<std::string> place_titles(const Json& row) {
    std::vector<std::string> titles{"bytes"};
    if (row.contains("frequency_hz")) titles.insert(titles.end(), {"Hz", "burst us"});
    if (row.contains("parameter")) titles.push_back(parameter_title(row.at("parameter").at("name")));
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
    if (row.contains("parameter")) cells.push_back(parameter_value(row.at("parameter")));
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

std::string table_of(const Json& result, const std::string& collective, const std::string& method) {
    const bool waits = method == "wait";
    const std::vector<Json> all = rows_of(result, collective, method);
    Rows rows;
    rows.push_back(place_titles(all.front()));
    const std::size_t first_number = rows.front().size();
    rows.front().insert(rows.front().end(), {"base us", "start us"});
    if (waits) rows.front().insert(rows.front().end(), {"wait us", "alone us"});
    rows.front().insert(rows.front().end(), {"total us", "overlap %", "quartiles"});
    rows.front().push_back(waits ? "stolen us/MiB" : "overlap %/ms");
    rows.front().push_back("");
    for (const Json& row : all) {
        for (const Json& engine : row.at("engines")) {
            const Json& summary = engine.at("summary");
            std::vector<std::string> cells = place_cells(row, engine);
            cells.insert(cells.end(), {microseconds(summary, "base"), microseconds(summary, "start")});
            if (waits) cells.push_back(microseconds(summary, "wait"));
            if (waits) cells.push_back(microseconds(summary, "alone"));
            cells.push_back(microseconds(summary, "total"));
            cells.push_back(share(summary, "overlap"));
            cells.push_back(quartiles(summary, "overlap"));
            cells.push_back(
                waits ? microseconds(summary, "stolen_per_mib")
                      : fmt::format("{:.3g}",
                                    summary.at("available_per_second").at("median").get<double>() / 10));
            cells.push_back(note(engine));
            rows.push_back(std::move(cells));
        }
    }
    return heading(result, collective, method) + align_numbers(rows, first_number) + "\n";
}

// Where and on what it was measured.
std::string title(const Json& result) {
    const Json& hosts = result.at("hosts");
    const std::set<std::string> different(hosts.begin(), hosts.end());
    const auto machines = result.at("machines").get<std::size_t>();
    const int ranks = result.at("ranks");
    const int rounds = result.at("settings").at("rounds");
    return fmt::format("{}, {} on {}{}, {}; medians of {}\n\n", result.at("mpi").get<std::string>(),
                       counted(ranks, "rank"), counted(different.size(), "host"),
                       machines < different.size() ? " of " + counted(machines, "machine") : "",
                       result.at("kernel").get<std::string>(), counted(rounds, "round"));
}

// The median and the quartiles of seconds, in microseconds.
std::pair<std::string, std::string> short_time(const Json& spread) {
    const auto in_microseconds = [&](const char* which) { return spread.at(which).get<double>() * 1e6; };
    const double median = in_microseconds("median");
    const int digits = median < 10 ? 3 : median < 1000 ? 1 : 0;
    return {fmt::format("{:.{}f}", median, digits),
            fmt::format("{:.{}f}..{:.{}f}", in_microseconds("q1"), digits, in_microseconds("q3"), digits)};
}

// An engine's time over the MPI's.
std::pair<std::string, std::string> times_mpi(const Json& engine) {
    const Json& summary = engine.at("summary");
    if (!summary.contains("ratio") || engine.at("engine") == "mpi") return {"-", "-"};
    const auto value = [&](const char* which) { return summary.at("ratio").at(which).get<double>(); };
    return {fmt::format("{:.2f}", value("median")), fmt::format("{:.2f}..{:.2f}", value("q1"), value("q3"))};
}

std::string in_unit(double value, Column::Unit unit) {
    switch (unit) {
        case Column::Unit::microseconds: {
            const double microseconds = value * 1e6;
            return fmt::format("{:.{}f}", microseconds, microseconds < 10 ? 3 : microseconds < 1000 ? 1 : 0);
        }
        case Column::Unit::percent:
            return fmt::format("{:.1f}", value * 100);
        case Column::Unit::gflops:
            return fmt::format("{:.3f}", value * 1e-9);
        case Column::Unit::number:
            break;
    }
    return value < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

// Not clipped as overlap's are: a loss may be below 0, and an overhead above the base time.
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

// Of the rows of a collective and a method, by the columns of the benchmark.
std::string table_by_columns(const Json& result, const std::string& collective, const std::string& method) {
    const std::string benchmark = result.at("benchmark");
    Rows rows;
    std::size_t first_number = 0;
    for (const Json& row : rows_of(result, collective, method)) {
        const std::vector<Column>& columns = columns_of(benchmark, by_steps(row));
        if (rows.empty()) {
            rows.push_back(place_titles(row));
            first_number = rows.front().size();
            for (const Column& column : columns) {
                rows.front().emplace_back(column.title);
                if (column.quartiles) rows.front().emplace_back("quartiles");
            }
            rows.front().emplace_back("");
        }
        for (const Json& engine : row.at("engines")) {
            std::vector<std::string> cells = place_cells(row, engine);
            add_cells(cells, engine.at("summary"), columns);
            cells.push_back(note(engine));
            rows.push_back(std::move(cells));
        }
    }
    const std::string what =
        method == "fixed" && benchmark == "overlap" ? "overlap for a fixed time" : benchmark;
    return fmt::format("{}: {}\n", collective, what) + align_numbers(rows, first_number) + "\n";
}

std::string base_table(const Json& result) {
    Rows rows;
    std::size_t first_number = 0;
    for (const Json& row : result.at("rows")) {
        if (rows.empty()) {
            rows.push_back(place_titles(row));
            rows.front().insert(rows.front().begin(), "collective");
            first_number = rows.front().size();
            rows.front().insert(rows.front().end(),
                                {"base us", "quartiles", "/ mpi", "quartiles", "rounds", ""});
        }
        for (const Json& engine : row.at("engines")) {
            const auto [base, base_quartiles] = short_time(engine.at("summary").at("base"));
            const auto [ratio, ratio_quartiles] = times_mpi(engine);
            std::vector<std::string> cells = place_cells(row, engine);
            cells.insert(cells.begin(), row.at("collective"));
            cells.insert(cells.end(), {base, base_quartiles, ratio, ratio_quartiles,
                                       std::to_string(engine.at("rounds").size()), note(engine)});
            rows.push_back(std::move(cells));
        }
    }
    return title(result) + align_numbers(rows, first_number);
}

}  // namespace

std::string bench_tables(const Json& result) {
    const std::string benchmark = result.at("benchmark");
    if (benchmark == "base") return base_table(result);
    std::string text = title(result);
    std::vector<std::pair<std::string, std::string>> shown;
    for (const Json& row : result.at("rows")) {
        const std::pair<std::string, std::string> key{row.at("collective"), row.at("method")};
        if (std::find(shown.begin(), shown.end(), key) != shown.end()) continue;
        shown.push_back(key);
        const bool of_its_own = benchmark == "overlap" && key.second != "fixed" && !by_steps(row);
        text += of_its_own ? table_of(result, key.first, key.second)
                           : table_by_columns(result, key.first, key.second);
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
