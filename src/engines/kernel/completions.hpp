// What completions of io_uring mean for the chains that they come from.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/kernel/ring.hpp"
#include "engines/kernel/run_table.hpp"

namespace lapwing::kernel {

class Completions {
  public:
    // Runs that completions concern are added to `changed`.
    Completions(Ring& ring, const RunTable& runs, std::vector<Run*>& changed)
        : ring_(ring), runs_(runs), changed_(changed) {}

    // All that there are.
    void take_in();
    void take(const io_uring_cqe& completion);
    // How many steps have completed, been cancelled or failed: changes when some run may go on.
    std::uint64_t taken() const { return taken_; }

  private:
    void stop(Run& run, std::uint32_t number, std::uint32_t at, int result);
    void leave_kernel(Run& run, ChainProgress& chain);

    Ring& ring_;
    const RunTable& runs_;
    std::vector<Run*>& changed_;
    std::uint64_t taken_ = 0;
};

}  // namespace lapwing::kernel
