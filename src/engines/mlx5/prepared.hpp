// A list prepared for the card, and its runs: connects, posts requests, reads completions, and does the
// processor's tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/object_pool.hpp"
#include "engines/engine.hpp"
#include "engines/mlx5/group.hpp"
#include "engines/mlx5/run.hpp"

namespace lapwing::mlx5 {

class CardPrepared : public Prepared {
  public:
    // `landing`: see Group::number_of_landing().
    CardPrepared(const List& list, std::shared_ptr<Group> group, std::optional<std::uint32_t> landing);
    ~CardPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation* operation) override;

  private:
    Plan plan_;
    std::shared_ptr<Group> group_;
    ObjectPool<CardRun> runs_;
};

}  // namespace lapwing::mlx5
