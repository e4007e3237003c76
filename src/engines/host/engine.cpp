#include "engines/host/engine.hpp"

#include "engines/host/prepared.hpp"

namespace lapwing {
namespace {

class HostEngine : public Engine {
  public:
    const char* name() const override { return "host"; }
    const char* summary() const override {
        return "the caller's processor, inside start, test and wait, or a helper's";
    }
    Verdict available() const override { return Verdict::yes(); }
    Verdict supports(const List&) const override { return Verdict::yes(); }
    Verdict fits(const EngineContext& context) const override {
        return context.messages != nullptr ? Verdict::yes()
                                           : Verdict::no("the group has no link for messages");
    }
    std::unique_ptr<Prepared> prepare(const List& list, const EngineContext& context, Inside) const override {
        return std::make_unique<HostPrepared>(list, *context.messages, context.progress_thread);
    }
};

}  // namespace

const Engine& host_engine() {
    static const HostEngine engine;
    return engine;
}

}  // namespace lapwing
