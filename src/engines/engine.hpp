// Who runs a list. Every engine answers this interface, in files of the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/verdict.hpp"
#include "links/link.hpp"
#include "task/list.hpp"

namespace lapwing {

// The caller's memory for one run of a list. Stays in place until the run is complete.
struct Buffers {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
};

// One run of a list, from start to completion. Belongs to its Prepared.
class Operation {
  public:
    virtual ~Operation() = default;
};

// A list made ready for one engine and one link: built once, started any number of times, also while
// earlier starts are still in flight (each on a channel of its own). Not thread-safe.
class Prepared {
  public:
    virtual ~Prepared() = default;

    // Never blocks on a peer.
    virtual Operation* start(const Buffers& buffers, std::uint32_t channel) = 0;
    // Moves the run as far as it goes now. True when it is complete; the operation is given back then and
    // must not be used again. Throws Error (link), and the operation is given back, too.
    virtual bool test(Operation* operation) = 0;
    // test() until it says true.
    virtual void wait(Operation* operation) = 0;
};

class Engine {
  public:
    virtual ~Engine() = default;
    virtual const char* name() const = 0;
    virtual const char* summary() const = 0;
    // Whether this machine lets it run at all.
    virtual Verdict available() const = 0;
    // Whether it can run this list. Said before anything starts, and equal on all ranks.
    virtual Verdict supports(const List& list) const = 0;
    // `link` outlives the result; `list` need not.
    virtual std::unique_ptr<Prepared> prepare(const List& list, Link& link) const = 0;
};

}  // namespace lapwing
