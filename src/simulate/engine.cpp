#include "simulate/engine.hpp"

namespace lapwing::simulate {

std::span<const Engine> engines() {
    static constexpr Engine all[] = {
#define LAPWING_SIMULATED_ENGINE(name, messages, local, long_local, tuned, meaning) \
    {#name, Runner::messages, Runner::local, Runner::long_local, tuned, meaning},
#include "simulate/engines.def"
    };
    return all;
}

const Engine& native_mpi() {
    static constexpr Engine native{"native",      Runner::calls, Runner::calls,
                                   Runner::calls, "host",        "the MPI itself, inside MPI calls"};
    return native;
}

}  // namespace lapwing::simulate
