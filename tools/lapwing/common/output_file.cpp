#include "lapwing/common/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lapwing::tool {

namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& what, int error) {
    throw Error(ErrorCode::system,
                fmt::format("{} cannot be written to {}: {}", what, path, std::strerror(error)));
}

}  // namespace

void require_writable(const std::string& file, const std::string& what) {
    struct stat found {};
    const bool exists = ::stat(file.c_str(), &found) == 0;
    // Opening a pipe would wait for its reader.
    if (exists && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode))) return;
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (opened < 0) refuse_file(file, what, errno);
    // A device, or a full disk, shows only by taking something whether it does.
    int error = 0;
    if (exists && S_ISCHR(found.st_mode)) {
        if (::isatty(opened) == 0 && ::write(opened, "\n", 1) != 1) error = errno;
    } else if (!exists || S_ISREG(found.st_mode)) {
        if (::pwrite(opened, "\n", 1, found.st_size) != 1) error = errno;
        if (::ftruncate(opened, found.st_size) != 0 && error == 0) error = errno;
    }
    ::close(opened);
    if (error != 0 && !exists) ::unlink(file.c_str());
    if (error != 0) refuse_file(file, what, error);
}

OutputFile::OutputFile(std::string path, std::string what) : path_(std::move(path)), what_(std::move(what)) {
    require_writable(path_, what_);
    file_ = std::fopen(path_.c_str(), "we");
    if (file_ == nullptr) refuse(errno);
}

OutputFile::~OutputFile() {
    if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) refuse(errno);
}

void OutputFile::close() {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse(errno);
}

void OutputFile::refuse(int error) {
    refuse_file(path_, what_, error);
}

void write_file(const std::string& path, std::string_view text, const std::string& what) {
    OutputFile file(path, what);
    file.write(text);
    file.close();
}

}  // namespace lapwing::tool
