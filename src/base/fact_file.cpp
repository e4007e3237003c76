#include "base/fact_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lapwing {

int FactFile::create(const std::string& path) {
    path_ = path;
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    return file_ < 0 ? errno : 0;
}

bool FactFile::add(const std::string& json) {
    const std::string line = json + "\n";
    if (bytes_ + line.size() > max_bytes) return false;
    const ssize_t written = ::write(file_, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) {
        bytes_ += line.size();
        return bytes_ < max_bytes;
    }
    error_ = written < 0 ? errno : ENOSPC;
    bytes_ = max_bytes;  // a line after half a line could not be read
    return false;
}

std::string FactFile::error() const {
    return error_ == 0 ? std::string() : fmt::format("{}: {}", path_, std::strerror(error_));
}

}  // namespace lapwing
