// lapwing topology: shows the order of hosts in the network, or where the ranks of a job run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/output_file.hpp"
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
    std::string links;
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
        print_json(Json{{"hosts", order.hosts()}});
    } else {
        fmt::print("{}\n", fmt::join(order.hosts(), "\n"));
    }
    return success;
}

// The text of a link file from measurements: bits per second and seconds from rank i to rank j at i * ranks +
// j. A port is as fast as its fastest link, and only what differs from all others by more than a fifth has a
// line.
std::string print_links(int ranks, const std::vector<double>& rates, const std::vector<double>& latencies) {
    constexpr double noticed = 0.8;
    const auto at = [&](const std::vector<double>& values, int from, int to) {
        return values[static_cast<std::size_t>(from * ranks + to)];
    };
    const auto median = [](std::vector<double> values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    const auto written = [](double rate) { return fmt::format("{:.1f}mbit", rate / 1e6); };
    std::vector<double> ports;
    std::vector<double> all_latencies;
    for (int rank = 0; rank < ranks; ++rank) {
        double fastest = 0;
        for (int peer = 0; peer < ranks; ++peer) {
            if (peer == rank) continue;
            fastest = std::max({fastest, at(rates, rank, peer), at(rates, peer, rank)});
            all_latencies.push_back(at(latencies, rank, peer));
        }
        ports.push_back(fastest);
    }
    const double rate = median(ports);
    std::string text = fmt::format("ranks {}\nrate {}\nlatency {:.1f}us\n", ranks, written(rate),
                                   std::max(0.1, median(all_latencies) * 1e6));
    const auto port_of = [&](int rank) {
        const double port = ports[static_cast<std::size_t>(rank)];
        return port < noticed * rate || port > rate / noticed ? port : rate;
    };
    for (int rank = 0; rank < ranks; ++rank)
        if (port_of(rank) != rate) text += fmt::format("port {} rate {}\n", rank, written(port_of(rank)));
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            if (from == to || at(rates, from, to) >= noticed * std::min(port_of(from), port_of(to))) continue;
            text += fmt::format("link {}>{} rate {}\n", from, to, written(at(rates, from, to)));
        }
    }
    return text;
}

int show_job(const Options& options, const Words& words) {
    const GivenSetting given[] = {{"--file", &Settings::topology, if_given(options.file)},
                                  {"--engine", &Settings::engine, if_given(options.engine)},
                                  {nullptr, &Settings::report, "none"}};
    const Settings settings = checked_settings(given);
    const HostOrder order = settings.topology.empty() ? HostOrder() : HostOrder::read(settings.topology);
    const Starter starter = find_launcher(words.words, options.mpi);
    std::vector<std::string> command = words.words;
    command.insert(command.end(), {find_mpi_program(program_name, *starter.family),
                                   options.links.empty() ? "places" : "links"});
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
    if (!options.links.empty()) {
        const std::string text =
            print_links(job.result->at("ranks"), job.result->at("rates"), job.result->at("latencies"));
        write_file(options.links, "# Measured by lapwing topology --links\n" + text, "the links");
        print_note("{}wrote the links to {}\n", text, options.links);
        return success;
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
        if (!options.engine.empty() || !options.mpi.empty() || !options.links.empty() || options.dry_run) {
            throw_invalid(
                "--engine, --links, --mpi and --dry-run need a job: lapwing topology -- mpirun -n 2");
        }
        if (options.file.empty()) {
            throw_invalid(
                "name a topology file (--file) or a job, such as: lapwing topology -- mpirun -n 2; "
                "hwloc's lstopo draws this machine");
        }
        return show_network(options);
    }
    require_words(app, words, "launcher", "lapwing topology", "no launcher", "mpirun -n 2");
    if (!options.links.empty())
        refuse_given(app, {"--json"}, "cannot be used with --links, which writes a file");
    if (!options.links.empty() && !options.dry_run) OutputFile(options.links, "the links");
    return show_job(options, words);
}

}  // namespace

Command add_topology(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<Options>();
    CommandLine* app =
        tool.add_subcommand("topology", "Show the order of hosts in the network, or where a job's ranks run");
    app->usage(
        "Usage: lapwing topology --file FILE [--json]\n"
        "       lapwing topology [OPTIONS] -- LAUNCHER ARGUMENTS...");
    app->add_option("--file", options->file,
                    "The order of hosts in the network; for a job LAPWING_TOPOLOGY by default")
        ->type_name("FILE");
    app->add_flag("--json", options->json, "Print JSON");
    app->add_option("--links", options->links,
                    "Measure the links between all pairs of ranks, and write a link file for `lapwing "
                    "synthesize`")
        ->type_name("FILE");
    app->add_option("--engine", options->engine, "Engine of the job")->type_name("E");
    add_launch_options(*app, options->mpi, options->dry_run, mpis_of_launchers);
    app->footer(
        "Examples:\n"
        "  lapwing topology --file cluster.topology\n"
        "  lapwing topology -- mpirun -n 2\n"
        "  lapwing topology --file cluster.topology -- mpirun -n 64 --map-by node\n\n"
        "With a launcher it shows where the ranks run, in the order that the task lists use; lapwing "
        "appends its own\n"
        "program to the launcher command. A topology file lists the hosts in network order, neighbours "
        "side by side:\n"
        "  node1 node[05-08]\n"
        "  torus 4x4 node[01-16]\n"
        "The exit status is 1 if the job failed, 2 if nothing was started.");
    return {app, [app, options, &words] { return show(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
