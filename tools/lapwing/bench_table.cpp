#include "lapwing/bench_table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "lapwing/tables.hpp"

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
    return used.empty() ? "not confirmed: Lapwing does not say who ran it" : "not taken: ran on " + used;
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

std::string table_of(const Json& result, const std::string& collective, const std::string& method) {
    const bool waits = method == "wait";
    Rows rows;
    rows.push_back({"bytes", "engine", "base us", "start us"});
    if (waits) rows.front().insert(rows.front().end(), {"wait us", "alone us"});
    rows.front().insert(rows.front().end(), {"total us", "overlap %", "quartiles", "limit %"});
    if (waits) rows.front().push_back("stolen us/MiB");
    rows.front().push_back("");
    for (const Json& row : result.at("rows")) {
        if (row.at("collective") != collective || row.at("method") != method) continue;
        for (const Json& engine : row.at("engines")) {
            const Json& summary = engine.at("summary");
            std::vector<std::string> cells{std::to_string(row.at("bytes").get<std::uint64_t>()),
                                           engine_asked_for(engine), microseconds(summary, "base"),
                                           microseconds(summary, "start")};
            if (waits) cells.push_back(microseconds(summary, "wait"));
            if (waits) cells.push_back(microseconds(summary, "alone"));
            cells.push_back(microseconds(summary, "total"));
            cells.push_back(share(summary, "overlap"));
            cells.push_back(quartiles(summary, "overlap"));
            cells.push_back(share(summary, "limit"));
            if (waits) cells.push_back(microseconds(summary, "stolen_per_mib"));
            cells.push_back(note(engine));
            rows.push_back(std::move(cells));
        }
    }
    return heading(result, collective, method) + align_numbers(rows, 2) + "\n";
}

std::string idle_table(const Json& idle) {
    Rows rows = {{"engine", "loss %", "quartiles", ""}};
    for (const Json& engine : idle) {
        const Json& loss = engine.at("summary").at("loss");
        const auto in_percent = [&](const char* which) { return loss.at(which).get<double>() * 100; };
        rows.push_back({engine.at("engine").get<std::string>(), fmt::format("{:.2f}", in_percent("median")),
                        fmt::format("{:.2f}..{:.2f}", in_percent("q1"), in_percent("q3")), note(engine)});
    }
    return "Loss of a program that computes while a collective is pending and idle\n" +
           align_numbers(rows, 1) + "\n";
}

// Where and on what it was measured.
std::string title(const Json& result) {
    const Json& hosts = result.at("hosts");
    const std::set<std::string> different(hosts.begin(), hosts.end());
    const auto machines = result.at("machines").get<std::size_t>();
    return fmt::format(
        "{}, {} ranks on {} host{}{}, {}; medians of {} rounds\n\n", result.at("mpi").get<std::string>(),
        result.at("ranks").get<int>(), different.size(), different.size() == 1 ? "" : "s",
        machines < different.size() ? fmt::format(" of {} machine{}", machines, machines == 1 ? "" : "s")
                                    : "",
        result.at("kernel").get<std::string>(), result.at("settings").at("rounds").get<int>());
}

// The median and the quartiles of seconds, in microseconds.
std::pair<std::string, std::string> short_time(const Json& spread) {
    const auto in_microseconds = [&](const char* which) { return spread.at(which).get<double>() * 1e6; };
    const double median = in_microseconds("median");
    const int digits = median < 10 ? 3 : median < 1000 ? 1 : 0;
    return {fmt::format("{:.{}f}", median, digits),
            fmt::format("{:.{}f}..{:.{}f}", in_microseconds("q1"), digits, in_microseconds("q3"), digits)};
}

// What an engine needs for each 1 that the MPI needs.
std::pair<std::string, std::string> times_mpi(const Json& engine) {
    const Json& summary = engine.at("summary");
    if (!summary.contains("ratio") || engine.at("engine") == "mpi") return {"-", "-"};
    const auto value = [&](const char* which) { return summary.at("ratio").at(which).get<double>(); };
    return {fmt::format("{:.2f}", value("median")), fmt::format("{:.2f}..{:.2f}", value("q1"), value("q3"))};
}

}  // namespace

std::string base_table(const Json& result) {
    Rows rows = {
        {"collective", "bytes", "engine", "base us", "quartiles", "/ mpi", "quartiles", "rounds", ""}};
    for (const Json& row : result.at("rows")) {
        for (const Json& engine : row.at("engines")) {
            const auto [base, base_quartiles] = short_time(engine.at("summary").at("base"));
            const auto [ratio, ratio_quartiles] = times_mpi(engine);
            rows.push_back({row.at("collective"), std::to_string(row.at("bytes").get<std::uint64_t>()),
                            engine_asked_for(engine), base, base_quartiles, ratio, ratio_quartiles,
                            std::to_string(engine.at("rounds").size()), note(engine)});
        }
    }
    return title(result) + align_numbers(rows, 3);
}

std::string overlap_tables(const Json& result) {
    std::string text = title(result);
    std::vector<std::pair<std::string, std::string>> shown;
    for (const Json& row : result.at("rows")) {
        const std::pair<std::string, std::string> key{row.at("collective"), row.at("method")};
        if (std::find(shown.begin(), shown.end(), key) != shown.end()) continue;
        shown.push_back(key);
        text += table_of(result, key.first, key.second);
    }
    if (result.contains("idle")) text += idle_table(result.at("idle"));
    if (result.at("more_ranks_than_processors").get<bool>() &&
        result.at("settings").at("compute") == "work") {
        text +=
            "More ranks than processors: ranks that work take turns, so times hold whole time slices.\n\n";
    }
    text.pop_back();
    return text;
}

}  // namespace lapwing::tool
