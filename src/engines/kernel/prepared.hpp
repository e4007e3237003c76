// A list prepared for the kernel engine, and its runs.
#pragma once

#include <memory>
#include <vector>

#include "base/object_pool.hpp"
#include "engines/engine.hpp"
#include "engines/kernel/group.hpp"
#include "engines/kernel/persistent_lanes.hpp"
#include "task/list.hpp"

namespace lapwing::kernel {

class KernelPrepared : public Prepared {
  public:
    // `chains` must be made from `list` and `intra_node`.
    KernelPrepared(const List& list, const std::vector<bool>& intra_node, const Chains& chains,
                   const Options& options, std::shared_ptr<KernelGroup> group,
                   std::shared_ptr<PersistentLanes> persistent_lanes);
    ~KernelPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    bool progress(Operation* operation) override;
    int prepare_to_sleep(Operation* operation) override;
    std::uint32_t offer(std::uint32_t) override { return persistent_lanes_->offer(); }
    std::uint32_t accept(std::uint32_t channel, int lane) override;
    void release_channel(std::uint32_t channel) override;

  private:
    bool release_if(bool complete, KernelRun& run);

    ChainPlan plan_;
    std::unique_ptr<const TracePlan> trace_;  // null unless the job is traced
    std::shared_ptr<KernelGroup> group_;
    std::shared_ptr<PersistentLanes> persistent_lanes_;
    ObjectPool<KernelRun> runs_;
};

}  // namespace lapwing::kernel
