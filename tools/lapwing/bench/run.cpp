#include "lapwing/bench/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "lapwing/bench/statistics.hpp"
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

// A variant of `lapwing bench methods`: what is to be set before MPI_Init, and so has a job of its own.
struct MethodVariant {
    std::string name;
    std::string engine;
    std::vector<std::string> variables;  // "LAPWING_TRANSFER=kernel"
};

extern "C" char** environ;

// Named by how bytes travel inside a host, and what moves them while the program computes: its own MPI calls;
// a progress thread; Linux. Four of the host engine are those of Kaiser et al. 2009, section 2.2; the fifth
// is its default.
const char* const default_variants[] = {
    "mpi:mpi:",
    "processor copy, caller:host:LAPWING_TRANSFER=processor",
    "kernel copy, caller:host:LAPWING_TRANSFER=kernel",
    "either copy, caller:host:LAPWING_TRANSFER=auto",
    "processor copy, progress thread:host:LAPWING_TRANSFER=processor,LAPWING_PROGRESS_THREAD=any",
    "kernel copy, progress thread:host:LAPWING_TRANSFER=kernel,LAPWING_PROGRESS_THREAD=any",
    "sockets, kernel:kernel:",
};

MethodVariant read_variant(const std::string& written) {
    const std::size_t first = written.find(':');
    const std::size_t second = first == std::string::npos ? first : written.find(':', first + 1);
    if (second == std::string::npos || first == 0) {
        throw_invalid(
            fmt::format("--variant {}: write NAME:ENGINE:VARIABLES, such as "
                        "fast:host:LAPWING_TRANSFER=kernel,LAPWING_PROGRESS_THREAD=any",
                        written));
    }
    const std::vector<std::string> engines = engine_names();
    MethodVariant variant;
    variant.name = written.substr(0, first);
    variant.engine = engines[pick("--variant", written.substr(first + 1, second - first - 1), engines)];
    if (second + 1 == written.size()) return variant;
    variant.variables = read_list("--variant", written.substr(second + 1), [&](const std::string& variable) {
        if (variable.starts_with("LAPWING_") && variable.find('=') != std::string::npos) return variable;
        throw_invalid(
            fmt::format("--variant {}: '{}' must have the form LAPWING_NAME=VALUE", variant.name, variable));
    });
    return variant;
}

// Whether two rows stand side by side: they differ by the variant at most.
bool same_point(const Json& one, const Json& other) {
    return one.at("collective") == other.at("collective") && one.at("bytes") == other.at("bytes");
}

// Those that are written as NAME:ENGINE:VARIABLES, or the default ones. Throws Error (invalid_argument).
std::vector<MethodVariant> method_variants(const std::vector<std::string>& written) {
    const std::vector<std::string> all =
        written.empty() ? std::vector<std::string>(std::begin(default_variants), std::end(default_variants))
                        : written;
    std::vector<MethodVariant> variants;
    for (const std::string& one : all) variants.push_back(read_variant(one));
    for (std::size_t i = 1; i < variants.size(); ++i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (variants[before].name != variants[i].name) continue;
            throw_invalid(fmt::format("--variant: two variants have the name '{}'", variants[i].name));
        }
    }
    return variants;
}

// The settings of the environment with these variables in it, overridden by `given`.
Settings settings_with(const std::vector<std::string>& variables, std::span<const GivenSetting> given) {
    const auto is_set_by = [](const char* existing, const std::string& variable) {
        return std::string(existing).starts_with(variable.substr(0, variable.find('=') + 1));
    };
    std::vector<std::string> kept = variables;
    for (char** existing = environ; *existing != nullptr; ++existing) {
        const bool replaced = std::any_of(variables.begin(), variables.end(),
                                          [&](const std::string& one) { return is_set_by(*existing, one); });
        if (!replaced) kept.emplace_back(*existing);
    }
    std::vector<char*> environment;
    for (std::string& variable : kept) environment.push_back(variable.data());
    environment.push_back(nullptr);
    return checked_settings(given, environment.data());
}

// Adds the rows of a job, which become those of the variant; samples of rows that are there already join
// theirs. The rest of the first job's result is kept.
void join(Json& joined, Json result, const std::string& variant) {
    Json rows = std::move(result["rows"]);
    if (joined.is_null()) {
        result["rows"] = Json::array();
        joined = std::move(result);
    }
    for (Json& row : rows) {
        row["variant"] = variant;
        Json& known = joined["rows"];
        const auto found = std::find_if(known.begin(), known.end(), [&](const Json& other) {
            return same_point(row, other) && other.at("variant") == variant;
        });
        if (found == known.end()) {
            auto place = known.end();
            while (place != known.begin() && !same_point(row, *(place - 1))) --place;
            known.insert(place == known.begin() ? known.end() : place, std::move(row));
            continue;
        }
        Json& rounds = found->at("engines").at(0).at("rounds");
        for (Json& sample : row.at("engines").at(0).at("rounds")) rounds.push_back(std::move(sample));
    }
}

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
    const Json forms = asked.value("forms", Json::array());
    const bool blocking = std::find(forms.begin(), forms.end(), "blocking") != forms.end();
    const GivenSetting given[] = {
        {nullptr, &Settings::engine, engine_of_job(asked.at("engines").get<std::vector<std::string>>())},
        {"--algorithm", &Settings::algorithm, if_given(options.algorithm)},
        // The native MPI is measured as it is.
        {nullptr, &Settings::messages, "off"},
        {nullptr, &Settings::blocking, blocking ? if_given("1") : std::nullopt}};
    return settings_with(variables, given);
}

// One of the commands that a benchmark starts: of methods one for each variant, else the only one.
struct BenchVariant {
    std::string name;  // empty where there is only one
    Json settings;
    std::string algorithm;
    Launch launch;
};

// Nothing when the job ended without a result.
std::optional<Json> run_job(const BenchVariant& variant) {
    ProgramJob job = run_mpi_program(variant.launch, program_name, time_to_end);
    if (job.status == 0 && job.result) return std::move(job.result);
    fmt::print(stderr, "lapwing bench: {}\n", why_no_result(job.status));
    return std::nullopt;
}

std::optional<Json> run_all(const BenchOptions& options, const std::vector<BenchVariant>& variants) {
    const bool several = !variants.front().name.empty();
    const int passes = several ? options.count("--passes", 1, 1000) : 1;
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

// Throws Error (invalid_argument) for wrong options and launchers.
std::vector<BenchVariant> arrange(const BenchOptions& options, const std::vector<std::string>& launcher) {
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
            const auto passes = options.count("--passes", 1, 1000);
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

}  // namespace

int run_benchmark(const BenchOptions& options, const std::vector<std::string>& launcher,
                  const std::vector<std::string>& command) {
    const std::vector<BenchVariant> variants = arrange(options, launcher);
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
    fmt::print(stderr, "lapwing bench: a requested engine did not run\n");
    return violations_found;
}

}  // namespace lapwing::tool
