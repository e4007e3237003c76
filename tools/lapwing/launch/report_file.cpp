#include "lapwing/launch/report_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lapwing::tool {
namespace {

bool same_time(const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
    if (stat(path_.c_str(), &before_) != 0) {
        before_ = {};
        return;
    }
    // Opening a pipe would wait for its reader.
    if (!S_ISREG(before_.st_mode) && !S_ISCHR(before_.st_mode)) return;
    const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    // A device shows only by taking something whether it does, and keeps no trace of a new line.
    const bool good =
        file >= 0 && (!S_ISCHR(before_.st_mode) || isatty(file) != 0 || write(file, "\n", 1) == 1);
    const int error = errno;
    if (file >= 0) close(file);
    if (!good) {
        throw Error(ErrorCode::system,
                    fmt::format("the report cannot be written to {}: {}", path_, std::strerror(error)));
    }
}

bool ReportFile::left_empty() const {
    struct stat after {};
    if (stat(path_.c_str(), &after) != 0 || !S_ISREG(after.st_mode) || after.st_size > 0) return false;
    return after.st_ino != before_.st_ino || !same_time(after.st_mtim, before_.st_mtim) ||
           !same_time(after.st_ctim, before_.st_ctim);
}

}  // namespace lapwing::tool
