// A list prepared for the triggered engine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/object_pool.hpp"
#include "engines/engine.hpp"
#include "engines/triggered/group.hpp"
#include "engines/triggered/schedule.hpp"

namespace lapwing::triggered {

class TriggeredPrepared final : public Prepared {
  public:
    TriggeredPrepared(const List& list, std::shared_ptr<Group> group, bool persistent);
    ~TriggeredPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    std::uint32_t offer(std::uint32_t channel) override;
    void release_channel(std::uint32_t channel) override;

  private:
    const bool persistent_;
    const std::shared_ptr<const Schedule> schedule_;
    const std::uint64_t counters_;  // of one run
    const std::shared_ptr<Group> group_;
    std::map<std::uint32_t, GroupChannel*> channels_;  // of a persistent list
    ObjectPool<TriggeredRun> runs_;
};

}  // namespace lapwing::triggered
