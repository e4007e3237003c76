// Functions of the C library that pass memory to the kernel, or give memory back. Each lifts the guards of
// that memory first.

// The checks of the C library's headers are definitions of some of these functions.
#undef _FORTIFY_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>

#include "mpi/first_touch/guards.hpp"
#include "mpi/first_touch/kernel.hpp"

namespace {

using lapwing::first_touch::any;
using lapwing::first_touch::lift_in;

void lift_vector(const iovec* vector, int count) {
    for (int i = 0; i < count; ++i) lift_in(vector[i].iov_base, vector[i].iov_len);
}

void lift_message(const msghdr* message) {
    if (message != nullptr) lift_vector(message->msg_iov, static_cast<int>(message->msg_iovlen));
}

void lift_messages(const mmsghdr* messages, unsigned int count) {
    for (unsigned int i = 0; i < count; ++i) lift_message(&messages[i].msg_hdr);
}

template <typename Control>
void lift_control(const Control* control) {
    if (control != nullptr) lift_in(const_cast<const void*>(control->aio_buf), control->aio_nbytes);
}

// A system call whose arguments are not known: those that may be addresses of a buffer, or of the bytes
// before its first whole page.
void lift_argument(unsigned long argument) {
    static const auto page = static_cast<unsigned long>(::sysconf(_SC_PAGESIZE));
    if (argument >= page) lift_in(reinterpret_cast<const void*>(argument), page);
}

}  // namespace

#define LAPWING_C extern "C" __attribute__((visibility("default")))
// `lifts` is done if there is any guard.
#define LAPWING_BEFORE(result, name, parameters, names, lifts)                                         \
    LAPWING_C result name parameters {                                                                 \
        static auto* const native = reinterpret_cast<result(*) parameters>(::dlsym(RTLD_NEXT, #name)); \
        if (any()) lifts;                                                                              \
        return native names;                                                                           \
    }

LAPWING_BEFORE(ssize_t, read, (int file, void* data, size_t bytes), (file, data, bytes), lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, write, (int file, const void* data, size_t bytes), (file, data, bytes),
               lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, pread, (int file, void* data, size_t bytes, off_t at), (file, data, bytes, at),
               lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, pread64, (int file, void* data, size_t bytes, off64_t at), (file, data, bytes, at),
               lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, pwrite, (int file, const void* data, size_t bytes, off_t at), (file, data, bytes, at),
               lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, pwrite64, (int file, const void* data, size_t bytes, off64_t at),
               (file, data, bytes, at), lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, readv, (int file, const iovec* vector, int count), (file, vector, count),
               lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, writev, (int file, const iovec* vector, int count), (file, vector, count),
               lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, preadv, (int file, const iovec* vector, int count, off_t at),
               (file, vector, count, at), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, preadv64, (int file, const iovec* vector, int count, off64_t at),
               (file, vector, count, at), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, pwritev, (int file, const iovec* vector, int count, off_t at),
               (file, vector, count, at), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, pwritev64, (int file, const iovec* vector, int count, off64_t at),
               (file, vector, count, at), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, send, (int file, const void* data, size_t bytes, int flags),
               (file, data, bytes, flags), lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, recv, (int file, void* data, size_t bytes, int flags), (file, data, bytes, flags),
               lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, sendto,
               (int file, const void* data, size_t bytes, int flags, const sockaddr* to, socklen_t length),
               (file, data, bytes, flags, to, length), lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, recvfrom,
               (int file, void* data, size_t bytes, int flags, sockaddr* from, socklen_t* length),
               (file, data, bytes, flags, from, length), lift_in(data, bytes))
LAPWING_BEFORE(ssize_t, sendmsg, (int file, const msghdr* message, int flags), (file, message, flags),
               lift_message(message))
LAPWING_BEFORE(ssize_t, recvmsg, (int file, msghdr* message, int flags), (file, message, flags),
               lift_message(message))
LAPWING_BEFORE(int, sendmmsg, (int file, mmsghdr* messages, unsigned int count, int flags),
               (file, messages, count, flags), lift_messages(messages, count))
LAPWING_BEFORE(int, recvmmsg, (int file, mmsghdr* messages, unsigned int count, int flags, timespec* limit),
               (file, messages, count, flags, limit), lift_messages(messages, count))
LAPWING_BEFORE(ssize_t, preadv2, (int file, const iovec* vector, int count, off_t at, int flags),
               (file, vector, count, at, flags), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, preadv64v2, (int file, const iovec* vector, int count, off64_t at, int flags),
               (file, vector, count, at, flags), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, pwritev2, (int file, const iovec* vector, int count, off_t at, int flags),
               (file, vector, count, at, flags), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, pwritev64v2, (int file, const iovec* vector, int count, off64_t at, int flags),
               (file, vector, count, at, flags), lift_vector(vector, count))
LAPWING_BEFORE(ssize_t, vmsplice, (int file, const iovec* vector, size_t count, unsigned int flags),
               (file, vector, count, flags), lift_vector(vector, static_cast<int>(count)))
LAPWING_BEFORE(ssize_t, process_vm_readv,
               (pid_t process, const iovec* local, unsigned long locals, const iovec* remote,
                unsigned long remotes, unsigned long flags),
               (process, local, locals, remote, remotes, flags), lift_vector(local, static_cast<int>(locals)))
LAPWING_BEFORE(ssize_t, process_vm_writev,
               (pid_t process, const iovec* local, unsigned long locals, const iovec* remote,
                unsigned long remotes, unsigned long flags),
               (process, local, locals, remote, remotes, flags), lift_vector(local, static_cast<int>(locals)))
LAPWING_BEFORE(ssize_t, getrandom, (void* data, size_t bytes, unsigned int flags), (data, bytes, flags),
               lift_in(data, bytes))
LAPWING_BEFORE(int, aio_read, (aiocb * control), (control), lift_control(control))
LAPWING_BEFORE(int, aio_read64, (aiocb64 * control), (control), lift_control(control))
LAPWING_BEFORE(int, aio_write, (aiocb * control), (control), lift_control(control))
LAPWING_BEFORE(int, aio_write64, (aiocb64 * control), (control), lift_control(control))
LAPWING_BEFORE(size_t, fread, (void* data, size_t bytes, size_t count, FILE* file),
               (data, bytes, count, file), lift_in(data, bytes* count))
LAPWING_BEFORE(size_t, fwrite, (const void* data, size_t bytes, size_t count, FILE* file),
               (data, bytes, count, file), lift_in(data, bytes* count))
LAPWING_BEFORE(size_t, fread_unlocked, (void* data, size_t bytes, size_t count, FILE* file),
               (data, bytes, count, file), lift_in(data, bytes* count))
LAPWING_BEFORE(size_t, fwrite_unlocked, (const void* data, size_t bytes, size_t count, FILE* file),
               (data, bytes, count, file), lift_in(data, bytes* count))
LAPWING_BEFORE(void, free, (void* data), (data),
               if (data != nullptr) lift_in(data, ::malloc_usable_size(data)))
LAPWING_BEFORE(void*, realloc, (void* data, size_t bytes), (data, bytes),
               if (data != nullptr) lift_in(data, ::malloc_usable_size(data)))
LAPWING_BEFORE(int, munmap, (void* data, size_t bytes), (data, bytes), lift_in(data, bytes))
LAPWING_BEFORE(int, mlock, (const void* data, size_t bytes), (data, bytes), lift_in(data, bytes))
LAPWING_BEFORE(void*, mmap, (void* at, size_t bytes, int protection, int flags, int file, off_t offset),
               (at, bytes, protection, flags, file, offset), if ((flags & MAP_FIXED) != 0) lift_in(at, bytes))
LAPWING_BEFORE(void*, mmap64, (void* at, size_t bytes, int protection, int flags, int file, off64_t offset),
               (at, bytes, protection, flags, file, offset), if ((flags & MAP_FIXED) != 0) lift_in(at, bytes))

LAPWING_C int mprotect(void* data, size_t bytes, int protection) {
    static auto* const native = reinterpret_cast<int (*)(void*, size_t, int)>(::dlsym(RTLD_NEXT, "mprotect"));
    if (any()) lift_in(data, bytes);
    return native(data, bytes, protection);
}

LAPWING_C void* mremap(void* data, size_t bytes, size_t new_bytes, int flags, ...) {
    static auto* const native =
        reinterpret_cast<void* (*)(void*, size_t, size_t, int, ...)>(::dlsym(RTLD_NEXT, "mremap"));
    va_list more;
    va_start(more, flags);
    void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    if (any()) lift_in(data, bytes);
    return native(data, bytes, new_bytes, flags, to);
}

LAPWING_C int ioctl(int file, unsigned long request, ...) noexcept {
    using Native = int (*)(int, unsigned long, ...);
    static auto* const native = reinterpret_cast<Native>(::dlsym(RTLD_NEXT, "ioctl"));
    va_list more;
    va_start(more, request);
    const auto argument = va_arg(more, unsigned long);
    va_end(more);
    if (any()) lift_argument(argument);
    return native(file, request, argument);
}

LAPWING_C long syscall(long number, ...) noexcept {
    unsigned long arguments[6];
    va_list more;
    va_start(more, number);
    for (unsigned long& argument : arguments) argument = va_arg(more, unsigned long);
    va_end(more);
    if (any()) {
        for (const unsigned long argument : arguments) lift_argument(argument);
    }
    if (lapwing::first_touch::native_syscall == nullptr) lapwing::first_touch::find_native_syscall();
    return lapwing::first_touch::native_syscall(number, arguments[0], arguments[1], arguments[2],
                                                arguments[3], arguments[4], arguments[5]);
}
