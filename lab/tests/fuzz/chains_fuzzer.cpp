// Any bytes as a list file: lists that the checker proves have a chain form that is proven as well, or are
// said to have none.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "chains/check.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    constexpr int max_ranks = 16;
    constexpr std::size_t max_tasks = 256;
    // The model moves bytes: what no machine holds is not for it.
    constexpr std::uint64_t max_bytes = 1U << 20;
    ListSet set;
    try {
        set = parse(std::string_view(reinterpret_cast<const char*>(data), size));
        validate(set.problem);
    } catch (const Error&) {
        return 0;
    }
    std::size_t tasks = 0;
    for (const List& list : set.lists) tasks += list.tasks.size();
    if (set.problem.ranks > max_ranks || tasks > max_tasks) return 0;
    if (!check(set.problem, set.lists).empty()) return 0;
    for (const List& list : set.lists) {
        for (const Task& task : list.tasks) {
            if (task.source.length > max_bytes || task.target.length > max_bytes) return 0;
        }
        if (!has_chains(list)) return 0;
    }
    for (const std::uint64_t eager : {0, 8, 1024}) {
        for (const std::vector<int>& hosts : sample_hosts(set.problem.ranks)) {
            if (check_chains(set.lists, {.eager_bytes = eager}, hosts)) std::abort();
        }
    }
    return 0;
}
