#include "lapwing/topology/links.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lapwing::tool {

std::string print_links(int ranks, const std::vector<double>& rates, const std::vector<double>& latencies) {
    constexpr double noticed = 0.8;
    const auto at = [&](const std::vector<double>& values, int from, int to) {
        return values[static_cast<std::size_t>(from * ranks + to)];
    };
    const auto median = [](std::vector<double> values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    };
    const auto written = [](double rate) { return fmt::format("{:.1f}mbit", rate / 1e6); };
    std::vector<double> ports;
    std::vector<double> all_latencies;
    for (int rank = 0; rank < ranks; ++rank) {
        double fastest = 0;
        for (int peer = 0; peer < ranks; ++peer) {
            if (peer == rank) continue;
            fastest = std::max({fastest, at(rates, rank, peer), at(rates, peer, rank)});
            all_latencies.push_back(at(latencies, rank, peer));
        }
        ports.push_back(fastest);
    }
    const double rate = median(ports);
    std::string text = fmt::format("ranks {}\nrate {}\nlatency {:.1f}us\n", ranks, written(rate),
                                   std::max(0.1, median(all_latencies) * 1e6));
    const auto port_of = [&](int rank) {
        const double port = ports[static_cast<std::size_t>(rank)];
        return port < noticed * rate || port > rate / noticed ? port : rate;
    };
    for (int rank = 0; rank < ranks; ++rank)
        if (port_of(rank) != rate) text += fmt::format("port {} rate {}\n", rank, written(port_of(rank)));
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            if (from == to || at(rates, from, to) >= noticed * std::min(port_of(from), port_of(to))) continue;
            text += fmt::format("link {}>{} rate {}\n", from, to, written(at(rates, from, to)));
        }
    }
    return text;
}

}  // namespace lapwing::tool
