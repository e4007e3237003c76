// The calls of native_calls.def that make no communicators.
#include <mpi.h>

#include "mpi/calls/exported.hpp"
#include "mpi/calls/signatures.hpp"
#include "mpi/job/recording.hpp"
#include "mpi/native/native.hpp"

namespace {

constexpr MPI_Comm* no_communicator = nullptr;
constexpr int no_peer = lapwing::watch::Journal::no_peer;
constexpr int no_tag = -1;

}  // namespace

#define LAPWING_CALL(function, parameters, names, communicator, peer, tag, message)     \
    LAPWING_MPI function parameters {                                                   \
        const lapwing::watch::InCall inside(#function, __builtin_return_address(0),     \
                                            lapwing::word_of(communicator), peer, tag); \
        return LAPWING_NEXT(function) names;                                            \
    }
#include "mpi/calls/native_calls.def"
