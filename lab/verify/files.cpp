#include "verify/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"
#include "chains/check.hpp"
#include "lapwing/common/command.hpp"
#include "task/lowering.hpp"
#include "task/scaling.hpp"
#include "task/text.hpp"

namespace lapwing::tool {
namespace {

constexpr std::size_t max_bytes_of_lists = std::size_t{512} << 20;

struct Verified {
    std::string file;
    std::string error;  // why it could not be read, as FILE:LINE:COLUMN: message
    ListSet set;
    std::vector<std::string> violations;
    std::vector<int> lines;  // of the violations
    std::string unaligned;   // the first task that limits lists in chunks to sizes that divide evenly
    std::uint64_t longest_queue = 0;
    bool chains = false;        // whether the chain forms are proved
    std::string why_no_chains;  // when the lists have none

    int status() const {
        return !error.empty() ? not_started : !violations.empty() ? violations_found : success;
    }
};

std::string read(const std::string& file) {
    // A directory opens as a file but cannot be read.
    if (std::filesystem::is_directory(file)) throw Error(ErrorCode::system, file + ": is a directory");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw_system(file);
    // Devices and pipes have no size that could be asked for.
    std::string text;
    std::vector<char> block(std::size_t{1} << 20);
    while (stream.read(block.data(), static_cast<std::streamsize>(block.size())) || stream.gcount() > 0) {
        const std::string_view more(block.data(), static_cast<std::size_t>(stream.gcount()));
        if (more.find('\0') != std::string_view::npos)
            throw Error(ErrorCode::parse, fmt::format("{}: is not a list file: it is not text", file));
        if (text.size() + more.size() > max_bytes_of_lists) {
            throw Error(ErrorCode::unsupported, fmt::format("{}: is longer than the limit of {} MiB", file,
                                                            max_bytes_of_lists >> 20));
        }
        text += more;
    }
    return text;
}

// Why the lists have no chain form that can be proven; empty when they have.
std::string no_chains(std::span<const List> lists) {
    std::uint64_t left = max_bytes_of_chains;
    for (const List& list : lists) {
        for (const Task& task : list.tasks) {
            const std::uint64_t bytes = sends(task.kind) ? task.source.length : 0;
            if (bytes > left) return fmt::format("more than {} bytes are sent in all", max_bytes_of_chains);
            left -= bytes;
        }
        const Verdict verdict = has_chains(list);
        if (!verdict) return fmt::format("rank {}: {}", list.rank, verdict.reason());
    }
    return {};
}

Verified verify(const std::string& file, ParsedSet parsed, const CheckLimits& limits, bool chains) {
    Verified result;
    result.file = file;
    result.set = std::move(parsed.set);
    const auto keep = [&](const auto& violation) {
        result.violations.push_back(violation.what(result.set.lists));
        result.lines.push_back(line_of(parsed, violation.rank, violation.task));
    };
    for (const Violation& violation : check(result.set.problem, result.set.lists, limits)) keep(violation);
    if (result.violations.empty() && chains) {
        result.why_no_chains = no_chains(result.set.lists);
        if (result.why_no_chains.empty()) {
            if (const auto fault = check_chains_on_hosts(result.set.lists)) keep(*fault);
            result.chains = result.violations.empty();
        }
    }
    if (result.violations.empty()) {
        for (const List& list : result.set.lists)
            result.longest_queue = std::max(result.longest_queue, depth(lower(list)));
        if (result.set.chunks) result.unaligned = first_unaligned(result.set);
    }
    return result;
}

// Each set of the file; one result with an error if it cannot be read.
std::vector<Verified> verify(const std::string& file, const CheckLimits& limits, bool chains) {
    std::vector<Verified> results;
    Verified unread;
    unread.file = file;
    try {
        for (ParsedSet& parsed : parse_sets(read(file)))
            results.push_back(verify(file, std::move(parsed), limits, chains));
        return results;
    } catch (const ParseError& error) {
        unread.error = fmt::format("{}:{}", file, error.what());
    } catch (const Error& error) {
        unread.error = error.what();
    }
    return {unread};
}

void print_result(const Verified& result) {
    if (!result.error.empty()) {
        print_message("{}\n", result.error);
        return;
    }
    ListSet unnamed;
    unnamed.problem = result.set.problem;
    unnamed.chunks = result.set.chunks;
    const std::string what =
        print_problem(unnamed) +
        (result.set.algorithm.empty() ? "" : fmt::format(" by {}", result.set.algorithm));
    if (result.violations.empty()) {
        const std::string chains =
            result.chains ? result.set.lists.size() == 1 ? " and its chain form" : " and their chain forms"
            : !result.why_no_chains.empty() ? fmt::format(" (no chain form proved: {})", result.why_no_chains)
                                            : "";
        fmt::print("{}: proved {}{}: {}; longest queue {}\n", result.file,
                   counted(result.set.lists.size(), "list"), chains, what, result.longest_queue);
        if (!result.unaligned.empty()) {
            fmt::print(
                "  only for blocks that divide evenly into {} chunks: {} is between chunks at different "
                "positions\n",
                result.set.problem.bytes, result.unaligned);
        }
        return;
    }
    fmt::print("{}: {}: {}\n", result.file, counted(result.violations.size(), "violation"), what);
    for (std::size_t i = 0; i < result.violations.size(); ++i) {
        fmt::print("  line {}: {}{}\n", result.lines[i], result.violations[i],
                   result.set.chunks ? " (offsets and lengths in chunks)" : "");
    }
}

}  // namespace

int verify_files(const std::vector<std::string>& files, const CheckLimits& limits, bool chains) {
    int status = success;
    for (const std::string& file : files) {
        for (const Verified& result : verify(file, limits, chains)) {
            status = std::max(status, result.status());
            print_result(result);
        }
    }
    return status;
}

}  // namespace lapwing::tool
