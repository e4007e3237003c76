#include "lapwing/cluster/shape.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/json_schema.hpp"
#include "base/output_file.hpp"
#include "base/values.hpp"
#include "lapwing/cluster/processors.hpp"
#include "lapwing/common/values.hpp"
#include "topology/location.hpp"

namespace lapwing::tool {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ClusterHost, name, address, cores, holder)

namespace {

constexpr const char* shape_file = "cluster.json";

// "3" or "0-1", of the cores that this process may use.
std::vector<int> read_cores(const std::string& entry) {
    const std::optional<std::vector<int>> cores = parse_processors(entry);
    if (!cores) {
        throw_invalid(fmt::format(
            "--cores-per-host must be own, all or a list of cores such as 0,1 or 0-1,2-3, not '{}'", entry));
    }
    const std::vector<int> usable = topology::allowed_processors();
    for (const int core : *cores) {
        if (!std::binary_search(usable.begin(), usable.end(), core)) {
            throw_invalid(
                fmt::format("--cores-per-host names core {}, which this process may not use; `taskset -cp "
                            "$$` lists the allowed cores",
                            core));
        }
    }
    return *cores;
}

// "10.77.0" of "10.77.0.0/24"
std::string read_addresses(const std::string& written) {
    const std::vector<std::string> halves = split(written, '/');
    const std::vector<std::string> numbers = split(halves.front(), '.');
    const bool sound = halves.size() == 2 && halves[1] == "24" && numbers.size() == 4 && numbers[3] == "0" &&
                       std::all_of(numbers.begin(), numbers.end(), [](const std::string& number) {
                           return parse_number(number).value_or(256) < 256;
                       });
    if (!sound) throw_invalid(fmt::format("--addresses {}: must be of the form 10.77.0.0/24", written));
    return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

// A real link has no burst; a shaper needs one that holds the largest packet that the kernel hands it, or it
// has to cut packets, which costs processor time. 2 ms keep the timer's wake-ups apart.
std::uint64_t default_burst(double bits_per_second, int mtu) {
    const double bytes = std::max({65536.0 + 2048.0, 2.0 * mtu, bits_per_second / 8 * 0.002});
    return static_cast<std::uint64_t>(std::ceil(bytes));
}

// "4:10mbit,1-2:10mbit": the port of node4, and the link of node1 and node2.
std::vector<SlowLink> read_slow(const std::string& written, int hosts, double bits) {
    std::vector<SlowLink> all;
    if (written.empty()) return all;
    const auto host = [&](const std::string& word) {
        const auto number = parse_number(word);
        if (!number || *number < 1 || *number > static_cast<std::uint64_t>(hosts))
            throw_invalid(fmt::format("--slow {}: '{}' must be a host from 1 to {}", written, word, hosts));
        return static_cast<int>(*number) - 1;
    };
    for (const std::string& entry : split(written, ',')) {
        const std::vector<std::string> halves = split(entry, ':');
        const std::vector<std::string> ends = split(halves.front(), '-');
        if (halves.size() != 2 || ends.size() > 2) {
            throw_invalid(fmt::format(
                "--slow {}: must be 4:10mbit, the port of node4, or 1-2:10mbit, the link of two hosts",
                written));
        }
        SlowLink one{host(ends.front()), {}, halves[1], read_rate(halves[1])};
        if (ends.size() == 2) one.peer = host(ends[1]);
        if (one.peer == one.host)
            throw_invalid(fmt::format("--slow {}: a link must join two hosts", written));
        if (one.bits >= bits)
            throw_invalid(fmt::format("--slow {}: {} must be less than --rate", written, one.rate));
        all.push_back(one);
    }
    return all;
}

struct Unit {
    std::string_view name;
    double value;
};
// "1.5mbit": the number times the value of its unit; nothing for an invalid number or an unknown unit.
std::optional<double> read_quantity(std::string_view text, std::initializer_list<Unit> units) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    for (const Unit& unit : units) {
        if (unit.name == text.substr(digits)) return number * unit.value;
    }
    return std::nullopt;
}

// 0.001 of "0.1%"
double read_loss(std::string_view written) {
    const std::optional<double> share = read_quantity(written, {{"%", 0.01}});
    if (!share || *share > 0.5) throw_invalid("--loss must be a share of packets of up to 50%, such as 0.1%");
    return *share;
}

}  // namespace

double read_rate(std::string_view written) {
    std::string lower(written);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const std::optional<double> bits = read_quantity(lower, {{"bit", 1},
                                                             {"kbit", 1e3},
                                                             {"mbit", 1e6},
                                                             {"gbit", 1e9},
                                                             {"bps", 8},
                                                             {"kbps", 8e3},
                                                             {"mbps", 8e6},
                                                             {"gbps", 8e9}});
    if (!bits)
        throw_invalid(fmt::format(
            "'{}' is not a rate; write 100mbit or 1gbit (bits), 10mbps (bytes), or none", written));
    if (*bits < 1e5 || *bits > 1e12)
        throw_invalid(fmt::format("rate '{}': must be 100kbit to 1000gbit", written));
    return *bits;
}

ClusterShape read_shape(const ClusterOptions& options) {
    ClusterShape shape;
    shape.mtu = options.mtu;
    if (options.rate != "none") {
        shape.rate = options.rate;
        const double bits = named("--rate", [&] { return read_rate(options.rate); });
        shape.burst =
            options.burst.empty() ? default_burst(bits, options.mtu) : read_bytes("--burst", options.burst);
        shape.slow = named("--slow", [&] { return read_slow(options.slow, options.hosts, bits); });
        // tbf counts the Ethernet header, too.
        if (shape.burst < static_cast<std::uint64_t>(options.mtu) + 18 || shape.burst > 1U << 30) {
            throw_invalid(fmt::format("--burst {}: must be {} (the MTU and a header) to 1Gi bytes",
                                      options.burst, options.mtu + 18));
        }
    }
    for (const auto& [option, value] : {std::pair("--slow", options.slow), {"--burst", options.burst}}) {
        if (shape.rate.empty() && !value.empty())
            throw_invalid(fmt::format("{} cannot be used with --rate none", option));
    }
    if (!options.delay.empty()) {
        constexpr double max_delay = 1;
        shape.delay =
            static_cast<std::uint64_t>(std::llround(read_time("--delay", options.delay, max_delay) * 1e9));
    }
    if (!options.loss.empty()) shape.loss = read_loss(options.loss);
    shape.seed = options.seed;
    std::vector<std::vector<int>> cores;
    if (options.cores_per_host == "own") {
        cores = divide_processors(options.hosts);
    } else if (options.cores_per_host != "all") {
        for (const std::string& entry : split(options.cores_per_host, ','))
            cores.push_back(named("--cores-per-host", [&] { return read_cores(entry); }));
    }
    const std::string network = named("--addresses", [&] { return read_addresses(options.addresses); });
    shape.head = {"head", network + ".254", {}, 1};
    for (int number = 1; number <= options.hosts; ++number) {
        ClusterHost host{fmt::format("node{}", number), fmt::format("{}.{}", network, number), {}, 0};
        if (!cores.empty()) host.cores = cores[static_cast<std::size_t>(number - 1) % cores.size()];
        shape.hosts.push_back(host);
    }
    return shape;
}

void write_cluster_file(const std::string& name, std::string_view content, mode_t mode) {
    const std::string path = fmt::format("{}/{}", cluster_directory, name);
    write_file(path, content, "a file of the cluster");
    if (chmod(path.c_str(), mode) != 0) throw_system(path);
}

void write_running_shape(const ClusterShape& shape) {
    nlohmann::json json = {
        {"schema", json_schema}, {"rate", shape.rate}, {"burst", shape.burst}, {"mtu", shape.mtu}};
    if (shape.impaired()) {
        json["delay"] = static_cast<double>(shape.delay) * 1e-9;
        json["loss"] = shape.loss;
        json["by"] = shape.netem ? "netem" : "relay";
        if (!shape.netem) json["seed"] = shape.seed;
    }
    json["head"] = shape.head;
    json["hosts"] = shape.hosts;
    write_cluster_file(shape_file, json.dump(1) + "\n");
}

std::vector<ClusterHost> read_running_hosts() {
    const std::string path = fmt::format("{}/{}", cluster_directory, shape_file);
    struct stat status {};
    // /dev/shm is open to all: what another user has put there is no cluster.
    if (stat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) {
        throw Error(ErrorCode::unsupported,
                    "no virtual hosts found: this command works only inside `lapwing cluster`");
    }
    std::ifstream file(path);
    try {
        const nlohmann::json json = nlohmann::json::parse(file);
        std::vector<ClusterHost> hosts = json.at("hosts");
        hosts.push_back(json.at("head"));
        return hosts;
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::parse, fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace lapwing::tool
