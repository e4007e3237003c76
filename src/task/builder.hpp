// Writes a list, task by task. Every algorithm builds with it.
#pragma once

#include <utility>

#include "task/list.hpp"

namespace lapwing {

inline Span in(std::uint64_t offset, std::uint64_t length) {
    return {Space::in, offset, length};
}
inline Span out(std::uint64_t offset, std::uint64_t length) {
    return {Space::out, offset, length};
}

class Builder {
  public:
    // `expected_tasks` reserves memory once; a list may grow past it.
    Builder(const Problem& problem, int rank, std::uint64_t expected_tasks = 0);

    // A fresh span of scratch, aligned to 16 bytes.
    Span scratch(std::uint64_t bytes);

    // Of zero bytes these carry a signal: matched and counted like any other.
    void send(int peer, Span source = {});
    void recv(int peer, Span target = {});
    void wait(int peer, std::uint64_t count = 1);
    // Of zero bytes these are left out, and a copy of a span to itself. A copy that continues the one just
    // before it is joined to it.
    void copy(Span target, Span source);
    // By the problem's operator; `source` stands on the left.
    void reduce(Span target, Span source);

    List finish() { return std::move(list_); }

  private:
    List list_;
    Operator op_;
    Type type_;
};

}  // namespace lapwing
