// Small text files that people or tools write, the same for all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lapwing {

// All of a file of up to 16 MiB. `what` it is, for messages: "tuning file". Throws Error (system).
std::string read_text_file(const std::string& path, const char* what);

// Tells texts apart; the same in every build.
std::uint64_t fingerprint_of(std::string_view text);

}  // namespace lapwing
