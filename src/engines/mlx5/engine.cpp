#include "engines/mlx5/engine.hpp"

#include <string>
#include <vector>

#include "engines/job.hpp"
#include "engines/mlx5/devx.hpp"
#include "engines/mlx5/prepared.hpp"
#include "engines/mlx5/probe.hpp"
#include "engines/mlx5/work_queues.hpp"

namespace lapwing {
namespace {

class CardGroup final : public GroupEngine {
  public:
    CardGroup(mlx5::Device& device, Link& messages, const WorkVariant& variant,
              const JobFailure* failure = nullptr)
        : group_(std::make_shared<mlx5::Group>(device, messages, variant, failure)) {}
    Verdict admit(const Problem& problem, const ListOf&, const ListUse&) override {
        return group_->has_memory_for(problem.ranks);
    }
    std::unique_ptr<Prepared> prepare(const Problem& problem, List list, const ListUse&) override {
        // Ranks may know one problem in different forms, and must find one number.
        Problem same = problem;
        if (in_place_by_itself(same.collective)) same.in_place = false;
        return std::make_unique<mlx5::CardPrepared>(list, group_, group_->number_of_landing(same));
    }

  private:
    const std::shared_ptr<mlx5::Group> group_;  // prepared lists, which may outlive this, own it, too
};

// Null: LAPWING_WORK_QUEUES leaves the choice to the card.
const WorkVariant* read_variant(const Settings& settings) {
    std::vector<std::string> words = {"auto"};
    for (const WorkVariant& variant : work_variants()) {
        if (settings.work_queues == variant.name) return &variant;
        words.emplace_back(variant.name);
    }
    check_word("LAPWING_WORK_QUEUES", settings.work_queues, words);
    return nullptr;
}

class CardJob final : public JobEngine {
  public:
    explicit CardJob(Job& job) {
        const WorkVariant* const wanted = read_variant(job.settings());
        job.together([&] { card_ = mlx5::open_card(wanted); });
    }
    std::unique_ptr<GroupEngine> open(const EngineGroup& group, std::unique_ptr<Reservation>) override {
        return std::make_unique<CardGroup>(*card_.device, *group.messages, *card_.variant, &failure_);
    }
    void fail(const std::string& why) override { failure_.set(why); }

  private:
    mlx5::OpenedCard card_;
    JobFailure failure_;
};

class CardEngine final : public Engine {
  public:
    const char* name() const override { return "mlx5"; }
    const char* summary() const override {
        return "a ConnectX card, by cross-channel work requests, while the program computes";
    }
    Verdict available() const override { return mlx5::devx_available(); }
    bool only_by_name() const override { return true; }
    void check(const Settings& settings) const override { read_variant(settings); }
    Verdict supports(const List& list) const override { return has_work_queues(list); }
    std::unique_ptr<JobEngine> open(Job& job) const override { return std::make_unique<CardJob>(job); }
};

}  // namespace

const Engine& mlx5_engine() {
    static const CardEngine engine;
    return engine;
}

std::unique_ptr<GroupEngine> open_mlx5_group(mlx5::Device& device, Link& messages,
                                             const WorkVariant& variant) {
    return std::make_unique<CardGroup>(device, messages, variant);
}

}  // namespace lapwing
