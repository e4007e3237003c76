// What goes wrong in Lapwing, as one exception type: the core neither prints nor ends the process.
#pragma once

#include <stdexcept>
#include <string>

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

class Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ErrorCode code() const noexcept { return code_; }

  private:
    ErrorCode code_;
};

}  // namespace lapwing
