// Chains of a run as linked operations of io_uring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class Submission {
  public:
    // Sends of at least `zero_copy_bytes` are not copied into the socket, where the kernel can do that.
    Submission(Ring& ring, std::uint64_t zero_copy_bytes) : ring_(ring), zero_copy_bytes_(zero_copy_bytes) {}

    // Hands over all chains of the run that are neither done nor in the kernel. Throws Error (system).
    void submit(Run& run);
    // Cancels the operations of the run. Chains come back by completions, each where it has stopped. A step
    // may complete, and the next begin, while this is going on: so some chains may need another try.
    void cancel(const Run& run);
    // The same for all operations of the ring, in one call.
    void cancel_all() { ring_.cancel_all(); }

    // Whether a send of so many bytes goes without a copy. It posts two completions then: when it is done,
    // and when the kernel needs its bytes no more.
    bool without_copy(const PlannedStep& step, std::uint64_t bytes) const {
        return step.kind == Step::Kind::send && bytes >= zero_copy_bytes_ && ring_.sends_without_copy();
    }

  private:
    void submit(Run& run, std::size_t number);
    void prepare(io_uring_sqe& operation, StepOperands& operands, const PlannedStep& step,
                 std::uint64_t offset) const;

    Ring& ring_;
    const std::uint64_t zero_copy_bytes_;
};

}  // namespace lapwing::kernel
