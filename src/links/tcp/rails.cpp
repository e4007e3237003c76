#include "links/tcp/rails.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

namespace lapwing::tcp {
namespace {

// Of linux/mptcp.h, which older systems do not have.
constexpr int mptcp_level = 284;
constexpr int mptcp_info_option = 1;
constexpr int mptcp_tcp_infos_option = 2;       // since Linux 5.16
constexpr int mptcp_path_addresses_option = 3;  // since Linux 5.16
struct MptcpInfo {
    std::uint8_t subflows, add_addr_signal, add_addr_accepted;
    std::uint8_t subflows_max, add_addr_signal_max, add_addr_accepted_max;
};
struct PathsHeader {
    std::uint32_t own_size;
    std::uint32_t count;
    std::uint32_t kernel_size;
    std::uint32_t entry_size;
};
constexpr std::size_t max_paths = 9;  // of Linux: the first and MPTCP_PM_ADDR_MAX

struct PathAddresses {
    sockaddr_storage own;
    sockaddr_storage peer;
};

template <typename Entry>
struct Paths {
    alignas(8) PathsHeader header;
    Entry entries[max_paths];
    static_assert(sizeof(PathsHeader) == 16);

    bool read(int descriptor, int option) {
        std::memset(static_cast<void*>(this), 0, sizeof *this);
        header.own_size = sizeof header;
        header.entry_size = sizeof(Entry);
        socklen_t size = sizeof *this;
        return getsockopt(descriptor, mptcp_level, option, this, &size) == 0;
    }
    std::size_t count() const { return std::min<std::size_t>(header.count, max_paths); }
};

}  // namespace

MultipathSetup multipath_setup() {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
    if (probe < 0) return {};
    MptcpInfo info{};
    socklen_t size = sizeof info;
    Paths<PathAddresses> addresses;
    const bool supported = getsockopt(probe, mptcp_level, mptcp_info_option, &info, &size) == 0 &&
                           size >= sizeof info && addresses.read(probe, mptcp_path_addresses_option);
    close(probe);
    if (!supported) return {};
    return {true, info.add_addr_signal_max, std::min(info.add_addr_accepted_max, info.subflows_max)};
}

bool uses_rails(const Options& options, const std::vector<IpAddress>& ips,
                const std::vector<Interface>& present) {
    if (!options.rails) return false;
    std::set<std::string> names;
    for (const Interface& one : present)
        if (one.ip.loopback == 0 && std::any_of(ips.begin(), ips.end(), [&](const IpAddress& ip) {
                return same_address(one.ip, ip);
            }))
            names.insert(one.name);
    if (names.size() < 2) return false;
    const MultipathSetup setup = multipath_setup();
    return setup.announced > 0 && setup.accepted > 0;
}

std::string describe_interfaces(const Options& options) {
    const std::vector<Interface> present = interfaces();
    const std::vector<IpAddress> ips = choose(options, present);
    std::vector<std::string> names;
    for (const IpAddress& ip : ips) {
        for (const Interface& one : present) {
            if (ip.loopback == 0 && same_address(one.ip, ip) &&
                std::find(names.begin(), names.end(), one.name) == names.end())
                names.push_back(one.name);
        }
    }
    if (names.empty()) return "loopback";
    return fmt::format("{}{}", fmt::join(names, ", "),
                       uses_rails(options, ips, present) ? " together (Multipath TCP)" : "");
}

bool is_multipath(int descriptor) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    return getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
           protocol == IPPROTO_MPTCP;
}

std::vector<Path> paths(int descriptor) {
    std::vector<Path> result;
    if (!is_multipath(descriptor)) {
        Path path{};
        socklen_t size = sizeof path.info;
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &path.info, &size) == 0) result.push_back(path);
        return result;
    }
    // The kernel lists the paths in the same order in both answers.
    Paths<tcp_info> infos;
    Paths<PathAddresses> addresses;
    if (!addresses.read(descriptor, mptcp_path_addresses_option) ||
        !infos.read(descriptor, mptcp_tcp_infos_option))
        return result;
    for (std::size_t i = 0; i < infos.count(); ++i) {
        Path path{};
        path.info = infos.entries[i];
        if (addresses.count() == infos.count())
            path.own = unmapped(
                ip_of(reinterpret_cast<const sockaddr&>(addresses.entries[i].own)).value_or(IpAddress{}));
        result.push_back(path);
    }
    return result;
}

void set_congestion_control(int descriptor) {
    char name[16] = "";
    socklen_t size = sizeof name - 1;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0) return;
    constexpr std::string_view better = "cubic";
    if (std::string_view(name).starts_with("bbr"))
        // Not permitted on some systems: then connections are only slower.
        static_cast<void>(setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, better.data(), better.size()));
}

}  // namespace lapwing::tcp
