#include "lapwing/doctor/launches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/values.hpp"
#include "lapwing/doctor/reports.hpp"
#include "lapwing/launch/program.hpp"

namespace lapwing::tool {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The first lines, shortened; "..." for those left out.
std::string first_of(const std::vector<std::string>& lines, std::size_t count, const char* between) {
    constexpr std::size_t max_length = 160;
    std::vector<std::string> shown;
    for (const std::string& line : lines) {
        if (shown.size() == count) break;
        shown.push_back(line.size() <= max_length ? line : line.substr(0, max_length) + "...");
    }
    if (lines.size() > count) shown.emplace_back("...");
    return fmt::format("{}", fmt::join(shown, between));
}

HostReport& host_of(JobReport& report, std::uint64_t number) {
    const auto found = std::find_if(report.hosts.begin(), report.hosts.end(),
                                    [&](const HostReport& host) { return host.number == number; });
    if (found != report.hosts.end()) return *found;
    HostReport& host = report.hosts.emplace_back();
    host.number = number;
    host.facts = Facts::object();
    return host;
}

void take(JobReport& report, const nlohmann::json& told) {
    HostReport& host = host_of(report, told.value("host", std::uint64_t{0}));
    if (told.value("kind", "") == "rank") {
        host.name = told.value("name", "?");
        report.ranks = std::max(report.ranks, told.value("ranks", 0));
        host.ranks.push_back(
            {told.value("rank", -1), told.value("settings", Facts::object()), told.value("wrong", "")});
    } else if (told.value("kind", "") == "facts") {
        host.facts[told.value("check", "")] = told.value("facts", Facts::object());
    }
}

std::size_t ranks_that_answered(const JobReport& report) {
    std::size_t ranks = 0;
    for (const HostReport& host : report.hosts) ranks += host.ranks.size();
    return ranks;
}

// Ranks that have not answered, if the launcher gives their numbers.
std::vector<int> missing_ranks(const JobReport& report) {
    std::set<int> seen;
    for (const HostReport& host : report.hosts) {
        for (const RankReport& rank : host.ranks) seen.insert(rank.rank);
    }
    std::vector<int> missing;
    for (int rank = 0; rank < report.ranks; ++rank) {
        if (!seen.contains(rank)) missing.push_back(rank);
    }
    return missing;
}

std::string what_still_runs(const LaunchEnd& end) {
    constexpr std::size_t max_shown = 3;
    if (end.still_running.empty()) return "";
    return fmt::format("; still running: {}", first_of(end.still_running, max_shown, "; "));
}

// What to do about a launcher that ended with an error, by its messages.
std::string advice_on_refusal(const std::vector<std::string>& lines) {
    const auto says = [&](std::string_view words) {
        return std::any_of(lines.begin(), lines.end(),
                           [&](const std::string& line) { return line.find(words) != std::string::npos; });
    };
    if (says("not enough slots"))
        return "start fewer ranks, name hosts with more slots (--host, --hostfile), or allow more ranks "
               "than cores: --oversubscribe (Open MPI 4), --map-by :OVERSUBSCRIBE (Open MPI 5)";
    if (says("run as root"))
        return "run as an ordinary user, or allow root: add --allow-run-as-root to the launcher's options";
    return fmt::format("Lapwing must be installed under the same path on all hosts: {}",
                       std::filesystem::read_symlink("/proc/self/exe").string());
}

// The hosts whose facts are not complete, by the first check of which there are none.
std::map<const Check*, HostReports> hosts_without_facts(const JobReport& report) {
    std::map<const Check*, HostReports> found;
    for (const HostReport& host : report.hosts) {
        const auto checks = host_checks();
        const auto missing = std::find_if(checks.begin(), checks.end(), [&](const Check* check) {
            return !host.facts.contains(check->name);
        });
        if (missing != checks.end() && !host.ranks.empty()) found[*missing].push_back(&host);
    }
    return found;
}

// Whether the launch was over its time only because of checks that Lapwing can do without.
bool late_by_hints_only(const JobReport& report, const LaunchEnd& end) {
    const auto late = hosts_without_facts(report);
    return end.timed_out && !late.empty() && std::all_of(late.begin(), late.end(), [](const auto& one) {
               return one.first->without_facts == Severity::hint;
           });
}

void judge_launch(const JobReport& report, const LaunchEnd& end, milliseconds limit,
                  const std::vector<std::string>& lines, Findings& findings) {
    const std::size_t answered = ranks_that_answered(report);
    const std::vector<int> missing = missing_ranks(report);
    HostReports hosts;
    for (const HostReport& host : report.hosts) hosts.push_back(&host);
    const std::string found =
        answered == 0 ? "no rank"
                      : fmt::format("{} of {} ranks, on {}", answered,
                                    report.ranks > 0 ? std::to_string(report.ranks) : "an unknown number",
                                    names_of(hosts));
    if (end.timed_out && (answered == 0 || !missing.empty())) {
        findings.add(
            {Severity::problem, "launcher", "",
             fmt::format("the launcher started {} within {:.0f} s{}{}", found,
                         static_cast<double>(limit.count()) * 1e-3, what_still_runs(end), last_words(lines)),
             "the launcher fails before MPI or Lapwing start: try `LAUNCHER hostname`, and connect to each "
             "host as the launcher does (`ssh HOST true`). One host that does not answer can keep all "
             "others from starting"});
    } else if (end.status != 0 && !end.timed_out) {
        findings.add({Severity::problem, "launcher", "",
                      fmt::format("the launcher ended with status {} after {} answered{}", end.status, found,
                                  last_words(lines)),
                      advice_on_refusal(lines)});
    } else if (answered == 0) {
        findings.add(
            {Severity::problem, "launcher", "",
             fmt::format("the launcher ended with status 0, but no rank answered{}", last_words(lines)),
             "the launcher must forward the standard output of the ranks: remove options that write it to "
             "files"});
    } else if (!missing.empty()) {
        findings.add(
            {Severity::problem, "launcher", "",
             fmt::format("no answer from rank{} {}", missing.size() == 1 ? "" : "s",
                         fmt::join(missing, ", ")),
             "the launcher lost the output of these ranks: try again, and read the launcher's messages"});
    }
    for (const auto& [check, checked] : hosts_without_facts(report)) {
        findings.add({check->without_facts, "host", names_of(checked),
                      fmt::format("no result of the check '{}'{}", check->name,
                                  end.timed_out ? ", which took too long" : ""),
                      "run `lapwing info` on that host: it runs most of the checks"});
    }
}

void judge_facts(const JobReport& report, Findings& findings) {
    for (const Check* check : host_checks()) {
        check->judge(report, findings);
        for (const HostReport& host : report.hosts) {
            const Facts& facts = host.of(check->name);
            if (facts.contains("error"))
                findings.add({Severity::hint, "host", host.name,
                              fmt::format("could not examine {}: {}", check->title, facts.value("error", "")),
                              ""});
        }
    }
}

// Compares the variables of all ranks, by the agreement of each variable.
void judge_settings(const JobReport& report, Findings& findings) {
    for (const HostReport& host : report.hosts) {
        const auto wrong = std::find_if(host.ranks.begin(), host.ranks.end(),
                                        [](const RankReport& rank) { return !rank.wrong.empty(); });
        if (wrong != host.ranks.end())
            findings.add({Severity::problem, "Lapwing", host.name, wrong->wrong,
                          "correct the variable in the environment of that host"});
    }
    for (const SettingRow& row : setting_rows()) {
        if (row.agreement == Agreement::own) continue;
        const auto value_of = [&](const RankReport& rank) {
            const std::string value = rank.settings.value(row.variable, std::string(row.usual));
            if (row.agreement == Agreement::set) return std::string(value == row.usual ? "not set" : "set");
            return value.empty() ? std::string("empty") : value;
        };
        const auto values_of = [&](const HostReport& host) {
            std::vector<std::string> values;
            for (const RankReport& rank : host.ranks) values.push_back(value_of(rank));
            return values;
        };
        judge_equal(group_hosts(report, values_of),
                    {Severity::problem, "Lapwing", "", row.variable,
                     "pass the LAPWING_* variables to all hosts, as `lapwing run` does, and set none in the "
                     "shell profile of a single host"},
                    findings);
    }
}

}  // namespace

Launch agent_launch(const JobToExamine& job, const char* task, std::int64_t seconds) {
    // An identifier of this launch. With it, the ranks of a host find out which of them was first.
    std::random_device random;
    std::vector<std::string> words = job.launcher;
    words.insert(words.end(), {std::filesystem::read_symlink("/proc/self/exe"), "doctor-agent", task,
                               fmt::format("{:08x}{:08x}", random(), random()), job.starter.family->name,
                               std::to_string(seconds)});
    return arrange(job.starter, words, job.settings, Preload::none);
}

std::string last_words(const std::vector<std::string>& lines) {
    constexpr std::size_t max_shown = 4;
    std::vector<std::string> words = lines;
    // Frames of dashes and empty lines.
    std::erase_if(
        words, [](const std::string& line) { return line.find_first_not_of("-=* \t") == std::string::npos; });
    return words.empty() ? "" : fmt::format("; its output: {}", first_of(words, max_shown, " / "));
}

JobReport survey_job(const JobToExamine& job, milliseconds limit, Findings& findings, Phase& phase,
                     milliseconds& arrival) {
    JobReport report;
    report.family = job.starter.family;
    report.settings = job.settings;
    report.network = read_network_settings(job.settings);
    const Launch launch = agent_launch(job, "survey", limit.count() / 1000 + 2);
    ReportReader reader;
    std::vector<std::string> others;
    std::optional<Clock::time_point> first;
    Clock::time_point last{};
    const LaunchEnd end =
        run_with_limits(launch, Streams::both, {.total = limit, .grace = {}}, [&](const std::string& line) {
            if (!reader.take(line)) {
                others.push_back(line);
                return;
            }
            for (const nlohmann::json& told : reader.take_reports()) {
                take(report, told);
                if (told.value("kind", "") != "rank") continue;
                last = Clock::now();
                if (!first) first = last;
            }
        });
    arrival = first ? std::chrono::duration_cast<milliseconds>(last - *first) : milliseconds(0);
    for (HostReport& host : report.hosts) {
        std::sort(host.ranks.begin(), host.ranks.end(),
                  [](const RankReport& one, const RankReport& other) { return one.rank < other.rank; });
    }
    std::stable_sort(report.hosts.begin(), report.hosts.end(),
                     [](const HostReport& one, const HostReport& other) {
                         const auto rank = [](const HostReport& host) {
                             return host.ranks.empty() ? 0 : host.ranks.front().rank;
                         };
                         return rank(one) < rank(other);
                     });
    judge_launch(report, end, limit, others, findings);
    judge_facts(report, findings);
    judge_settings(report, findings);
    const std::size_t answered = ranks_that_answered(report);
    phase.seconds = static_cast<double>(end.time.count()) * 1e-3;
    phase.works = answered > 0 && missing_ranks(report).empty() &&
                  ((!end.timed_out && end.status == 0) || late_by_hints_only(report, end));
    phase.words = fmt::format("{} on {}", counted(answered, "rank"), counted(report.hosts.size(), "host"));
    return report;
}

}  // namespace lapwing::tool
