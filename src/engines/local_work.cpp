#include "engines/local_work.hpp"

#include <cstring>
#include <type_traits>

namespace lapwing {
namespace {

template <Operator op, typename Element>
Element combine(Element first, Element second) {
    // Sums and products of integers wrap around, also those of signed ones, as the hardware's do.
    constexpr bool wraps = std::is_integral_v<Element> && (op == Operator::sum || op == Operator::product);
    using Wide = std::conditional_t<wraps, std::uint64_t, Element>;
    const Wide a = static_cast<Wide>(first);
    const Wide b = static_cast<Wide>(second);
#define LAPWING_OPERATOR(name, integers_only, expression) \
    if constexpr (op == Operator::name) return static_cast<Element>(expression);
#include "task/operators.def"
}

template <Operator op, typename Element>
void reduce_elements(std::byte* target, const std::byte* source, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += sizeof(Element)) {
        Element a;
        Element b;
        std::memcpy(&a, source + at, sizeof a);
        std::memcpy(&b, target + at, sizeof b);
        b = combine<op>(a, b);
        std::memcpy(target + at, &b, sizeof b);
    }
}

template <typename Element>
void reduce_typed(Operator op, std::byte* target, const std::byte* source, std::uint64_t bytes) {
    switch (op) {
#define LAPWING_OPERATOR(name, integers_only, expression)                    \
    case Operator::name:                                                     \
        if constexpr (!(integers_only) || std::is_integral_v<Element>) {     \
            reduce_elements<Operator::name, Element>(target, source, bytes); \
        }                                                                    \
        break;
#include "task/operators.def"
        case Operator::user:
            break;
    }
}

}  // namespace

void reduce(Operator op, Type type, std::byte* target, const std::byte* source, std::uint64_t bytes) {
    switch (type) {
#define LAPWING_TYPE(name, element)                       \
    case Type::name:                                      \
        reduce_typed<element>(op, target, source, bytes); \
        break;
#include "task/types.def"
        case Type::opaque:
            break;
    }
}

void work(const Memory& memory, std::span<const Task> tasks) {
    for (const Task& task : tasks) {
        if (task.kind == Kind::copy) {
            std::memcpy(memory.target(task.target), memory.source(task.source), task.target.length);
        } else if (task.op == Operator::user) {
            memory.buffers.reducer->reduce(memory.target(task.target), memory.source(task.source),
                                           task.target.length);
        } else {
            reduce(task.op, task.type, memory.target(task.target), memory.source(task.source),
                   task.target.length);
        }
    }
}

}  // namespace lapwing
