// Any bytes as a list file: they are refused with a place, or printed and parsed back to the same lists.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "task/lowering.hpp"
#include "task/text.hpp"

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
    for (const List& list : set.lists)
        if (depth(lower(list)) > list.tasks.size()) std::abort();
    return 0;
}
