#include "links/tcp/pulse.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

namespace lapwing::tcp {
namespace {

// Of the patience, in eighths: silence before the first suspicion; then two looks, one each.
constexpr int eighths = 8;
constexpr int silence = 6;
constexpr int convicted = 2;  // occasions
constexpr int forced = 6;     // later the kernel's own timer has not come by: the connection is shut down

}  // namespace

bool unanswered(const tcp_info& info, std::chrono::seconds patience) {
    const bool repeats = info.tcpi_retransmits > 0 || info.tcpi_probes > 0;
    return repeats && std::chrono::milliseconds(info.tcpi_last_ack_recv) >= patience * silence / eighths;
}

std::chrono::milliseconds pulse_interval(std::chrono::seconds patience) {
    return std::max(std::chrono::milliseconds(patience) / eighths, std::chrono::milliseconds(100));
}

void feel(Lines& lines, std::chrono::seconds patience) {
    lines.each([&](int descriptor, int& suspicion) {
        tcp_info info{};
        socklen_t size = sizeof info;
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
        if (suspicion < convicted && !unanswered(info, patience)) {
            suspicion = 0;
            return;
        }
        ++suspicion;
        if (suspicion == convicted) {
            // The next time that the kernel repeats, it finds that the limit has passed.
            const unsigned limit = 1;  // ms
            setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
        }
        if (suspicion == forced) shutdown(descriptor, SHUT_RDWR);
    });
}

}  // namespace lapwing::tcp
