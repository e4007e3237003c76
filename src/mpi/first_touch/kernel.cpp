#include "mpi/first_touch/kernel.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/clock.hpp"

namespace lapwing::first_touch {

long (*native_syscall)(long number, ...) = nullptr;

__attribute__((constructor)) void find_native_syscall() {
    native_syscall = reinterpret_cast<long (*)(long, ...)>(::dlsym(RTLD_NEXT, "syscall"));
}

namespace {

// As in Linux 6.11; headers may be older.
struct MappingQuery {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t address;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t permissions;
    std::uint64_t page_size;
    std::uint64_t offset;
    std::uint64_t inode;
    std::uint32_t major;
    std::uint32_t minor;
    std::uint32_t name_bytes;
    std::uint32_t id_bytes;
    std::uint64_t name;
    std::uint64_t id;
};
constexpr unsigned long query_mapping = _IOWR('f', 17, MappingQuery);
constexpr std::uint64_t readable = 1;
constexpr std::uint64_t writable = 2;
constexpr std::uint64_t executable = 4;
constexpr std::uint64_t shared = 8;

struct Mapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool usable = false;  // readable, writable, private
    bool stack = false;   // of the first thread
};

Refusal refused_by(const Mapping& mapping) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (!mapping.usable) return Refusal::shared;
    if (mapping.stack || (here >= mapping.begin && here < mapping.end)) return Refusal::stack;
    return Refusal::none;
}

// Returns false if the kernel cannot be asked for one mapping.
bool find_mapping(std::uintptr_t address, Mapping& mapping) {
    static const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char name[32] = "";
    MappingQuery query{};
    query.size = sizeof query;
    query.address = address;
    query.name = reinterpret_cast<std::uintptr_t>(name);
    query.name_bytes = sizeof name;
    if (native_syscall(SYS_ioctl, maps, query_mapping, &query) != 0) {
        if (errno != ENAMETOOLONG) return errno == ENOENT;  // no mapping there
        query.name = 0;
        query.name_bytes = 0;
        if (native_syscall(SYS_ioctl, maps, query_mapping, &query) != 0) return false;
    }
    mapping = {query.begin, query.end,
               (query.permissions & (readable | writable | executable | shared)) == (readable | writable),
               std::string_view(name).starts_with("[stack")};
    return true;
}

Refusal mappings_refuse(std::uintptr_t begin, std::uintptr_t end) {
    while (begin < end) {
        Mapping mapping;
        if (!find_mapping(begin, mapping)) break;
        if (const Refusal refusal = refused_by(mapping); refusal != Refusal::none) return refusal;
        begin = mapping.end;
    }
    if (begin >= end) return Refusal::none;
    // A kernel before Linux 6.11.
    std::FILE* const maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return Refusal::system;
    Refusal refusal = Refusal::shared;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        unsigned long first = 0;
        unsigned long last = 0;
        char permissions[5] = "";
        if (std::sscanf(line, "%lx-%lx %4s", &first, &last, permissions) != 3 || last <= begin) continue;
        if (first > begin) break;
        refusal = refused_by(
            {first, last, std::string_view(permissions) == "rw-p", std::strstr(line, "[stack") != nullptr});
        if (refusal != Refusal::none || last >= end) break;
        begin = last;
        refusal = Refusal::shared;
    }
    std::fclose(maps);
    return refusal;
}

// Memory may be registered for a network that reads and writes it without the processor.
bool has_rdma_device() {
    constexpr std::uint64_t interval = 100'000'000;  // nanoseconds: MPI opens devices early
    static std::uint64_t next = 0;
    static bool found = false;
    const std::uint64_t now = nanoseconds();
    if (found || now < next) return found;
    next = now + interval;
    DIR* const directory = ::opendir("/proc/self/fd");
    if (directory == nullptr) return false;
    while (const dirent* const entry = ::readdir(directory)) {
        char target[64] = "";
        const ssize_t length = ::readlinkat(::dirfd(directory), entry->d_name, target, sizeof target - 1);
        found = found ||
                (length > 0 &&
                 std::string_view(target, static_cast<std::size_t>(length)).starts_with("/dev/infiniband/"));
    }
    ::closedir(directory);
    return found;
}

}  // namespace

std::pair<std::uintptr_t, std::uintptr_t> whole_pages(const void* address, std::size_t bytes) {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t begin = (from + page - 1) / page * page;
    const std::uintptr_t end = (from + bytes) / page * page;
    return {begin, end > begin ? end : begin};
}

Refusal pages_refuse(std::uintptr_t begin, std::uintptr_t end) {
    if (begin == end) return Refusal::small;
    if (has_rdma_device()) return Refusal::registered;
    return mappings_refuse(begin, end);
}

}  // namespace lapwing::first_touch
