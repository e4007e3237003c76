#include "watch/local_socket.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.hpp"
#include "base/values.hpp"

namespace lapwing::watch {
namespace {

constexpr const char* prefix = "lapwing/";

// Calls ::bind or ::connect with the name. Abstract: the first byte is zero.
int call_with_address(int (*call)(int, const sockaddr*, socklen_t), int socket, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::size_t length = name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const std::size_t size = offsetof(sockaddr_un, sun_path) + 1 + length;
    return call(socket, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
}

}  // namespace

std::string local_name(const std::string& job, int rank) {
    return fmt::format("{}{}/{}", prefix, job, rank);
}

tcp::Socket listen_locally(const std::string& name) {
    tcp::Socket socket = tcp::make_socket(AF_UNIX);
    if (!socket || call_with_address(::bind, socket.get(), name) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0)
        throw_system(fmt::format("the Unix socket @{}", name));
    return socket;
}

tcp::Socket connect_locally(const std::string& name) {
    tcp::Socket socket = tcp::make_socket(AF_UNIX);
    if (socket && call_with_address(::connect, socket.get(), name) != 0) {
        const int error = errno;
        socket.reset();
        errno = error;
    }
    return socket;
}

std::optional<Peer> peer_of(int descriptor) {
    ucred found{};
    socklen_t size = sizeof found;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return std::nullopt;
    return Peer{found.pid, found.uid};
}

bool may_ask(uid_t user) {
    return user == 0 || user == ::geteuid();
}

std::string user_name(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    char text[4096];
    if (::getpwuid_r(user, &entry, text, sizeof text, &found) != 0 || found == nullptr)
        return fmt::format("uid {}", user);
    return fmt::format("{} (uid {})", found->pw_name, user);
}

std::vector<LocalRank> local_ranks() {
    std::ifstream file("/proc/net/unix");
    if (!file) throw_system("/proc/net/unix");
    std::vector<LocalRank> ranks;
    const std::string marked = std::string("@") + prefix;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        const std::vector<std::string> entry{std::istream_iterator<std::string>(words), {}};
        // 00010000: it listens.
        if (entry.size() < 8 || entry[3] != "00010000" || !entry[7].starts_with(marked)) continue;
        const std::string name = entry[7].substr(marked.size());
        const std::size_t slash = std::min(name.find('/'), name.size());
        const auto rank = parse_number(std::string_view(name).substr(std::min(slash + 1, name.size())));
        if (slash > 0 && rank && *rank <= INT_MAX)
            ranks.push_back({name.substr(0, slash), static_cast<int>(*rank)});
    }
    return ranks;
}

}  // namespace lapwing::watch
