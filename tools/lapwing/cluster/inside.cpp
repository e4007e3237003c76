#include "lapwing/cluster/inside.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "lapwing/cluster/namespaces.hpp"
#include "lapwing/cluster/network.hpp"
#include "lapwing/cluster/own_cores.hpp"
#include "lapwing/cluster/relay.hpp"
#include "lapwing/common/process.hpp"

namespace lapwing::tool {
namespace {

// Tells a signal that is for the command from one that the whole group got, the command included.
constexpr int handed_word = 0x1a9;

void make_directory(const std::string& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) != 0 || chmod(path.c_str(), mode) != 0) throw_system(path);
}

std::string hosts_file(const ClusterShape& shape) {
    std::string text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
    text += fmt::format("{} {}\n", shape.head.address, shape.head.name);
    for (const ClusterHost& host : shape.hosts) text += fmt::format("{} {}\n", host.address, host.name);
    return text;
}

// Words between this process and a holder: "+" is yes, all else says what is wrong.
void say(int channel, const std::string& word) {
    while (send(channel, word.data(), word.size(), MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

void hear_yes(int channel, const std::string& host) {
    char word[2048];
    ssize_t bytes = 0;
    do {
        bytes = recv(channel, word, sizeof word, 0);
    } while (bytes < 0 && errno == EINTR);
    if (bytes == 1 && word[0] == '+') return;
    const std::string reason = bytes > 0 ? std::string(word, static_cast<std::size_t>(bytes)) : "it ended";
    throw Error(ErrorCode::system, fmt::format("cannot create {}: {}", host, reason));
}

// What the command's output is connected to must not seem open because a process of the cluster has it.
void close_streams() {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int descriptor = 0; descriptor <= 2; ++descriptor) dup2(nothing, descriptor);
}

// Keeps a host's namespaces until everything ends.
[[noreturn]] void hold(const ClusterShape& shape, const ClusterHost& host, int channel) {
    try {
        leave_for_host_namespaces();
        set_host_name(host.name);
        prctl(PR_SET_NAME, host.name.c_str());
        mount_own_shared_memory(cluster_directory);
        mount_own_sys();
        make_directory(host_temporary_directory, 01777);
        say(channel, "+");
        hear_yes(channel, host.name);
        make_host_interface(shape, host);
        close_streams();
        say(channel, "+");
    } catch (const std::exception& error) {
        say(channel, error.what());
        _exit(not_started);
    }
    while (true) pause();
}

// Passes packets on until everything ends.
[[noreturn]] void relay(const ClusterShape& shape, int channel) {
    try {
        leave_for_host_namespaces();
        prctl(PR_SET_NAME, "relay");
        say(channel, "+");
        hear_yes(channel, "the relay");
        make_relay_interfaces(shape);
        relay_packets(shape, [&] {
            close_streams();
            say(channel, "+");
        });
    } catch (const std::exception& error) {
        say(channel, error.what());
        _exit(not_started);
    }
}

void make_hosts(ClusterShape& shape) {
    std::vector<int> channels;
    std::vector<std::string> names;
    // Gives true in the new process.
    const auto split_off = [&](pid_t& process, const std::string& name, int& channel) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_system("socketpair");
        process = fork();
        if (process < 0) throw_system("fork");
        channel = ends[1];
        if (process == 0) {
            close(ends[0]);
            return true;
        }
        close(ends[1]);
        channels.push_back(ends[0]);
        names.push_back(name);
        return false;
    };
    int channel = -1;
    if (shape.impaired()) {
        shape.netem = !shape.asked_for_seed && kernel_has_netem();
        if (shape.relayed()) {
            print_message("lapwing cluster: a relay process delays and drops packets{}; it uses CPU time\n",
                          shape.asked_for_seed ? "" : ", because this kernel has no netem");
            if (split_off(shape.relay, "the relay", channel)) relay(shape, channel);
        }
    }
    for (ClusterHost& host : shape.hosts) {
        if (split_off(host.holder, host.name, channel)) hold(shape, host, channel);
    }
    const auto all_say_yes = [&] {
        for (std::size_t i = 0; i < channels.size(); ++i) hear_yes(channels[i], names[i]);
    };
    all_say_yes();
    make_network(shape);
    for (const int one : channels) say(one, "+");
    all_say_yes();
    for (const int one : channels) close(one);
}

pid_t start_command(const std::vector<std::string>& command, const sigset_t& mask) {
    const pid_t process = fork();
    if (process < 0) throw_system("fork");
    if (process != 0) return process;
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execvp(command.front().c_str(), pointers(command).data());
    print_message("lapwing cluster: {}: {}\n", command.front(), std::strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

// Ended processes whose parents are gone come here, too.
bool collect(pid_t command, pid_t relay, int& status) {
    bool ended = false;
    int word = 0;
    pid_t process = 0;
    while ((process = waitpid(-1, &word, WNOHANG)) > 0) {
        if (process == relay)
            print_message(
                "lapwing cluster: the relay process has ended; the hosts can no longer "
                "reach each other\n");
        if (process != command) continue;
        ended = true;
        status = WIFEXITED(word) ? WEXITSTATUS(word) : 128 + WTERMSIG(word);
    }
    return ended;
}

}  // namespace

void hand_over(pid_t first, int signal) {
    sigval word{};
    word.sival_int = handed_word;
    sigqueue(first, signal, word);
}

sigset_t handed_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        struct sigaction found {};
        sigaction(signal, nullptr, &found);
        if (found.sa_handler != SIG_IGN) sigaddset(&signals, signal);
    }
    return signals;
}

int run_cluster(ClusterShape shape, const std::vector<std::string>& command, const sigset_t& mask,
                int started) {
    set_host_name(shape.head.name);
    mount_own_proc();
    mount_own_sys();
    mount_own_shared_memory("");
    make_directory(cluster_directory, 0755);
    make_directory(host_temporary_directory, 01777);
    write_cluster_file("hosts", hosts_file(shape));
    mount_file_over(fmt::format("{}/hosts", cluster_directory), "/etc/hosts");
    make_hosts(shape);
    write_running_shape(shape);
    write_machine_files(shape);
    prepare_launchers(shape);
    // Said before the command runs: what the command prints can then bring a signal that is handed over.
    if (write(started, "+", 1) != 1) throw_system("pipe");
    const pid_t process = start_command(command, mask);

    sigset_t awaited = handed_signals();
    sigaddset(&awaited, SIGCHLD);
    int status = 0;
    while (!collect(process, shape.relay, status)) {
        siginfo_t arrived{};
        const int signal = sigwaitinfo(&awaited, &arrived);
        const bool handed = arrived.si_code == SI_QUEUE && arrived.si_value.sival_int == handed_word;
        if (signal > 0 && signal != SIGCHLD && handed) kill(process, signal);
    }
    return status;
}

}  // namespace lapwing::tool
