// A list prepared for the triggered engine, and its runs.
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
    TriggeredPrepared(const List& list, std::shared_ptr<Group> group);
    ~TriggeredPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    bool keep(std::uint32_t channel) override;
    void give_up(std::uint32_t channel) override;

  private:
    const std::shared_ptr<const Schedule> schedule_;
    const std::uint64_t counters_;
    const std::shared_ptr<Group> group_;
    std::map<std::uint32_t, KeptEnds*> kept_;  // by channel
    ObjectPool<Run> runs_;
};

}  // namespace lapwing::triggered
