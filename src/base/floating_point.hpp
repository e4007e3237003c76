// The floating-point environment of a thread: rounding, treatment of subnormal numbers, traps, and flags.
#pragma once

#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstdint>
#include <cstring>

namespace lapwing {

// The default environment, until the end of the scope. What Lapwing computes for itself then neither depends
// on the program's environment, which may differ from rank to rank, nor traps, nor leaves a flag.
class DefaultFloatingPoint {
  public:
#ifdef __x86_64__
    // To store and load the whole environment takes 0.2 us, most of it for the x87 unit, which few programs
    // use and whose environment is therefore the default.
    DefaultFloatingPoint() : kept_sse_(_mm_getcsr()), x87_is_default_(x87_is_default()) {
        if (x87_is_default_) {
            _mm_setcsr(_MM_MASK_MASK);
        } else {
            ::fegetenv(&kept_);
            ::fesetenv(FE_DFL_ENV);
        }
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~DefaultFloatingPoint() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (!x87_is_default_)
            ::fesetenv(&kept_);
        else if (!x87_is_default())
            ::fesetenv(FE_DFL_ENV);
        _mm_setcsr(kept_sse_);
    }
#else
    DefaultFloatingPoint() {
        ::fegetenv(&kept_);
        ::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloatingPoint() {
        ::fesetenv(&kept_);
    }
#endif
    DefaultFloatingPoint& operator=(DefaultFloatingPoint&&) = delete;

  private:
#ifdef __x86_64__
    // Modes and flags.
    static bool x87_is_default() {
        std::uint16_t control = 0;
        std::uint16_t status = 0;
        asm volatile("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=am"(status));
        return control == 0x37f && (status & FE_ALL_EXCEPT) == 0;
    }

    const unsigned kept_sse_;
    const bool x87_is_default_;
#endif
    fenv_t kept_;
};

// What threads of Lapwing compute for the program: by the modes of the program's thread, to which they leave
// the flags and the traps.
class ProgramFloatingPoint {
  public:
    // Called first of all by each thread of Lapwing, which has the modes of the thread that made it.
    static void begin_thread() {
        ::fesetenv(FE_DFL_ENV);
        of_lapwing_ = true;
    }

    // By a thread of the program: what is computed from now on has its modes.
    void capture() {
        femode_t modes;
        ::fegetmode(&modes);
        std::uint64_t word = 0;
        std::memcpy(&word, &modes, sizeof modes);
        modes_.store(word, std::memory_order_relaxed);
    }
    // By a thread of the program: raises the flags of what was computed, or traps.
    void raise() {
        if (flags_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            raise(flags_.exchange(0, std::memory_order_relaxed));
    }
    // By any thread. A thread of the program computes as the MPI would, in its own environment. `program` may
    // be null: then every thread does so.
    template <typename Work>
    static void compute(ProgramFloatingPoint* program, Work work) {
        if (program == nullptr || !of_lapwing_) return work();
        fenv_t kept;
        const std::uint64_t word = program->modes_.load(std::memory_order_relaxed);
        femode_t modes;
        std::memcpy(&modes, &word, sizeof modes);
        ::fegetenv(&kept);
        ::fesetenv(FE_DFL_ENV);
        ::fesetmode(&modes);
        ::fedisableexcept(FE_ALL_EXCEPT);
        work();
        const int flags = ::fetestexcept(FE_ALL_EXCEPT);
        ::fesetenv(&kept);
        if (flags != 0) program->flags_.fetch_or(flags, std::memory_order_relaxed);
    }

  private:
    static void raise(int flags);

    static inline constinit thread_local bool of_lapwing_ = false;  // this thread
    static_assert(sizeof(femode_t) <= sizeof(std::uint64_t));
    std::atomic<std::uint64_t> modes_{0};  // a femode_t, whose alignment is too small for Clang's atomics
    std::atomic<int> flags_{0};
};

}  // namespace lapwing
