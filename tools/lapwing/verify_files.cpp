#include "lapwing/verify_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "lapwing/command.hpp"
#include "lapwing/list_json.hpp"
#include "task/lowering.hpp"
#include "task/text.hpp"

namespace lapwing::tool {
namespace {

struct Verified {
    std::string file;
    std::string error;  // why it could not be read, as FILE:LINE:COLUMN: message
    ListSet set;
    std::vector<std::string> violations;
    std::uint64_t longest_queue = 0;

    int status() const {
        return !error.empty() ? wrong_usage : !violations.empty() ? violations_found : success;
    }
};

std::string read(const std::string& file) {
    // A directory opens as a file but cannot be read.
    if (std::filesystem::is_directory(file)) throw Error(ErrorCode::system, file + ": is a directory");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw Error(ErrorCode::system, fmt::format("{}: {}", file, std::strerror(errno)));
    return {std::istreambuf_iterator<char>(stream), {}};
}

Verified verify(const std::string& file, const CheckLimits& limits) {
    Verified result;
    result.file = file;
    try {
        result.set = parse(read(file));
    } catch (const ParseError& error) {
        result.error = fmt::format("{}:{}", file, error.what());
        return result;
    } catch (const Error& error) {
        result.error = error.what();
        return result;
    }
    for (const Violation& violation : check(result.set.problem, result.set.lists, limits)) {
        result.violations.push_back(violation.what(result.set.lists));
    }
    if (result.violations.empty()) {
        for (const List& list : result.set.lists) {
            result.longest_queue = std::max(result.longest_queue, depth(lower(list)));
        }
    }
    return result;
}

void print_result(const Verified& result) {
    if (!result.error.empty()) {
        fmt::print(stderr, "{}\n", result.error);
        return;
    }
    const std::string what =
        print(result.set.problem) +
        (result.set.algorithm.empty() ? "" : fmt::format(" by {}", result.set.algorithm));
    if (result.violations.empty()) {
        fmt::print("{}: proved {} lists: {}; longest queue {}\n", result.file, result.set.lists.size(), what,
                   result.longest_queue);
        return;
    }
    fmt::print("{}: {} violation{}: {}\n", result.file, result.violations.size(),
               result.violations.size() == 1 ? "" : "s", what);
    for (const std::string& violation : result.violations) fmt::print("  {}\n", violation);
}

Json as_json(const Verified& result) {
    Json json = {{"file", result.file}};
    if (!result.error.empty()) {
        json["error"] = result.error;
        return json;
    }
    json["problem"] = to_json(result.set.problem);
    json["algorithm"] = result.set.algorithm;
    json["lists"] = result.set.lists.size();
    if (result.violations.empty()) json["longest_queue"] = result.longest_queue;
    json["violations"] = result.violations;
    return json;
}

}  // namespace

int verify_files(const std::vector<std::string>& files, const CheckLimits& limits, bool json) {
    int status = success;
    Json rows = Json::array();
    for (const std::string& file : files) {
        const Verified result = verify(file, limits);
        status = std::max(status, result.status());
        if (json) {
            rows.push_back(as_json(result));
        } else {
            print_result(result);
        }
    }
    if (json) fmt::print("{}\n", Json{{"files", rows}}.dump(2, ' ', false, Json::error_handler_t::replace));
    return status;
}

}  // namespace lapwing::tool
