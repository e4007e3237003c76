#include "links/ofi/tags.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "links/link.hpp"

namespace lapwing::ofi {

Tags::Tags(std::uint32_t bits, int ranks, std::uint64_t key)
    : leader_bits_(static_cast<unsigned>(std::bit_width(static_cast<unsigned>(ranks)))) {
    if (bits < channel_bits + leader_bits_ + min_count_bits)
        throw Error(ErrorCode::unsupported, "libfabric's tags have {} bits here, too few for {} ranks", bits,
                    ranks);
    count_bits_ = std::min(bits - channel_bits - leader_bits_, max_count_bits);
    const unsigned used = channel_bits + leader_bits_ + count_bits_;
    if (bits > used) key_ = key >> (64 - (bits - used)) << used;
}

std::uint64_t Tags::take(std::uint64_t group) {
    const std::uint64_t leader = group >> 32;
    if (leader >> leader_bits_ != 0)
        throw Error(ErrorCode::internal, "group {:#x} was not numbered by a rank of the job", group);
    const std::uint64_t count = group & ((std::uint64_t{1} << count_bits_) - 1);
    const std::uint64_t tag = key_ | (leader << count_bits_ | count) << channel_bits;
    if (!live_.insert(tag).second)
        throw Error(ErrorCode::unsupported,
                    "libfabric's tags distinguish only {} communicators with the same rank 0, and a "
                    "communicator that is not yet freed uses this number; free communicators earlier",
                    std::uint64_t{1} << count_bits_);
    return tag;
}

void Tags::release(std::uint64_t tag) {
    live_.erase(tag);
}

std::uint64_t Tags::of_channel(std::uint32_t channel) {
    constexpr std::uint32_t each = std::uint32_t{1} << (channel_bits - 1);
    return channel < first_persistent_channel ? channel % each
                                              : each + (channel - first_persistent_channel) % each;
}

}  // namespace lapwing::ofi
