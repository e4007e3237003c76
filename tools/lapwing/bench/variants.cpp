#include "lapwing/bench/variants.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "lapwing/common/values.hpp"

namespace lapwing::tool {
namespace {

using Json = nlohmann::json;

extern "C" char** environ;

// Named by how bytes travel inside a host, and what moves them while the program computes: its own MPI calls;
// a progress thread; Linux. Four of the host engine are those of Kaiser et al. 2009, section 2.2; the fifth
// is its default.
const char* const default_variants[] = {
    "mpi:mpi:",
    "processor copy, caller:host:LAPWING_TRANSFER=processor",
    "kernel copy, caller:host:LAPWING_TRANSFER=kernel",
    "either copy, caller:host:LAPWING_TRANSFER=auto",
    "processor copy, progress thread:host:LAPWING_TRANSFER=processor,LAPWING_PROGRESS_THREAD=any",
    "kernel copy, progress thread:host:LAPWING_TRANSFER=kernel,LAPWING_PROGRESS_THREAD=any",
    "sockets, kernel:kernel:",
};

MethodVariant read_variant(const std::string& written) {
    const std::size_t first = written.find(':');
    const std::size_t second = first == std::string::npos ? first : written.find(':', first + 1);
    if (second == std::string::npos || first == 0) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--variant {}: write NAME:ENGINE:VARIABLES, such as "
                                "fast:host:LAPWING_TRANSFER=kernel,LAPWING_PROGRESS_THREAD=any",
                                written));
    }
    const std::vector<std::string> engines = engine_names();
    MethodVariant variant;
    variant.name = written.substr(0, first);
    variant.engine = engines[pick("engine", written.substr(first + 1, second - first - 1), engines)];
    if (second + 1 == written.size()) return variant;
    variant.variables = read_list("--variant", written.substr(second + 1), [&](const std::string& variable) {
        if (variable.starts_with("LAPWING_") && variable.find('=') != std::string::npos) return variable;
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--variant {}: '{}' is not a variable of Lapwing's with a value",
                                variant.name, variable));
    });
    return variant;
}

// Whether two rows stand side by side: they differ by the variant at most.
bool same_point(const Json& one, const Json& other) {
    return one.at("collective") == other.at("collective") && one.at("bytes") == other.at("bytes");
}

}  // namespace

std::vector<MethodVariant> method_variants(const std::vector<std::string>& written) {
    const std::vector<std::string> all =
        written.empty() ? std::vector<std::string>(std::begin(default_variants), std::end(default_variants))
                        : written;
    std::vector<MethodVariant> variants;
    for (const std::string& one : all) variants.push_back(read_variant(one));
    for (std::size_t i = 1; i < variants.size(); ++i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (variants[before].name != variants[i].name) continue;
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--variant: two have the name '{}'", variants[i].name));
        }
    }
    return variants;
}

Settings settings_with(const std::vector<std::string>& variables) {
    const auto is_set_by = [](const char* existing, const std::string& variable) {
        return std::string(existing).starts_with(variable.substr(0, variable.find('=') + 1));
    };
    std::vector<std::string> kept = variables;
    for (char** existing = environ; *existing != nullptr; ++existing) {
        const bool replaced = std::any_of(variables.begin(), variables.end(),
                                          [&](const std::string& one) { return is_set_by(*existing, one); });
        if (!replaced) kept.emplace_back(*existing);
    }
    std::vector<char*> environment;
    for (std::string& variable : kept) environment.push_back(variable.data());
    environment.push_back(nullptr);
    return read_settings(environment.data());
}

void join(Json& joined, Json result, const std::string& variant) {
    Json rows = std::move(result["rows"]);
    if (joined.is_null()) {
        result["rows"] = Json::array();
        joined = std::move(result);
    }
    for (Json& row : rows) {
        row["variant"] = variant;
        Json& known = joined["rows"];
        const auto found = std::find_if(known.begin(), known.end(), [&](const Json& other) {
            return same_point(row, other) && other.at("variant") == variant;
        });
        if (found == known.end()) {
            auto place = known.end();
            while (place != known.begin() && !same_point(row, *(place - 1))) --place;
            known.insert(place == known.begin() ? known.end() : place, std::move(row));
            continue;
        }
        Json& rounds = found->at("engines").at(0).at("rounds");
        for (Json& sample : row.at("engines").at(0).at("rounds")) rounds.push_back(std::move(sample));
    }
}

}  // namespace lapwing::tool
