#include "task/checker/chain_order.hpp"

#include <fmt/format.h>

#include <limits>

namespace lapwing::checker {

bool Order::is_late(int rank, const Move& move) const {
    switch (late) {
        case Late::nothing:
        case Late::processors:
        case Late::random:
            return false;
        case Late::receives:
            return move.kind == Step::Kind::receive;
        case Late::connection:
            return move.kind == Step::Kind::receive && move.index == which;
        case Late::rank:
            return rank == static_cast<int>(which);
        case Late::others:
            return rank != static_cast<int>(which);
    }
    return false;
}

std::string Order::describe() const {
    std::string text =
        capacity == std::numeric_limits<std::uint64_t>::max()
            ? std::string("when connections hold any number of bytes")
            : fmt::format("when connections hold {} byte{}", capacity, capacity == 1 ? "" : "s");
    switch (late) {
        case Late::nothing:
            return text;
        case Late::receives:
            return text + " and receives are late";
        case Late::connection:
            return text + " and the receives of one connection are late";
        case Late::rank:
            return text + fmt::format(" and rank {} is late", which);
        case Late::others:
            return text + fmt::format(" and rank {} is ahead", which);
        case Late::processors:
            return text + " and the processors are late";
        case Late::random:
            return text + fmt::format(" in the random order {}", which);
    }
    return text;
}

}  // namespace lapwing::checker
