// Messages to people. A message that cannot be written changes nothing: not the exit status, and no result.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace lapwing {

// Writes all bytes. Waits at most write_patience for a reader, and survives one that has gone. Returns 0 or
// the error.
int write_all(int descriptor, std::string_view bytes) noexcept;
inline constexpr int write_patience = 3'000;  // milliseconds

namespace detail {
bool vprint(int descriptor, fmt::string_view format, fmt::format_args values) noexcept;
}

// Formats and writes a message to standard error. Returns whether it was written.
template <typename... Values>
bool print_message(fmt::format_string<Values...> format, Values&&... values) noexcept {
    return detail::vprint(2, format, fmt::make_format_args(values...));
}

// The same on standard output, for a command whose result is somewhere else. A result is printed by
// fmt::print(), whose errors end the tool.
template <typename... Values>
bool print_note(fmt::format_string<Values...> format, Values&&... values) noexcept {
    return detail::vprint(1, format, fmt::make_format_args(values...));
}

// Opens those of the descriptors 0 to 2 that are closed, so that no file that is opened later has one of
// these numbers and gets messages. Reading and writing them still fails.
void reserve_standard_descriptors() noexcept;

}  // namespace lapwing
