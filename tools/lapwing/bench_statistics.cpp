#include "lapwing/bench_statistics.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

constexpr double mib = 1024.0 * 1024.0;
// Of fewer bytes the fixed costs are nearly all, and for each MiB they would say nothing.
constexpr double least_moved = 4096;

// Between the two nearest values, as far from each as the share says.
double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Json spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {
        {"q1", quantile(values, 0.25)}, {"median", quantile(values, 0.5)}, {"q3", quantile(values, 0.75)}};
}

// What `value` gives for each round.
Json over_rounds(std::size_t rounds, const std::function<double(std::size_t)>& value) {
    std::vector<double> values;
    for (std::size_t round = 0; round < rounds; ++round) values.push_back(value(round));
    return spread(values);
}

double difference(const Json& sample, const char* longer, const char* shorter) {
    return sample.at(longer).get<double>() - sample.at(shorter).get<double>();
}

// Of the base times: an engine's over that of the MPI in the same round.
Json ratio_to_mpi(const Json& row, const Json& engine) {
    for (const Json& other : row.at("engines")) {
        if (other.at("engine") != "mpi") continue;
        const Json& mine = engine.at("rounds");
        const Json& theirs = other.at("rounds");
        return over_rounds(mine.size(), [&](std::size_t i) {
            return mine[i].at("base").get<double>() / theirs[i].at("base").get<double>();
        });
    }
    return nullptr;
}

// The MPI's own calls say "mpi"; "auto" is content with any engine of Lapwing's.
bool is_confirmed(const Json& engine) {
    const std::string used = engine.at("used");
    return engine.at("engine") == "auto" ? !used.empty() && used != "mpi" : engine.at("engine") == used;
}

Json summary_of(const Json& row, const Json& engine, bool works) {
    const Json& rounds = engine.at("rounds");
    const bool waits = row.at("method") == "wait";
    Json summary = Json::object();
    for (const char* phase : {"base", "start", "wait", "alone", "total"}) {
        if (!rounds.front().contains(phase)) continue;
        summary[phase] =
            over_rounds(rounds.size(), [&](std::size_t i) { return rounds[i].at(phase).get<double>(); });
    }
    if (Json ratio = ratio_to_mpi(row, engine); !ratio.is_null()) summary["ratio"] = std::move(ratio);
    if (row.at("method") == "base") return summary;
    summary["overlap"] = over_rounds(rounds.size(), [&](std::size_t i) {
        const Json& sample = rounds[i];
        if (waits) return 1 - difference(sample, "total", "alone") / sample.at("base").get<double>();
        return sample.at("work_of_all").get<double>() / sample.at("total_of_all").get<double>();
    });
    if (row.contains("plain")) {
        const Json& plain = row.at("plain").at("rounds");
        summary["limit"] = over_rounds(rounds.size(), [&](std::size_t i) {
            return 1 - difference(plain[i], "total", "alone") / rounds[i].at("base").get<double>();
        });
    }
    const double moved = row.at("busiest_bytes").get<double>();
    if (waits && works && moved >= least_moved) {
        summary["stolen_per_mib"] = over_rounds(rounds.size(), [&](std::size_t i) {
            return difference(rounds[i], "total", "alone") / moved * mib;
        });
    }
    return summary;
}

}  // namespace

void summarize(Json& result) {
    const bool works = result.at("settings").at("compute") == "work";
    for (Json& row : result.at("rows")) {
        for (Json& engine : row.at("engines")) {
            engine["confirmed"] = is_confirmed(engine);
            engine["summary"] = summary_of(row, engine, works);
        }
        const double moved = row.at("busiest_bytes").get<double>();
        if (!row.contains("plain") || moved < least_moved) continue;
        Json& plain = row.at("plain");
        const Json& rounds = plain.at("rounds");
        plain["summary"] = {{"stolen_per_mib", over_rounds(rounds.size(), [&](std::size_t i) {
                                 return difference(rounds[i], "total", "alone") / moved * mib;
                             })}};
    }
    if (!result.contains("idle")) return;
    for (Json& engine : result.at("idle")) {
        const Json& rounds = engine.at("rounds");
        engine["confirmed"] = is_confirmed(engine);
        engine["summary"] = {{"loss", over_rounds(rounds.size(), [&](std::size_t i) {
                                  return difference(rounds[i], "pending", "alone") /
                                         rounds[i].at("alone").get<double>();
                              })}};
    }
}

bool all_confirmed(const Json& result) {
    const auto confirmed = [](const Json& engine) { return engine.at("confirmed").get<bool>(); };
    for (const Json& row : result.at("rows")) {
        const Json& engines = row.at("engines");
        if (!std::all_of(engines.begin(), engines.end(), confirmed)) return false;
    }
    if (!result.contains("idle")) return true;
    const Json& idle = result.at("idle");
    return std::all_of(idle.begin(), idle.end(), confirmed);
}

}  // namespace lapwing::tool
