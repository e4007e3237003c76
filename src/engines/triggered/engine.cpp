#include "engines/triggered/engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "engines/triggered/group.hpp"

namespace lapwing {
namespace {

using triggered::Run;

// Groups of more ranks would take long to examine.
constexpr int most_ranks = 1024;

class TriggeredPrepared final : public Prepared {
  public:
    TriggeredPrepared(const List& list, std::shared_ptr<triggered::Group> group)
        : schedule_(std::make_shared<const triggered::Schedule>(triggered::schedule(list))),
          group_(std::move(group)) {}

    Operation* start(const Buffers& buffers, std::uint32_t) override {
        if (idle_.empty()) {
            runs_.push_back(std::make_unique<Run>());
            idle_.push_back(runs_.back().get());
        }
        Run& run = *idle_.back();
        idle_.pop_back();
        run.schedule = schedule_;
        run.buffers = buffers;
        run.complete = false;
        group_->start(run);
        return &run;
    }
    bool test(Operation* operation) override {
        Run& run = static_cast<Run&>(*operation);
        if (!group_->test(run)) return false;
        idle_.push_back(&run);
        return true;
    }

  private:
    const std::shared_ptr<const triggered::Schedule> schedule_;
    const std::shared_ptr<triggered::Group> group_;
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<Run*> idle_;
};

class TriggeredGroupEngine final : public GroupEngine {
  public:
    explicit TriggeredGroupEngine(const EngineContext& context)
        : group_(std::make_shared<triggered::Group>(context)) {}
    Verdict admits(const Problem& problem, const std::function<List(int)>& list_of) override {
        return group_->admits(problem.ranks, list_of);
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
                // How many entries there are is another question.
                const char* const provider = std::getenv("LAPWING_TRIGGER_PROVIDER");
                DeferredWorkOptions options;
                if (provider != nullptr) options.provider = provider;
                options.entries = 1;
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
                    const EngineOptions& options) const override;
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

Verdict TriggeredEngine::accepts(const Problem& problem, const std::function<List(int)>& list_of,
                                 const EngineOptions& options) const {
    if (is_reduction(problem.collective)) return Verdict::no("a network card does not reduce");
    if (has_parts(problem.collective) && problem.parts.size() != static_cast<std::size_t>(problem.ranks))
        return Verdict::no("a rank does not know how long the blocks of others are");
    const Verdict too_long = Verdict::no("a rank sends another more than LAPWING_TRIGGER_BYTES");
    if (problem.bytes > options.trigger_bytes && problem.ranks > 1) return too_long;
    if (problem.ranks > most_ranks) return Verdict::no("the group has more than 1024 ranks");
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const List list = list_of(rank);
        if (const Verdict verdict = triggered::has_schedule(list); !verdict) return verdict;
        const triggered::Schedule made = triggered::schedule(list);
        if (std::any_of(made.exchanges.begin(), made.exchanges.end(), [&](const triggered::Exchange& one) {
                return one.bytes_sent > options.trigger_bytes;
            }))
            return too_long;
        if (triggered::most_entries(made) > options.trigger_entries)
            return Verdict::no("a rank needs more trigger entries than it has (LAPWING_TRIGGER_ENTRIES)");
    }
    return Verdict::yes();
}

}  // namespace

const Engine& triggered_engine() {
    static const TriggeredEngine engine;
    return engine;
}

}  // namespace lapwing
