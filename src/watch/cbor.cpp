#include "watch/cbor.hpp"

#include <array>

namespace lapwing::watch {

bool is_record(std::span<const std::byte> bytes) {
    std::array<std::uint64_t, 16> open{};  // items that are missing in each open array or map
    std::size_t depth = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto head = std::to_integer<unsigned>(bytes[at++]);
        const unsigned kind = head >> 5;
        std::uint64_t value = head & 31;
        if (kind == 7) {
            if (value < 20 || value > 22) return false;  // neither a Boolean nor null
        } else if (value >= 24) {
            if (value > 27) return false;
            const std::size_t length = std::size_t{1} << (value - 24);
            if (length > bytes.size() - at) return true;
            value = 0;
            for (std::size_t i = 0; i < length; ++i)
                value = value << 8 | std::to_integer<unsigned>(bytes[at++]);
        }
        switch (kind) {
            case 2:  // bytes
            case 3:  // text
                if (value > bytes.size() - at) return true;
                at += value;
                break;
            case 4:  // an array
            case 5:  // a map
                if (value == 0) break;
                if (depth == open.size()) return false;
                // A count that the bytes cannot have is left to the parser.
                open[depth++] = kind == 4 || value > bytes.size() ? value : 2 * value;
                continue;
            case 6:  // a tag
                return false;
            default:
                break;
        }
        while (depth > 0 && --open[depth - 1] == 0) --depth;
        if (depth == 0) return true;
    }
    return true;
}

}  // namespace lapwing::watch
