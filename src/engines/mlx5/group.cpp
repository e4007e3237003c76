#include "engines/mlx5/group.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engines/mlx5/plan.hpp"
#include "engines/mlx5/queues.hpp"
#include "engines/mlx5/run.hpp"

namespace lapwing::mlx5 {
namespace {

constexpr std::uint32_t shared_lanes = 4;
// Requests of one queue: longer lists run in stages.
constexpr std::uint32_t default_depth = 1024;
// Each landing takes memory on each lane that runs its list.
constexpr std::size_t max_landings = 16;

}  // namespace

Group::Group(Device& device, Link& messages, const WorkVariant& variant, const JobFailure* failure)
    : device_(device), messages_(messages), failure_(failure), variant_(variant) {
    const Capabilities has = device.capabilities();
    depth_ = std::min({default_depth, has.max_send_blocks, has.max_receive_entries, has.max_completions});
    next_question_ = Clock::now() + device.keep_alive();
}

Verdict Group::has_memory_for(int ranks) const {
    if (depth_of_peers(ranks, depth_) > 0) return Verdict::yes();
    return Verdict::no("queues to all ranks would need more than 16 MiB of pinned memory");
}

WorkLimits Group::limits(int ranks) const {
    WorkLimits limits;
    limits.queue_depth = depth_;
    limits.peer_queue_depth = depth_of_peers(ranks, depth_);
    return limits;
}

Lane& Group::lane(std::uint32_t channel, int ranks) {
    const std::uint32_t key = channel < first_persistent_channel ? channel % shared_lanes : channel;
    if (keep_alive_ == nullptr) keep_alive_ = std::make_unique<KeepAlive>(device_, ranks);
    std::unique_ptr<Lane>& lane = lanes_[key];
    if (lane == nullptr)
        lane = std::make_unique<Lane>(device_,
                                      LaneOptions{variant_, depth_, depth_of_peers(ranks, depth_), ranks});
    return *lane;
}

std::optional<std::uint32_t> Group::number_of_landing(const Problem& problem) {
    if (!variant_.writes || sends_only(problem)) return std::nullopt;
    const auto known = std::find(with_landing_.begin(), with_landing_.end(), problem);
    if (known == with_landing_.end() && with_landing_.size() == max_landings) return std::nullopt;
    const std::ptrdiff_t number = known - with_landing_.begin();
    if (known == with_landing_.end()) with_landing_.push_back(problem);
    return static_cast<std::uint32_t>(number);
}

bool Group::time_to_ask() {
    const Clock::time_point now = Clock::now();
    if (now < next_question_) return false;
    next_question_ = now + device_.keep_alive();
    return true;
}

void Group::fail(const std::string& why) {
    if (error_.empty()) error_ = why;
    if (keep_alive_ != nullptr) keep_alive_->close();
    for (const auto& [key, lane] : lanes_) {
        lane->close();
        for (CardRun* const run : lane->runs) {
            run->state = CardRun::State::failed;
            run->error = error_;
        }
        lane->runs.clear();
    }
}

int Group::arm() {
    for (const auto& [key, lane] : lanes_) {
        if (lane->runs.empty()) continue;
        const CardRun& run = *lane->runs.front();
        if (run.state != CardRun::State::running) return messages_.poll_descriptor();
        const WorkStage& stage = run.plan.queues.stages[run.stage - 1];
        const CompletionReader& next = lane->management.count() - run.management < stage.management
                                           ? lane->management
                                       : lane->sends.count() - run.sends < stage.sends ? lane->sends
                                                                                       : lane->copies;
        device_.arm(next.queue(), next.index(next.count()) & 0xffffff);
        armed_ = true;
    }
    return device_.event_descriptor();
}

void Group::forget_events() {
    if (armed_) device_.clear_events();
    armed_ = false;
}

}  // namespace lapwing::mlx5
