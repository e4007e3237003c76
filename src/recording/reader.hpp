// Reads the bytes of one thread's files (stream.hpp).
#pragma once

#include <string_view>

#include "recording/recording.hpp"

namespace lapwing::recording {

// `calls` and `tail` are the contents of the thread's files; `tail` is empty if there is none. Blocks that
// are not whole, and all behind them, are left out. Throws Error (parse) if `calls` is not such a file, or if
// a whole block does not have the form of codec.hpp.
void read_thread(std::string_view calls, std::string_view tail, Thread& thread);

}  // namespace lapwing::recording
