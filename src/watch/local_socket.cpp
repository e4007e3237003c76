#include "watch/local_socket.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace lapwing::watch {
namespace {

constexpr const char* prefix = "lapwing/";

struct Address {
    sockaddr_un bytes{};
    socklen_t size = 0;
};

// Abstract: the first byte is zero.
Address address_of(const std::string& name) {
    Address address;
    address.bytes.sun_family = AF_UNIX;
    const std::size_t length = std::min(name.size(), sizeof address.bytes.sun_path - 1);
    std::memcpy(address.bytes.sun_path + 1, name.data(), length);
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return address;
}

tcp::Socket make_socket() {
    return tcp::Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string local_name(const std::string& job, int rank) {
    return fmt::format("{}{}/{}", prefix, job, rank);
}

tcp::Socket listen_locally(const std::string& name) {
    tcp::Socket socket = make_socket();
    const Address address = address_of(name);
    if (!socket ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
        ::listen(socket.get(), SOMAXCONN) != 0)
        throw_system(fmt::format("the Unix socket @{}", name));
    return socket;
}

tcp::Socket connect_locally(const std::string& name) {
    tcp::Socket socket = make_socket();
    const Address address = address_of(name);
    if (socket &&
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0) {
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
        std::string number, references, protocol, flags, type, state, inode, name;
        words >> number >> references >> protocol >> flags >> type >> state >> inode >> name;
        // 00010000: it listens.
        if (flags != "00010000" || !name.starts_with(marked)) continue;
        const std::size_t slash = name.rfind('/');
        LocalRank found{name.substr(marked.size(), slash - std::min(slash, marked.size())), -1};
        const char* const end = name.data() + name.size();
        const auto parsed = std::from_chars(name.data() + slash + 1, end, found.rank);
        if (parsed.ec != std::errc() || parsed.ptr != end || found.rank < 0 || found.job.empty()) continue;
        ranks.push_back(std::move(found));
    }
    return ranks;
}

}  // namespace lapwing::watch
