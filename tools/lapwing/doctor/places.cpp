#include "lapwing/doctor/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "links/tcp/addresses.hpp"
#include "links/tcp/sockets.hpp"

namespace lapwing::tool {
namespace {

using Place = tcp::IpAddress;

std::size_t size_of(const Place& place) {
    return place.family == 4 ? 4 : 16;
}

std::pair<int, int> system_range() {
    std::pair<int, int> range{0, 0};
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> range.first >> range.second;
    return range;
}

}  // namespace

std::string write_place(const Place& place) {
    std::string text = fmt::format("{}/{}/", place.family, place.prefix);
    for (std::size_t i = 0; i < size_of(place); ++i) text += fmt::format("{:02x}", place.bytes[i]);
    return text;
}

Place read_place(const std::string& text) {
    Place place{};
    unsigned family = 0;
    unsigned prefix = 0;
    int read = 0;
    if (std::sscanf(text.c_str(), "%u/%u/%n", &family, &prefix, &read) != 2 || read == 0) return {};
    if ((family != 4 && family != 6) || prefix > 128) return {};
    place.family = static_cast<std::uint8_t>(family);
    place.prefix = static_cast<std::uint8_t>(prefix);
    const std::string_view digits = std::string_view(text).substr(static_cast<std::size_t>(read));
    if (digits.size() != 2 * size_of(place)) return {};
    for (std::size_t i = 0; i < size_of(place); ++i) {
        const char* const begin = digits.data() + 2 * i;
        if (std::from_chars(begin, begin + 2, place.bytes[i], 16).ptr != begin + 2) return {};
    }
    const std::string shown = tcp::text(place);
    place.loopback = shown == "::1" || (family == 4 && place.bytes[0] == 127) ? 1 : 0;
    return place;
}

std::string network_of(const Place& place) {
    Place network = place;
    for (std::size_t i = 0; i < size_of(place); ++i) {
        const int bits = std::clamp(static_cast<int>(place.prefix) - static_cast<int>(8 * i), 0, 8);
        network.bytes[i] &= static_cast<std::uint8_t>(0xff00 >> bits);
    }
    return fmt::format("{}/{}", tcp::text(network), place.prefix);
}

std::vector<std::uint16_t> free_ports(const tcp::Options& options) {
    constexpr int wanted = 3;
    constexpr int tries = 16;
    std::random_device random;
    const auto [first, last] = system_range();
    const std::vector<Place> places = tcp::choose(options, tcp::interfaces());
    std::vector<std::uint16_t> ports;
    for (int i = 0; i < wanted && first > 0 && last >= first; ++i) {
        // Somewhere in each third.
        const int begin = first + (last - first) / wanted * i;
        for (int attempt = 0; attempt < tries; ++attempt) {
            auto port = static_cast<std::uint16_t>(
                std::uniform_int_distribution<int>(begin, begin + (last - first) / wanted)(random));
            try {
                tcp::listen_on(places, options, port);
            } catch (const Error&) {
                continue;  // in use
            }
            if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
            break;
        }
    }
    if (ports.empty()) {
        std::uint16_t port = 0;
        tcp::listen_on(places, options, port);
        ports.push_back(port);
    }
    return ports;
}

std::string port_range() {
    const auto [first, last] = system_range();
    return first > 0 ? fmt::format("{}-{}", first, last) : "";
}

}  // namespace lapwing::tool
