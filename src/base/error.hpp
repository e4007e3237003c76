// What goes wrong in Lapwing, as one exception type: the core neither prints nor ends the process.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace lapwing {

enum class ErrorCode {
    invalid_argument,  // the caller asked for something that does not exist or is out of range
    parse,             // a text (list file, variable, option) is not of its form; the message says where
    unsupported,       // valid, but no engine or algorithm here can do it
    link,              // bytes could not be moved: a peer is gone, a connection broke
    truncated,         // a message is longer than the span that was offered for it
    system,            // the operating system refused: memory, descriptors, a program that is not there
    internal,          // a fault of Lapwing itself: a list that its own checker rejects
};

// With control bytes, and what is not UTF-8, written as \x1b: a file that is quoted in a message must not
// control the terminal. The text stays on one line.
std::string printable(std::string_view text);

class Error : public std::runtime_error {
  public:
    // The message becomes printable.
    Error(ErrorCode code, const std::string& message);
    ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

}  // namespace lapwing
