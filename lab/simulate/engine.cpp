#include "simulate/engine.hpp"

namespace lapwing::simulate {

std::span<const Engine> engines() {
    using enum Runner;
    static constexpr Engine all[] = {
        {"host", calls, calls, calls, "host", "the program's core, inside MPI calls"},
        {"thread", thread, thread, thread, "host",
         "the host engine with a progress thread on a core of its own"},
        {"kernel", offload, calls, thread, "kernel",
         "messages by the kernel, copies and reductions by the program's core"},
        {"card", offload, offload, offload, "kernel", "everything by the network card"},
    };
    return all;
}

}  // namespace lapwing::simulate
