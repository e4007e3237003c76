#include "engines/host/engine.hpp"

#include <utility>

#include "engines/host/prepared.hpp"

namespace lapwing {
namespace {

class HostGroup final : public GroupEngine {
  public:
    HostGroup(Link& messages, ProgressThread* progress_thread)
        : shared_(HostPrepared::share(messages, progress_thread)) {}
    std::unique_ptr<Prepared> prepare(const Problem&, List list, const ListUse&) override {
        return std::make_unique<HostPrepared>(std::move(list), shared_);
    }

  private:
    const std::shared_ptr<HostPrepared::Shared>
        shared_;  // prepared lists, which may outlive this, own it, too
};

class HostJob final : public JobEngine {
  public:
    std::unique_ptr<GroupEngine> open(const EngineGroup& group, std::unique_ptr<Reservation>) override {
        return open_host_group(*group.messages, group.progress_thread);
    }
};

class HostEngine final : public Engine {
  public:
    const char* name() const override { return "host"; }
    const char* summary() const override {
        return "the program's threads, inside MPI calls, or a progress thread";
    }
    Verdict available() const override { return Verdict::yes(); }
    bool suits_one_host() const override { return true; }
    Verdict supports(const List&) const override { return Verdict::yes(); }
    std::unique_ptr<JobEngine> open(Job&) const override { return std::make_unique<HostJob>(); }
};

}  // namespace

const Engine& host_engine() {
    static const HostEngine engine;
    return engine;
}

std::unique_ptr<GroupEngine> open_host_group(Link& messages, ProgressThread* progress_thread) {
    return std::make_unique<HostGroup>(messages, progress_thread);
}

}  // namespace lapwing
