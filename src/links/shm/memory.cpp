#include "links/shm/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lapwing::shm {
namespace {

[[noreturn]] void refuse(const char* what, const char* advice = "") {
    throw Error(ErrorCode::system, "{}: {}{}", what, std::strerror(errno), advice);
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
        throw Error(ErrorCode::system,
                    "`ulimit -f` limits files to {} bytes, but the shared memory of a rank is a file "
                    "of {} bytes",
                    limit.rlim_cur, bytes);
    }
    Memory memory;
    memory.descriptor_ = Descriptor(::memfd_create("lapwing", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.descriptor_) refuse("memfd_create");
    if (::ftruncate(memory.descriptor(), static_cast<off_t>(bytes)) != 0)
        refuse("ftruncate of shared memory");
    // No process can truncate it while others use it.
    if (::fcntl(memory.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        refuse("sealing of shared memory");
    if (::pwrite(memory.descriptor(), proof.data(), proof.size(), 0) != static_cast<ssize_t>(proof.size()))
        refuse("writing to shared memory");
    return memory;
}

Memory Memory::open(pid_t process, int descriptor, const Proof& proof) {
    const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
    Memory memory;
    memory.descriptor_ = Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!memory.descriptor_) {
        refuse("opening the shared memory of another rank by /proc",
               errno == ENOENT
                   ? ": the processes of this host cannot see each other (are they in separate containers?)"
               : errno == EACCES ? why_refused()
                                 : "");
    }
    Proof found{};
    if (::pread(memory.descriptor(), found.data(), found.size(), 0) != static_cast<ssize_t>(found.size()) ||
        found != proof) {
        throw Error(
            ErrorCode::system,
            "the processes of this host cannot see each other in /proc (are they in separate containers?)");
    }
    return memory;
}

std::byte* Memory::map(std::uint64_t bytes) {
    void* const address =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor(), 0);
    if (address == MAP_FAILED) refuse("mapping shared memory", errno == ENOMEM ? " (`ulimit -v`?)" : "");
    mapped_ = {static_cast<std::byte*>(address), Unmap{bytes}};
    return mapped_.get();
}

}  // namespace lapwing::shm
