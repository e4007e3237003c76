// Records as CBOR: how ranks send them, and how a rank reads what another one has sent.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::watch {

inline std::vector<std::byte> to_cbor(const nlohmann::json& json) {
    const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(json);
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    return {first, first + bytes.size()};
}

// Whether the bytes have only what to_cbor() makes of records: no floating-point numbers, whose conversion to
// an integer may be undefined, no indefinite lengths, and at most 16 open arrays and maps. The parser calls
// itself for each of these, so a peer could exhaust the stack. Truncated bytes are left to the parser.
bool is_record(std::span<const std::byte> bytes);

// Reads one record by `read(json)`. Throws Error (link) if the bytes are not a record. `what`: for the
// message.
template <typename Read>
auto from_cbor(std::span<const std::byte> bytes, std::string_view what, Read read) {
    try {
        if (!is_record(bytes))
            throw Error(ErrorCode::link, fmt::format("a rank has sent an invalid {}", what));
        // As char: for other types of bytes libc++ has no std::char_traits, which nlohmann-json 3.11 needs.
        const auto* const first = reinterpret_cast<const char*>(bytes.data());
        return read(nlohmann::json::from_cbor(first, first + bytes.size()));
    } catch (const nlohmann::json::exception& error) {
        throw Error(ErrorCode::link, fmt::format("a rank has sent an invalid {}: {}", what, error.what()));
    }
}

}  // namespace lapwing::watch
