// What ranks tell each other of their memory before the first write, by ordinary messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "links/deferred_work.hpp"
#include "links/link.hpp"

namespace lapwing::triggered {

// A process, as peers reach it. Part of a message, as it stands in memory.
struct Contact {
    static constexpr std::size_t longest = 256;
    std::uint64_t bytes = 0;
    std::byte address[longest] = {};

    static Contact of(const DeferredWork& network);
    // Throws Error (link).
    std::uint64_t reach(DeferredWork& network) const;
};

// Memory of the sender's, for writes of the receiver's. Part of a message, too.
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

    void send(std::int32_t peer, std::uint32_t channel, std::vector<std::byte> bytes);
    void receive(std::int32_t peer, std::uint32_t channel, std::size_t bytes);
    using Take = std::function<void(std::int32_t peer, const std::vector<std::byte>& bytes)>;
    // Moves them; `take` gets what has come. Throws Error (link).
    void progress(const Take& take);
    // Before the end, when the link may have lost what messages begin with.
    void tell_no_more() { unsent_.clear(); }
    bool all_told() const { return unsent_.empty() && under_way_.empty(); }

  private:
    struct Message {
        std::int32_t peer;
        std::uint32_t channel;
        bool receives;
        std::vector<std::byte> bytes;
        Link::Transfer transfer;
    };
    Link& messages_;
    std::vector<std::unique_ptr<Message>> unsent_;  // and not yet received
    std::vector<std::unique_ptr<Message>> under_way_;
};

}  // namespace lapwing::triggered
