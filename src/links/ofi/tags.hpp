// The tags of messages: their group and channel. Receives select the sender without a tag.
#pragma once

#include <cstdint>
#include <set>

namespace lapwing::ofi {

// From the highest bit: as many bits of the job's key as fit; the rank in the job that numbered the group, in
// as many bits as the job needs; that rank's count of its groups; the channel, 16 bits. Slingshot's tags have
// 48 bits, other providers' up to 64.
class Tags {
  public:
    Tags() = default;
    // Throws Error (unsupported) if the provider's tags are too short for so many ranks.
    Tags(std::uint32_t bits, int ranks, std::uint64_t key);

    // The tag of a group, with room for the channel. `group`: the numbering rank plus one in the upper 32
    // bits, its count in the lower. Counts wrap around: throws Error (unsupported) if another group has this
    // tag until release().
    std::uint64_t take(std::uint64_t group);
    void release(std::uint64_t tag);

    // Channels wrap around, too: below and above first_persistent_channel there are 32768 each.
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
