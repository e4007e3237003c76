// One task of a list: its kind, and spans of the three memories that a list may name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lapwing {

// The caller's send buffer (read-only), the caller's receive buffer, and the list's own memory.
enum class Space : std::uint8_t { in, out, scratch };

// A byte range of one space. Lists hold no pointers, and can therefore be cached, printed and proven.
struct Span {
    Space space = Space::scratch;
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes

    bool operator==(const Span&) const = default;
    std::uint64_t end() const { return offset + length; }
    // The part that starts `from` bytes in and is `bytes` long.
    Span part(std::uint64_t from, std::uint64_t bytes) const { return {space, offset + from, bytes}; }
    bool overlaps(const Span& other) const {
        return space == other.space && offset < other.end() && other.offset < end();
    }
};

enum class Kind : std::uint8_t {
#define LAPWING_KIND(name, fields) name,
#include "task/kinds.def"
};

enum class Operator : std::uint8_t {
#define LAPWING_OPERATOR(name, groups, expression) name,
#include "task/operators.def"
    user,  // the caller's own function
};

enum class Type : std::uint8_t {
#define LAPWING_TYPE(name, type, group) name,
#include "task/types.def"
    opaque,  // elements of the caller's own function; the problem gives their length
};

struct Task {
    Kind kind = Kind::wait;
    Operator op = Operator::sum;  // reduce only
    Type type = Type::uint8;      // reduce only
    std::int32_t peer = -1;       // communication and enable tasks only
    std::uint64_t count = 0;      // wait and enable tasks only
    Span target;                  // recv, copy, reduce
    Span source;                  // send, copy, reduce

    bool operator==(const Task&) const = default;
};

// The fields of a kind, as bits.
enum Field : unsigned { PEER = 1, OP = 2, TARGET = 4, SOURCE = 8, COUNT = 16 };
unsigned fields(Kind kind);
const char* name(Kind kind);
std::optional<Kind> find_kind(std::string_view name);

const char* name(Space space);
const char* name(Operator op);
const char* name(Type type);
std::optional<Space> find_space(std::string_view name);
std::optional<Operator> find_operator(std::string_view name);
std::optional<Type> find_type(std::string_view name);
// Returns whether the operator is for elements of this type. `user` is for opaque elements only.
bool applies(Operator op, Type type);
std::uint64_t size_in_bytes(Type type);  // 0: opaque

// Returns whether the kind sends a message.
inline bool sends(Kind kind) {
    return kind == Kind::send;
}

}  // namespace lapwing
