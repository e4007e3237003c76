#include "lapwing/predict/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "base/error.hpp"
#include "simulate/time.hpp"

namespace lapwing::tool {

double read_number(const char* option, std::string_view written, std::string_view number, double least,
                   double most) {
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc{} || end != number.data() + number.size() || !(value >= least && value <= most)) {
        throw_invalid(
            fmt::format("{}: '{}' is not of its form, or not from {} to {}", option, written, least, most));
    }
    return value;
}

double read_time(const char* option, std::string_view written) {
    struct Unit {
        const char* name;
        double seconds;
    };
    for (const Unit unit : {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}}) {
        if (!written.ends_with(unit.name)) continue;
        const std::string_view number =
            written.substr(0, written.size() - std::string_view(unit.name).size());
        return read_number(option, written, number, 0, simulate::max_seconds / unit.seconds) * unit.seconds;
    }
    throw_invalid(
        fmt::format("{}: '{}' is not a time; write it like 100ns, 250us or 1.5ms", option, written));
}

}  // namespace lapwing::tool
