#include "links/tcp/liveness.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "links/tcp/addresses.hpp"
#include "links/tcp/rails.hpp"

namespace lapwing::tcp {
namespace {

constexpr int checks_of_patience = 8;  // in the time of the patience
constexpr int convicted = 6;           // successive checks without an answer
constexpr int forced = 10;             // the kernel's own timer has not expired: the connection is shut down

// Successive retransmissions without an answer after which a path is lost. The kernel sends their bytes on
// the other paths from the first one on.
constexpr int max_retransmissions = 3;

bool all_unanswered(const std::vector<Path>& paths) {
    return std::all_of(paths.begin(), paths.end(), [](const Path& path) { return unanswered(path.info); });
}

// Whether both sides or one have closed the connection, or an error has.
bool has_ended(int descriptor) {
    pollfd state{descriptor, POLLRDHUP, 0};
    return poll(&state, 1, 0) > 0;
}

void find_lost_paths(int peer, const std::vector<Path>& paths, Health& health, std::vector<LostPath>& lost) {
    const auto add_once = [](std::vector<IpAddress>& ips, const IpAddress& ip) {
        if (std::none_of(ips.begin(), ips.end(), [&](const IpAddress& old) { return same_address(old, ip); }))
            ips.push_back(ip);
    };
    for (const Path& path : paths)
        if (path.own.family != 0) add_once(health.paths, path.own);
    for (const IpAddress& own : health.paths) {
        // The kernel removes a path whose keepalive probes are not answered.
        const bool works = std::any_of(paths.begin(), paths.end(), [&](const Path& path) {
            return same_address(path.own, own) &&
                   (path.info.tcpi_retransmits < max_retransmissions || !unanswered(path.info));
        });
        if (!works) lost.push_back({peer, own});
    }
}

}  // namespace

bool unanswered(const tcp_info& info) {
    // An answer resets the count of probes; but a host answers at most two probes a second, so one unanswered
    // probe proves nothing. The count of retransmissions stays until new bytes are acknowledged, so the time
    // of the last answer decides.
    return info.tcpi_probes > 1 ||
           (info.tcpi_retransmits > 0 && info.tcpi_last_ack_recv > info.tcpi_last_data_sent);
}

std::chrono::milliseconds liveness_interval(std::chrono::seconds patience) {
    // A healthy host may leave probes unanswered for nearly a second.
    return std::chrono::milliseconds(std::max(patience, std::chrono::seconds(2))) / checks_of_patience;
}

std::vector<LostPath> check_liveness(ConnectionTable& table) {
    std::vector<LostPath> lost;
    table.each([&](int peer, int descriptor, Health& health) {
        const std::vector<Path> found = paths(descriptor);
        const bool multipath = is_multipath(descriptor);
        if (found.empty() && (!multipath || has_ended(descriptor))) return;
        if (health.suspicion < convicted && !all_unanswered(found)) {
            health.suspicion = 0;
            // A connection that ends loses its paths one by one.
            if (multipath && !has_ended(descriptor)) find_lost_paths(peer, found, health, lost);
            return;
        }
        // A convicted connection stays so.
        health.suspicion = std::min(health.suspicion + 1, forced + 1);
        if (health.suspicion == convicted && !multipath) {
            // At its next retransmission the kernel finds that the limit has passed.
            const unsigned limit = 1;  // ms
            setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
        }
        // Multipath TCP has no such limit. Without any path it cannot continue.
        if (health.suspicion == (multipath ? checks_of_patience : forced) || found.empty()) {
            health.suspicion = std::max(health.suspicion, convicted);
            shutdown(descriptor, SHUT_RDWR);
        }
    });
    return lost;
}

bool silent(ConnectionTable& table, int peer) {
    bool found = false;
    table.each([&](int rank, int descriptor, Health& health) {
        if (rank != peer) return;
        // Or the kernel's own timer expired first, and was reported to another operation in flight.
        const auto expired = [](const Path& path) {
            return path.info.tcpi_state == TCP_CLOSE && unanswered(path.info);
        };
        const std::vector<Path> all = paths(descriptor);
        found = found || health.suspicion >= convicted ||
                (!all.empty() && std::all_of(all.begin(), all.end(), expired));
    });
    return found;
}

}  // namespace lapwing::tcp
