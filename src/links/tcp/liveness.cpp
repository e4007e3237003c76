#include "links/tcp/liveness.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

namespace lapwing::tcp {
namespace {

constexpr int checks_of_patience = 8;  // in the time of the patience
constexpr int convicted = 6;           // successive checks without an answer
constexpr int forced = 10;             // the kernel's own timer has not expired: the connection is shut down

std::optional<tcp_info> info_of(int descriptor) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
    return info;
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

void check_liveness(ConnectionTable& table) {
    table.each([](int, int descriptor, int& suspicion) {
        const auto info = info_of(descriptor);
        if (!info) return;
        if (suspicion < convicted && !unanswered(*info)) {
            suspicion = 0;
            return;
        }
        // A convicted connection stays so.
        suspicion = std::min(suspicion + 1, forced + 1);
        if (suspicion == convicted) {
            // At its next retransmission the kernel finds that the limit has passed.
            const unsigned limit = 1;  // ms
            setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
        }
        if (suspicion == forced) shutdown(descriptor, SHUT_RDWR);
    });
}

bool silent(ConnectionTable& table, int peer) {
    bool found = false;
    table.each([&](int rank, int descriptor, const int& suspicion) {
        if (rank != peer) return;
        // Or the kernel's own timer expired first, and was reported to another operation in flight.
        const auto info = info_of(descriptor);
        found =
            found || suspicion >= convicted || (info && info->tcpi_state == TCP_CLOSE && unanswered(*info));
    });
    return found;
}

}  // namespace lapwing::tcp
