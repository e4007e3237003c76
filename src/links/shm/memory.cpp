#include "links/shm/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace lapwing::shm {
namespace {

[[noreturn]] void refuse(const char* what, const char* advice = "") {
    throw Error(ErrorCode::system, fmt::format("{}: {}{}", what, std::strerror(errno), advice));
}

}  // namespace

const char* why_refused() {
    // As this process is, so are the others.
    return ::prctl(PR_GET_DUMPABLE) == 1
               ? " (a container or the system forbids it)"
               : " (processes of this program are not dumpable: its file may not be read, or they have "
                 "changed their user)";
}

Memory Memory::make(std::uint64_t bytes, const Proof& proof) {
    // Exceeding this limit would end the process.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
        throw Error(
            ErrorCode::system,
            fmt::format("`ulimit -f` limits files to {} bytes, but the shared memory of a rank is a file "
                        "of {} bytes",
                        limit.rlim_cur, bytes));
    }
    Memory memory;
    memory.descriptor_ = ::memfd_create("lapwing", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory.descriptor_ < 0) refuse("memfd_create");
    if (::ftruncate(memory.descriptor_, static_cast<off_t>(bytes)) != 0) refuse("ftruncate of shared memory");
    // No process can truncate it while others use it.
    if (::fcntl(memory.descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        refuse("sealing of shared memory");
    if (::pwrite(memory.descriptor_, proof.data(), proof.size(), 0) != static_cast<ssize_t>(proof.size()))
        refuse("writing to shared memory");
    return memory;
}

Memory Memory::open(pid_t process, int descriptor, const Proof& proof) {
    const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
    Memory memory;
    memory.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (memory.descriptor_ < 0) {
        refuse("opening the shared memory of another rank by /proc",
               errno == ENOENT
                   ? ": the processes of this host cannot see each other (are they in separate containers?)"
               : errno == EACCES ? why_refused()
                                 : "");
    }
    Proof found{};
    if (::pread(memory.descriptor_, found.data(), found.size(), 0) != static_cast<ssize_t>(found.size()) ||
        found != proof) {
        throw Error(
            ErrorCode::system,
            "the processes of this host cannot see each other in /proc (are they in separate containers?)");
    }
    return memory;
}

Memory::Memory(Memory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Memory::~Memory() {
    close();
    if (address_ != nullptr) ::munmap(address_, bytes_);
}

std::byte* Memory::map(std::uint64_t bytes) {
    void* const address =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
    if (address == MAP_FAILED) refuse("mapping shared memory", errno == ENOMEM ? " (`ulimit -v`?)" : "");
    address_ = static_cast<std::byte*>(address);
    bytes_ = bytes;
    return address_;
}

void Memory::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace lapwing::shm
