// How bytes reach a peer of the group.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lapwing {

// Between two ranks, messages on one channel arrive in the order in which they were sent; channels are
// independent of each other. Every collective in flight on a group has a channel of its own: those that are
// started once take the channels below first_kept_channel in turn; a list that is started again and again
// keeps one from there on for all its starts, because their order among others may differ between ranks.
constexpr std::uint32_t first_kept_channel = std::uint32_t{1} << 31;

class Link {
  public:
    // One send or receive on its way. Belongs to the caller, who keeps it and its bytes in place until
    // test() has said true.
    struct Transfer {
        std::uintptr_t handle = 0;
        bool active = false;
        bool intra_node = false;  // RoutedLink's: which of its links has it
    };

    virtual ~Link() = default;
    virtual const char* name() const = 0;

    // Whether any thread may use it, several at once. The others belong to one thread at a time.
    virtual bool any_thread() const { return false; }

    // False while the link is still being made. Nothing may be sent or received before it says true.
    virtual bool ready() = 0;

    // Neither waits for the peer. Both throw Error (link) when the peer cannot be reached.
    virtual void send(int peer, const std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) = 0;
    virtual void recv(int peer, std::byte* data, std::uint64_t bytes, std::uint32_t channel,
                      Transfer& transfer) = 0;

    // Whether a send of so many bytes takes the caller's time, to copy them or to ask the peer. A start
    // leaves it to the progress thread, and what has gathered for flush() with it.
    virtual bool sends_slowly(int peer, std::uint64_t bytes) const {
        static_cast<void>(peer);
        static_cast<void>(bytes);
        return false;
    }

    // True when the transfer is complete (or none is active); it is empty then. Throws Error (link).
    virtual bool test(Transfer& transfer) = 0;

    // Moves what is on its way and needs this side's processor, as a test that finds its transfer incomplete
    // does; for callers who wait for something else. Throws Error (link).
    virtual void progress() {}

    // A descriptor that is readable when a test may go further than the last one did; for poll() only. -1:
    // there is none.
    virtual int poll_descriptor() { return -1; }
    // After some sends and tests: tells ranks that sleep that there is something for them. Cheap where nobody
    // does.
    virtual void flush() {}
};

}  // namespace lapwing
