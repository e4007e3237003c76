// Any bytes as a list file: lists that the checker proves have a GOAL schedule, with an operation for each
// task but the waits, or are refused.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "simulate/goal.hpp"
#include "task/checker.hpp"
#include "task/text.hpp"
#include "task/validation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lapwing;
    ListSet set;
    try {
        set = parse({reinterpret_cast<const char*>(data), size});
        validate(set.problem);
    } catch (const Error&) {
        return 0;
    }
    std::size_t tasks = 0;
    std::ptrdiff_t operations = 0;
    for (const List& list : set.lists) {
        tasks += list.tasks.size();
        operations +=
            std::ranges::count_if(list.tasks, [](const Task& task) { return task.kind != Kind::wait; });
    }
    if (set.problem.ranks > 16 || tasks > 256 || !check(set.problem, set.lists).empty()) return 0;
    std::string text;
    try {
        text = simulate::print_goal(set.lists, {});
    } catch (const Error&) {
        return 0;
    }
    if (std::ranges::count(text, ':') != operations) std::abort();
    return 0;
}
