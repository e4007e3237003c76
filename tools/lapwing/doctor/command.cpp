// lapwing doctor: examines the hosts of a job, the networks between them, and a small MPI job with Lapwing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/tables.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/doctor/agent.hpp"
#include "lapwing/doctor/launches.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/mlx5/commands.hpp"

namespace lapwing::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;
using std::chrono::milliseconds;

struct Options {
    bool json = false;
    bool nic = false;
    std::string card;
    int limit = 60;
    std::string mpi;
    bool dry_run = false;
};

struct Examination {
    JobReport report;
    OrderedJson mpi = {{"version", ""},
                       {"engine", ""},
                       {"link_inside_host", ""},
                       {"messages", ""},
                       {"link_between_hosts", ""},
                       {"collectives", 0},
                       {"right", 0}};
    Phase launcher;
    Phase network;
    Phase job;
    Findings findings;
};

// Shares of the time limit; the rest is for launchers that take their time to end.
milliseconds share(int limit, double of) {
    return milliseconds(static_cast<std::int64_t>(limit * 1000 * of));
}

void examine(const JobToExamine& job, int limit, Examination& found) {
    const auto begin = std::chrono::steady_clock::now();
    milliseconds arrival{0};
    found.report = survey_job(job, share(limit, 0.32), found.findings, found.launcher, arrival);
    if (!found.launcher.works) {
        found.network.words = found.job.words = "not tried: the launcher failed";
        return;
    }
    found.network.works = true;
    found.network.words = "one host";
    if (found.report.several_hosts()) {
        const milliseconds late = std::min(2 * arrival, share(limit, 0.05));
        found.network = examine_network(job, found.report, share(limit, 0.3), late, found.findings);
    }
    // The remaining time, except that of the same job without Lapwing; less if the network has a problem.
    const milliseconds without = share(limit, 0.12);
    const auto spent = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    const milliseconds min_time = share(limit, 0.2);
    const milliseconds with_lapwing =
        found.network.works ? std::max(min_time, share(limit, 0.94) - spent - without) : min_time;
    found.mpi.update(OrderedJson(examine_mpi(job, found.report, found.network.works, with_lapwing, without,
                                             found.findings, found.job)));
}

std::string print_hosts(const JobReport& report) {
    std::string text = "hosts\n";
    std::vector<std::vector<std::string>> rows;
    for (const Check* check : host_checks()) {
        const auto groups = hosts_by(report, check->name, check->line);
        bool first = true;
        for (const auto& [line, hosts] : groups) {
            if (line.empty()) continue;
            const bool all = groups.size() == 1 && hosts.size() == report.hosts.size();
            rows.push_back({first ? check->title : "", all ? "all" : names_of(hosts), line});
            first = false;
        }
    }
    return text + align(rows) + "\n";
}

std::string links_of(const OrderedJson& mpi, bool several_hosts) {
    std::string text;
    for (const auto& [key, words] : {std::pair("engine", "engine"),
                                     {"link_inside_host", "inside a host"},
                                     {"link_between_hosts", "between hosts"}}) {
        const std::string value = mpi.value(key, "");
        if (value.empty() || (!several_hosts && key == std::string_view("link_between_hosts"))) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words, value);
    }
    return text;
}

std::string print_phases(const Examination& found) {
    const auto row = [](const char* what, const Phase& phase) {
        return std::vector<std::string>{what, phase.works ? "works" : "-", phase.words,
                                        phase.seconds > 0 ? fmt::format("{:.1f} s", phase.seconds) : ""};
    };
    std::vector<std::vector<std::string>> rows = {row("launcher", found.launcher),
                                                  row("network", found.network), row("MPI job", found.job)};
    const std::string links = links_of(found.mpi, found.report.several_hosts());
    if (!links.empty()) rows.push_back({"Lapwing", found.job.works ? "works" : "-", links, ""});
    return "steps\n" + align(rows) + "\n";
}

std::string print(const Examination& found) {
    const JobReport& report = found.report;
    std::string text = fmt::format("lapwing {}: {} on {}\n\n", LAPWING_VERSION, counted(report.ranks, "rank"),
                                   counted(report.hosts.size(), "host"));
    const std::size_t width = output_width();
    text += found.findings.print(Severity::problem, width);
    text += found.findings.print(Severity::hint, width);
    text += print_phases(found);
    if (!report.hosts.empty()) text += print_hosts(report);
    text += found.findings.any(Severity::problem)
                ? "Lapwing does not work properly here: see the problems above.\n"
                : "Lapwing can work here.\n";
    return text;
}

OrderedJson as_json(const Examination& found, const std::vector<std::string>& launcher) {
    const auto phase = [](const Phase& one) {
        return OrderedJson{{"works", one.works}, {"words", one.words}, {"seconds", one.seconds}};
    };
    OrderedJson all = {
        {"schema", json_schema},
        {"version", LAPWING_VERSION},
        {"time", time_of_day()},
        {"launcher", launcher},
        {"works", !found.findings.any(Severity::problem)},
        {"problems", found.findings.as_json(Severity::problem)},
        {"hints", found.findings.as_json(Severity::hint)},
        {"steps",
         {{"launcher", phase(found.launcher)}, {"network", phase(found.network)}, {"mpi", phase(found.job)}}},
        {"mpi", found.mpi},
        {"ranks", found.report.ranks},
        {"hosts", OrderedJson::array()}};
    for (const HostReport& host : found.report.hosts) {
        OrderedJson ranks = OrderedJson::array();
        for (const RankReport& rank : host.ranks) ranks.push_back(rank.rank);
        all["hosts"].push_back({{"name", host.name}, {"ranks", ranks}, {"facts", host.facts}});
    }
    return all;
}

int doctor(const CommandLine& app, const Options& options, const Words& words) {
    if (options.nic) {
        refuse_given(app, {"--seconds", "--mpi", "--dry-run"},
                     "cannot be used with --nic, which starts nothing");
        if (words.separated) throw_invalid("--nic examines the cards of this host and starts nothing");
        return examine_nics(options.card, options.json);
    }
    if (!options.card.empty()) throw_invalid("--card needs --nic");
    require_words(app, words, "launcher", "lapwing doctor", "no launcher", "mpirun -n 2");
    const Settings settings = checked_settings();
    const JobToExamine job{find_launcher(words.words, options.mpi), words.words, settings};
    if (options.dry_run) {
        fmt::print("{}{}{}", print(agent_launch(job, "survey", options.limit)),
                   print(agent_launch(job, "reach", options.limit)),
                   print(mpi_launch(job, Preload::lists, options.limit)));
        return success;
    }
    Examination found;
    examine(job, options.limit, found);
    if (options.json) {
        fmt::print("{}\n",
                   as_json(found, words.words).dump(2, ' ', false, OrderedJson::error_handler_t::replace));
    } else {
        fmt::print("{}", print(found));
    }
    return found.findings.any(Severity::problem) ? violations_found : success;
}

}  // namespace

Command add_doctor(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("doctor", "Check the hosts and networks of a job, and give advice on problems");
    app->usage(
        "Usage: lapwing doctor [OPTIONS] -- LAUNCHER ARGUMENTS...\n"
        "       lapwing doctor --nic [--card NAME] [--json]");
    app->add_flag("--json", options->json, "Print JSON");
    app->add_option("--seconds", options->limit, "Time limit for all steps (60)")
        ->type_name("S")
        ->range(5, 86400);
    app->add_flag("--nic", options->nic,
                  "Instead, test whether the ConnectX cards of this host support cross-channel work "
                  "requests");
    app->add_option("--card", options->card, "With --nic: test only this card")->type_name("NAME");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_launchers);
    app->footer(
        "Examples:\n"
        "  lapwing doctor -- mpirun -n 64\n"
        "  lapwing doctor --json -- mpiexec -n 16 -ppn 2\n"
        "  lapwing doctor --mpi mpich -- srun -n 64\n"
        "  lapwing doctor --nic\n\n"
        "The launcher starts three jobs: the first examines each host, the second tries connections "
        "between the hosts,\n"
        "the third is a small MPI program with Lapwing. Problems are printed first, each with advice. "
        "The exit status is 0 if there is no problem (hints are possible), 1 if there is one "
        "(Lapwing may still work), 125 if nothing was started.");
    return {app, [app, options, &words] { return doctor(*app, *options, words); }, false, true};
}

Command add_doctor_agent(CommandLine& tool) {
    struct Task {
        std::string what;
        std::string run;
        std::string family;
        int seconds = 60;
    };
    auto task = std::make_shared<Task>();
    CommandLine* app =
        tool.add_subcommand("doctor-agent", "Examine this host for `lapwing doctor`")->group("");
    app->add_option("TASK", task->what)->required();
    app->add_option("RUN", task->run)->required();
    app->add_option("FAMILY", task->family)->required();
    app->add_option("SECONDS", task->seconds)->required();
    return {app,
            [task] {
                return task->what == "reach" ? reach_hosts(task->run, task->seconds)
                                             : survey_host(task->run, task->family, task->seconds);
            },
            true};
}

}  // namespace lapwing::tool
