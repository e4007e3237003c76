// The functions of MPI that this library does not otherwise define: each passes the gate, and goes on to the
// native MPI. The build makes a file with a LAPWING_GATED(function) for each function of mpi.h.
//
// PMPI_X is defined, too. Open MPI's Fortran functions, profiling tools and some programs call it: from the
// program, it is MPI_X of this library; inside a call, as the MPI itself calls it, it is the MPI's.
#pragma once

#include "mpi/native/gate.hpp"
#include "mpi/native/native.hpp"

// The standard discourages some of these functions.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace lapwing {

// A function of the MPI, looked up at its first call.
class Found {
  public:
    template <typename Function, typename Find>
    Function* get(Find find, const char* name) {
        void* found = function_.load(std::memory_order_relaxed);
        if (found == nullptr) [[unlikely]]
            function_.store(found = find(name), std::memory_order_relaxed);
        return reinterpret_cast<Function*>(found);
    }

  private:
    std::atomic<void*> function_{nullptr};
};

// `Named` finds the functions of one name: next() is behind this library, ours() is this library's, and
// native() is the MPI's PMPI function.
template <typename Named, typename Function>
struct Gated;
template <typename Named, typename Result, typename... Arguments>
struct Gated<Named, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        const InMpi inside(__builtin_return_address(0));
        return Named::next()(arguments...);
    }
    static Result call_pmpi(Arguments... arguments) {
        return InMpi::any() ? Named::native()(arguments...) : Named::ours()(arguments...);
    }
};

}  // namespace lapwing

// A function of MPI has C linkage and a type that only mpi.h knows: an indirect function can take both. The
// loader calls the resolvers before a sanitizer has begun.
#define LAPWING_RESOLVER __attribute__((no_sanitize("address", "thread", "undefined"))) static auto*
#define LAPWING_GATED(function)                                                                             \
    namespace {                                                                                             \
    struct lapwing_##function {                                                                             \
        static auto* next() {                                                                               \
            static constinit lapwing::Found found;                                                          \
            return found.get<decltype(::function)>(lapwing::find_next, #function);                          \
        }                                                                                                   \
        static auto* ours() { return &::function; }                                                         \
        static auto* native() {                                                                             \
            static constinit lapwing::Found found;                                                          \
            return found.get<decltype(::function)>(lapwing::find_native, "P" #function);                    \
        }                                                                                                   \
    };                                                                                                      \
    }                                                                                                       \
    extern "C" {                                                                                            \
    LAPWING_RESOLVER lapwing_find_##function() {                                                            \
        return lapwing::Gated<lapwing_##function, decltype(::function)>::call;                              \
    }                                                                                                       \
    LAPWING_RESOLVER lapwing_find_P##function() {                                                           \
        return lapwing::Gated<lapwing_##function, decltype(::function)>::call_pmpi;                         \
    }                                                                                                       \
    __attribute__((visibility("default"), ifunc("lapwing_find_" #function))) decltype(::function) function; \
    __attribute__((visibility("default"),                                                                   \
                   ifunc("lapwing_find_P" #function))) decltype(::function) P##function;                    \
    }                                                                                                       \
    /* One that this library defines elsewhere comes first. */                                              \
    asm(".weak " #function);
