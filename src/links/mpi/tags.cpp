#include "links/mpi/tags.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>

#include "links/link.hpp"
#include "links/mpi/mpi_error.hpp"

namespace lapwing {
namespace {

// How the bits of a tag are divided.
struct TagBits {
    int channel;
    int slot;
};

TagBits tag_bits() {
    static const TagBits bits = [] {
        int* max_tag = nullptr;
        int found = 0;
        MpiError::check(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &max_tag, &found));
        const auto tags =
            static_cast<std::uint32_t>(found ? *max_tag : 32767) + 1;  // at least those of the standard
        const int all = std::bit_width(tags) - 1;
        const int channel = std::min(15, all / 2);
        return TagBits{channel, all - channel};
    }();
    return bits;
}

}  // namespace

std::uint32_t message_slots() {
    return std::uint32_t{1} << tag_bits().slot;
}

// The upper half of the channels is for persistent ones.
int message_tag(std::uint32_t slot, std::uint32_t channel) {
    const int bits = tag_bits().channel;
    const std::uint32_t half = std::uint32_t{1} << (bits - 1);
    const std::uint32_t number = channel < first_persistent_channel
                                     ? channel % half
                                     : half + (channel - first_persistent_channel) % half;
    return static_cast<int>(slot << bits | number);
}

}  // namespace lapwing
