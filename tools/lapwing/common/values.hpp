// Values of options as the user writes them. Messages about invalid ones name valid ones.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "task/problem.hpp"
#include "task/sample.hpp"

namespace lapwing {
class CommandLine;
}

namespace lapwing::tool {

// The index of `written` in `valid`. Throws Error (invalid_argument): "unknown step 'bgin'; did you mean
// ...", or for an option "--level: unknown value 'quue'; ...".
std::size_t pick(std::string_view what, std::string_view written, std::span<const std::string> valid);

// Throws Error (invalid_argument) with the nearest collective, in the nearest spelling.
Collective read_collective(std::string_view written);

// Returns what `read` returns. Puts the option before the message of an Error that does not name the option.
template <class Read>
auto named(std::string_view option, Read read) {
    try {
        return read();
    } catch (const Error& error) {
        if (std::string_view(error.what()).find(option) != std::string_view::npos) throw;
        throw Error(error.code(), std::string(option) + ": " + error.what());
    }
}

// "4096", "64Ki", "1Mi", "2Gi". Throws Error (invalid_argument).
std::uint64_t read_bytes(std::string_view option, std::string_view written);

// Seconds of "100ns", "250us", "1.5ms" or "2s", up to `max`. Throws Error (invalid_argument) that begins with
// `name`.
double read_time(std::string_view name, std::string_view written, double max = 1000);

// The texts between the separators; one empty text for an empty text.
std::vector<std::string> split(std::string_view text, char separator);
// Those between blanks.
std::vector<std::string> words_of(std::string_view text);

// Reads "a,b,c" with `read`; returns each value once. Throws Error (invalid_argument) that names the option.
template <class Read>
auto read_list(const char* option, const std::string& written, Read read) {
    std::vector<std::decay_t<decltype(read(written))>> result;
    for (const std::string& word : split(written, ',')) {
        if (word.empty()) throw_invalid(std::string(option) + ": empty value in '" + written + "'");
        const auto value = named(option, [&] { return read(word); });
        if (std::find(result.begin(), result.end(), value) == result.end()) result.push_back(value);
    }
    return result;
}

// Reads "8,100", or "16:1024" for 16, 64, 256, 1024, with `read`. Throws Error (invalid_argument) that names
// the option.
std::vector<std::uint64_t> read_range(const char* option, const std::string& written,
                                      const std::function<std::uint64_t(const std::string&)>& read);

// The same for blocks of 1 byte to 1 GiB, such as "4Ki:1Mi".
std::vector<std::uint64_t> read_blocks(const std::string& written);

// "sum", "user". Throws Error (invalid_argument).
Operator read_operator(std::string_view written);

// "int32"; "opaque:24" with the bytes of one element (0 for all other types). Throws Error
// (invalid_argument).
std::pair<Type, std::uint64_t> read_type(std::string_view written);

// "even", "uneven", or the seed of random ones. Throws Error (invalid_argument).
Sizes read_sizes(std::string_view written);

// The hosts of ranks: "one" or "several" without further detail; "2x4": two hosts of four ranks each, in rank
// order; "1+3+2": hosts of one, three and two ranks; "0,1,0,1": the host of each rank.
// Throws Error (invalid_argument).
struct Hosts {
    bool several = true;
    std::shared_ptr<const Placement> placement = nullptr;
};
Hosts read_hosts(std::string_view written);

// Groups of ranks inside hosts: NUMA nodes of each host, and last-level caches of each node.
struct InnerGroups {
    int nodes = 1;
    int caches = 1;

    bool any() const { return nodes > 1 || caches > 1; }
};
void add_inner_group_options(CommandLine& app, InnerGroups& groups);
// Divides the ranks of each host, in order, as evenly as possible.
std::shared_ptr<const Placement> with_inner_groups(const Placement& hosts, const InnerGroups& groups);

// The maximum for groups whose lists are shown or proved: limited by memory.
inline constexpr int max_ranks = 1 << 20;

// The names that LAPWING_ENGINE and --engine may have.
std::vector<std::string> engine_names();

// A value that takes precedence over a variable. `option`: in place of the variable's name in messages; null
// if the tool itself set the value.
struct GivenSetting {
    const char* option;
    std::string Settings::*field;
    std::optional<std::string> value;
};
inline std::optional<std::string> if_given(const std::string& value) {
    return value.empty() ? std::nullopt : std::optional(value);
}
// Reads the settings of all commands that use settings: the environment, overridden by `given`, with absolute
// paths of the files that ranks read. Throws Error (invalid_argument; parse, system for a file) for an
// unknown variable and for an invalid value, with the name of the variable or the option.
Settings checked_settings(std::span<const GivenSetting> given = {}, const char* const* environment = environ);

// "81.0 us"
std::string print_seconds(double seconds);

}  // namespace lapwing::tool
