// Applies completions of io_uring to the chains that they belong to.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/kernel/ring.hpp"
#include "engines/kernel/run_table.hpp"
#include "engines/kernel/step_tag.hpp"

namespace lapwing::kernel {

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
