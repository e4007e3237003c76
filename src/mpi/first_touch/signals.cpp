#include "mpi/first_touch/signals.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>

namespace lapwing::first_touch {
namespace {

template <typename Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int native_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
    static auto* const native = next<decltype(::sigaction)>("sigaction");
    return native(number, action, before);
}

int native_sigmask(int how, const sigset_t* set, sigset_t* before) {
    static auto* const native = next<decltype(::pthread_sigmask)>("pthread_sigmask");
    return native(how, set, before);
}

std::atomic<bool> installed{false};
struct sigaction of_program {};  // once installed
constinit thread_local std::uintptr_t last_fault = 0;

bool is_write(const void* context) {
#ifdef __x86_64__
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    static_cast<void>(context);
    return false;
#endif
}

// As the kernel would have called it.
void call_program(int number, siginfo_t* info, void* context) {
    struct sigaction action = of_program;
    const bool is_default =
        (action.sa_flags & SA_SIGINFO) == 0 && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
    if (is_default) {
        // The instruction faults again, and ends the process.
        action.sa_handler = SIG_DFL;
        native_sigaction(number, &action, nullptr);
        return;
    }
    if ((action.sa_flags & SA_RESETHAND) != 0) of_program.sa_handler = SIG_DFL;
    sigset_t mask = action.sa_mask;
    if ((action.sa_flags & SA_NODEFER) == 0) ::sigaddset(&mask, number);
    native_sigmask(SIG_BLOCK, &mask, nullptr);
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

void handle(int number, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool is_fault = info->si_code == SEGV_ACCERR;
    if (is_fault && handle_fault(address, is_write(context))) {
        last_fault = 0;
    } else if (is_fault && was_guarded(address) && last_fault != address) {
        last_fault = address;  // accessible by now, or it faults again
    } else {
        errno = error;
        return call_program(number, info, context);
    }
    errno = error;
}

// What the program asks for the mask, without SIGSEGV: a fault in a thread that blocks it would end the
// process.
int set_mask(int how, const sigset_t* set, sigset_t* before) {
    if (set == nullptr || !installed.load() || how == SIG_UNBLOCK) return native_sigmask(how, set, before);
    sigset_t without = *set;
    ::sigdelset(&without, SIGSEGV);
    return native_sigmask(how, &without, before);
}

}  // namespace

void install_handler() {
    if (installed.load()) return;
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    native_sigaction(SIGSEGV, &action, &of_program);
    installed.store(true);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGSEGV);
    native_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace lapwing::first_touch

#define LAPWING_C extern "C" __attribute__((visibility("default")))

LAPWING_C int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
    using namespace lapwing::first_touch;
    if (number != SIGSEGV || !installed.load()) return native_sigaction(number, action, before);
    if (before != nullptr) *before = of_program;
    if (action != nullptr) of_program = *action;
    return 0;
}

LAPWING_C sighandler_t signal(int number, sighandler_t handler) noexcept {
    using namespace lapwing::first_touch;
    if (number != SIGSEGV || !installed.load()) {
        static auto* const native = next<decltype(::signal)>("signal");
        return native(number, handler);
    }
    const sighandler_t before = of_program.sa_handler;
    of_program = {};
    of_program.sa_handler = handler;
    of_program.sa_flags = SA_RESTART;
    return before;
}

LAPWING_C int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    return lapwing::first_touch::set_mask(how, set, before);
}

LAPWING_C int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
    const int error = lapwing::first_touch::set_mask(how, set, before);
    if (error == 0) return 0;
    errno = error;
    return -1;
}
