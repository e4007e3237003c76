// The job of MPI_COMM_WORLD: its ranks exchange bytes by the native MPI.
#pragma once

#include "engines/job.hpp"

namespace lapwing {

class MpiJob final : public Job {
  public:
    explicit MpiJob(Settings settings);
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override;
    void leave_together(const std::function<void()>& meanwhile) override;
    void warn(const std::string& line) override;
    std::string describe_links(bool threads) const override;
};

}  // namespace lapwing
