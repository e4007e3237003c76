#include "engines/triggered/engine.hpp"

#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engines/triggered/demand.hpp"
#include "engines/triggered/group.hpp"

namespace lapwing {
namespace {

using triggered::Run;

class TriggeredPrepared final : public Prepared {
  public:
    TriggeredPrepared(const List& list, std::shared_ptr<triggered::Group> group)
        : schedule_(std::make_shared<const triggered::Schedule>(
              triggered::schedule(list, group->keeps() ? Landing::direct : Landing::slots))),
          counters_(triggered::max_of(*schedule_).counters),
          group_(std::move(group)) {}
    ~TriggeredPrepared() override {
        for (const auto& [channel, ends] : kept_) group_->close(ends);
    }

    Operation* start(const Buffers& buffers, std::uint32_t channel) override {
        if (idle_.empty()) {
            runs_.push_back(std::make_unique<Run>());
            idle_.push_back(runs_.back().get());
        }
        Run& run = *idle_.back();
        idle_.pop_back();
        run.schedule = schedule_;
        run.counters = counters_;
        run.kept = nullptr;
        if (group_->keeps()) run.kept = kept_.at(channel);
        run.buffers = buffers;
        run.complete = false;
        run.has_begun = false;
        group_->start(run);
        return &run;
    }
    bool test(Operation* operation) override {
        Run& run = static_cast<Run&>(*operation);
        if (!group_->test(run)) return false;
        idle_.push_back(&run);
        return true;
    }
    bool keep(std::uint32_t channel) override {
        if (!group_->keeps()) return true;
        triggered::KeptEnds* const ends = group_->open(schedule_, channel);
        if (ends != nullptr) kept_[channel] = ends;
        return ends != nullptr;
    }
    void give_up(std::uint32_t channel) override {
        const auto found = kept_.find(channel);
        if (found == kept_.end()) return;
        group_->close(found->second);
        kept_.erase(found);
    }

  private:
    using Landing = triggered::Landing;

    const std::shared_ptr<const triggered::Schedule> schedule_;
    const std::uint64_t counters_;
    const std::shared_ptr<triggered::Group> group_;
    std::map<std::uint32_t, triggered::KeptEnds*> kept_;  // by channel
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<Run*> idle_;
};

class TriggeredGroupEngine final : public GroupEngine {
  public:
    explicit TriggeredGroupEngine(const EngineContext& context)
        : group_(std::make_shared<triggered::Group>(context)) {}
    Verdict admits(const Problem& problem, const std::function<List(int)>& list_of) override {
        return group_->admits(problem, list_of);
    }
    std::unique_ptr<Prepared> prepare(const List& list, Inside) override {
        return std::make_unique<TriggeredPrepared>(list, group_);
    }

  private:
    const std::shared_ptr<triggered::Group> group_;
};

class TriggeredEngine final : public Engine {
  public:
    const char* name() const override { return "triggered"; }
    const char* summary() const override { return "experimental: the network, by libfabric's deferred work"; }
    Verdict available() const override {
        // It would take an endpoint to ask again.
        static const std::string why = [] {
            try {
                const Settings settings = read_settings(environ);
                // How many entries there are is another question.
                const DeferredWorkOptions options{.provider = settings.trigger_provider,
                                                  .entries = 1,
                                                  .interfaces = settings.tcp_interface,
                                                  .family = settings.tcp_family};
                static_cast<void>(open_deferred_work(options));
                return std::string();
            } catch (const Error& error) {
                return std::string(error.what());
            }
        }();
        return why.empty() ? Verdict::yes() : Verdict::no(why.c_str());
    }
    EngineNeeds needs() const override { return EngineNeeds::deferred_work; }
    bool suits_one_host() const override { return false; }
    bool only_by_name() const override { return true; }
    Verdict supports(const List& list) const override { return triggered::has_schedule(list); }
    Verdict accepts(const Problem& problem, const std::function<List(int)>& list_of,
                    const EngineOptions& options) const override {
        return triggered::demand_of(problem, list_of, options).verdict;
    }
    Verdict fits(const EngineContext& context) const override {
        if (context.deferred_work == nullptr)
            return Verdict::no("the group has no network with deferred work");
        return context.messages != nullptr ? Verdict::yes()
                                           : Verdict::no("the group has no link for messages");
    }
    std::unique_ptr<GroupEngine> open(const EngineContext& context) const override {
        return std::make_unique<TriggeredGroupEngine>(context);
    }
};

}  // namespace

const Engine& triggered_engine() {
    static const TriggeredEngine engine;
    return engine;
}

}  // namespace lapwing
