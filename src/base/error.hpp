// The exception type of Lapwing. The core neither prints nor ends the process.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace lapwing {

enum class ErrorCode {
    invalid_argument,  // a value that does not exist or is out of range
    parse,             // a malformed text (list file, variable, option); the message contains the position
    unsupported,       // valid, but no engine or algorithm can do it
    link,              // bytes could not be transferred: a peer is gone, a connection broke
    truncated,         // a message is longer than its receive
    system,            // the operating system refused: memory, descriptors, a missing program
    internal,          // a fault of Lapwing, such as a list that its checker rejects
};

// Replaces control bytes and invalid UTF-8 by \x1b and the like, so that a quoted file cannot control the
// terminal. The result is one line.
std::string printable(std::string_view text);

class Error : public std::runtime_error {
  public:
    // The message becomes printable.
    Error(ErrorCode code, const std::string& message);
    template <typename First, typename... Rest>
    Error(ErrorCode code, fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest)
        : Error(code, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)) {}
    ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

[[noreturn]] void throw_invalid(const std::string& message);
template <typename First, typename... Rest>
[[noreturn]] void throw_invalid(fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
    throw_invalid(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
// For a system call that failed: "`what`: Permission denied", and what to do if a limit is the reason.
[[noreturn]] void throw_system(const std::string& what, int error = errno);

}  // namespace lapwing
