// lapwing topology: shows the order of hosts in the network, or where the ranks of a job run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/messages.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/values.hpp"
#include "lapwing/launch/launch.hpp"
#include "lapwing/launch/program.hpp"
#include "lapwing/topology/places.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::ordered_json;
using topology::HostOrder;

constexpr const char* program_name = "lapwing-survey";

struct Options {
    std::string file;
    std::string engine;
    std::string mpi;
    bool json = false;
    bool dry_run = false;
};

void print_json(const Json& json) {
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

int show_network(const Options& options) {
    const HostOrder order = HostOrder::read(options.file);
    if (options.json) {
        print_json(Json{{"schema", json_schema}, {"hosts", order.hosts()}});
    } else {
        fmt::print("{}\n", fmt::join(order.hosts(), "\n"));
    }
    return success;
}

int show_job(const Options& options, const Words& words) {
    const GivenSetting given[] = {{"--from", &Settings::topology, if_given(options.file)},
                                  {"--engine", &Settings::engine, if_given(options.engine)},
                                  {nullptr, &Settings::report, "none"}};
    const Settings settings = checked_settings(given);
    const HostOrder order = settings.topology.empty() ? HostOrder() : HostOrder::read(settings.topology);
    const Starter starter = find_launcher(words.words, options.mpi);
    std::vector<std::string> command = words.words;
    command.insert(command.end(), {find_mpi_program(program_name, *starter.family), "places"});
    const Launch launch = arrange(starter, command, settings);
    if (options.dry_run) {
        fmt::print("{}", print(launch));
        return success;
    }
    ProgressBar bar(1);
    const ProgramJob job = run_mpi_program(launch, program_name, bar, std::chrono::seconds(3));
    if (job.status != 0 || !job.result) {
        print_message("lapwing topology: {}\n", why_no_result(job.status));
        return violations_found;
    }
    const JobPlaces places(*job.result, order);
    if (options.json) {
        print_json(job_as_json(places, order));
    } else {
        fmt::print("{}", draw_job(places, order, settings.topology));
    }
    return success;
}

int show(const CommandLine& app, const Options& options, const Words& words) {
    if (!words.separated && app.remaining().empty()) {
        if (!options.engine.empty() || !options.mpi.empty() || options.dry_run)
            throw_invalid("--engine, --mpi and --dry-run need a job: lapwing topology -- mpirun -n 2");
        if (options.file.empty()) {
            throw_invalid(
                "name a topology file (--from) or a job, such as: lapwing topology -- mpirun -n 2; "
                "hwloc's lstopo draws this machine");
        }
        return show_network(options);
    }
    require_words(app, words, "launcher", "lapwing topology", "no launcher", "mpirun -n 2");
    return show_job(options, words);
}

}  // namespace

Command add_topology(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("topology", "Show the order of hosts in the network, or where a job's ranks run");
    app->usage(
        "Usage: lapwing topology --from FILE [--json]\n"
        "       lapwing topology [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->add_option("--from", options->file,
                    "The order of hosts in the network; for a job LAPWING_TOPOLOGY by default")
        ->type_name("FILE");
    app->add_flag("--json", options->json, "Print JSON");
    app->add_option("--engine", options->engine, "Engine of the job")->type_name("E");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_launchers);
    app->footer(
        "Examples:\n"
        "  lapwing topology --from cluster.topology\n"
        "  lapwing topology -- mpirun -n 2\n"
        "  lapwing topology --from cluster.topology -- mpirun -n 64 --map-by node\n\n"
        "With a launcher it shows where the ranks run, in the order that the task lists use; lapwing "
        "appends its own\n"
        "program to the launcher command. A topology file lists the hosts in network order, neighbours "
        "side by side:\n"
        "  node1 node[05-08]\n"
        "  torus 4x4 node[01-16]\n"
        "The exit status is 1 if the job failed, 125 if nothing was started.");
    return {app, [app, options, &words] { return show(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
