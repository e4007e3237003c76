// The state behind a lapwing_group.
#pragma once

#include <lapwing.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/trace.hpp"
#include "c/options.hpp"
#include "engines/mlx5/probe.hpp"
#include "links/lifeline.hpp"
#include "links/shm/node.hpp"
#include "links/streams/stream_link.hpp"
#include "links/tcp/endpoint.hpp"
#include "plan/group_engines.hpp"

namespace lapwing::c {

// The caller's own operator, as engines call it.
class CallersFunction final : public Reducer {
  public:
    CallersFunction() = default;
    explicit CallersFunction(const lapwing_reduction& reduction) : reduction_(reduction) {}
    void reduce(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept override {
        reduction_.function(reduction_.context, source, target, bytes / reduction_.element_bytes);
    }

  private:
    lapwing_reduction reduction_{};
};

class Group;

}  // namespace lapwing::c

struct lapwing_operation {
    std::shared_ptr<lapwing::c::Group> group;  // while it belongs to the caller
    lapwing::Plan* plan = nullptr;
    lapwing::Operation* run = nullptr;  // the engine's
    lapwing::c::CallersFunction function;
    std::atomic<bool> complete{false};  // read without the group's lock
    lapwing_status status = LAPWING_SUCCESS;
    std::string message;
};

struct lapwing_group {
    std::shared_ptr<lapwing::c::Group> group;
};

namespace lapwing::c {

class Group : public std::enable_shared_from_this<Group> {
  public:
    // Joins. Throws Error, ExchangeError.
    Group(int rank, int size, lapwing_exchange* exchange, void* context, const char* const* options);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    const char* engine() const { return engines_->planner().first_engine().name(); }
    const std::string& note() const { return note_; }
    // How ranks of one host exchange messages, for people; empty where each host has one.
    const std::string& inside_host() const { return inside_host_; }
    // All ranks share memory.
    bool all_share_memory() const { return engines_->all_share_memory(); }
    // Of the group's problems; null when they have none.
    const std::shared_ptr<const Placement>& placement() const { return placement_; }

    // All of these may be called by any thread.

    // A plan that stays until unpin(). Throws Error.
    Plan& pin(const Problem& problem);
    void unpin(Plan& plan);
    // Starts a problem, or a plan that is pinned. Throws Error.
    lapwing_operation* start(const Problem& problem, Buffers buffers, const CallersFunction& function);
    lapwing_operation* start(Plan& plan, Buffers buffers, const CallersFunction& function);
    // Moves all operations. Whether `awaited` is complete; it may be null.
    bool move(lapwing_operation* awaited, bool waits);
    // move(), unless another thread is in the group.
    void try_move();
    // Before a sleep: descriptors that are readable when something has moved. False: somebody must ask again.
    bool prepare_to_sleep(std::vector<int>& descriptors);
    // Where an operation has no descriptor: sleeps until a message may have come through memory, or until the
    // limit. Where it cannot sleep, it yields.
    trace::WakeUp sleep(std::chrono::nanoseconds limit);
    // Ends a complete operation: its status, with its message for this thread.
    lapwing_status give_back(lapwing_operation* operation);
    void break_up(const std::string& why);
    bool busy();  // operations or plans are left
    bool of_this_process() const;
    std::atomic<int> waiters{0};  // threads that wait for an operation of this group

  private:
    struct Hello;
    void join(lapwing_exchange* exchange, void* context, const char* const* options);
    void prepare(const GroupSettings& settings, Hello& own);
    void agree(std::vector<Hello>& all, bool wants_more);
    void connect(const GroupSettings& settings, const std::vector<Hello>& all);
    bool can_share_memory(const std::vector<Hello>& all, std::chrono::milliseconds limit);
    void open_engines(const GroupSettings& settings, const std::vector<int>& members, bool shares_memory);
    void note_broken(const std::string& why);
    std::string lost(const std::string& why);
    std::string await_reason(std::chrono::milliseconds limit);
    void check_usable();
    lapwing_operation* begin(Plan& plan, Buffers buffers, const CallersFunction& function);
    bool step(lapwing_operation& operation, bool waits);

    const pid_t process_;
    const int rank_;
    const int size_;
    PlanOptions options_;
    std::string note_;
    std::string inside_host_;
    std::shared_ptr<const Placement> placement_;

    std::mutex broken_mutex_;
    std::condition_variable broken_changed_;
    std::atomic<bool> broken_{false};
    std::string why_broken_;

    // In this order: what stands below uses what stands above.
    std::unique_ptr<tcp::Endpoint> endpoint_;
    std::unique_ptr<Connections> lanes_;     // of engines that need connections
    std::unique_ptr<Connections> messages_;  // of the link to all peers
    std::unique_ptr<Connections> lives_;     // of the lifeline
    std::unique_ptr<shm::ShmNode> node_;
    std::unique_ptr<Link> all_peers_;  // over messages_; in a group of one, to itself

    std::mutex mutex_;                             // of all that follows
    std::unique_ptr<DeferredWork> deferred_work_;  // where the triggered engine is asked for
    std::uint64_t trigger_entries_ = 0;            // that each rank has
    std::uint64_t trigger_counters_ = 0;           // the same
    mlx5::OpenedCard card_;                        // where the mlx5 engine is asked for
    std::optional<GroupEngines> engines_;
    std::uint32_t next_channel_ = 0;
    int pinned_ = 0;
    int held_ = 0;  // operations that belong to the caller
    std::vector<lapwing_operation*> running_;
    std::vector<std::unique_ptr<lapwing_operation>> operations_;  // every one ever made
    std::vector<lapwing_operation*> idle_;

    std::unique_ptr<Lifeline> lifeline_;  // ends first: it calls note_broken()
};

}  // namespace lapwing::c
