#include "engines/kernel/engine.hpp"

#include <algorithm>

#include "engines/kernel/prepared.hpp"
#include "engines/kernel/probe.hpp"
#include "task/chains.hpp"

namespace lapwing {
namespace {

class KernelEngine : public Engine {
  public:
    const char* name() const override { return "kernel"; }
    const char* summary() const override { return "Linux, by io_uring over TCP, while the program computes"; }
    Verdict available() const override { return kernel::probe(); }
    Verdict supports(const List& list) const override { return has_chains(list); }
    Verdict fits(const EngineContext& context) const override {
        if (context.connections == nullptr) return Verdict::no("the group has no connections of its own");
        const auto& intra_node = context.intra_node_peers;
        if (context.intra_node == nullptr &&
            std::find(intra_node.begin(), intra_node.end(), true) != intra_node.end())
            return Verdict::no("the group has intra-node peers, but no link to them");
        return Verdict::yes();
    }
    std::unique_ptr<Prepared> prepare(const List& list, const EngineContext& context,
                                      Inside inside) const override {
        return std::make_unique<kernel::KernelPrepared>(list, context, inside);
    }
};

}  // namespace

const Engine& kernel_engine() {
    static const KernelEngine engine;
    return engine;
}

}  // namespace lapwing
