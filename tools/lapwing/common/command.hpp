// What all subcommands share, and their list.
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

// The words after a "--" on the command line.
struct Words {
    bool separated = false;  // there was a "--"
    std::vector<std::string> words;
};

// CLI11 does not know of the words after "--": `usage` is the whole line.
void show_usage(CLI::App& app, const std::string& usage);
// The options of all that start a launcher; `mpi` becomes the name of its MPI, which `mpis` describes.
inline constexpr const char* mpis_of_launchers = "openmpi or mpich, if the launcher does not reveal it";
inline constexpr const char* mpis_of_programs =
    "openmpi, mpich or abi, if neither launcher nor program reveals it";
void add_launch_options(CLI::App& app, std::string& mpi, bool& dry_run, const char* mpis);
// Throws Error (invalid_argument) unless there are words after "--" and none before it. `what` they are:
// "command"; `begin` is the command line up to "--"; `none` and `example` are for a message when there are
// none.
void require_words(const CLI::App& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example);

Command add_explain(CLI::App& tool);
Command add_verify(CLI::App& tool);
Command add_info(CLI::App& tool);
Command add_predict(CLI::App& tool);
Command add_report(CLI::App& tool);
Command add_run(CLI::App& tool, const Words& words);
Command add_profile(CLI::App& tool, const Words& words);
Command add_bench(CLI::App& tool, const Words& words);
Command add_tune(CLI::App& tool, const Words& words);
Command add_topology(CLI::App& tool, const Words& words);
Command add_cluster(CLI::App& tool, const Words& words);
Command add_doctor(CLI::App& tool, const Words& words);
Command add_completion(CLI::App& tool);
// Hidden: the shells' scripts call it.
Command add_complete(CLI::App& tool, const Words& words);
// Hidden: the build calls it.
Command add_man_pages(CLI::App& tool);
// Hidden: what `lapwing doctor` starts on hosts, and what these start to load a library in a process of its
// own.
Command add_doctor_agent(CLI::App& tool);
Command add_doctor_fabric(CLI::App& tool);
// Hidden: the launchers in a cluster call it in place of ssh.
Command add_cluster_shell(CLI::App& tool, const Words& words);
// Hidden: the tool starts itself with it, to load an MPI library into another process and ask its version.
Command add_probe(CLI::App& tool);

}  // namespace lapwing::tool
