#include "lapwing/bench/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "lapwing/bench/catalogue.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

// Interpolated between the two nearest values.
double quantile(const std::vector<double>& sorted, double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// What `value` returns for each round.
Json over_rounds(std::size_t rounds, const std::function<double(std::size_t)>& value) {
    std::vector<double> values;
    for (std::size_t round = 0; round < rounds; ++round) values.push_back(value(round));
    return spread(values);
}

double difference(const Json& sample, const char* longer, const char* shorter) {
    return sample.at(longer).get<double>() - sample.at(shorter).get<double>();
}

// What programs get of an engine, as a time: the latency, the whole of a collective and work, or the base
// time.
const char* time_of(const Json& sample) {
    for (const char* time : {"latency", "total", "base"}) {
        if (sample.contains(time)) return time;
    }
    return nullptr;
}

// An engine's time over that of the MPI alone in the same pass: the median of the native job whose turn was
// near.
void add_ratio(const Json& row, Json& engine) {
    const Json& engines = row.at("engines");
    const auto native = std::find_if(engines.begin(), engines.end(),
                                     [](const Json& other) { return other.at("engine") == "native"; });
    if (native == engines.end()) return;
    for (Json& sample : engine["rounds"]) {
        const char* const time = time_of(sample);
        if (time == nullptr) return;
        std::vector<double> of_native;
        for (const Json& other : native->at("rounds")) {
            if (other.at("pass") == sample.at("pass")) of_native.push_back(other.at(time));
        }
        sample["ratio"] = sample.at(time).get<double>() / spread(of_native).at("median").get<double>();
    }
}

double share(const Json& sample, const char* part, const char* whole) {
    return sample.at(part).get<double>() / sample.at(whole).get<double>();
}

// Work and wait: what of the collective the work hides.
void add_hidden(Json& sample) {
    sample["overlap"] = 1 - difference(sample, "total", "alone") / sample.at("base").get<double>();
}

void add_fixed(const Json& row, Json& sample, const Benchmark& benchmark) {
    sample["overlap"] = 1 - share(sample, "calls_of_all", "total_of_all");
    if (sample.contains("work_of_all")) {
        sample["available"] = share(sample, "work_of_all", "total_of_all");
    }
    if (benchmark.shows("per_collective")) {
        sample["latency"] = sample.at("base");
        sample["per_collective"] =
            sample.at("total").get<double>() / row.at("parameter").at("value").get<double>();
    }
}

void add_noise(const Json& engine, Json& sample) {
    const double flops = engine.at("block_flops");
    sample["throughput_alone"] = flops / sample.at("total").get<double>();
    sample["throughput_noise"] = flops / sample.at("total_noise").get<double>();
    sample["loss"] = 1 - share(sample, "total", "total_noise");
    sample["loss_of_products"] = 1 - share(sample, "alone", "alone_noise");
}

// Adds to a sample what follows from it.
void derive(const Json& row, const Json& engine, Json& sample, const Benchmark& benchmark) {
    const std::string method = row.at("method");
    if (method == "wait") {
        add_hidden(sample);
    } else if (method == "poll") {
        sample["overlap"] = share(sample, "work_of_all", "total_of_all");
        // Graham et al. 2010: a high availability in a short time is what programs want.
        sample["available_per_second"] =
            sample.at("overlap").get<double>() / sample.at("total").get<double>();
    } else if (method == "fixed") {
        add_fixed(row, sample, benchmark);
    } else if (method == "overhead") {
        add_hidden(sample);
        sample["share"] = share(sample, "overhead", "base");
    } else if (method == "throughput") {
        const double flops = engine.at("block_flops");
        sample["flops_alone"] = flops / sample.at("alone").get<double>();
        sample["flops_beside"] = flops / sample.at("total").get<double>();
        sample["share"] = share(sample, "alone", "total");
    } else if (method == "noise") {
        add_noise(engine, sample);
    }
}

// Rows of overlap by steps: how much work fits beside a collective before the whole takes longer than the
// collective alone, the work of all smaller steps included. Quartiles are those of the whole over the base in
// the same round: one slow round of one step must not decide.
void add_available(Json& rows) {
    constexpr double longer = 1.05;
    constexpr std::pair<const char*, const char*> quartiles[] = {
        {"q1", "q3"}, {"median", "median"}, {"q3", "q1"}};
    const auto whole = [](const Json& rounds) {
        return over_rounds(rounds.size(), [&](std::size_t i) { return share(rounds[i], "total", "base"); });
    };
    for (Json& row : rows) {
        if (!row.contains("parameter") || row.at("parameter").at("name") != "work_share") continue;
        for (std::size_t engine = 0; engine < row.at("engines").size(); ++engine) {
            Json& fits = row["engines"][engine]["summary"]["available"];
            for (const auto& [of_fits, of_whole] : quartiles) {
                fits[of_fits] = 0.0;
                for (const Json& step : rows) {
                    if (step.at("collective") != row.at("collective") ||
                        step.at("bytes") != row.at("bytes") || step.at("method") != row.at("method")) {
                        continue;
                    }
                    if (whole(step.at("engines")[engine].at("rounds")).at(of_whole) > longer) break;
                    fits[of_fits] = step.at("parameter").at("value");
                }
            }
        }
    }
}

Json summary_of(const Json& rounds) {
    Json summary = Json::object();
    for (const auto& [quantity, value] : rounds.front().items()) {
        if (!value.is_number() || quantity == "pass") continue;
        const std::string& name = quantity;
        summary[name] =
            over_rounds(rounds.size(), [&](std::size_t i) { return rounds[i].at(name).get<double>(); });
    }
    return summary;
}

}  // namespace

Json spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {
        {"q1", quantile(values, 0.25)}, {"median", quantile(values, 0.5)}, {"q3", quantile(values, 0.75)}};
}

void summarize(Json& result) {
    const Benchmark& benchmark = find_benchmark(result.at("benchmark"));
    for (Json& row : result.at("rows")) {
        for (Json& engine : row.at("engines")) {
            for (Json& sample : engine.at("rounds")) derive(row, engine, sample, benchmark);
        }
        for (Json& engine : row.at("engines")) add_ratio(row, engine);
    }
    for (Json& row : result.at("rows")) {
        for (Json& engine : row.at("engines")) engine["summary"] = summary_of(engine.at("rounds"));
    }
    add_available(result.at("rows"));
}

std::string unconfirmed(const Json& result) {
    for (const Json& row : result.at("rows")) {
        for (const Json& engine : row.at("engines")) {
            if (engine.at("confirmed").get<bool>()) continue;
            return fmt::format(
                "the row {} of {} is not what it says: {}", engine.at("engine").get<std::string>(),
                row.at("collective").get<std::string>(), engine.at("unconfirmed").get<std::string>());
        }
    }
    return "";
}

}  // namespace lapwing::tool
