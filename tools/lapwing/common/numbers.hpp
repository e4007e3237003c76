// Numbers and times in options and in files. Both functions throw Error (invalid_argument) that begins with
// `option`: for text that is no number, has other text behind it, is not finite, or is out of range.
#pragma once

#include <string_view>

namespace lapwing::tool {

// `number` may be a part of the option's value `written`.
double read_number(std::string_view option, std::string_view written, std::string_view number, double min,
                   double max);
inline double read_number(std::string_view option, std::string_view written, double min, double max) {
    return read_number(option, written, written, min, max);
}
// "250us"; seconds.
double read_time(std::string_view option, std::string_view written);

}  // namespace lapwing::tool
