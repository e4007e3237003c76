#include "base/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/messages.hpp"
#include "base/values.hpp"

namespace lapwing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes = 1 << 20;

// The N of /dev/fd/N, whose file may have any name, or none.
std::optional<int> descriptor_of(const fs::path& path) {
    if (path.parent_path() != "/proc/self/fd" && path.parent_path() != "/dev/fd") return std::nullopt;
    const auto number = parse_number(path.filename().string());
    return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

fs::path behind_links(fs::path path) {
    std::error_code none;
    for (int links = 0; links < 40 && !descriptor_of(path) && fs::is_symlink(path, none); ++links)
        path = path.parent_path() / fs::read_symlink(path, none);
    return path;
}

// A pipe without a reader would be opened only when one comes.
int open_pipe(const char* path) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(write_patience);
    while (true) {
        const int opened = ::open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (opened >= 0 || errno != ENXIO || std::chrono::steady_clock::now() > end) return opened;
        ::poll(nullptr, 0, 10);
    }
}

// The file that has the name when it is locked, so that two processes do not write into one. A process that
// was killed may have left it.
int open_locked(const char* path) {
    while (true) {
        const int opened = ::open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (opened < 0) return opened;
        while (::flock(opened, LOCK_EX) != 0 && errno == EINTR)
            continue;  // else the file system has no locks
        struct stat locked {};
        struct stat named {};
        ::fstat(opened, &locked);
        if (::stat(path, &named) == 0 && locked.st_ino == named.st_ino) return opened;
        ::close(opened);
    }
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string what)
    : path_(std::move(path)), what_(std::move(what)), target_(behind_links(path_)) {
    struct stat found {};
    const bool exists = ::stat(target_.c_str(), &found) == 0;
    special_ = descriptor_of(target_).has_value() || (exists && !S_ISREG(found.st_mode));
    if (exists && S_ISFIFO(found.st_mode)) return;  // a reader may come later
    open();
    // A device or a disk that is full takes no byte.
    const bool tries = special_ ? S_ISCHR(found.st_mode) && ::isatty(descriptor_) == 0 : !beside_.empty();
    const int error = tries ? write_all(descriptor_, "\n") : 0;
    discard();
    if (error != 0) refuse(error);
}

OutputFile::~OutputFile() {
    discard();
}

void OutputFile::open() {
    struct stat found {};
    const bool exists = ::stat(target_.c_str(), &found) == 0;
    if (const auto number = descriptor_of(target_)) {
        descriptor_ = ::fcntl(*number, F_DUPFD_CLOEXEC, 3);
    } else if (exists && S_ISFIFO(found.st_mode)) {
        descriptor_ = open_pipe(target_.c_str());
    } else if (exists) {  // one that may not be written may not be replaced either
        descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (!special_ && (!exists || descriptor_ >= 0)) open_beside(exists ? &found : nullptr);
    if (descriptor_ < 0) refuse(errno);
}

void OutputFile::open_beside(const struct stat* found) {
    const std::string beside = target_ + ".lapwing-new";
    const int opened = open_locked(beside.c_str());
    if (opened < 0 && found != nullptr && (errno == EACCES || errno == EPERM || errno == EROFS)) return;
    if (found != nullptr) ::close(descriptor_);
    descriptor_ = opened;
    if (opened < 0) return;
    beside_ = beside;
    if (found == nullptr) return;
    static_cast<void>(!::fchown(opened, found->st_uid, found->st_gid));
    ::fchmod(opened, found->st_mode & 07777);
}

void OutputFile::write(std::string_view text) {
    unwritten_ += text;
    if (unwritten_.size() >= buffer_bytes) flush();
}

void OutputFile::flush() {
    if (descriptor_ < 0) {
        open();
        if (!special_ && ::ftruncate(descriptor_, 0) != 0) refuse(errno);
    }
    if (const int error = write_all(descriptor_, std::exchange(unwritten_, {})); error != 0) refuse(error);
}

void OutputFile::close() {
    flush();
    int error = 0;
    if (!beside_.empty()) {
        if (::fsync(descriptor_) != 0 && errno != EINVAL) {
            error = errno;
        } else if (::rename(beside_.c_str(), target_.c_str()) == 0) {
            beside_.clear();
        } else {  // the file is a mount point
            std::error_code failed;
            fs::copy_file(beside_, target_, fs::copy_options::overwrite_existing, failed);
            error = failed.value();
        }
    }
    if (::close(std::exchange(descriptor_, -1)) != 0 && error == 0) error = errno;
    discard();
    if (error != 0) refuse(error);
}

void OutputFile::discard() {
    if (!beside_.empty()) ::unlink(std::exchange(beside_, {}).c_str());
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void OutputFile::refuse(int error) {
    throw Error(ErrorCode::system, "{} cannot be written to {}: {}", what_, printable(path_),
                error == ENXIO || error == ETIMEDOUT ? "no program reads this pipe" : std::strerror(error));
}

void write_file(const std::string& path, std::string_view text, const std::string& what) {
    OutputFile file(path, what);
    file.write(text);
    file.close();
}

}  // namespace lapwing
