// Functions whose calls the journal records: a small message must not pay for what a call may have to do.
#pragma once

#include <atomic>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/native/gate.hpp"
#include "mpi/native/native.hpp"

// Defines a function of MPI whose calls are recorded. A usual call, while `plain`, is handed on at once; for
// all others `otherwise` is returned. A function of its own: the usual call saves no registers for it, and
// needs no guard of its stack.
#define LAPWING_RECORDED(function, parameters, names, communicator, peer, tag, plain, otherwise) \
    static constinit std::atomic<decltype(&::function)> known_##function{nullptr};               \
    [[gnu::noinline]] static int unusual_##function(LAPWING_LIST parameters const void* site) {  \
        known_##function.store(LAPWING_NEXT(function), std::memory_order_relaxed);               \
        const ::lapwing::InRecordedMpi inside(#function, site, communicator, peer, tag);         \
        return otherwise;                                                                        \
    }                                                                                            \
    LAPWING_MPI function parameters {                                                            \
        const void* const site = __builtin_return_address(0);                                    \
        const auto next = known_##function.load(std::memory_order_relaxed);                      \
        if (next != nullptr && (plain)) [[likely]] {                                             \
            if (auto* const entered =                                                            \
                    ::lapwing::InMpi::try_enter(#function, site, communicator, peer, tag)) {     \
                const int error = next names;                                                    \
                ::lapwing::InMpi::leave(*entered, site);                                         \
                return error;                                                                    \
            }                                                                                    \
        }                                                                                        \
        return unusual_##function(LAPWING_LIST names site);                                      \
    }
