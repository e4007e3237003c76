// Numbers and times in the options of `lapwing predict`, and in descriptions of pipelines.
#pragma once

#include <string>
#include <string_view>

namespace lapwing::tool {

// Throw Error (invalid_argument) that begins with `option`.
double read_number(const char* option, std::string_view written, std::string_view number, double least,
                   double most);
// "250us"; seconds.
double read_time(const char* option, std::string_view written);

}  // namespace lapwing::tool
