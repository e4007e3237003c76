#include "engines/kernel/engine.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "engines/kernel/prepared.hpp"
#include "engines/kernel/probe.hpp"
#include "task/chains.hpp"

namespace lapwing {
namespace {

class KernelGroupEngine final : public GroupEngine {
  public:
    explicit KernelGroupEngine(const EngineContext& context)
        : intra_node_peers_(context.intra_node_peers),
          socket_bytes_(context.options.socket_bytes),
          group_(std::make_shared<kernel::KernelGroup>(kernel::GroupResources{
              *context.connections, context.options.kept_lanes, context.intra_node,
              context.options.event_thread_work, context.options.event_thread_submits})) {}

    std::unique_ptr<Prepared> prepare(const List& list, Inside inside) override {
        static const std::vector<bool> none;
        const std::vector<bool>& intra_node = inside == Inside::by_memory ? intra_node_peers_ : none;
        return std::make_unique<kernel::KernelPrepared>(
            list, intra_node, lower_to_chains(list, {}, intra_node), socket_bytes_, group_);
    }

  private:
    const std::vector<bool> intra_node_peers_;
    const std::uint64_t socket_bytes_;
    const std::shared_ptr<kernel::KernelGroup> group_;  // also of what is prepared, which may outlive this
};

class KernelEngine : public Engine {
  public:
    const char* name() const override { return "kernel"; }
    const char* summary() const override { return "Linux, by io_uring over TCP, while the program computes"; }
    Verdict available() const override { return kernel::probe(); }
    EngineNeeds needs() const override { return EngineNeeds::connections; }
    // Inside one host shared memory is faster than sockets.
    bool suits_one_host() const override { return false; }
    Verdict supports(const List& list) const override { return has_chains(list); }
    Verdict fits(const EngineContext& context) const override {
        if (context.connections == nullptr) return Verdict::no("the group has no connections of its own");
        const auto& intra_node = context.intra_node_peers;
        if (context.intra_node == nullptr &&
            std::find(intra_node.begin(), intra_node.end(), true) != intra_node.end())
            return Verdict::no("the group has intra-node peers, but no link to them");
        return available();
    }
    std::unique_ptr<GroupEngine> open(const EngineContext& context) const override {
        return std::make_unique<KernelGroupEngine>(context);
    }
};

}  // namespace

const Engine& kernel_engine() {
    static const KernelEngine engine;
    return engine;
}

}  // namespace lapwing
