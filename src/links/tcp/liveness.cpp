#include "links/tcp/liveness.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace lapwing::tcp {
namespace {

constexpr int looks = 8;      // in the time of the patience
constexpr int convicted = 6;  // looks in sequence, without an answer
constexpr int forced = 10;    // the kernel's own timer has not come by: the connection is shut down

}  // namespace

bool unanswered(const tcp_info& info) {
    // An answer takes back the count of probes; but a host answers at most two of them a second, so one says
    // nothing. The count of repetitions stays until something new is acknowledged, so there it is the time of
    // the answer that counts.
    return info.tcpi_probes > 1 ||
           (info.tcpi_retransmits > 0 && info.tcpi_last_ack_recv > info.tcpi_last_data_sent);
}

std::chrono::milliseconds liveness_interval(std::chrono::seconds patience) {
    // A host that is well may leave probes without an answer for nearly a second.
    return std::chrono::milliseconds(std::max(patience, std::chrono::seconds(2))) / looks;
}

void check_liveness(ConnectionTable& table) {
    table.each([](int, int descriptor, int& suspicion) {
        tcp_info info{};
        socklen_t size = sizeof info;
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
        if (suspicion < convicted && !unanswered(info)) {
            suspicion = 0;
            return;
        }
        // Its conviction stays.
        suspicion = std::min(suspicion + 1, forced + 1);
        if (suspicion == convicted) {
            // The next time that the kernel repeats, it finds that the limit has passed.
            const unsigned limit = 1;  // ms
            setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
        }
        if (suspicion == forced) shutdown(descriptor, SHUT_RDWR);
    });
}

bool silent(ConnectionTable& table, int peer) {
    bool found = false;
    table.each([&](int rank, int descriptor, int& suspicion) {
        if (rank != peer) return;
        tcp_info info{};
        socklen_t size = sizeof info;
        // Or the kernel's own timer was first, and has told another of the operations in flight.
        found = found || suspicion >= convicted ||
                (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                 info.tcpi_state == TCP_CLOSE && unanswered(info));
    });
    return found;
}

}  // namespace lapwing::tcp
