// A list prepared for the kernel engine, and its runs.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/object_pool.hpp"
#include "engines/engine.hpp"
#include "engines/kernel/group.hpp"
#include "engines/kernel/lanes.hpp"
#include "engines/kernel/thread_choice.hpp"
#include "engines/progress_thread.hpp"
#include "task/chains.hpp"
#include "task/list.hpp"

namespace lapwing::kernel {

class KernelPrepared : public Prepared {
    struct Run;

  public:
    // What the prepared lists of a group share.
    struct Shared {
        std::shared_ptr<KernelGroup> group;
        std::shared_ptr<PersistentLanes> persistent_lanes;
        std::shared_ptr<ThreadRecords> records;
        Options options;
        // Advances intra-node messages of short reductions; null if the group has none.
        ProgressThread* progress_thread = nullptr;
        // That the lists use in turn: a new list then finds memory for its run, and its scratch.
        std::shared_ptr<ObjectPool<Run>> runs = make_runs();
        ~Shared() { group.reset(); }  // before the runs: operations in the kernel may still use them
    };
    // `chains` must be made from `list` and `intra_node`, and `list` from `problem`.
    KernelPrepared(const Problem& problem, const List& list, const std::vector<bool>& intra_node,
                   const Chains& chains, std::shared_ptr<const Shared> shared);
    static std::shared_ptr<ObjectPool<Run>> make_runs();
    ~KernelPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    bool progress(Operation* operation) override;
    int prepare_to_sleep(Operation* operation) override;
    std::optional<Position> position(Operation* operation) override {
        return shared_->group->position(static_cast<KernelRun&>(*operation));
    }
    std::uint32_t offer(std::uint32_t) override { return shared_->persistent_lanes->offer(); }
    std::uint32_t accept(std::uint32_t channel, int lane) override;
    void release_channel(std::uint32_t channel) override;

  private:
    ThreadChoice* choice_of(const void* call_site);
    void start(Run& run, std::uint32_t channel, bool by_thread);
    template <typename Advance>
    bool advance(Operation* operation, Advance advance);
    void forget(Run& run);
    void measured(const KernelRun& run);

    const std::shared_ptr<const Shared> shared_;
    const ChainPlan plan_;
    // Advances the intra-node messages of this list, where the event thread advances the chains. Null if it
    // has none, or no thread can.
    ProgressThread* const progress_thread_;
    // Whether threads can advance the chains, reductions and intra-node messages of this list, and do so
    // always or where that is learned.
    const bool suits_event_thread_;
    std::optional<Problem> problem_;  // where it is learned who advances the chains
    std::vector<std::pair<const void*, std::unique_ptr<ThreadChoice>>> choices_;  // by call site
    std::unique_ptr<const TracePlan> trace_;  // null unless the job is traced
    int in_flight_ = 0;
};

class KernelGroupEngine final : public GroupEngine {
  public:
    // `intra_node_peers`: by rank; those that the group's intra-node link reaches.
    KernelGroupEngine(KernelPrepared::Shared shared, const std::vector<bool>& intra_node_peers)
        : shared_(std::make_shared<const KernelPrepared::Shared>(std::move(shared))),
          intra_node_peers_(intra_node_peers) {}

    bool needs_agreement() const override { return true; }
    std::unique_ptr<Prepared> prepare(const Problem& problem, List list, const ListUse& use) override {
        static const std::vector<bool> none;
        const std::vector<bool>& intra_node = use.inside == Inside::by_memory ? intra_node_peers_ : none;
        return std::make_unique<KernelPrepared>(problem, list, intra_node,
                                                lower_to_chains(list, {}, intra_node), shared_);
    }

  private:
    // Prepared lists, which may outlive this object, own its parts as well.
    const std::shared_ptr<const KernelPrepared::Shared> shared_;
    const std::vector<bool> intra_node_peers_;
};

}  // namespace lapwing::kernel
