#include "lapwing/cluster/shape.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/values.hpp"
#include "lapwing/cluster/processors.hpp"
#include "lapwing/common/output_file.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

constexpr int max_hosts = 250;
constexpr const char* shape_file = "cluster.json";

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

// "3" or "0-1", of the cores that this process may use.
std::vector<int> read_cores(const std::string& entry) {
    const std::optional<std::vector<int>> cores = parse_processors(entry);
    if (!cores || cores->back() >= CPU_SETSIZE) {
        throw_invalid(fmt::format(
            "--cores-per-host must be own, all or a list of cores such as 0,1 or 0-1,2-3, not '{}'", entry));
    }
    cpu_set_t usable;
    CPU_ZERO(&usable);
    sched_getaffinity(0, sizeof usable, &usable);
    for (const int core : *cores) {
        if (!CPU_ISSET(core, &usable)) {
            throw_invalid(
                fmt::format("--cores-per-host names core {}, which this process may not use; `taskset -cp "
                            "$$` lists the allowed cores",
                            core));
        }
    }
    return *cores;
}

// "10.77.0" of "10.77.0.0/24"
std::string read_network(const std::string& written) {
    const std::vector<std::string> halves = split(written, '/');
    const std::vector<std::string> numbers = split(halves.front(), '.');
    const bool sound = halves.size() == 2 && halves[1] == "24" && numbers.size() == 4 && numbers[3] == "0" &&
                       std::all_of(numbers.begin(), numbers.end(), [](const std::string& number) {
                           return parse_number(number).value_or(256) < 256;
                       });
    if (!sound) throw_invalid(fmt::format("--network {}: must be of the form 10.77.0.0/24", written));
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

nlohmann::json as_json(const ClusterHost& host) {
    return {{"name", host.name}, {"address", host.address}, {"cores", host.cores}, {"holder", host.holder}};
}

ClusterHost host_of(const nlohmann::json& json) {
    return {json.at("name"), json.at("address"), json.at("cores"), json.at("holder")};
}

// Takes a number such as 0.5 from the beginning of the text; the rest stays.
std::optional<double> read_leading_number(std::string_view& text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    text.remove_prefix(digits);
    return number;
}

}  // namespace

double read_rate(std::string_view written) {
    struct Unit {
        const char* name;
        double bits;
    };
    static constexpr std::array units = {
        Unit{"bit", 1}, Unit{"kbit", 1e3}, Unit{"mbit", 1e6}, Unit{"gbit", 1e9},
        Unit{"bps", 8}, Unit{"kbps", 8e3}, Unit{"mbps", 8e6}, Unit{"gbps", 8e9},
    };
    const std::size_t digits = std::min(written.find_first_not_of("0123456789."), written.size());
    std::string unit(written.substr(digits));
    std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
    double number = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + digits, number);
    const auto* found =
        std::find_if(units.begin(), units.end(), [&](const Unit& known) { return unit == known.name; });
    if (error != std::errc() || end != written.data() + digits || found == units.end()) {
        throw_invalid(fmt::format(
            "'{}' is not a rate; write 100mbit or 1gbit (bits), 10mbps (bytes), or none", written));
    }
    const double bits = number * found->bits;
    if (bits < 1e5 || bits > 1e12)
        throw_invalid(fmt::format("rate '{}': must be 100kbit to 1000gbit", written));
    return bits;
}

std::uint64_t read_delay(std::string_view written) {
    struct Unit {
        std::string_view name;
        double nanoseconds;
    };
    static constexpr std::array units = {Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
    const std::optional<double> number = read_leading_number(written);
    const auto* found =
        std::find_if(units.begin(), units.end(), [&](const Unit& known) { return known.name == written; });
    if (!number || found == units.end() || *number * found->nanoseconds > 1e9)
        throw_invalid("--delay must be a time of up to 1s, such as 50us, 1.5ms or 1s");
    return static_cast<std::uint64_t>(std::llround(*number * found->nanoseconds));
}

double read_loss(std::string_view written) {
    const std::optional<double> number = read_leading_number(written);
    if (!number || written != "%" || *number > 50)
        throw_invalid("--loss must be a share of packets of up to 50%, such as 0.1%");
    return *number / 100;
}

ClusterShape read_shape(const ClusterOptions& options) {
    if (options.hosts < 1 || options.hosts > max_hosts) {
        throw_invalid(fmt::format("--hosts {}: must be 1 to {}", options.hosts, max_hosts));
    }
    if (options.mtu < 576 || options.mtu > 65535) {
        throw_invalid(fmt::format("--mtu {}: must be 576 to 65535", options.mtu));
    }
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
    if (!options.delay.empty()) shape.delay = read_delay(options.delay);
    if (!options.loss.empty()) shape.loss = read_loss(options.loss);
    shape.seed = options.seed;
    std::vector<std::vector<int>> cores;
    if (options.cores_per_host == "own") {
        cores = divide_processors(options.hosts);
    } else if (options.cores_per_host != "all") {
        for (const std::string& entry : split(options.cores_per_host, ','))
            cores.push_back(named("--cores-per-host", [&] { return read_cores(entry); }));
    }
    const std::string network = named("--network", [&] { return read_network(options.network); });
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
    nlohmann::json json = {{"rate", shape.rate}, {"burst", shape.burst}, {"mtu", shape.mtu}};
    if (shape.impaired()) {
        json["delay"] = static_cast<double>(shape.delay) * 1e-9;
        json["loss"] = shape.loss;
        json["by"] = shape.netem ? "netem" : "relay";
        if (!shape.netem) json["seed"] = shape.seed;
    }
    json["head"] = as_json(shape.head);
    json["hosts"] = nlohmann::json::array();
    for (const ClusterHost& host : shape.hosts) json["hosts"].push_back(as_json(host));
    write_cluster_file(shape_file, json.dump(1) + "\n");
}

ClusterShape read_running_shape() {
    const std::string path = fmt::format("{}/{}", cluster_directory, shape_file);
    struct stat status {};
    // /dev/shm is open to all: what another user has put there is no cluster.
    if (stat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) {
        throw Error(ErrorCode::unsupported,
                    "no virtual hosts found: this command works only inside "
                    "`lapwing cluster`");
    }
    std::ifstream file(path);
    try {
        const nlohmann::json json = nlohmann::json::parse(file);
        ClusterShape shape;
        shape.rate = json.at("rate");
        shape.burst = json.at("burst");
        shape.mtu = json.at("mtu");
        shape.head = host_of(json.at("head"));
        for (const nlohmann::json& host : json.at("hosts")) shape.hosts.push_back(host_of(host));
        return shape;
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::parse, fmt::format("{}: {}", path, error.what()));
    }
}

}  // namespace lapwing::tool
