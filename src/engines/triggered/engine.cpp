#include "engines/triggered/engine.hpp"

#include <unistd.h>

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engines/triggered/demand.hpp"
#include "engines/triggered/group.hpp"
#include "engines/triggered/prepared.hpp"

namespace lapwing {
namespace {

triggered::Limits limits_of(const EngineOptions& options) {
    return {options.trigger_entries, options.trigger_counters, options.trigger_bytes};
}

class TriggeredGroupEngine final : public GroupEngine {
  public:
    explicit TriggeredGroupEngine(const EngineContext& context)
        : persistent_(context.kept),
          group_(std::make_shared<triggered::Group>(
              *context.deferred_work, *context.messages,
              triggered::GroupLimits{limits_of(context.options), limits_of(context.options)})) {}
    Verdict admits(const Problem& problem, const std::function<List(int)>& list_of) override {
        return group_->admits(problem, list_of, persistent_);
    }
    std::unique_ptr<Prepared> prepare(const List& list, Inside) override {
        return std::make_unique<triggered::TriggeredPrepared>(list, group_, persistent_);
    }

  private:
    const bool persistent_;
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
        return triggered::demand_of(problem, list_of, limits_of(options)).verdict;
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
