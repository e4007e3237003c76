// What all subcommands share, and their list.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

// Exit statuses. `run` ends with the status of what it started.
inline constexpr int success = 0;
inline constexpr int violations_found = 1;
inline constexpr int wrong_usage = 2;

struct Command {
    CommandLine* options = nullptr;
    std::function<int()> run;  // called once the options are read; returns the exit status
    bool hidden = false;
    bool answers_extra_words = false;  // else main() refuses them
};

// The words after a "--" on the command line.
struct Words {
    bool separated = false;  // there was a "--"
    std::vector<std::string> words;
};

// The options of all that start a launcher; `mpi` becomes the name of its MPI, which `mpis` describes.
inline constexpr const char* mpis_of_launchers = "openmpi or mpich, if the launcher does not reveal it";
inline constexpr const char* mpis_of_programs =
    "openmpi, mpich or abi, if neither launcher nor program reveals it";
void add_launch_options(CommandLine& app, std::string& mpi, bool& dry_run, const char* mpis);
// Throws Error (invalid_argument) unless there are words after "--" and none before it. `what` they are:
// "command"; `begin` is the command line up to "--"; `none` and `example` are for a message when there are
// none.
void require_words(const CommandLine& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example);

Command add_explain(CommandLine& tool);
Command add_verify(CommandLine& tool);
Command add_info(CommandLine& tool);
Command add_predict(CommandLine& tool);
Command add_report(CommandLine& tool);
Command add_run(CommandLine& tool, const Words& words);
Command add_profile(CommandLine& tool, const Words& words);
Command add_bench(CommandLine& tool, const Words& words);
Command add_tune(CommandLine& tool, const Words& words);
Command add_topology(CommandLine& tool, const Words& words);
Command add_cluster(CommandLine& tool, const Words& words);
Command add_doctor(CommandLine& tool, const Words& words);
Command add_completion(CommandLine& tool);
// Hidden: the shells' scripts call it.
Command add_complete(CommandLine& tool, const Words& words);
// Hidden: the build calls it.
Command add_man_pages(CommandLine& tool);
// Hidden: what `lapwing doctor` starts on hosts, and what these start to load a library in a process of its
// own.
Command add_doctor_agent(CommandLine& tool);
Command add_doctor_fabric(CommandLine& tool);
// Hidden: the launchers in a cluster call it in place of ssh.
Command add_cluster_shell(CommandLine& tool, const Words& words);
// Hidden: the tool starts itself with it, to load an MPI library into another process and ask its version.
Command add_probe(CommandLine& tool);

}  // namespace lapwing::tool
