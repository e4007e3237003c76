#include "engines/mlx5/prepared.hpp"

#include <utility>

#include "base/error.hpp"
#include "engines/mlx5/advance.hpp"

namespace lapwing::mlx5 {

CardPrepared::CardPrepared(const List& list, std::shared_ptr<Group> group,
                           std::optional<std::uint32_t> landing)
    : plan_(list, group->variant(), group->limits(list.ranks), landing), group_(std::move(group)) {}

CardPrepared::~CardPrepared() = default;

Operation* CardPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    Lane& lane = group_->lane(channel, plan_.queues.ranks);
    CardRun& run = runs_.take([this] { return std::make_unique<CardRun>(plan_); });
    run.buffers = buffers;
    run.channel = channel;
    run.lane = &lane;
    run.state = CardRun::State::waiting;
    lane.runs.push_back(&run);
    advance_runs(*group_, lane);
    return &run;
}

bool CardPrepared::test(Operation* operation) {
    CardRun& run = static_cast<CardRun&>(*operation);
    if (!run.is_over()) advance_runs(*group_, *run.lane);
    if (run.state == CardRun::State::failed) throw Error(ErrorCode::link, run.error);
    if (run.state != CardRun::State::complete) return false;
    runs_.release(run);
    return true;
}

int CardPrepared::prepare_to_sleep(Operation* operation) {
    const CardRun& run = static_cast<CardRun&>(*operation);
    return run.is_over() ? -1 : group_->arm();
}

}  // namespace lapwing::mlx5
