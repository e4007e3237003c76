// The list of subcommands, and functions that they share.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

// Exit statuses. `run` ends with the status of the launcher.
inline constexpr int success = 0;
inline constexpr int violations_found = 1;
inline constexpr int not_started = 125;  // as env and timeout have it

struct Command {
    CommandLine* options = nullptr;
    std::function<int()> run;  // called after parsing; returns the exit status
    bool hidden = false;
    bool answers_extra_words = false;  // otherwise main() rejects them
};

// The words after a "--" on the command line.
struct Words {
    bool separated = false;  // there was a "--"
    std::vector<std::string> words;
};

// The options of all subcommands that start a launcher. Sets `mpi` to the name of its MPI; `mpis` describes
// the names.
inline constexpr const char* mpis_of_launchers =
    "MPI of the launcher, openmpi or mpich, if lapwing cannot identify it";
inline constexpr const char* mpis_of_programs =
    "MPI of the program, openmpi, mpich (also Intel MPI) or abi (MPI-5 standard ABI), if lapwing cannot "
    "identify it";
void add_launch_options(CommandLine& app, std::string& mpi, bool& dry_run, const char* mpis);
// Throws Error (invalid_argument) unless there are words after "--" and none before it. `what`: the kind of
// words, such as "command". `begin`: the command line up to "--". `none` and `example`: for the message if
// there are no words.
void require_words(const CommandLine& app, const Words& words, const char* what, const char* begin,
                   const char* none, const char* example);

// Throws Error (invalid_argument) for options of a parsed command line that it does not have, with the
// nearest that it has, and for other words unless they are allowed.
void refuse_unknown_options(const CommandLine& options, bool extra_words_allowed);

// Throws Error (invalid_argument) if one of `options` was given: "OPTION WHY".
void refuse_given(const CommandLine& app, std::initializer_list<const char*> options, const std::string& why);
// Of a subcommand whose standard output is the program's. Throws Error (invalid_argument).
void require_output_of_json(bool json, const std::string& output);
// All of a file, or of standard error where that has no room: what took long is not lost. Throws Error
// (system).
void write_measured(const std::string& file, const std::string& text, const char* what);

Command add_explain(CommandLine& tool);
Command add_info(CommandLine& tool);
Command add_report(CommandLine& tool);
Command add_topology(CommandLine& tool);
Command add_run(CommandLine& tool, const Words& words);
Command add_profile(CommandLine& tool, const Words& words);
Command add_compare(CommandLine& tool, const Words& words);
Command add_bench(CommandLine& tool, const Words& words);
Command add_tune(CommandLine& tool, const Words& words);
Command add_cluster(CommandLine& tool, const Words& words);
Command add_doctor(CommandLine& tool, const Words& words);
Command add_status(CommandLine& tool);
// Hidden: the build calls it. `page`: the name of the page of the program itself.
Command add_man_pages(CommandLine& tool, const char* page);
// Hidden: the agents that `lapwing doctor` starts on hosts, and the process in which an agent loads a
// library.
Command add_doctor_agent(CommandLine& tool);
// Hidden: launchers in a cluster call it instead of ssh.
Command add_cluster_shell(CommandLine& tool, const Words& words);
// Hidden: the tool starts itself with it to load an MPI library in another process and read its version.
Command add_probe(CommandLine& tool);

}  // namespace lapwing::tool
