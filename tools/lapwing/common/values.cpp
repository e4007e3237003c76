#include "lapwing/common/values.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "base/trace.hpp"
#include "base/values.hpp"
#include "collectives/two_level.hpp"
#include "command_line/command_line.hpp"
#include "engines/catalogue.hpp"
#include "job/settings.hpp"
#include "plan/options.hpp"
#include "plan/selection.hpp"
#include "topology/host_order.hpp"

namespace lapwing::tool {
namespace {

// All of `text` as a number from 0 to `max`; false if it is none.
template <typename Number>
bool read_number(std::string_view text, Number& number,
                 std::uint64_t max = std::numeric_limits<Number>::max()) {
    const std::optional<std::uint64_t> parsed = parse_number(text);
    number = static_cast<Number>(parsed.value_or(0));
    return parsed && *parsed <= max;
}

constexpr std::uint64_t max_bytes_of_block = std::uint64_t{1} << 30U;  // MPI counts with int
constexpr std::uint64_t step_of_range = 4;

std::uint64_t read_block(const std::string& written) {
    return bytes_in("--bytes", written, 1, max_bytes_of_block);
}

}  // namespace

std::size_t pick(std::string_view what, std::string_view written, std::span<const std::string> valid) {
    for (std::size_t i = 0; i < valid.size(); ++i) {
        if (valid[i] == written) return i;
    }
    throw_invalid(fmt::format(
        "{} '{}'{}",
        what.starts_with("--") ? fmt::format("{}: unknown value", what) : fmt::format("unknown {}", what),
        written, suggestion(written, valid)));
}

Collective read_collective(std::string_view written) {
    if (const auto found = find_collective(written)) return *found;
    std::vector<std::string> names;
    std::vector<std::string> spellings;
    for (const Collective collective : all_collectives()) {
        const std::string mpi = mpi_name(collective);  // MPI_Ibcast
        names.emplace_back(name(collective));
        for (const std::string& spelling : {names.back(), mpi, mpi.substr(4), mpi.substr(5)}) {
            spellings.push_back(spelling);
        }
    }
    const std::string nearest = nearest_name(written, spellings);
    throw_invalid(fmt::format(
        "unknown collective '{}'{}", written,
        nearest.empty() ? suggestion(written, names) : fmt::format("; did you mean '{}'?", nearest)));
}

std::uint64_t read_bytes(std::string_view option, std::string_view written) {
    if (const auto bytes = parse_bytes(written)) return *bytes;
    refuse_value(option, "a number of bytes, such as 4096, 64Ki, 1Mi or 2Gi", written);
}

double read_time(std::string_view name, std::string_view written, double max) {
    struct Unit {
        std::string_view name;
        double seconds;
    };
    for (const Unit& unit : {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}}) {
        if (!written.ends_with(unit.name)) continue;
        const auto number = parse_real(written.substr(0, written.size() - unit.name.size()));
        if (number && *number >= 0 && *number * unit.seconds <= max) return *number * unit.seconds;
        break;
    }
    refuse_value(name, fmt::format("a time of up to {} s, such as 50us or 1.5ms", max), written);
}

std::vector<std::string> split(std::string_view text, char separator) {
    const std::vector<std::string_view> parts = lapwing::split(text, separator);
    return {parts.begin(), parts.end()};
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words = split(text, ' ');
    std::erase(words, "");
    return words;
}

std::vector<std::uint64_t> read_range(const char* option, const std::string& written,
                                      const std::function<std::uint64_t(const std::string&)>& read) {
    const std::size_t colon = written.find(':');
    if (colon == std::string::npos) return read_list(option, written, read);
    const std::uint64_t first = read(written.substr(0, colon));
    const std::uint64_t last = read(written.substr(colon + 1));
    if (last < first)
        throw_invalid(fmt::format("{}: '{}': the last value is smaller than the first", option, written));
    std::vector<std::uint64_t> values;
    for (std::uint64_t value = first; value <= last; value *= step_of_range) values.push_back(value);
    return values;
}

std::vector<std::uint64_t> read_blocks(const std::string& written) {
    return read_range("--bytes", written, read_block);
}

Operator read_operator(std::string_view written) {
    if (const auto found = find_operator(written)) return *found;
    static const std::vector<std::string> valid = {
#define LAPWING_OPERATOR(name, groups, expression) #name,
#include "task/operators.def"
        "user",
    };
    throw_invalid(fmt::format("unknown operator '{}'{}", written, suggestion(written, valid)));
}

std::pair<Type, std::uint64_t> read_type(std::string_view written) {
    static const std::vector<std::string> valid = {
#define LAPWING_TYPE(name, type, group) #name,
#include "task/types.def"
        "opaque",
    };
    const std::size_t colon = written.find(':');
    const auto found = find_type(written.substr(0, colon));
    if (!found)
        throw_invalid(
            fmt::format("unknown type '{}'{}", written, suggestion(written.substr(0, colon), valid)));
    std::uint64_t element = 0;
    const bool sized = colon != std::string_view::npos && read_number(written.substr(colon + 1), element);
    if ((*found == Type::opaque) != sized || (!sized && colon != std::string_view::npos)) {
        throw_invalid(fmt::format(
            "'{}' is not a type; write it like int32 or, with the bytes of an element, opaque:24", written));
    }
    return {*found, element};
}

Sizes read_sizes(std::string_view written) {
    static const std::vector<std::string> valid = {"even", "uneven"};
    Sizes sizes{.kind = Sizes::Kind::random};
    if (!read_number(written, sizes.seed))
        sizes.kind = static_cast<Sizes::Kind>(pick("sizes", written, valid));
    return sizes;
}

Hosts read_hosts(std::string_view written) {
    static const std::string words[] = {"one", "several"};
    if (written.find_first_of("0123456789") == std::string_view::npos) {
        return {pick("number of hosts", written, words) == 1, nullptr};
    }
    const auto wrong = [&]() {
        throw_invalid(
            fmt::format("'{}' does not describe hosts: write 2x4, 1+3+2 or, for "
                        "each rank, 0,1,0,1; up to {} ranks",
                        written, max_ranks));
    };
    // The numbers between x, + or commas.
    const std::size_t at = written.find_first_of("x+,");
    const char between = at == std::string_view::npos ? '+' : written[at];
    std::vector<int> numbers;
    for (const std::string& word : split(written, between)) {
        if (!read_number(word, numbers.emplace_back()) || numbers.back() > max_ranks) wrong();
    }
    std::vector<std::uint64_t> host_of;
    const auto add = [&](std::uint64_t host, int ranks) {
        if (ranks < 1 || host_of.size() + static_cast<std::size_t>(ranks) > max_ranks) wrong();
        host_of.insert(host_of.end(), static_cast<std::size_t>(ranks), host);
    };
    if (between == ',') {
        for (const int host : numbers) add(static_cast<std::uint64_t>(host), 1);
    } else if (between == '+') {
        for (std::size_t host = 0; host < numbers.size(); ++host) add(host, numbers[host]);
    } else {
        if (numbers.size() != 2 || numbers[0] < 1) wrong();
        for (int host = 0; host < numbers[0]; ++host) add(static_cast<std::uint64_t>(host), numbers[1]);
    }
    auto placement = std::make_shared<const Placement>(host_of);
    return {placement->hosts() > 1, placement};
}

void add_inner_group_options(CommandLine& app, InnerGroups& groups) {
    app.add_option("--numa", groups.nodes, "NUMA nodes of each host, among which its ranks are divided (1)")
        ->type_name("N")
        ->range(1, 4096);
    app.add_option("--caches", groups.caches, "Last-level caches of each NUMA node (1)")
        ->type_name("N")
        ->range(1, 4096);
}

std::shared_ptr<const Placement> with_inner_groups(const Placement& hosts, const InnerGroups& groups) {
    using two_level::SeatGroups;
    const auto ranks = static_cast<std::size_t>(hosts.ranks());
    std::vector<std::uint64_t> host_of(ranks);
    std::vector<std::vector<std::uint64_t>> inner(2, host_of);
    for (int rank = 0; rank < hosts.ranks(); ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        const int host = hosts.host_of(rank);
        const int seat = hosts.place_on_host(rank);
        const SeatGroups nodes(static_cast<int>(hosts.ranks_of(host).size()), groups.nodes);
        const int node = nodes.of_seat(seat);
        const SeatGroups caches(nodes.size(node), groups.caches);
        host_of[at] = static_cast<std::uint64_t>(host);
        inner[0][at] = static_cast<std::uint64_t>(node);
        inner[1][at] = static_cast<std::uint64_t>(caches.of_seat(seat - nodes.begin(node)));
    }
    return std::make_shared<const Placement>(host_of, hosts.order(), inner);
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names = {"auto"};
    for (const Engine* engine : engines()) names.emplace_back(engine->name());
    names.emplace_back("mpi");
    return names;
}

namespace {

// Throws Error (invalid_argument) that begins with the variable's name.
void check_values(const Settings& settings) {
    check_word("LAPWING_ENGINE", settings.engine, engine_names());
    named("LAPWING_ALGORITHM", [&] { RequestedAlgorithms::parse(settings.algorithm); });
    if (!settings.tuning.empty()) named("LAPWING_TUNING", [&] { Tuning::read(settings.tuning); });
    if (!settings.topology.empty())
        named("LAPWING_TOPOLOGY", [&] { topology::HostOrder::read(settings.topology); });
    check_word("LAPWING_BLOCKING", settings.blocking, {"off", "on"});
    check_word("LAPWING_MESSAGES", settings.messages, {"auto", "on", "off"});
    parse_check(settings.check);
    check_word("LAPWING_REPORT", settings.report, {"none", "text", "json"});
    trace::parse_capacity("LAPWING_TRACE_EVENTS", settings.trace_events);
    check_settings(settings);
}

}  // namespace

Settings checked_settings(std::span<const GivenSetting> given, const char* const* environment) {
    Settings settings = read_settings(environment);
    for (const GivenSetting& one : given) {
        if (one.value) settings.*one.field = *one.value;
    }
    // Ranks may start in another directory.
    for (std::string* file : {&settings.tuning, &settings.topology}) {
        if (!file->empty()) *file = std::filesystem::absolute(*file);
    }
    try {
        check_values(settings);
    } catch (const Error& error) {
        const std::string_view message = error.what();
        for (const GivenSetting& one : given) {
#define LAPWING_SETTING(member, NAME, usual, agreement, meaning)                \
    if (one.value && one.option != nullptr && one.field == &Settings::member && \
        message.starts_with("LAPWING_" NAME) &&                                 \
        !message.substr(sizeof "LAPWING_" NAME - 1).starts_with('_'))           \
        throw Error(error.code(),                                               \
                    std::string(one.option) + std::string(message.substr(sizeof "LAPWING_" NAME - 1)));
#include "base/settings.def"
        }
        throw;
    }
    return settings;
}

std::string print_seconds(double seconds) {
    if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
    return fmt::format("{:.1f} s", seconds);
}

}  // namespace lapwing::tool
