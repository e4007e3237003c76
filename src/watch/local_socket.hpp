// Unix sockets by which processes of one host reach a rank: @lapwing/JOB/RANK in the abstract namespace,
// which leaves nothing behind. That namespace belongs to a network namespace. It has no permissions:
// therefore each side asks the kernel for the user of the other side.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "links/tcp/sockets.hpp"

namespace lapwing::watch {

// "lapwing/1a2b3c4d/7": the name of the socket without its leading zero byte.
std::string local_name(const std::string& job, int rank);

// Nonblocking. Throws Error (system).
tcp::Socket listen_locally(const std::string& name);
// Nonblocking. Returns no socket on an error; errno has the reason: EAGAIN if too many connections wait.
tcp::Socket connect_locally(const std::string& name);

struct Peer {
    pid_t pid;  // of the process that has called connect() or listen()
    uid_t user;
};
// Of a connected socket.
std::optional<Peer> peer_of(int descriptor);
// Whether a process of `user` may ask this process. The superuser may: it can read all memory anyway.
bool may_ask(uid_t user);
// "alice (uid 1001)"
std::string user_name(uid_t user);

struct LocalRank {
    std::string job;
    int rank;
};
// All ranks that listen in this network namespace, of all users. Throws Error (system).
std::vector<LocalRank> local_ranks();

}  // namespace lapwing::watch
