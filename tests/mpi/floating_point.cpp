// Reductions in each floating-point environment that a program may set: results, flags and traps are those of
// the additions, whichever thread does them.
//   floating_point-<mpi> ENVIRONMENT LENGTH... [watch]
// ENVIRONMENT: the one in which the program calls MPI_Init. "watch": ranks call no MPI function after the
// start until the last element has changed, so a thread of Lapwing must move data. Two ranks.
#include <fenv.h>
#include <mpi.h>

#include <atomic>
#include <complex>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <ucontext.h>
#include <xmmintrin.h>
#endif

namespace {

int rank = 0;
int faults = 0;
bool watches = false;
volatile std::sig_atomic_t trapped = 0;

// MPICH's own transports round.
#ifdef OPEN_MPI
constexpr int relevant = FE_ALL_EXCEPT;
#else
constexpr int relevant = FE_ALL_EXCEPT & ~FE_INEXACT;
#endif

template <typename Real>
Real real_part(const std::complex<Real>& number) {
    return number.real();
}
template <typename Real>
Real real_part(Real number) {
    return number;
}

// Continues without traps.
void note_trap(int, siginfo_t*, void* context) {
    trapped = 1;
#if defined(__x86_64__)
    const fpregset_t registers = static_cast<ucontext_t*>(context)->uc_mcontext.fpregs;
    registers->mxcsr |= 0x1f80U;
    registers->cwd = static_cast<unsigned short>(registers->cwd | 0x3fU);
#else
    static_cast<void>(context);
    std::_Exit(4);
#endif
}

const struct {
    const char* name;
    void (*enter)();
} environments[] = {
    {"default", [] {}},
    {"upward", [] { fesetround(FE_UPWARD); }},
    {"traps", [] { feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW); }},
#if defined(__x86_64__)
    {"flush", [] { _mm_setcsr(_mm_getcsr() | 0x8040U); }},
#endif
};

template <typename Element>
bool same(Element one, Element other) {
    return one == other || (one != one && other != other);
}

// What an environment makes of a computation.
template <typename Work>
std::pair<int, bool> in(void (*enter)(), Work work) {
    trapped = 0;
    feclearexcept(FE_ALL_EXCEPT);
    enter();
    work();
    const int flags = fetestexcept(FE_ALL_EXCEPT);
    fesetenv(FE_DFL_ENV);
    return {flags & relevant, trapped != 0};
}

// One sum in each form and environment.
template <typename Element, typename Real>
void sum(const std::string& what, MPI_Datatype type, int length, Real first, Real second) {
    const std::vector<Element> in_buffer(static_cast<std::size_t>(length), rank == 0 ? first : second);
    for (const auto& [name, enter] : environments) {
        volatile Real a = first;
        volatile Real b = second;
        volatile Real expected = 0;
        const auto [flags, traps] = in(enter, [&] { expected = a + b; });
        for (const std::string form : {"blocking", "nonblocking", "with a request of the MPI"}) {
            constexpr Real unchanged = 42;
            std::vector<Element> out(in_buffer.size(), unchanged);
            const auto [raised, has_trapped] = in(enter, [&] {
                if (form == "blocking") {
                    MPI_Allreduce(in_buffer.data(), out.data(), length, type, MPI_SUM, MPI_COMM_WORLD);
                    return;
                }
                MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
                // As bytes: a part of a long double, while it is written, may be an invalid operand.
                unsigned char before[sizeof(Element)];
                std::memcpy(before, &out.back(), sizeof before);
                MPI_Iallreduce(in_buffer.data(), out.data(), length, type, MPI_SUM, MPI_COMM_WORLD,
                               &requests[0]);
                while (watches && std::memcmp(&out.back(), &before, sizeof before) == 0)
                    std::atomic_signal_fence(std::memory_order_seq_cst);
                if (form != "nonblocking")
                    MPI_Irecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            });
            const Real result = real_part(out.back());
            // After a trap the two units of x86-64 differ in flags and result.
            if (has_trapped == traps && (traps || (raised == flags && same<Real>(result, expected))))
                continue;
            ++faults;
            std::printf("rank %d: %s of %d, %s, %s: flags %#x%s, %.21Lg, not %#x%s, %.21Lg\n", rank,
                        what.c_str(), length, name, form.c_str(), static_cast<unsigned>(raised),
                        has_trapped ? ", trapped" : "", static_cast<long double>(result),
                        static_cast<unsigned>(flags), traps ? ", trapped" : "",
                        static_cast<long double>(expected));
        }
    }
}

template <typename Element, typename Real>
void sums(const std::string& type_name, MPI_Datatype type, int length) {
    using Limits = std::numeric_limits<Real>;
    const struct {
        const char* name;
        Real first, second;
    } samples[] = {
        {"ones", 1, 1},
        {"rounding", 1, Limits::epsilon() / 8},
        {"overflow", Limits::max(), Limits::max()},
        {"infinities", Limits::infinity(), -Limits::infinity()},
        {"subnormal", Limits::denorm_min(), Limits::denorm_min()},
    };
    for (const auto& [name, first, second] : samples)
        sum<Element>(type_name + ", " + name, type, length, first, second);
}

}  // namespace

int main(int argc, char** argv) {
    struct sigaction action {};
    action.sa_sigaction = note_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGFPE, &action, nullptr);
    for (const auto& [name, enter] : environments)
        if (argc > 1 && name == std::string(argv[1])) enter();
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // The first reduction of each type may do more than the others.
    fesetenv(FE_DFL_ENV);
    watches = argc > 3 && argv[argc - 1] == std::string("watch");
    for (int i = 2; i < argc - (watches ? 1 : 0); ++i) {
        const int length = std::atoi(argv[i]);
        sums<double, double>("double", MPI_DOUBLE, length);
        sums<float, float>("float", MPI_FLOAT, length);
        sums<long double, long double>("long double", MPI_LONG_DOUBLE, length);
        sums<std::complex<double>, double>("complex", MPI_C_DOUBLE_COMPLEX, length);
    }
    if (faults == 0 && rank == 0) std::puts("all right");
    MPI_Finalize();
    return faults == 0 ? 0 : 1;
}
