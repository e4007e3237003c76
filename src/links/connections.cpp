#include "links/connections.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace lapwing {
namespace {

constexpr const char* closed = "closed the connection: its process has ended, or has aborted";

}  // namespace

std::string why_broken(const Connections& connections, int peer, int error) {
    std::string why;
    switch (error) {
        case ECONNRESET:
        case EPIPE:
            why = closed;
            break;
        case ETIMEDOUT:
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ENETDOWN:
            why = fmt::format("is unreachable: {} (no answer for LAPWING_TIMEOUT seconds)",
                              std::strerror(error));
            break;
        default:
            why = std::strerror(error);
    }
    return fmt::format("{} {}", connections.describe(peer), why);
}

}  // namespace lapwing
