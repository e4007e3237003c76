#include "links/tcp/addresses.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "base/values.hpp"

namespace lapwing::tcp {
namespace {

std::size_t size_of(const IpAddress& ip) {
    return ip.family == 4 ? 4 : 16;
}

std::uint8_t prefix_of(const IpAddress& ip, const sockaddr* mask) {
    const IpAddress ones = mask == nullptr ? IpAddress{} : ip_of(*mask).value_or(IpAddress{});
    int bits = 0;
    for (std::size_t i = 0; i < size_of(ip); ++i) bits += std::popcount(ones.bytes[i]);
    return static_cast<std::uint8_t>(bits);
}

// One entry of the option.
struct Wanted {
    std::string name;             // of an interface; or
    std::optional<IpAddress> ip;  // an address with the prefix of its network
};

Wanted wanted_by(const std::string& entry) {
    if (const auto ip = read_ip(entry)) return {{}, ip};
    if (entry.find('/') != std::string::npos)
        throw_invalid("LAPWING_TCP_INTERFACE: '{}' is not a network; write it as 10.1.0.0/16 or fd00::/64",
                      entry);
    if (entry.empty() || entry.size() >= IFNAMSIZ || entry.find_first_of(" \t") != std::string::npos)
        throw_invalid(
            "LAPWING_TCP_INTERFACE: '{}' is not an interface, address or network; write it as eth0, 10.1.0.3 "
            "or 10.1.0.0/16",
            entry);
    return {entry, {}};
}

std::vector<Wanted> requested(const std::string& text) {
    std::vector<Wanted> result;
    if (text.empty()) return result;
    for (const std::string_view part : split(text, ',')) {
        std::string entry(part);
        entry.erase(0, entry.find_first_not_of(" \t"));
        entry.erase(entry.find_last_not_of(" \t") + 1);
        result.push_back(wanted_by(entry));
    }
    return result;
}

bool equal_bits(const IpAddress& one, const IpAddress& other, unsigned bits) {
    const std::size_t whole = bits / 8;
    if (std::memcmp(one.bytes, other.bytes, whole) != 0) return false;
    const unsigned rest = bits % 8;
    return rest == 0 || ((one.bytes[whole] ^ other.bytes[whole]) >> (8 - rest)) == 0;
}

bool fits(const Wanted& wanted, const Interface& present) {
    if (!wanted.ip) return present.name == wanted.name;
    return present.ip.family == wanted.ip->family && equal_bits(present.ip, *wanted.ip, wanted.ip->prefix);
}

// 169.254.0.0/16: management controllers have the same such addresses on every host.
bool link_local(const IpAddress& ip) {
    return ip.family == 4 && ip.bytes[0] == 169 && ip.bytes[1] == 254;
}

std::string list(const std::vector<Interface>& present) {
    std::string result;
    for (const Interface& one : present)
        result +=
            fmt::format("{}{} ({}/{})", result.empty() ? "" : ", ", one.name, text(one.ip), one.ip.prefix);
    return result.empty() ? "none" : result;
}

void add_new(std::vector<IpAddress>& ips, const IpAddress& ip) {
    if (std::ranges::none_of(ips, [&](const IpAddress& old) { return same_address(old, ip); }))
        ips.push_back(ip);
}

// 10.77.0.3 of ::ffff:10.77.0.3; other addresses are returned as they are.
IpAddress unmapped(IpAddress ip) {
    static constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (ip.family == 6 && std::memcmp(ip.bytes, mapped, sizeof mapped) == 0) {
        std::memmove(ip.bytes, ip.bytes + 12, 4);
        ip.family = 4;
    }
    return ip;
}

}  // namespace

void check(const Options& options) {
    requested(options.interfaces);
    if (options.family != "auto" && options.family != "ipv4" && options.family != "ipv6")
        throw_invalid("LAPWING_TCP_FAMILY must be auto, ipv4 or ipv6, not '{}'", options.family);
}

std::vector<Interface> interfaces() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) throw_system("cannot read the addresses of this host");
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
    std::vector<Interface> result;
    for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const auto ip = ip_of(*one->ifa_addr);
        if (!ip) continue;
        if (ip->family == 6 &&
            IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr))
            continue;
        Interface found;
        found.name = one->ifa_name;
        found.ip = *ip;
        found.ip.prefix = prefix_of(found.ip, one->ifa_netmask);
        found.ip.loopback = (one->ifa_flags & IFF_LOOPBACK) != 0 ? 1 : 0;
        found.running = (one->ifa_flags & IFF_RUNNING) != 0;
        result.push_back(std::move(found));
    }
    return result;
}

std::vector<IpAddress> choose(const Options& options, const std::vector<Interface>& present) {
    std::vector<Interface> allowed;
    for (const Interface& one : present)
        if (options.family == "auto" || options.family == (one.ip.family == 4 ? "ipv4" : "ipv6"))
            allowed.push_back(one);
    std::vector<IpAddress> result;
    const auto add = [&](const IpAddress& ip) {
        if (result.size() < Address::max_ips) add_new(result, ip);
    };
    const std::vector<Wanted> asked = requested(options.interfaces);
    for (const Wanted& one : asked)
        for (const Interface& candidate : allowed)
            if (fits(one, candidate)) add(candidate.ip);
    if (!asked.empty() && result.empty())
        throw_invalid("LAPWING_TCP_INTERFACE: no interface that is up matches '{}'{}; available: {}",
                      options.interfaces,
                      options.family == "auto" ? "" : " and LAPWING_TCP_FAMILY=" + options.family,
                      list(present));
    if (!asked.empty()) return result;

    // Leaves room for the two addresses of the loopback.
    for (const bool last_choice : {false, true})
        for (const Interface& one : allowed)
            if (one.ip.loopback == 0 && one.running && link_local(one.ip) == last_choice &&
                result.size() + 2 < Address::max_ips)
                add(one.ip);
    for (const Interface& one : allowed)
        if (one.ip.loopback != 0) add(one.ip);
    if (result.empty())
        throw Error(ErrorCode::system, "no interface of family {} is up; available: {}", options.family,
                    list(present));
    return result;
}

std::string describe_interfaces(const Options& options) {
    const std::vector<Interface> present = interfaces();
    std::vector<std::string> names;
    for (const IpAddress& ip : choose(options, present)) {
        for (const Interface& one : present) {
            if (ip.loopback == 0 && same_address(one.ip, ip) &&
                std::ranges::find(names, one.name) == names.end())
                names.push_back(one.name);
        }
    }
    return names.empty() ? "loopback" : fmt::format("{}", fmt::join(names, ", "));
}

bool same_address(const IpAddress& one, const IpAddress& other) {
    return one.family == other.family && std::memcmp(one.bytes, other.bytes, size_of(one)) == 0;
}

bool same_network(const IpAddress& one, const IpAddress& other) {
    return one.family == other.family && one.prefix == other.prefix && one.prefix <= 8 * size_of(one) &&
           equal_bits(one, other, one.prefix);
}

std::vector<IpAddress> routes(const Address& self, const Address& peer) {
    std::vector<IpAddress> result;
    const auto add = [&](const IpAddress& ip) { add_new(result, ip); };
    const auto each = [](const Address& address, const auto& work) {
        for (const IpAddress& ip : address.ips)
            if (ip.family == 4 || ip.family == 6) work(ip);
    };
    const bool local = self.host == peer.host;
    // An address that this host has, too, leads to this host: bridges of containers have the same address on
    // every host.
    const auto own = [&](const IpAddress& ip) {
        bool found = false;
        each(self, [&](const IpAddress& mine) { found = found || same_address(mine, ip); });
        return found;
    };
    const auto leads_to_peer = [&](const IpAddress& ip) { return local || (ip.loopback == 0 && !own(ip)); };
    if (local)
        each(peer, [&](const IpAddress& ip) {
            if (ip.loopback != 0) add(ip);
        });
    each(self, [&](const IpAddress& mine) {
        each(peer, [&](const IpAddress& ip) {
            if (leads_to_peer(ip) && same_network(mine, ip)) add(ip);
        });
    });
    each(peer, [&](const IpAddress& ip) {
        if (leads_to_peer(ip)) add(ip);
    });
    return result;
}

std::optional<IpAddress> ip_of(const sockaddr& address) {
    IpAddress ip{};
    if (address.sa_family == AF_INET) {
        ip.family = 4;
        std::memcpy(ip.bytes, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
        ip.loopback = ip.bytes[0] == 127 ? 1 : 0;
    } else if (address.sa_family == AF_INET6) {
        const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
        ip.family = 6;
        std::memcpy(ip.bytes, &v6, 16);
        ip.loopback = IN6_IS_ADDR_LOOPBACK(&v6) ? 1 : 0;
    } else {
        return {};
    }
    return ip;
}

std::optional<IpAddress> read_ip(const std::string& written) {
    const auto slash = written.find('/');
    const std::string address = written.substr(0, slash);
    IpAddress ip{};
    if (inet_pton(AF_INET, address.c_str(), ip.bytes) == 1) {
        ip.family = 4;
        ip.prefix = 32;
        ip.loopback = ip.bytes[0] == 127 ? 1 : 0;
    } else if (inet_pton(AF_INET6, address.c_str(), ip.bytes) == 1) {
        ip.family = 6;
        ip.prefix = 128;
        ip.loopback = std::memcmp(ip.bytes, &in6addr_loopback, sizeof ip.bytes) == 0 ? 1 : 0;
    } else {
        return {};
    }
    if (slash == std::string::npos) return ip;
    const auto prefix = parse_number(written.substr(slash + 1));
    if (!prefix || *prefix > ip.prefix) return {};
    ip.prefix = static_cast<std::uint8_t>(*prefix);
    return ip;
}

std::string network_of(const IpAddress& ip) {
    IpAddress network = ip;
    for (std::size_t i = 0; i < size_of(ip); ++i) {
        const int bits = std::clamp(static_cast<int>(ip.prefix) - static_cast<int>(8 * i), 0, 8);
        network.bytes[i] &= static_cast<std::uint8_t>(0xff00 >> bits);
    }
    return fmt::format("{}/{}", text(network), network.prefix);
}

std::string text(const IpAddress& ip) {
    char buffer[INET6_ADDRSTRLEN] = "?";
    inet_ntop(ip.family == 4 ? AF_INET : AF_INET6, ip.bytes, buffer, sizeof buffer);
    return buffer;
}

std::string text(const sockaddr_storage& address) {
    const auto found = ip_of(reinterpret_cast<const sockaddr&>(address));
    if (!found) return "an unknown address";
    const IpAddress ip = unmapped(*found);
    // Both families have their port at the same offset.
    const unsigned port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
    return ip.family == 4 ? fmt::format("{}:{}", text(ip), port) : fmt::format("[{}]:{}", text(ip), port);
}

socklen_t socket_address(const IpAddress& ip, std::uint16_t port, sockaddr_storage& address) {
    address = {};
    if (ip.family == 4) {
        auto& v4 = reinterpret_cast<sockaddr_in&>(address);
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&v4.sin_addr, ip.bytes, 4);
        return sizeof v4;
    }
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.bytes, 16);
    return sizeof v6;
}

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::uint64_t process_space() {
    struct stat space {};
    return stat("/proc/self/ns/pid", &space) == 0 ? static_cast<std::uint64_t>(space.st_ino) : 0;
}

std::uint64_t host_number() {
    const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
    std::string parts = boot.empty() ? host_name() : boot;
    // Network namespaces do not share their loopback: two of one kernel are two hosts.
    struct stat space {};
    if (stat("/proc/self/ns/net", &space) == 0)
        parts += fmt::format(" {} {}", static_cast<std::uint64_t>(space.st_dev),
                             static_cast<std::uint64_t>(space.st_ino));
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof hash, reinterpret_cast<const unsigned char*>(parts.data()), parts.size(),
                       nullptr, 0);
    std::uint64_t number = 0;
    std::memcpy(&number, hash, sizeof number);
    return number;
}

}  // namespace lapwing::tcp
