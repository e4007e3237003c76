#include "engines/mlx5/prepared.hpp"

#include <utility>

#include "base/error.hpp"
#include "engines/mlx5/mover.hpp"

namespace lapwing::mlx5 {

CardPrepared::CardPrepared(const List& list, std::shared_ptr<Group> group,
                           std::optional<std::uint32_t> landing)
    : plan_(list, group->variant(), group->limits(list.ranks), landing), group_(std::move(group)) {}

CardPrepared::~CardPrepared() = default;

Operation* CardPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Lane& lane = group_->lane(channel, plan_.queues.ranks);
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        runs_.push_back(std::make_unique<Run>(plan_));
        idle_.push_back(runs_.back().get());
    }
    Run& run = *idle_.back();
    idle_.pop_back();
    run.buffers = buffers;
    run.channel = channel;
    run.lane = &lane;
    run.state = Run::State::waiting;
    lane.runs.push_back(&run);
    move_runs(*group_, lane);
    return &run;
}

bool CardPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    if (run.state != Run::State::complete && run.state != Run::State::failed) move_runs(*group_, *run.lane);
    if (run.state == Run::State::failed) throw Error(ErrorCode::link, run.error);
    if (run.state != Run::State::complete) return false;
    idle_.push_back(&run);
    return true;
}

int CardPrepared::prepare_to_sleep(Operation* operation) {
    const Run& run = static_cast<Run&>(*operation);
    if (run.state == Run::State::complete || run.state == Run::State::failed) return -1;
    return group_->arm();
}

}  // namespace lapwing::mlx5
