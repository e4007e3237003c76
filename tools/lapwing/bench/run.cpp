#include "lapwing/bench/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/bench/table.hpp"
#include "lapwing/bench/variants.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

constexpr const char* program_name = "lapwing-bench";
constexpr std::chrono::seconds time_to_end{20};

// Standard output belongs to the JSON when it goes there.
class Output {
  public:
    explicit Output(const std::string& path) : path_(path) {
        if (!path.empty() && path != "-") file_.emplace(path, "the result");
    }
    void write(const Json& result) {
        if (path_ == "-") {
            fmt::print("{}\n", result.dump(1));
            return;
        }
        fmt::print("{}", bench_tables(result));
        std::fflush(stdout);
        if (!file_) return;
        file_->write(result.dump(1) + "\n");
        file_->close();
    }

  private:
    std::string path_;
    std::optional<OutputFile> file_;
};

// Each communicator names its engine. The kernel engine has connections only in jobs that may use it. The
// network tcp is the host engine's in jobs of the host engine alone; beside the kernel engine the host engine
// uses the MPI's messages.
Settings lapwing_settings(const BenchOptions& options, const Json& asked,
                          const std::vector<std::string>& variables) {
    Settings settings = settings_with(variables);
    settings.engine = engine_of_job(asked.at("engines").get<std::vector<std::string>>());
    if (!options.algorithm.empty()) settings.algorithm = options.algorithm;
    if (asked.contains("forms")) settings.blocking = "1";
    check_values(settings);
    return settings;
}

// Nothing when the job ended without a result.
std::optional<Json> run_job(const BenchVariant& variant) {
    ProgramJob job = run_mpi_program(variant.launch, program_name, time_to_end);
    if (job.status == 0 && job.result) return std::move(job.result);
    fmt::print(stderr, "lapwing bench: {}\n", why_no_result(job.status));
    return std::nullopt;
}

std::optional<Json> run_all(const BenchOptions& options, const std::vector<BenchVariant>& variants) {
    const bool several = !variants.front().name.empty();
    const int passes = several ? static_cast<int>(options.number("--passes", 1, 1000)) : 1;
    Json joined;
    for (int pass = 0; pass < passes; ++pass) {
        for (const BenchVariant& variant : variants) {
            std::optional<Json> result = run_job(variant);
            if (!result) return std::nullopt;
            if (!several) return result;
            join(joined, std::move(*result), variant.name);
        }
    }
    return joined;
}

}  // namespace

std::vector<BenchVariant> arrange_bench(const BenchOptions& options,
                                        const std::vector<std::string>& launcher) {
    const Json asked = program_settings(options);
    const std::vector<MethodVariant> methods =
        options.has("--variant") ? method_variants(options.variants) : std::vector<MethodVariant>(1);
    std::vector<BenchVariant> variants;
    for (const MethodVariant& method : methods) {
        BenchVariant variant;
        variant.name = method.name;
        variant.settings = asked;
        if (!method.name.empty()) {
            variant.settings["engines"] = {method.engine};
            const auto passes = static_cast<int>(options.number("--passes", 1, 1000));
            const int rounds = asked.at("rounds");
            variant.settings["rounds"] = (rounds + passes - 1) / passes;
        }
        const Settings settings = lapwing_settings(options, variant.settings, method.variables);
        const Starter starter = find_launcher(launcher, options.mpi);
        std::vector<std::string> command = launcher;
        command.push_back(find_mpi_program(program_name, *starter.family));
        command.push_back(variant.settings.dump());
        variant.algorithm = settings.algorithm;
        variant.launch = arrange(starter, command, settings);
        variants.push_back(std::move(variant));
    }
    return variants;
}

int run_benchmark(const BenchOptions& options, const std::vector<std::string>& launcher,
                  const std::vector<std::string>& command) {
    const std::vector<BenchVariant> variants = arrange_bench(options, launcher);
    if (options.dry_run) {
        for (const BenchVariant& variant : variants) fmt::print("{}", print(variant.launch));
        return success;
    }
    Output output(options.json);
    std::optional<Json> measured = run_all(options, variants);
    if (!measured) return violations_found;
    const BenchVariant& first = variants.front();
    Json result = {{"benchmark", options.benchmark->name},
                   {"lapwing", LAPWING_VERSION},
                   {"time", time_of_day()},
                   {"command", command},
                   {"launched", first.launch.words},
                   {"algorithm", first.algorithm},
                   {"settings", first.settings}};
    result["settings"]["benchmark"] = options.benchmark->name;
    if (variants.size() > 1) {
        result["settings"]["engines"] = Json::array();
        for (const BenchVariant& variant : variants) {
            result["jobs"].push_back({{"variant", variant.name},
                                      {"launched", variant.launch.words},
                                      {"settings", variant.settings}});
        }
    }
    result.update(*measured);
    // What the program made of "auto".
    result["settings"]["compute"] = result.at("compute");
    summarize(result);
    output.write(result);
    if (all_confirmed(result)) return success;
    fmt::print(stderr, "lapwing bench: not every requested engine did the work\n");
    return violations_found;
}

}  // namespace lapwing::tool
