// Submits chains of a run as linked operations of io_uring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engines/kernel/ring.hpp"
#include "engines/kernel/run.hpp"

namespace lapwing::kernel {

class Submission {
  public:
    explicit Submission(Ring& ring) : ring_(ring) {}

    // Submits all chains of the run that are neither done nor in the kernel. Throws Error (system).
    void submit(KernelRun& run);
    // Cancels the operations of the run. The completions report where each chain has stopped. A step may
    // complete and the next begin during the call, so some chains may need another call.
    void cancel(const KernelRun& run);
    // Cancels all operations of the ring in one call.
    void cancel_all() { ring_.cancel_all(); }

  private:
    void submit(KernelRun& run, std::size_t number);
    static void prepare(io_uring_sqe& operation, StepOperands& operands, const PlannedStep& step,
                        std::uint64_t offset);

    Ring& ring_;
};

}  // namespace lapwing::kernel
