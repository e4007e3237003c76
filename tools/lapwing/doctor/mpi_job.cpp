#include "lapwing/doctor/launches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

using std::chrono::milliseconds;

constexpr const char* program_name = "lapwing-survey";
constexpr std::string_view mark = "lapwing-survey ";
// MPICH 4.0 may hang in MPI_Finalize between hosts.
constexpr milliseconds time_to_finalize{3000};

struct Progress {
    int started = 0;
    std::set<int> initialized;
    std::set<std::string> hosts_started;
    std::set<std::string> hosts_initialized;
    std::string running;             // the last collective that rank 0 began
    std::vector<std::string> wrong;  // "Ibcast on rank 3 (node2)"
    nlohmann::json result;
    std::vector<std::string> others;

    void take(const std::string& line) {
        const std::size_t begin = line.find(mark);
        if (begin == std::string::npos) {
            others.push_back(line);
            return;
        }
        std::istringstream words(line.substr(begin + mark.size()));
        std::string what;
        words >> what;
        std::string name;
        int rank = 0;
        if (what == "started" && words >> name) {
            ++started;
            hosts_started.insert(name);
        } else if (what == "initialized" && words >> rank >> name) {
            initialized.insert(rank);
            hosts_initialized.insert(name);
        } else if (what == "running") {
            words >> running;
        } else if (what == "wrong") {
            std::string collective;
            words >> collective >> rank >> name;
            wrong.push_back(fmt::format("{} on rank {} ({})", collective, rank, name));
        } else if (what == "result") {
            std::string rest;
            std::getline(words, rest);
            const auto told = nlohmann::json::parse(rest, nullptr, false);
            if (told.is_object()) result = told;
        }
    }
    bool complete() const { return result.is_object(); }
};

struct Trial {
    Progress progress;
    LaunchEnd end;
    bool good() const { return progress.complete() && end.status == 0 && progress.wrong.empty(); }
};

Trial try_job(const JobToExamine& job, Preload preload, milliseconds limit) {
    const Launch launch = mpi_launch(job, preload, limit.count() / 1000 + 2);
    Trial trial;
    trial.end = run_with_limits(
        launch, Streams::both, {limit, time_to_finalize},
        [&](const std::string& line) { trial.progress.take(line); },
        [&] { return trial.progress.complete(); });
    return trial;
}

std::string how_far(const Trial& trial) {
    const Progress& progress = trial.progress;
    std::string where = "after MPI_Init, in " + progress.running;
    if (progress.started == 0) {
        where = "before the first rank had started";
    } else if (progress.running.empty()) {
        where = fmt::format("in MPI_Init: {} of {} ranks returned from MPI_Init", progress.initialized.size(),
                            progress.started);
        std::vector<std::string> inside;
        std::set_difference(progress.hosts_started.begin(), progress.hosts_started.end(),
                            progress.hosts_initialized.begin(), progress.hosts_initialized.end(),
                            std::back_inserter(inside));
        if (!progress.initialized.empty() && !inside.empty())
            where += fmt::format(", none on {}", fmt::join(inside, ", "));
    }
    return trial.end.timed_out ? fmt::format("it hung {}, for {:.0f} s", where,
                                             static_cast<double>(trial.end.time.count()) * 1e-3)
                               : fmt::format("it ended with status {} {}{}", trial.end.status, where,
                                             last_words(progress.others));
}

// "Open MPI v4.1.4, package: ..." and MPICH's lines
std::string short_version(const std::string& version) {
    std::istringstream words(version.substr(0, version.find_first_of(",\n")));
    const std::istream_iterator<std::string> first(words);
    return fmt::format("{}", fmt::join(std::vector<std::string>(first, {}), " "));
}

void judge_result(const JobToExamine& job, const JobReport& report, const nlohmann::json& result,
                  Findings& findings) {
    if (job.settings.engine == "mpi") return;
    const std::string engine = result.value("engine", "");
    const std::string messages = result.value("messages", "");
    if (engine.empty()) {
        findings.add(
            {Severity::problem, "Lapwing", "",
             "Lapwing ran no collective: the launcher did not pass LD_PRELOAD to the ranks, or the program "
             "loads a different MPI",
             "make the launcher pass LD_PRELOAD to all ranks, and load the MPI of this launcher"});
        return;
    }
    if (!report.several_hosts()) return;
    if (messages != "on" && job.settings.messages != "off")
        findings.add({Severity::hint, "Lapwing", "",
                      fmt::format("messages do not progress while the program computes: {}", messages),
                      "`lapwing run --messages` has the choices"});
    const bool kernel_engine_is_everywhere = std::all_of(
        report.hosts.begin(), report.hosts.end(),
        [](const HostReport& host) { return why_unavailable(host.of("engines"), "kernel").empty(); });
    if ((job.settings.engine == "auto" || job.settings.engine == "kernel") && engine != "kernel" &&
        kernel_engine_is_everywhere && !findings.any(Severity::problem))
        findings.add(
            {Severity::hint, "Lapwing", "",
             fmt::format("lists run on the {} engine, although the kernel engine is available on all hosts",
                         engine),
             "`lapwing run --report` prints the reason"});
}

}  // namespace

Launch mpi_launch(const JobToExamine& job, Preload preload, std::int64_t seconds) {
    std::vector<std::string> words = job.launcher;
    words.push_back(find_mpi_program(program_name, *job.starter.family));
    words.push_back(std::to_string(seconds));
    Settings settings = job.settings;
    settings.report = "none";
    return arrange(job.starter, words, settings, preload);
}

nlohmann::json examine_mpi(const JobToExamine& job, const JobReport& report, bool network_works,
                           milliseconds limit, milliseconds limit_without, Findings& findings, Phase& phase) {
    nlohmann::json result = nlohmann::json::object();
    Trial trial;
    try {
        trial = try_job(job, Preload::lists, limit);
    } catch (const Error& error) {
        phase.words = "not tried";
        findings.add({Severity::hint, "MPI", "", fmt::format("no MPI job was tried: {}", error.what()), ""});
        return result;
    }
    phase.seconds = static_cast<double>(trial.end.time.count()) * 1e-3;
    phase.works = trial.good();
    const Progress& progress = trial.progress;
    if (progress.complete()) {
        result = progress.result;
        const std::string version = short_version(result.value("version", ""));
        result["version"] = version;
        phase.words = fmt::format("{}, {} of {} collectives correct", version, result.value("right", 0),
                                  result.value("collectives", 0));
    } else {
        phase.words = how_far(trial);
    }
    if (!progress.wrong.empty())
        findings.add({Severity::problem, "Lapwing", "",
                      fmt::format("wrong results: {}", fmt::join(progress.wrong, ", ")),
                      "run with LAPWING_ENGINE=mpi, which leaves all calls to the MPI. If the results are "
                      "then right, report a bug in Lapwing"});
    if (trial.good()) {
        judge_result(job, report, result, findings);
        return result;
    }
    if (!network_works) {
        findings.add({Severity::problem, "MPI", "",
                      fmt::format("a small MPI job with Lapwing failed: {}", how_far(trial)),
                      "repair the network first: see the problem above"});
        return result;
    }
    if (!progress.wrong.empty()) return result;
    const Trial without = try_job(job, Preload::none, limit_without);
    if (without.good()) {
        findings.add({Severity::problem, "Lapwing", "",
                      fmt::format("a small MPI job failed with Lapwing, but works without Lapwing: {}",
                                  how_far(trial)),
                      "run with --engine host, then with LAPWING_ENGINE=mpi, to find the failing part"});
    } else {
        findings.add(
            {Severity::problem, "MPI", "",
             fmt::format("a small MPI job failed even without Lapwing: {}", how_far(without)),
             without.end.status == library_missing && without.progress.started == 0
                 ? library_missing_advice
                 : fmt::format(
                       "{} alone does not work here: see its documentation on networks and interfaces",
                       job.starter.family->title)});
    }
    return result;
}

}  // namespace lapwing::tool
