#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// Percentage points that rounds and jobs differ by on a quiet machine.
constexpr double same = 10;

std::string why_none(const Json& result, double of_native) {
    const Json& hosts = result.at("hosts");
    if (of_native >= 100 - 2 * same)
        return "this MPI progresses such collectives by itself, or the buffers of connections hold them";
    if (result.at("more_ranks_than_processors").get<bool>())
        return "there are more ranks than cores, so ranks wait for each other's computation";
    if (std::set<Json>(hosts.begin(), hosts.end()).size() == 1)
        return "inside one host a copy takes a core's time, and only calls of the program make it";
    return "the exchange takes the cores' time, because the network is about as fast as they are";
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
    std::string lapwing;
    std::vector<std::string> collectives;
    std::vector<double> hidden[2];  // percent: by the MPI alone, by Lapwing
    for (const Json& row : result.at("rows")) {
        if (row.at("bytes") != longest || row.at("method") != result.at("rows").front().at("method"))
            continue;
        const auto overlap = [&](const std::string& name) {
            for (const Json& engine : row.at("engines")) {
                if (engine.at("engine") != name || !engine.at("confirmed").get<bool>()) continue;
                return 100 *
                       std::clamp(engine.at("summary").at("overlap").at("median").get<double>(), 0.0, 1.0);
            }
            return -1.0;
        };
        for (const char* engine : {"kernel", "auto", "host", "mpi"}) {
            if (lapwing.empty() && overlap(engine) >= 0) lapwing = engine;
        }
        if (overlap("native") < 0 || overlap(lapwing) < 0) return "";
        collectives.push_back(row.at("collective"));
        hidden[0].push_back(overlap("native"));
        hidden[1].push_back(overlap(lapwing));
    }
    if (collectives.empty()) return "";
    std::string text = fmt::format(
        "{} of {}: {} alone hides {:.0f} %, {} {:.0f} %", fmt::join(collectives, ", "), in_words(longest),
        result.at("mpi").get<std::string>(), fmt::join(hidden[0], ", "),
        lapwing == "mpi" ? "driven by Lapwing's thread" : fmt::format("Lapwing (engine {})", lapwing),
        fmt::join(hidden[1], ", "));
    const auto mean = [](const std::vector<double>& of) {
        return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
    };
    if (mean(hidden[1]) < mean(hidden[0]) + same)
        text += ". Lapwing gains no overlap here: " + why_none(result, mean(hidden[0]));
    return text + ".";
}

}  // namespace lapwing::tool
