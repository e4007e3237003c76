#include "base/text_file.hpp"

#include <fstream>

#include "base/error.hpp"

namespace lapwing {
namespace {

constexpr std::streamoff max_bytes_of_file = std::streamoff{16} << 20;

}  // namespace

std::string read_text_file(const std::string& path, const char* what) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw Error(ErrorCode::system, "the {} '{}' cannot be read", what, path);
    const std::streamoff size = file.tellg();
    if (size < 0 || size > max_bytes_of_file)
        throw Error(ErrorCode::system, "'{}' is not a {}: not a file, or larger than 16 MiB", path, what);
    file.seekg(0);
    std::string text(static_cast<std::size_t>(size), '\0');
    if (!file.read(text.data(), size))
        throw Error(ErrorCode::system, "the {} '{}' cannot be read", what, path);
    return text;
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// FNV-1a.
std::uint64_t fingerprint_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

}  // namespace lapwing
