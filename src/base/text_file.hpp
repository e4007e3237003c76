// Small text files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing {

// Reads a file of up to 16 MiB. `what`: the kind of file for messages, such as "tuning file". Throws Error
// (system).
std::string read_text_file(const std::string& path, const char* what);

// The first line of a file, such as one of /proc or /sys; empty if it cannot be read.
std::string first_line(const std::string& path);

// A hash of the text, the same in every build.
std::uint64_t fingerprint_of(std::string_view text);

}  // namespace lapwing
