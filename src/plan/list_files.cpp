#include "plan/list_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "collectives/catalogue.hpp"

namespace lapwing {
namespace {

// Algorithms are known by address for as long as the process runs, as those of the catalogue.
struct Read {
    std::string path;
    std::uint64_t fingerprint;
    std::vector<std::unique_ptr<const UserLists>> lists;
};

std::vector<std::unique_ptr<const UserLists>> parse_file(const std::string& path, const std::string& text,
                                                         std::uint64_t fingerprint) {
    std::map<Collective, std::vector<ParsedSet>> by_collective;
    try {
        for (ParsedSet& parsed : parse_sets(text)) {
            const Collective collective = parsed.set.problem.collective;
            by_collective[collective].push_back(std::move(parsed));
        }
    } catch (const ParseError& error) {
        throw Error(ErrorCode::parse, "{}:{}", path, error.what());
    }
    std::vector<std::unique_ptr<const UserLists>> lists;
    for (auto& [collective, sets] : by_collective)
        lists.push_back(std::make_unique<const UserLists>(path, fingerprint, std::move(sets)));
    return lists;
}

}  // namespace

std::string_view list_file_of(std::string_view algorithm) {
    constexpr std::string_view prefix = "file:";
    return algorithm.starts_with(prefix) ? algorithm.substr(prefix.size()) : std::string_view{};
}

std::vector<const UserLists*> read_list_file(const std::string& path) {
    static std::mutex mutex;
    static std::vector<std::unique_ptr<const Read>> all;
    const std::string text = read_text_file(path, "list file");
    const std::uint64_t fingerprint = fingerprint_of(text);
    const std::lock_guard lock(mutex);
    auto found = std::ranges::find_if(
        all, [&](const auto& one) { return one->path == path && one->fingerprint == fingerprint; });
    if (found == all.end()) {
        all.push_back(
            std::make_unique<const Read>(Read{path, fingerprint, parse_file(path, text, fingerprint)}));
        found = std::prev(all.end());
    }
    std::vector<const UserLists*> lists;
    for (const auto& one : (*found)->lists) lists.push_back(one.get());
    return lists;
}

Choice read_choice(Collective collective, std::string_view algorithm) {
    const std::string_view path = list_file_of(algorithm);
    if (path.empty()) return parse_choice(collective, algorithm);
    if (has_parts(collective)) {
        throw_invalid("list files support only collectives with blocks of one length, not {}",
                      name(collective));
    }
    std::string others;
    for (const UserLists* lists : read_list_file(std::string(path))) {
        if (lists->algorithm().collective == collective) return {&lists->algorithm(), {}};
        others += fmt::format("{}{}", others.empty() ? "" : ", ", name(lists->algorithm().collective));
    }
    throw_invalid("{} has no lists of {}; it has those of {}", path, name(collective), others);
}

}  // namespace lapwing
