#include "lapwing/bench/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "lapwing/bench/proof.hpp"
#include "lapwing/bench/statistics.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/result_output.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/launch/turns.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

constexpr const char* program_name = "lapwing-bench";
constexpr std::chrono::seconds time_to_end{20};

// A variant of `lapwing bench methods`.
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
    "native:native:",
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
    const std::vector<std::string> engines = measurable_engines();
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

// One of the jobs that a benchmark runs in turns: of one engine or, in methods, of one variant.
struct BenchJob {
    std::string variant;  // empty but in methods
    std::string engine;
    Json settings;  // of the program
    Settings environment;
    Starter starter;
    std::vector<std::string> command;
    Json result;  // of all passes so far

    // "native" differs from all others in nothing but the library.
    Launch launch() const {
        std::vector<std::string> words = command;
        words.push_back(settings.dump());
        return arrange(starter, words, environment, engine == "native" ? Preload::none : Preload::lists);
    }
};

Settings lapwing_settings(const BenchOptions& options, const std::string& engine, const Json& asked,
                          const std::vector<std::string>& variables) {
    const Json forms = asked.value("forms", Json::array());
    const bool blocking = std::find(forms.begin(), forms.end(), "blocking") != forms.end();
    const GivenSetting given[] = {{nullptr, &Settings::engine, if_given(engine == "native" ? "" : engine)},
                                  {"--algorithm", &Settings::algorithm, if_given(options.algorithm)},
                                  {nullptr, &Settings::blocking, blocking ? if_given("on") : std::nullopt},
                                  {nullptr, &Settings::report, "json"}};
    return settings_with(variables, given);
}

// Adds the samples of a pass to those of the job's earlier ones, with the number of the pass.
void add_pass(Json& joined, Json result, std::size_t pass) {
    for (Json& row : result.at("rows")) {
        for (Json& sample : row.at("rounds")) sample["pass"] = pass;
    }
    if (joined.is_null()) {
        joined = std::move(result);
        return;
    }
    for (std::size_t i = 0; i < joined.at("rows").size(); ++i) {
        Json& known = joined["rows"][i];
        Json& more = result["rows"][i];
        for (Json& sample : more.at("rounds")) known["rounds"].push_back(std::move(sample));
        if (more.at("confirmed").get<bool>()) continue;
        for (const char* member : {"used", "confirmed", "unconfirmed"}) known[member] = more.at(member);
    }
}

// The amount of work in each row is chosen once: by the first job where all do the same work, else by the
// first pass of each job.
bool run_all(const BenchOptions& options, std::vector<BenchJob>& jobs) {
    const auto passes = static_cast<std::size_t>(options.number_of_passes());
    const bool same_work = options.benchmark->same_work && !jobs.front().settings.contains("work_shares");
    ProgressBar bar(static_cast<double>(jobs.size() * passes));
    return run_in_turns(jobs.size(), passes, [&](std::size_t number, std::size_t pass) {
        BenchJob& job = jobs[number];
        const BenchJob& chooses = same_work ? jobs.front() : job;
        if (!chooses.result.is_null()) job.settings["work"] = chooses.result.at("work");
        ProgramJob ended = run_mpi_program(job.launch(), program_name, bar, time_to_end);
        if (ended.status != 0 || !ended.result) {
            print_message("lapwing bench: {}: {}\n", job.variant.empty() ? job.engine : job.variant,
                          why_no_result(ended.status));
            return false;
        }
        confirm_rows(*ended.result, job.engine);
        add_pass(job.result, std::move(*ended.result), pass);
        return true;
    });
}

// The rows of all jobs: each with what every engine has measured; in methods one for each variant.
Json rows_of_all(const std::vector<BenchJob>& jobs) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < jobs.front().result.at("rows").size(); ++i) {
        for (const BenchJob& job : jobs) {
            Json measured = job.result.at("rows")[i];
            Json row;
            for (const char* member :
                 {"collective", "bytes", "method", "parameter", "variant", "frequency_hz", "burst_seconds"}) {
                if (measured.contains(member)) row[member] = measured[member];
                measured.erase(member);
            }
            measured["engine"] = job.engine;
            if (!job.variant.empty()) row["variant"] = job.variant;
            if (&job == &jobs.front() || !job.variant.empty()) rows.push_back(std::move(row));
            rows.back()["engines"].push_back(std::move(measured));
        }
    }
    return rows;
}

// Throws Error (invalid_argument) for wrong options and launchers.
std::vector<BenchJob> arrange_jobs(const BenchOptions& options, const std::vector<std::string>& launcher) {
    Json asked = program_settings(options);
    std::vector<MethodVariant> variants;
    if (options.has("--variant")) variants = method_variants(options.variants);
    for (const std::string engine : asked.at("engines")) variants.push_back({"", engine, {}});
    asked.erase("engines");
    const int passes = options.number_of_passes();
    const auto share = [&](int count) { return (count + passes - 1) / passes; };
    asked["work"] = Json::object();
    asked["min_rounds"] = share(3);
    asked["rounds"] = share(asked.at("rounds"));
    asked["seconds"] = asked.at("seconds").get<double>() / passes / static_cast<double>(variants.size());
    const Starter starter = find_launcher(launcher, options.mpi);
    std::vector<std::string> command = launcher;
    command.push_back(find_mpi_program(program_name, *starter.family));
    std::vector<BenchJob> jobs;
    for (const MethodVariant& variant : variants) {
        Json settings = asked;
        settings["engine"] = variant.engine;
        settings["corrupt"] = variant.engine == asked.at("corrupt").get<std::string>();
        const Settings environment = lapwing_settings(options, variant.engine, asked, variant.variables);
        jobs.push_back({variant.name, variant.engine, settings, environment, starter, command, {}});
        jobs.back().launch();  // whatever cannot be launched is refused before anything runs
    }
    return jobs;
}

}  // namespace

int run_benchmark(const BenchOptions& options, const std::vector<std::string>& launcher,
                  const std::vector<std::string>& command) {
    std::vector<BenchJob> jobs = arrange_jobs(options, launcher);
    if (options.dry_run) {
        for (const BenchJob& job : jobs) fmt::print("{}", print(job.launch()));
        return success;
    }
    ResultOutput output(options.json, options.output);
    if (!run_all(options, jobs)) return violations_found;
    Json result = {{"schema", json_schema},
                   {"benchmark", options.benchmark->name},
                   {"lapwing", LAPWING_VERSION},
                   {"time", time_of_day()},
                   {"command", command},
                   {"algorithm", jobs.front().environment.algorithm},
                   {"settings", program_settings(options)}};
    result["settings"]["benchmark"] = options.benchmark->name;
    result["settings"]["passes"] = options.number_of_passes();
    Json rows = rows_of_all(jobs);
    for (BenchJob& job : jobs) {
        job.settings.erase("work");
        result["jobs"].push_back({{"engine", job.engine},
                                  {"variant", job.variant},
                                  {"launched", job.launch().words},
                                  {"settings", job.settings},
                                  {"calls", job.result.at("calls")},
                                  {"report", job.result.value("report", Json())}});
    }
    for (const char* member : {"rows", "work", "calls", "report", "ranks_with_lapwing"})
        jobs.front().result.erase(member);
    result.update(jobs.front().result);
    result["rows"] = std::move(rows);
    // What the program made of "auto".
    result["settings"]["compute"] = result.at("compute");
    summarize(result);
    result["conclusion"] = conclusion(result);
    output.write([&] { return bench_tables(result); }, [&] { return result.dump(1) + "\n"; });
    const std::string trouble = unconfirmed(result);
    if (trouble.empty()) return success;
    print_message("lapwing bench: {}\n", trouble);
    return violations_found;
}

}  // namespace lapwing::tool
