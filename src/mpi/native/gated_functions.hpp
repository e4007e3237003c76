// The functions of MPI that this library does not otherwise define: each passes the gate, and goes on to the
// native MPI. The build makes a file with a LAPWING_GATED(function) for each function of mpi.h.
//
// This library also defines PMPI_X. Open MPI's Fortran functions, profiling tools and some programs call it:
// from the program, it is MPI_X of this library; inside a call, as the MPI itself calls it, it is the MPI's.
#pragma once

#include "mpi/native/callers.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/native.hpp"

// The standard discourages some of these functions.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace lapwing {

// `Named::pmpi`: the name of the MPI's PMPI function.
template <typename Named, typename Function>
struct Gated;
template <typename Named, typename Result, typename... Arguments>
struct Gated<Named, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        const InMpi inside(__builtin_return_address(0));
        return found<find_next>(Named::pmpi + 1)(arguments...);
    }
    static Result call_pmpi(Arguments... arguments) {
        return InMpi::any() ? found<find_native>(Named::pmpi)(arguments...)
                            : found<find_own>(Named::pmpi + 1)(arguments...);
    }

  private:
    // Looked up at its first call.
    template <void* (*find)(const char*)>
    static auto* found(const char* name) {
        static constinit std::atomic<void*> function{nullptr};
        void* known = function.load(std::memory_order_relaxed);
        if (known == nullptr) [[unlikely]]
            function.store(known = find(name), std::memory_order_relaxed);
        return reinterpret_cast<Result (*)(Arguments...)>(known);
    }
};

}  // namespace lapwing

#if defined(__x86_64__)
#define LAPWING_JUMP_BY(pointer) "endbr64\n\tjmp *" pointer "(%rip)\n"
#elif defined(__aarch64__)
#define LAPWING_JUMP_BY(pointer) \
    "hint #34\n\tadrp x16, " pointer "\n\tldr x16, [x16, :lo12:" pointer "]\n\tbr x16\n"
#endif

#ifdef LAPWING_JUMP_BY
// A function of MPI has C linkage and a type that only mpi.h knows. C++ cannot define a function of a type:
// the exported symbol jumps to a template's. (An indirect function could, but the loader warns of one where
// it relocates the MPI first.)
#define LAPWING_DEFINE(binding, name, target)                                                           \
    extern "C" {                                                                                        \
    __attribute__((used, visibility("hidden"))) extern decltype(::name)* const lapwing_##name = target; \
    }                                                                                                   \
    asm(".pushsection .text\n\t" binding " " #name "\n\t.type " #name ", %function\n" #name             \
        ":\n\t" LAPWING_JUMP_BY("lapwing_" #name) "\t.size " #name ", . - " #name "\n\t.popsection");
// One that this library defines elsewhere comes before the weak one.
#define LAPWING_GATED(function)                                                                       \
    namespace {                                                                                       \
    struct Named_##function {                                                                         \
        static constexpr const char* pmpi = "P" #function;                                            \
    };                                                                                                \
    }                                                                                                 \
    extern "C" decltype(::function) P##function;                                                      \
    LAPWING_DEFINE(".weak", function, (lapwing::Gated<Named_##function, decltype(::function)>::call)) \
    LAPWING_DEFINE(".globl", P##function, (lapwing::Gated<Named_##function, decltype(::function)>::call_pmpi))
#else
#define LAPWING_GATED(function)
#endif
