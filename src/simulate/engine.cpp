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

}  // namespace lapwing::simulate
