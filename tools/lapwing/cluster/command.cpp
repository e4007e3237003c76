// lapwing cluster: hosts as namespaces of this machine, joined by shaped links, for the time of one command.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"
#include "command_line/command_line.hpp"
#include "lapwing/cluster/inside.hpp"
#include "lapwing/cluster/namespaces.hpp"
#include "lapwing/cluster/network.hpp"
#include "lapwing/cluster/processors.hpp"
#include "lapwing/cluster/shape.hpp"
#include "lapwing/common/command.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

// The other end of the pipe wrote, or was closed.
bool heard(int descriptor) {
    pollfd state{descriptor, POLLIN, 0};
    return poll(&state, 1, 0) > 0;
}

// The first process of the cluster. It dies with the tool, however the tool dies.
[[noreturn]] void be_first(const ClusterShape& shape, const Words& words, const sigset_t& mask, int alive,
                           int started) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (heard(alive)) _exit(not_started);  // the tool has died before that took effect
    int status = not_started;
    try {
        status = run_cluster(shape, words.words, mask, started);
    } catch (const std::exception& error) {
        print_message("lapwing cluster: {}\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
}

// Passes signals on until the first process ends.
int attend(pid_t first, int started) {
    sigset_t awaited = handed_signals();
    sigaddset(&awaited, SIGCHLD);
    while (true) {
        siginfo_t arrived{};
        const int signal = sigwaitinfo(&awaited, &arrived);
        if (signal < 0) continue;
        if (signal == SIGCHLD) {
            siginfo_t ended{};
            waitid(P_PID, static_cast<id_t>(first), &ended, WEXITED | WNOHANG | WNOWAIT);
            if (ended.si_pid == first) return wait_for(first);
        } else if (!heard(started)) {
            kill(first, SIGKILL);  // there is no command yet
            wait_for(first);
            return 128 + signal;
        } else if (arrived.si_code <= 0) {
            // Sent by a process; those of the terminal's keys reach all by themselves.
            hand_over(first, signal);
        }
    }
}

int run(const CommandLine& app, const ClusterOptions& options, const Words& words) {
    require_words(app, words, "command", "lapwing cluster --hosts 4", "no command to run",
                  "mpirun -n 4 ./program");
    require_program(words.words.front());
    if (app.count("--hosts") == 0) {
        throw_invalid("--hosts is missing; give a number, as in: --hosts 4");
    }
    ClusterShape shape = read_shape(options);
    if (!shape.impaired()) refuse_given(app, {"--seed"}, "needs --loss or --delay");
    shape.asked_for_seed = app.count("--seed") > 0;
    // Read in the old mount namespace: when that is gone, Linux reports a path below a bind mount without the
    // directory of the mount.
    shape.tool = std::filesystem::read_symlink("/proc/self/exe");
    require_network_programs(shape);
    if (options.cores_per_host == "own" && shape.hosts.front().cores.empty()) {
        print_message("lapwing cluster: {} hosts share {}; times are longer than with a core for each host\n",
                      shape.hosts.size(), counted(usable_processors(), "core"));
    }
    signal(SIGCHLD, SIG_DFL);
    sigset_t blocked = handed_signals();
    sigaddset(&blocked, SIGCHLD);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    leave_for_new_namespaces();

    int alive[2];    // closed when the tool ends
    int started[2];  // says when signals are handed over to the command
    if (pipe2(alive, O_CLOEXEC) != 0 || pipe2(started, O_CLOEXEC) != 0) throw_system("pipe");
    std::fflush(nullptr);
    const pid_t first = fork();
    if (first < 0) throw_system("fork");
    if (first == 0) {
        close(alive[1]);
        close(started[0]);
        be_first(shape, words, mask, alive[0], started[1]);
    }
    close(alive[0]);
    close(started[1]);
    return attend(first, started[0]);
}

}  // namespace

Command add_cluster(CommandLine& tool, const Words& words) {
    auto options = std::make_shared<ClusterOptions>();
    CommandLine* app = tool.add_subcommand("cluster", "Run a command on virtual hosts of this machine");
    app->usage("Usage: lapwing cluster --hosts N [OPTIONS] -- COMMAND ARGUMENTS...");
    app->add_option("--hosts", options->hosts, "Number of hosts: node1, node2, ...")
        ->type_name("N")
        ->range(1, 250);
    app->add_option("--rate", options->rate,
                    "Rate of each link in both directions: 100mbit, 1gbit, none (1gbit)")
        ->type_name("RATE");
    app->add_option("--slow", options->slow,
                    "Slower ports and links: 4:10mbit, the port of node4; 1-2:10mbit, the link between "
                    "node1 and node2")
        ->type_name("LIST");
    app->add_option("--mtu", options->mtu, "Maximum packet size in bytes (9000)")
        ->type_name("BYTES")
        ->range(576, 65535);
    app->add_option("--burst", options->burst, "Burst size of a link's traffic shaper in bytes")
        ->type_name("BYTES");
    app->add_option(
           "--cores-per-host", options->cores_per_host,
           "Cores of each host in turn, such as 0,1 or 0-1,2-3; own: an equal number for each host; all: "
           "every host uses all cores (own)")
        ->type_name("LIST");
    app->add_option("--delay", options->delay, "Additional one-way latency, such as 50us")->type_name("TIME");
    app->add_option("--loss", options->loss, "Share of packets that are dropped, such as 0.1%")
        ->type_name("SHARE");
    app->add_option("--seed", options->seed, "Random seed of the losses (1)")->type_name("N");
    app->add_option("--addresses", options->addresses, "Addresses of the hosts (10.77.0.0/24)")
        ->type_name("RANGE");
    app->footer(
        "Examples:\n"
        "  lapwing cluster --hosts 4 -- mpirun -n 4 ./program\n"
        "  lapwing cluster --hosts 2 --rate 100mbit --cores-per-host 0,1 -- lapwing run -- mpirun -n 2 "
        "./program\n"
        "  lapwing cluster --hosts 8 --rate none -- bash\n\n"
        "COMMAND runs on a host of its own, \"head\". There `mpirun` and `mpiexec` of Open MPI, MPICH and "
        "Intel MPI\n"
        "place ranks on the hosts, `ssh node2 COMMAND` runs a command on one of them, and `ip link set "
        "node2 down`\n"
        "cuts its link. Everything is removed at the end. The exit status is COMMAND's, or 125 when nothing "
        "was started.");
    app->prefix_command();  // everything after the first word that is no option belongs to the job
    return {app, [app, options, &words] { return run(*app, *options, words); }, false, true};
}

}  // namespace lapwing::tool
