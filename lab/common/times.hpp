// Times in options and in files; base/values.hpp reads numbers.
#pragma once

#include <string_view>

namespace lapwing::tool {

// Reads "250us". Returns seconds. Throws Error (invalid_argument) that begins with `option`: for text that is
// not a time, or a time that is not finite or out of range.
double read_time(std::string_view option, std::string_view written);

}  // namespace lapwing::tool
