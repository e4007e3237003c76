// Submits chains of a run as linked operations of io_uring, and applies their completions. Each step is one
// operation, except a receive with a low-water mark. It is up to five operations:
//   body   set SO_RCVLOWAT to the mark; receive all but the tail
//   pause  poll, which waits for the whole tail; set SO_RCVLOWAT to 1
//   tail   receive the last low_water_mark bytes
// The kernel wakes a receive early if the receive window is almost closed. In the body the rest of the
// receive is then followed by at least a mark of other bytes, so the mark is reached again. No bytes may
// follow the tail, so its receive must not wait for a mark. Outside these operations SO_RCVLOWAT is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engines/kernel/chain_progress.hpp"
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

  private:
    void submit(KernelRun& run, std::size_t number);
    void add_body_and_pause(const PlannedStep& step, StepOperands& operands, std::uint64_t offset,
                            StepTag& tag);
    static void prepare(io_uring_sqe& operation, StepOperands& operands, const PlannedStep& step,
                        std::uint64_t offset, std::uint64_t end);

    Ring& ring_;
};

// Applies completions of io_uring to the chains that they belong to.
class Completions {
  public:
    // Adds each run that a completion belongs to to `changed`.
    Completions(Ring& ring, const RunTable& runs, std::vector<KernelRun*>& changed)
        : ring_(ring), runs_(runs), changed_(changed) {}

    // Handles all completions of the ring.
    void poll();
    void handle(const io_uring_cqe& completion);
    // Number of steps that have completed, been cancelled or failed. It changes when a run may advance.
    std::uint64_t handled() const { return handled_; }

  private:
    void stop(KernelRun& run, const StepTag& tag, std::uint64_t offset, int result);
    void leave_kernel(KernelRun& run, ChainProgress& chain);

    Ring& ring_;
    const RunTable& runs_;
    std::vector<KernelRun*>& changed_;
    std::uint64_t handled_ = 0;
};

}  // namespace lapwing::kernel
