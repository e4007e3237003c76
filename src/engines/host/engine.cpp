#include "engines/host/engine.hpp"

#include "engines/host/prepared.hpp"

namespace lapwing {
namespace {

class HostGroup final : public GroupEngine {
  public:
    explicit HostGroup(const EngineContext& context)
        : messages_(*context.messages), progress_thread_(context.progress_thread) {}
    std::unique_ptr<Prepared> prepare(const List& list, Inside) override {
        return std::make_unique<HostPrepared>(list, messages_, progress_thread_);
    }

  private:
    Link& messages_;
    ProgressThread* progress_thread_;
};

class HostEngine : public Engine {
  public:
    const char* name() const override { return "host"; }
    const char* summary() const override {
        return "the program's processor, inside its calls, or a progress thread";
    }
    Verdict available() const override { return Verdict::yes(); }
    EngineNeeds needs() const override { return EngineNeeds::nothing; }
    bool suits_one_host() const override { return true; }
    Verdict supports(const List&) const override { return Verdict::yes(); }
    Verdict fits(const EngineContext& context) const override {
        return context.messages != nullptr ? Verdict::yes()
                                           : Verdict::no("the group has no link for messages");
    }
    std::unique_ptr<GroupEngine> open(const EngineContext& context) const override {
        return std::make_unique<HostGroup>(context);
    }
};

}  // namespace

const Engine& host_engine() {
    static const HostEngine engine;
    return engine;
}

}  // namespace lapwing
