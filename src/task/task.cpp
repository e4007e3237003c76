#include "task/task.hpp"

#include <cstddef>

#include "task/elements.hpp"

namespace lapwing {
namespace {

struct KindRow {
    const char* name;
    unsigned fields;
};
constexpr KindRow kinds[] = {
#define LAPWING_KIND(name, fields) {#name, fields},
#include "task/kinds.def"
};

struct OperatorRow {
    const char* name;
    unsigned groups;
};
constexpr OperatorRow operators[] = {
#define LAPWING_OPERATOR(name, groups, expression) {#name, groups},
#include "task/operators.def"
    {"user", OPAQUE},
};

struct TypeRow {
    const char* name;
    std::uint64_t size;
    unsigned group;
};
constexpr TypeRow types[] = {
#define LAPWING_TYPE(name, type, group) {#name, sizeof(type), group},
#include "task/types.def"
    {"opaque", 0, OPAQUE},
};

constexpr const char* spaces[] = {"in", "out", "scratch"};

template <typename Enum, typename Rows>
std::optional<Enum> find(const Rows& table, std::string_view wanted) {
    for (std::size_t i = 0; i < std::size(table); ++i) {
        if (table[i].name == wanted) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace

unsigned fields(Kind kind) {
    return kinds[static_cast<std::size_t>(kind)].fields;
}
const char* name(Kind kind) {
    return kinds[static_cast<std::size_t>(kind)].name;
}
std::optional<Kind> find_kind(std::string_view wanted) {
    return find<Kind>(kinds, wanted);
}

const char* name(Space space) {
    return spaces[static_cast<std::size_t>(space)];
}
const char* name(Operator op) {
    return operators[static_cast<std::size_t>(op)].name;
}
const char* name(Type type) {
    return types[static_cast<std::size_t>(type)].name;
}
std::optional<Space> find_space(std::string_view wanted) {
    for (std::size_t i = 0; i < std::size(spaces); ++i) {
        if (spaces[i] == wanted) return static_cast<Space>(i);
    }
    return std::nullopt;
}
std::optional<Operator> find_operator(std::string_view wanted) {
    return find<Operator>(operators, wanted);
}
std::optional<Type> find_type(std::string_view wanted) {
    return find<Type>(types, wanted);
}
bool applies(Operator op, Type type) {
    return (operators[static_cast<std::size_t>(op)].groups & types[static_cast<std::size_t>(type)].group) !=
           0;
}
std::uint64_t size_in_bytes(Type type) {
    return types[static_cast<std::size_t>(type)].size;
}

}  // namespace lapwing
