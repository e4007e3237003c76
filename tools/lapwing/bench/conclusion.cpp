#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/values.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// Percentage points that rounds and jobs differ by on a quiet machine.
constexpr double same = 10;

const Json* measured_by(const Json& row, const std::string& engine) {
    const Json& engines = row.at("engines");
    const auto found = std::find_if(engines.begin(), engines.end(),
                                    [&](const Json& one) { return one.at("engine") == engine; });
    return found == engines.end() || !found->at("confirmed").get<bool>() ? nullptr : &*found;
}

double overlap(const Json& engine) {
    return 100 * std::clamp(engine.at("summary").at("overlap").at("median").get<double>(), 0.0, 1.0);
}

// The longest of each collective, by the first method.
std::vector<const Json*> telling_rows(const Json& result) {
    std::vector<const Json*> chosen;
    for (const Json& row : result.at("rows")) {
        if (row.at("method") != result.at("rows").front().at("method") || row.at("bytes") == 0) continue;
        const auto known = std::find_if(chosen.begin(), chosen.end(), [&](const Json* other) {
            return other->at("collective") == row.at("collective");
        });
        if (known == chosen.end()) {
            chosen.push_back(&row);
        } else if (row.at("bytes").get<std::uint64_t>() >= (*known)->at("bytes").get<std::uint64_t>()) {
            *known = &row;
        }
    }
    return chosen;
}

std::string why_none(const Json& result, double of_native, double of_lapwing) {
    const Json& hosts = result.at("hosts");
    if (of_native >= 100 - 2 * same && of_lapwing >= 100 - 2 * same)
        return "this MPI progresses such collectives by itself here, or the buffers of the connections hold "
               "them";
    if (result.at("more_ranks_than_processors").get<bool>())
        return "there are more ranks than cores, so ranks wait for each other's computation";
    if (std::set<Json>(hosts.begin(), hosts.end()).size() == 1)
        return "inside one host a copy takes a core's time, and nothing but the program's calls makes it";
    return "the exchange itself takes the cores' time, because the network is about as fast as they are";
}

std::string in_words(std::uint64_t bytes) {
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20U);
    if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10U);
    return counted(bytes, "byte");
}

std::string percentages(const std::vector<double>& values) {
    std::vector<std::string> words;
    for (const double value : values) words.push_back(fmt::format("{:.0f}", value));
    return fmt::format("{} %", fmt::join(words, ", "));
}

}  // namespace

std::string conclusion(const Json& result) {
    if (result.at("benchmark") != "overlap" || result.at("settings").contains("work_shares")) return "";
    const std::vector<const Json*> rows = telling_rows(result);
    if (rows.empty()) return "";
    std::string lapwing;
    for (const char* engine : {"kernel", "auto", "host", "mpi"}) {
        const auto has = [&](const Json* row) { return measured_by(*row, engine) != nullptr; };
        if (lapwing.empty() && std::all_of(rows.begin(), rows.end(), has)) lapwing = engine;
    }
    if (lapwing.empty()) return "";
    std::vector<double> of_native;
    std::vector<double> of_lapwing;
    std::vector<std::string> collectives;
    for (const Json* row : rows) {
        const Json* const native = measured_by(*row, "native");
        if (native == nullptr) return "";
        of_native.push_back(overlap(*native));
        of_lapwing.push_back(overlap(*measured_by(*row, lapwing)));
        collectives.push_back(row->at("collective"));
    }
    double gained = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) gained += of_lapwing[i] - of_native[i];
    gained /= static_cast<double>(rows.size());
    std::string text = fmt::format(
        "{} of {}: {} alone hides {}, {} {}", fmt::join(collectives, ", "),
        in_words(rows.front()->at("bytes")), result.at("mpi").get<std::string>(), percentages(of_native),
        lapwing == "mpi" ? "driven by Lapwing's thread" : fmt::format("Lapwing (engine {})", lapwing),
        percentages(of_lapwing));
    if (gained < same)
        text += fmt::format(". Lapwing gains no overlap here: {}",
                            why_none(result, of_native.front(), of_lapwing.front()));
    return text + ".";
}

}  // namespace lapwing::tool
