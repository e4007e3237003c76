// The remote shell of a cluster's launchers, called as they call ssh: enters a host and runs a command there.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/cluster/namespaces.hpp"
#include "lapwing/cluster/own_cores.hpp"
#include "lapwing/cluster/shape.hpp"
#include "lapwing/common/command.hpp"

namespace lapwing::tool {
namespace {

// Of ssh's options, those that have a word of their own behind them.
constexpr std::string_view options_with_a_word = "BbcDEeFIiJLlmOopQRSWw";

struct Call {
    std::string host;
    std::string command;  // empty: a shell to type in
    bool no_input = false;
};

Call read_call(const std::vector<std::string>& words) {
    Call call;
    std::size_t i = 0;
    for (; i < words.size() && words[i].starts_with("-"); ++i) {
        if (words[i] == "-n" || words[i] == "-f") call.no_input = true;
        if (words[i].size() == 2 && options_with_a_word.find(words[i][1]) != std::string_view::npos) ++i;
    }
    if (i >= words.size()) throw_invalid("no host given; for example: ssh node1 hostname");
    call.host = words[i].substr(words[i].find('@') + 1);
    call.command =
        fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end(), " "));
    return call;
}

ClusterHost find_host(const std::vector<ClusterHost>& hosts, const std::string& written) {
    std::vector<std::string> names;
    for (const ClusterHost& host : hosts) {
        if (host.name == written || host.address == written) return host;
        names.push_back(host.name);
    }
    throw_invalid(fmt::format("unknown host '{}'{}", written, suggestion(written, names)));
}

int run(const std::vector<std::string>& words) {
    const Call call = read_call(words);
    const ClusterHost host = find_host(read_running_hosts(), call.host);
    enter_namespaces_of(host.holder);
    take_processors(host);
    // On the head the user's own stays.
    if (host.holder != 1) setenv("TMPDIR", host_temporary_directory, 1);
    if (getenv("HOSTNAME") != nullptr) setenv("HOSTNAME", host.name.c_str(), 1);
    if (call.no_input) {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
    }
    if (call.command.empty()) {
        const char* shell = std::getenv("SHELL");
        if (shell == nullptr || *shell == '\0') shell = "/bin/sh";
        execl(shell, shell, static_cast<char*>(nullptr));
    } else {
        execl("/bin/sh", "sh", "-c", call.command.c_str(), static_cast<char*>(nullptr));
    }
    throw_system("cannot start a shell");
}

}  // namespace

Command add_cluster_shell(CommandLine& tool, const Words& words) {
    CommandLine* app =
        tool.add_subcommand("cluster-shell", "Run a command on a host of a cluster")->group("");
    return {app, [&words] { return run(words.words); }, true, true};
}

}  // namespace lapwing::tool
