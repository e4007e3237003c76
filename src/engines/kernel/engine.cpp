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
    Verdict stands_on(const Ground& ground) const override {
        if (ground.connections == nullptr) return Verdict::no("the group has no connections of its own");
        const auto& near = ground.near_peers;
        if (ground.near == nullptr && std::find(near.begin(), near.end(), true) != near.end())
            return Verdict::no("the group has near peers, but no link to them");
        return Verdict::yes();
    }
    std::unique_ptr<Prepared> prepare(const List& list, const Ground& ground, Inside inside) const override {
        return std::make_unique<kernel::KernelPrepared>(list, ground, inside);
    }
};

}  // namespace

const Engine& kernel_engine() {
    static const KernelEngine engine;
    return engine;
}

}  // namespace lapwing
