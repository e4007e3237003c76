// Builds a list, task by task.
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
    // Reserves memory for `expected_tasks`; the list may have more.
    Builder(const Problem& problem, int rank, std::uint64_t expected_tasks = 0);

    // Allocates a span of scratch, aligned to 16 bytes.
    Span scratch(std::uint64_t bytes);

    // A message of zero bytes is a signal, which is matched and counted as any other message.
    void send(int peer, Span source = {});
    void recv(int peer, Span target = {});
    void wait(int peer, std::uint64_t count = 1);
    // Copies and reductions of zero bytes are omitted, as are copies of a span to itself. A copy that
    // continues the previous one is merged with it.
    void copy(Span target, Span source);
    // target = source op target, by the problem's operator.
    void reduce(Span target, Span source);

    List finish() { return std::move(list_); }

  private:
    List list_;
    Operator op_;
    Type type_;
};

}  // namespace lapwing
