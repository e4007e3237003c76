#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// A difference that rounds and jobs show on a quiet machine: percentage points, and of the time.
constexpr double same_overlap = 10;
constexpr double same_time = 0.95;

std::string why_none(const Json& result, double of_native) {
    const Json& hosts = result.at("hosts");
    if (of_native >= 80)
        return "this MPI progresses such collectives by itself, or the buffers of connections hold them";
    if (result.at("more_ranks_than_processors").get<bool>())
        return "there are more ranks than cores, so ranks wait for each other's computation";
    if (std::set<Json>(hosts.begin(), hosts.end()).size() == 1)
        return "inside one host a copy takes a core's time, and only calls of the program make it";
    return "if the quartiles are far apart, measure again with nothing else running";
}

// One engine in the telling rows.
struct Found {
    std::vector<double> hidden;  // percent
    std::vector<double> ratio;   // of the whole time to that of the MPI alone
};

double mean(const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

std::string in_words(std::uint64_t bytes) {
    for (const auto& [unit, bits] : {std::pair{"MiB", 20U}, {"KiB", 10U}}) {
        if (bytes >> bits > 0 && bytes >> bits << bits == bytes)
            return fmt::format("{} {}", bytes >> bits, unit);
    }
    return counted(bytes, "byte");
}

}  // namespace

std::string conclusion(const Json& result) {
    const Json& settings = result.at("settings");
    if (result.at("benchmark") != "overlap" || settings.contains("work_shares") ||
        settings.contains("processes"))
        return "";
    const auto sizes = settings.at("bytes").get<std::vector<std::uint64_t>>();
    const std::uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
    std::vector<std::string> collectives;
    std::map<std::string, Found> engines;
    for (const Json& row : result.at("rows")) {
        if (row.at("bytes") != longest || row.at("method") != result.at("rows").front().at("method"))
            continue;
        collectives.push_back(row.at("collective"));
        for (const Json& engine : row.at("engines")) {
            const Json& summary = engine.at("summary");
            if (!engine.at("confirmed").get<bool>() || !summary.contains("ratio")) continue;
            Found& found = engines[engine.at("engine")];
            found.hidden.push_back(100 *
                                   std::clamp(summary.at("overlap").at("median").get<double>(), 0.0, 1.0));
            found.ratio.push_back(summary.at("ratio").at("median"));
        }
    }
    std::erase_if(engines, [&](const auto& one) { return one.second.hidden.size() != collectives.size(); });
    const auto native = engines.find("native");
    if (collectives.empty() || native == engines.end() || engines.size() < 2) return "";
    // The engine that gains most.
    auto best = engines.end();
    for (auto one = engines.begin(); one != engines.end(); ++one) {
        if (one == native) continue;
        if (best == engines.end() || mean(one->second.ratio) < mean(best->second.ratio)) best = one;
    }
    const auto& [name, found] = *best;
    std::string text = fmt::format(
        "{} of {}: {} alone hides {:.0f} %, under `lapwing run --engine {}` {:.0f} %; exchange and work "
        "together take {:.2f} "
        "times as long",
        fmt::join(collectives, ", "), in_words(longest), result.at("mpi").get<std::string>(),
        fmt::join(native->second.hidden, ", "), name, fmt::join(found.hidden, ", "),
        fmt::join(found.ratio, ", "));
    if (mean(found.hidden) < mean(native->second.hidden) + same_overlap || mean(found.ratio) > same_time)
        text += ". No clear gain: " + why_none(result, mean(native->second.hidden));
    return text + ".";
}

}  // namespace lapwing::tool
