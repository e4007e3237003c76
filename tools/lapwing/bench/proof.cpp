#include "lapwing/bench/proof.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

struct Finding {
    std::string used;
    std::string why_not;  // empty: confirmed
};

Finding native(const Json& result) {
    const int loaded = result.at("ranks_with_lapwing");
    if (loaded == 0) return {"native", ""};
    return {"lapwing", fmt::format("Lapwing's library is loaded in {} of {} ranks: does LD_PRELOAD name it?",
                                   loaded, result.at("ranks").get<int>())};
}

Finding by_report(const Json& result, const std::string& collective, const std::string& engine) {
    const Json report = result.value("report", Json());
    if (!report.is_object())
        return {"", "Lapwing wrote no report: its library was not loaded, or the job did not end by itself"};
    const Json& all = report.at("collectives");
    const auto counted =
        std::find_if(all.begin(), all.end(), [&](const Json& row) { return row.at("name") == collective; });
    const Json& calls = result.at("calls").at(collective);
    const auto called = calls.at("all").get<std::uint64_t>();
    const auto taken = counted->at("taken").get<std::uint64_t>();
    std::set<std::string> used;
    std::uint64_t of_rank_0 = 0;
    for (const Json& use : counted->at("uses_of_rank_0")) {
        used.insert(use.at("engine").get<std::string>());
        of_rank_0 += use.at("calls").get<std::uint64_t>();
    }
    if (taken < called) used.insert("mpi");
    const std::string ran = fmt::format("{}", fmt::join(used, " and "));
    const bool right = engine == "mpi"
                           ? taken == 0
                           : taken == called && of_rank_0 == calls.at("rank_0").get<std::uint64_t>() &&
                                 used.size() == 1 && (engine == "auto" || used.contains(engine));
    if (right) return {ran, ""};
    std::string why = fmt::format("{} of {} calls taken, ran on {}", taken, called, ran);
    for (const auto& [reason, times] : counted->at("reasons").items())
        why += fmt::format("; {} left to the MPI: {}", times.get<std::uint64_t>(), reason);
    return {ran, why};
}

}  // namespace

void confirm_rows(Json& result, const std::string& engine) {
    for (Json& row : result.at("rows")) {
        const Finding found =
            engine == "native" ? native(result) : by_report(result, row.at("collective"), engine);
        row["used"] = found.used;
        row["confirmed"] = found.why_not.empty();
        if (!found.why_not.empty()) row["unconfirmed"] = found.why_not;
        if (engine == "mpi" && found.why_not.empty() && result.at("report").contains("no_messages"))
            row["not_driven"] = result.at("report").at("no_messages");
    }
}

}  // namespace lapwing::tool
