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
#include "c/group_job.hpp"
#include "job/group.hpp"
#include "job/network.hpp"

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
    lapwing::ProgramFloatingPoint floating_point;
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

    // Collective, before the group is freed: waits until no rank needs this one any more. Calls `meanwhile`
    // again and again until then.
    void leave(const std::function<void()>& meanwhile);

    int rank() const { return rank_; }
    int size() const { return size_; }
    const char* engine() const { return group_->planner().first_engine().name(); }
    const std::string& note() const { return note_; }
    // How ranks of one host exchange messages, for people; empty where each host has one.
    const std::string& inside_host() const { return inside_host_; }
    // Between ranks, for people.
    const char* network() const { return network_ != nullptr ? network_->description().c_str() : ""; }
    // All ranks share memory.
    bool all_share_memory() const { return group_->all_share_memory(); }
    // Of the group's problems; null when they have none.
    const std::shared_ptr<const Placement>& placement() const { return group_->placement(); }

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
    // Of the group; null if it has none.
    ProgressThread* progress_thread() const {
        return network_ == nullptr ? nullptr : network_->progress_thread();
    }
    // If an operation has no descriptor: sleeps until a message may have come through memory, until the
    // progress thread has advanced something, or until the limit. Yields if nothing would wake it.
    trace::WakeUp sleep(std::chrono::nanoseconds limit);
    // Ends a complete operation: its status, with its message for this thread.
    lapwing_status give_back(lapwing_operation* operation);
    void break_up(const std::string& why);
    bool busy();  // operations or plans are left
    bool of_this_process() const;
    std::atomic<int> waiters{0};  // threads that wait for an operation of this group

  private:
    void join(lapwing_exchange* exchange, void* context, const char* const* options);
    void end();
    template <typename Part>
    void set_unless_broken(std::unique_ptr<Part>& place, std::unique_ptr<Part> part);
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
    std::mutex broken_mutex_;
    std::condition_variable broken_changed_;
    std::atomic<bool> broken_{false};
    std::string why_broken_;

    std::mutex mutex_;  // of all that follows, but for fail()
    // In this order: what is below uses what is above. Both null in a group of one.
    std::unique_ptr<GroupJob> job_;
    std::unique_ptr<JobNetwork> network_;
    std::unique_ptr<Link> no_messages_;  // in a group of one
    std::unique_ptr<Job> alone_;         // the same
    std::optional<JobGroup> group_;
    std::uint32_t next_channel_ = 0;
    int pinned_ = 0;
    int held_ = 0;  // operations that belong to the caller
    std::vector<lapwing_operation*> running_;
    std::vector<std::unique_ptr<lapwing_operation>> operations_;  // every one ever made
    std::vector<lapwing_operation*> idle_;
};

// All groups of the process:

// The group behind a handle. Throws Error (invalid_argument) for null.
Group& group_of(const lapwing_group* handle);

// All but one.
std::vector<std::shared_ptr<Group>> other_groups(const Group* group);

}  // namespace lapwing::c
