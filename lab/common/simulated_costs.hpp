// Sets the parameters of a simulation from the message costs of a tuning file.
#pragma once

#include <string_view>

#include "plan/selection.hpp"
#include "plan/tuning.hpp"
#include "simulate/engine.hpp"
#include "simulate/parameters.hpp"

namespace lapwing::tool {

// The constants of an engine for a problem, by a tuning file or as shipped (null). `where`: if not null,
// whose they are.
inline simulate::Parameters parameters_for(const simulate::Engine& engine, const Problem& problem,
                                           const Tuning* tuning, std::string* where = nullptr) {
    return simulate::parameters_of(Guidance{tuning, {engine.tuned, true}}.machine(problem, where));
}

// Of Open MPI over TCP, and of Linux's longest send buffer.
inline constexpr std::uint64_t default_rendezvous_bytes = 64 << 10;
inline constexpr std::uint64_t default_window_bytes = 4 << 20;

// The handshake of long messages of engines that run on processors; other engines have none.
inline void set_rendezvous(simulate::Parameters& parameters, const simulate::Engine& engine,
                           std::uint64_t rendezvous_bytes = default_rendezvous_bytes,
                           std::uint64_t window_bytes = default_window_bytes) {
    if (engine.messages == simulate::Runner::offload) return;
    parameters.rendezvous_bytes = rendezvous_bytes;
    parameters.window_bytes = window_bytes;
}

}  // namespace lapwing::tool
