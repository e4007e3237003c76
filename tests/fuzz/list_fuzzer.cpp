// Any bytes as a list file: they are refused with a place, or printed and parsed back to the same lists.
// Lists that the checker proves have a chain form that its model proves, or are said to have none.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "task/chains.hpp"
#include "task/checker.hpp"
#include "task/lowering.hpp"
#include "task/sample.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

namespace {

void prove_chains(const lapwing::ListSet& set) {
    using namespace lapwing;
    constexpr int max_ranks = 16;
    constexpr std::size_t max_tasks = 256;
    std::size_t tasks = 0;
    for (const List& list : set.lists) tasks += list.tasks.size();
    if (set.problem.ranks > max_ranks || tasks > max_tasks) return;
    try {
        validate(set.problem);
    } catch (const Error&) {
        return;
    }
    if (!check(set.problem, set.lists).empty()) return;
    for (const List& list : set.lists) {
        for (const Task& task : list.tasks) {
            // The model moves bytes: what no machine holds is not for it.
            if (task.source.length > (1U << 20) || task.target.length > (1U << 20)) return;
        }
        if (!has_chains(list)) return;
    }
    for (const std::uint64_t eager : {0, 8, 1024}) {
        for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
            if (!check_chains(set.lists, {.eager_bytes = eager}, 8, hosts).empty()) std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    ListSet set;
    try {
        set = parse(text);
    } catch (const ParseError& error) {
        if (error.line() < 1 || error.column() < 1) std::abort();
        return 0;
    }
    if (set.lists.size() != static_cast<std::size_t>(set.problem.ranks)) std::abort();
    const std::string printed = print(set);
    if (parse(printed) != set) std::abort();
    if (print(parse(printed)) != printed) std::abort();
    // What parses can be lowered, also where the checker would refuse it.
    for (const List& list : set.lists) {
        if (depth(lower(list)) > list.tasks.size()) std::abort();
    }
    prove_chains(set);
    return 0;
}
