// The first process of a cluster. When it ends, all processes of the cluster end.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "lapwing/cluster/shape.hpp"

namespace lapwing::tool {

// Called in the first process of a new process namespace: makes hosts and links, writes a byte to `started`
// (signals are handed over from now on), runs the command in the head with `mask` as its signal mask, and
// waits for it while it collects ended processes. With its end, all processes of the cluster end, and with
// them every interface, mount and file. Returns the command's exit status. Throws Error if nothing was
// started.
int run_cluster(ClusterShape shape, const std::vector<std::string>& command, const sigset_t& mask,
                int started);

// The signals that are passed on to the command: those that are not ignored, as below nohup. They must be
// blocked when run_cluster is called.
sigset_t handed_signals();
// Passes a signal to the command of the cluster. Called in its first process.
void hand_over(pid_t first, int signal);

// Sets up the launchers of the MPIs by files and variables: a plain `mpirun` then reaches the hosts.
// Writes host files and the remote shell into the cluster directory, and sets the variables of this process
// with which launchers find these files. Keeps variables that are already set. Throws Error (system).
void prepare_launchers(const ClusterShape& shape);

}  // namespace lapwing::tool
