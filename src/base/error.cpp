#include "base/error.hpp"

#include <fmt/format.h>

#include <cstring>

namespace lapwing {
namespace {

// Returns the bytes of the first UTF-8 character, or 0 if it is invalid or controls terminals (C0, C1,
// delete).
std::size_t printable_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const std::size_t bytes = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (bytes == 0 || first >= 0xf5 || text.size() < bytes) return 0;
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return 0;
    }
    return first == 0xc2 && byte(1) < 0xa0 ? 0 : bytes;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        std::size_t bytes = printable_bytes(text);
        if (bytes > 0) {
            result += text.substr(0, bytes);
        } else {
            bytes = 1;
            const char c = text.front();
            if (c == '\n') {
                result += "\\n";
            } else if (c == '\t') {
                result += "\\t";
            } else {
                result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            }
        }
        text.remove_prefix(bytes);
    }
    return result;
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(printable(message)), code_(code) {}

void throw_invalid(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
}

void throw_system(const std::string& what, int error) {
    const bool no_descriptor = error == EMFILE || error == ENFILE;
    throw Error(ErrorCode::system, "{}: {}{}", what, std::strerror(error),
                no_descriptor ? "; raise `ulimit -n`" : "");
}

}  // namespace lapwing
