// One number of an element of a reduction, as a type that has the values of all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "task/elements.hpp"
#include "task/task.hpp"

// The type that converts to and from Number: half precision does so from float only.
template <typename Number>
using Converted = std::conditional_t<std::is_integral_v<Number> || sizeof(Number) != 2, Number, float>;

// Returns the number's bytes without padding.
template <typename Number>
std::size_t write_number(std::byte* at, double value) {
    if (std::is_integral_v<Number>) value = std::isfinite(value) ? std::clamp(value, 0.0, 11.0) : 5;
    const auto number = static_cast<Number>(static_cast<Converted<Number>>(value));
    std::memcpy(at, &number, sizeof number);
    const bool extended = std::is_same_v<Number, long double> && std::numeric_limits<Number>::digits == 64;
    return extended ? 10 : sizeof number;
}
template <typename Number>
long double read_number(const std::byte* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return static_cast<Converted<Number>>(number);
}
#define EACH_NUMBER(each)                                                                                 \
    each(int8, std::int8_t) each(int16, std::int16_t) each(int32, std::int32_t) each(int64, std::int64_t) \
        each(uint8, std::uint8_t) each(uint16, std::uint16_t) each(uint32, std::uint32_t)                 \
            each(uint64, std::uint64_t) each(float16, lapwing::Float16) each(bfloat16, lapwing::BFloat16) \
                each(float32, float) each(float64, double) each(long_double, long double)
inline std::size_t write_number(lapwing::Type type, std::byte* at, double value) {
#define WRITE(name, number) \
    if (type == lapwing::Type::name) return write_number<number>(at, value);
    EACH_NUMBER(WRITE)
    return 0;
}
inline long double read_number(lapwing::Type type, const std::byte* at) {
#define READ(name, number) \
    if (type == lapwing::Type::name) return read_number<number>(at);
    EACH_NUMBER(READ)
    return 0;
}
#undef EACH_NUMBER
#undef WRITE
#undef READ
