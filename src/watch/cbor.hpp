// Reads what another rank has sent.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lapwing::watch {

// Ranks send no floating-point numbers, and the conversion of a large one to an integer is undefined.
inline bool has_float(const nlohmann::json& json) {
    return json.is_number_float() ||
           (json.is_structured() && std::any_of(json.begin(), json.end(), has_float));
}

// Throws Error (link), or nlohmann::json::exception, if the bytes are not CBOR without floating-point
// numbers.
inline nlohmann::json from_cbor(std::span<const std::byte> bytes) {
    // As char: for other types of bytes libc++ has no std::char_traits, which nlohmann-json 3.11 needs.
    const auto* const first = reinterpret_cast<const char*>(bytes.data());
    nlohmann::json json = nlohmann::json::from_cbor(first, first + bytes.size());
    if (has_float(json)) throw Error(ErrorCode::link, "a rank has sent a floating-point number in a record");
    return json;
}

}  // namespace lapwing::watch
