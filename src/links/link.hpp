// Messages between the ranks of a group.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

// Between two ranks, messages on one channel arrive in the order in which they were sent; channels are
// independent of each other. Every collective in flight on a group has a channel of its own. Collectives that
// are started once take the channels below first_persistent_channel in turn. A persistent list has one
// channel from first_persistent_channel on, for all its starts, because ranks may start persistent lists in
// different orders.
constexpr std::uint32_t first_persistent_channel = std::uint32_t{1} << 31;

class Link {
  public:
    // One send or receive. The caller owns it; the transfer and its bytes must stay valid until test() has
    // returned true.
    struct Transfer {
        std::uintptr_t handle = 0;
        bool active = false;
        bool intra_node = false;  // RoutedLink, of two links: the intra-node link has the transfer
    };

    virtual ~Link() = default;

    // Whether several threads may use the link at once.
    virtual bool any_thread() const { return false; }

    // Neither waits for the peer. Both throw Error (link) if the peer is lost.
    virtual void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) = 0;
    virtual void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) = 0;

    // Whether a send of so many bytes takes the caller's time, to copy them or to ask the peer. If there is a
    // progress thread, the start of a list leaves such a send, and flush(), to that thread.
    virtual bool sends_slowly([[maybe_unused]] int peer, [[maybe_unused]] std::uint64_t bytes) const {
        return false;
    }

    // Advances the transfer. Returns true if the transfer is complete, which makes it inactive, or if it was
    // inactive. Throws Error (link, truncated).
    virtual bool test(Transfer& transfer) = 0;

    // Advances what needs this side's processor, as a test of an incomplete transfer does. For callers who
    // wait for something else. Throws Error (link).
    virtual void progress() {}

    // A descriptor that is readable when a test may advance; for poll() only. -1: the link has none.
    virtual int poll_descriptor() { return -1; }
    // Must be called after sends and tests: sends messages that the link has held back to send several at
    // once, and wakes peers that sleep. Cheap if there are neither.
    virtual void flush() {}
};

}  // namespace lapwing
