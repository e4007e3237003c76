#include "lapwing/launch/job_engine.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "engines/catalogue.hpp"

namespace lapwing::tool {

std::string engine_of_job(const std::vector<std::string>& engines) {
    std::string named;
    bool has_host = false;
    bool has_auto = false;
    for (const std::string& name : engines) {
        has_auto = has_auto || name == "auto";
        if (name == "mpi" || name == "auto") continue;
        has_host = true;
        const Engine& engine = find_engine(name);
        if (!engine.only_by_name() && *engine.network() == '\0') continue;
        if (!named.empty() && named != name) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("a job has the {} engine or the {} engine, not both", named, name));
        }
        named = name;
    }
    if (!named.empty()) return named;
    return has_host && !has_auto ? "host" : "auto";
}

}  // namespace lapwing::tool
