#include "watch/calls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/values.hpp"
#include "task/mpi_function.hpp"
#include "watch/journal.hpp"

namespace lapwing::watch {
namespace {

// The functions of MPI-4 with large counts match the ordinary ones.
std::string_view without_count_suffix(std::string_view function) {
    return function.ends_with("_c") ? function.substr(0, function.size() - 2) : function;
}

// What ranks must agree on, in the order of Difference. A rank without neighbours may pass any length.
std::array<std::uint64_t, 5> agreed(const CollectiveCall& call) {
    const Arguments& arguments = call.arguments;
    const std::hash<std::string_view> hash;
    const auto kind =
        static_cast<std::uint64_t>(arguments.collective) << 8U | static_cast<std::uint64_t>(call.form);
    return {CommunicatorRecord::mix(hash(without_count_suffix(call.function)), kind),
            static_cast<std::uint64_t>(arguments.root), hash(arguments.operation), hash(arguments.type),
            has_neighbors(arguments.collective) ? 0 : arguments.bytes};
}

}  // namespace

Difference difference(const CollectiveCall& one, const CollectiveCall& other) {
    const auto a = agreed(one);
    const auto differs = std::ranges::mismatch(a, agreed(other)).in1 - a.begin();
    return differs == 5 ? Difference::none : static_cast<Difference>(differs + 1);
}

std::uint64_t hash_of(const CollectiveCall& call) {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : agreed(call)) hash = CommunicatorRecord::mix(hash, word);
    return hash;
}

const char* name(Difference difference) {
    constexpr const char* names[] = {"nothing differs",      "the collectives differ", "the roots differ",
                                     "the operators differ", "the datatypes differ",   "the lengths differ"};
    return names[static_cast<std::size_t>(difference)];
}

std::string describe(const CollectiveCall& call) {
    const Arguments& arguments = call.arguments;
    std::vector<std::string> inside;
    if (arguments.root >= 0) inside.push_back(fmt::format("root {}", arguments.root));
    if (!arguments.type.empty()) inside.push_back(arguments.type);
    if (!arguments.operation.empty()) inside.push_back(arguments.operation);
    if (!has_parts(arguments.collective) && arguments.collective != Collective::barrier)
        inside.push_back(counted(arguments.bytes, "byte"));
    const std::string& function = call.function.empty() ? mpi_name(arguments.collective) : call.function;
    return inside.empty() ? function : fmt::format("{} ({})", function, fmt::join(inside, ", "));
}

const CurrentCall& oldest_call(const RankSnapshot& rank) {
    return rank.current.empty() ? rank.last : *std::ranges::max_element(rank.current, {}, &CurrentCall::age);
}

bool polls(const RankSnapshot& rank) {
    constexpr std::uint64_t second = 1'000'000'000;
    const CurrentCall& call = oldest_call(rank);
    return call.age < second && MpiFunction::of(call.function).polls;
}

std::string at(std::string_view where) {
    return where.empty() ? "" : fmt::format(" at {}", where);
}

std::string duration(std::uint64_t nanoseconds) {
    constexpr std::uint64_t millisecond = 1'000'000;
    constexpr std::uint64_t second = 1000 * millisecond;
    if (nanoseconds < millisecond) return "less than 1 ms";
    if (nanoseconds < second) return fmt::format("{} ms", nanoseconds / millisecond);
    const std::uint64_t seconds = nanoseconds / second;
    if (seconds < 120) return fmt::format("{} s", seconds);
    if (seconds < 7200) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string ranges(std::span<const int> ranks) {
    return print_ranges(ranks, ", ", 12);
}

std::string ranks_in_words(std::span<const int> ranks) {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranges(ranks));
}

}  // namespace lapwing::watch
