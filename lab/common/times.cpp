#include "common/times.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/values.hpp"
#include "simulate/parameters.hpp"

namespace lapwing::tool {

double read_time(std::string_view option, std::string_view written) {
    struct Unit {
        const char* name;
        double seconds;
    };
    for (const Unit unit : {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}}) {
        if (!written.ends_with(unit.name)) continue;
        const std::string_view number =
            written.substr(0, written.size() - std::string_view(unit.name).size());
        return real_in(fmt::format("{} {}: the time", option, written), number, 0,
                       simulate::max_seconds / unit.seconds) *
               unit.seconds;
    }
    throw_invalid(
        fmt::format("{}: '{}' is not a time; write it like 100ns, 250us or 1.5ms", option, written));
}

}  // namespace lapwing::tool
