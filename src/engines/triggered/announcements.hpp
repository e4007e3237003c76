// Messages by which ranks announce their memory to each other before the first write, over an ordinary link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "links/deferred_work.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

// The address of a process in the network. Part of a message, byte for byte.
struct Contact {
    static constexpr std::size_t max_bytes = 256;
    std::uint64_t bytes = 0;
    std::byte address[max_bytes] = {};

    static Contact of(const DeferredWork& network);
    // Throws Error (link).
    std::uint64_t reach(DeferredWork& network) const;
};

// Memory of the sender that the receiver may write to. Part of a message, byte for byte.
struct RegionName {
    std::uint64_t key = 0;
    std::uint64_t address = 0;

    static RegionName of(const DeferredWork::Region& region) { return {region.key(), region.address()}; }
    DeferredWork::Target at(std::uint64_t peer) const { return {peer, key, address}; }
};

class Announcements {
  public:
    explicit Announcements(Link& messages) : messages_(messages) {}
    ~Announcements();
    Announcements(const Announcements&) = delete;
    Announcements& operator=(const Announcements&) = delete;

    // Sends `bytes` to the peer, and receives `expected` bytes from it.
    void exchange(std::int32_t peer, std::uint32_t channel, std::vector<std::byte> bytes,
                  std::size_t expected);
    using Take = std::function<void(std::int32_t peer, const std::vector<std::byte>& bytes)>;
    // Advances the messages, and calls `take` for each that has come. Throws Error (link).
    void progress(const Take& take);
    // Drops messages that have not begun: before the end, when the link may have lost its peers.
    void stop() { unsent_.clear(); }
    bool complete() const { return unsent_.empty() && in_flight_.empty(); }

  private:
    struct Announcement {
        std::int32_t peer;
        std::uint32_t channel;
        bool receives;
        std::vector<std::byte> bytes;
        Link::Transfer transfer = {};
    };
    using All = std::vector<std::unique_ptr<Announcement>>;

    Link& messages_;
    All unsent_;  // sends and receives that have not begun
    All in_flight_;
};

}  // namespace lapwing::triggered
