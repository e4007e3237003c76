// The subcommands of the tool, one file each.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lapwing::tool {

// Exit statuses. `run` ends with the status of what it started.
inline constexpr int success = 0;
inline constexpr int violations_found = 1;
inline constexpr int wrong_usage = 2;

struct Command {
    CLI::App* options = nullptr;
    std::function<int()> run;  // called once the options are read; returns the exit status
    bool hidden = false;
    bool answers_extra_words = false;  // else main() refuses them
};

// What stands behind a "--" on the command line.
struct Words {
    bool separated = false;  // there was a "--"
    std::vector<std::string> words;
};

// The words behind "--" are not among CLI11's options, so that it cannot name them: `usage` is the whole
// line.
void show_usage(CLI::App& app, const std::string& usage);
// The options of all that start a launcher; `mpi` becomes the name of its MPI, which `mpis` describes.
inline constexpr const char* mpis_of_launchers = "openmpi or mpich, when the launcher does not tell";
inline constexpr const char* mpis_of_programs =
    "openmpi, mpich or abi, when neither launcher nor program tells";
void add_launch_options(CLI::App& app, std::string& mpi, bool& dry_run, const char* mpis);
// Throws Error (invalid_argument) unless words stand behind "--" and none before it. `what` they are:
// "command"; `begin` is the command line up to "--"; `none` and `example` tell what to do when there are no
// words.
void require_words(const CLI::App& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example);

Command add_explain(CLI::App& tool);
Command add_verify(CLI::App& tool);
Command add_info(CLI::App& tool);
Command add_report(CLI::App& tool);
Command add_run(CLI::App& tool, const Words& words);
Command add_profile(CLI::App& tool, const Words& words);
Command add_bench(CLI::App& tool, const Words& words);
Command add_tune(CLI::App& tool, const Words& words);
Command add_topology(CLI::App& tool, const Words& words);
Command add_cluster(CLI::App& tool, const Words& words);
// Not for people: what the launchers in a cluster call in place of ssh.
Command add_cluster_shell(CLI::App& tool, const Words& words);
// Not for people: the tool starts itself with it, so that an MPI library which it asks for its version is
// loaded into a process of its own.
Command add_probe(CLI::App& tool);

}  // namespace lapwing::tool
