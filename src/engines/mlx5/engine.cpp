#include "engines/mlx5/engine.hpp"

#include <optional>
#include <utility>

#include "engines/mlx5/devx.hpp"
#include "engines/mlx5/prepared.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing {
namespace {

// Waits in the peers' own queues where the card takes them: nothing needs to be enabled then.
const WorkVariant& choose(const EngineContext& context) {
    if (context.options.card_variant != nullptr) return *context.options.card_variant;
    const bool plain = bool(context.card->capabilities().wait_in_plain);
    for (const WorkVariant& variant : work_variants()) {
        if (variant.management != plain && !variant.writes) return variant;
    }
    return work_variants().front();
}

class CardGroup final : public GroupEngine {
  public:
    explicit CardGroup(const EngineContext& context)
        : group_(std::make_shared<mlx5::Group>(*context.card, *context.messages, choose(context))) {}
    Verdict admits(const Problem& problem, const std::function<List(int)>&) override {
        if (const Verdict verdict = group_->has_memory_for(problem.ranks); !verdict) return verdict;
        landing_ = group_->number_of_landing(problem);
        return Verdict::yes();
    }
    std::unique_ptr<Prepared> prepare(const List& list, Inside) override {
        return std::make_unique<mlx5::CardPrepared>(list, group_, std::exchange(landing_, std::nullopt));
    }

  private:
    const std::shared_ptr<mlx5::Group> group_;  // also of what is prepared, which may outlive this
    std::optional<std::uint32_t> landing_;      // of the problem that was admitted last
};

class CardEngine : public Engine {
  public:
    const char* name() const override { return "mlx5"; }
    const char* summary() const override {
        return "a ConnectX card, by cross-channel work requests, while the program computes";
    }
    Verdict available() const override { return mlx5::devx_available(); }
    EngineNeeds needs() const override { return EngineNeeds::card; }
    bool suits_one_host() const override { return false; }
    bool only_by_name() const override { return true; }
    Verdict supports(const List& list) const override { return has_work_queues(list); }
    Verdict fits(const EngineContext& context) const override {
        if (context.card == nullptr) return Verdict::no("the ranks have not opened a ConnectX card");
        if (context.messages == nullptr) return Verdict::no("the group has no link for messages");
        const mlx5::Capabilities has = context.card->capabilities();
        return has.wait_in_plain ? has.wait_in_plain : has.cross_channel;
    }
    std::unique_ptr<GroupEngine> open(const EngineContext& context) const override {
        return std::make_unique<CardGroup>(context);
    }
};

}  // namespace

const Engine& mlx5_engine() {
    static const CardEngine engine;
    return engine;
}

}  // namespace lapwing
