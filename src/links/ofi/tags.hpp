// The tags of messages: which group and which channel they belong to. The sender is not in them, since
// receives name it.
#pragma once

#include <cstdint>
#include <set>

namespace lapwing::ofi {

// From the top: as much of the job's key as there is room for; the place in the job of the rank that numbered
// the group, in as many bits as the job needs; that rank's count of its groups; the channel, 16 bits.
// Slingshot has 48 bits in all, other providers up to 64.
class Tags {
  public:
    Tags() = default;
    // Throws Error (unsupported) when the provider's tags are too short for so many ranks.
    Tags(std::uint32_t bits, int ranks, std::uint64_t key);

    // The tag of a group, with room for the channel. `group`: the leader's place plus one above 32 bits, its
    // count below. Throws Error (unsupported) when a group that still lives has the same tag: counts come
    // around.
    std::uint64_t take(std::uint64_t group);
    void release(std::uint64_t tag);

    // Channels come around, too: below and above first_kept_channel there are 32768 each.
    static std::uint64_t of_channel(std::uint32_t channel);

  private:
    static constexpr unsigned channel_bits = 16;
    static constexpr unsigned max_count_bits = 16;
    static constexpr unsigned min_count_bits = 8;
    unsigned leader_bits_ = 0;
    unsigned count_bits_ = 0;
    std::uint64_t key_ = 0;
    std::set<std::uint64_t> live_;
};

}  // namespace lapwing::ofi
