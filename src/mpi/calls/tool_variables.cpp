#include "mpi/calls/tool_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/settings.hpp"
#include "mpi/job/runtime.hpp"
#include "mpi/native/entry.hpp"

namespace lapwing::tool_variables {
namespace {

struct Quantity {
    const char* name;
    const char* meaning;
    bool timer;
    std::uint64_t (*value)(const CollectiveCount&);
};

constexpr Quantity quantities[] = {
    {"calls", "calls that Lapwing ran as task lists", false,
     [](const CollectiveCount& count) { return count.taken; }},
    {"calls_left_to_mpi", "calls that Lapwing left to the MPI", false,
     [](const CollectiveCount& count) {
         std::uint64_t sum = 0;
         for (const std::uint64_t calls : count.fell_back) sum += calls;
         return sum;
     }},
    {"bytes_sent", "bytes that the lists sent to other ranks", false,
     [](const CollectiveCount& count) { return count.bytes_sent; }},
    {"wake_ups", "wake-ups of progress threads for the lists", false,
     [](const CollectiveCount& count) { return count.wake_ups; }},
    {"start_time", "seconds in calls that start lists", true,
     [](const CollectiveCount& count) { return count.start_time; }},
    {"wait_time", "seconds in calls that wait for lists, or test them", true,
     [](const CollectiveCount& count) { return count.wait_time; }},
    {"hidden_time", "seconds in which lists were in flight and the program was elsewhere", true,
     [](const CollectiveCount& count) { return count.hidden_time; }},
};
constexpr int all_quantities = static_cast<int>(std::size(quantities));
constexpr int all_groups = static_cast<int>(reported_collectives) + 1;  // the last one: all collectives

}  // namespace

int performance_variables() {
    return all_quantities * all_groups;
}

Performance performance(int index) {
    const Quantity& quantity = quantities[index % all_quantities];
    const auto group = static_cast<std::size_t>(index / all_quantities);
    if (group == reported_collectives)
        return {fmt::format("lapwing_{}", quantity.name), quantity.meaning, quantity.timer};
    const auto collective = static_cast<Collective>(group);
    return {fmt::format("lapwing_{}_{}", name(collective), quantity.name),
            fmt::format("{}: {}", mpi_name(collective), quantity.meaning), quantity.timer};
}

std::uint64_t value_of(int index) {
    const Quantity& quantity = quantities[index % all_quantities];
    const auto group = static_cast<std::size_t>(index / all_quantities);
    const Entry entry;
    if (group < reported_collectives) return quantity.value(runtime.report.collectives[group]);
    std::uint64_t sum = 0;
    for (const CollectiveCount& count : runtime.report.collectives) sum += quantity.value(count);
    return sum;
}

int control_variables() {
    return static_cast<int>(setting_rows().size());
}

Control control(int index) {
    const SettingRow& row = setting_rows()[static_cast<std::size_t>(index)];
    const char* const value = std::getenv(row.variable);
    return {row.variable, row.meaning, value != nullptr ? value : row.usual};
}

void copy(const std::string& text, char* buffer, int* length) {
    if (length == nullptr) return;
    const int whole = static_cast<int>(text.size()) + 1;
    if (buffer == nullptr || *length <= 0) {
        *length = whole;
        return;
    }
    const int copied = std::min(whole, *length) - 1;
    std::memcpy(buffer, text.data(), static_cast<std::size_t>(copied));
    buffer[copied] = '\0';
    *length = copied + 1;
}

}  // namespace lapwing::tool_variables
