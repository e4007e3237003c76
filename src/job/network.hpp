// What joins the ranks of a job: shared memory within a host, a network between hosts, the progress thread,
// and the engines that were opened for the job. Made once, when the job starts; groups take their links and
// engines from it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engines/engine.hpp"
#include "engines/job.hpp"
#include "engines/progress_thread.hpp"
#include "job/fabric_choice.hpp"
#include "job/rank_locations.hpp"
#include "job/settings.hpp"
#include "links/event/wake_pipe.hpp"
#include "links/shm/node.hpp"

namespace lapwing {

// What a job does without, and why; empty: it has it, or does not want it. Equal on all ranks.
struct Missing {
    std::vector<Unavailable> engines;
    std::vector<Unavailable> networks;  // between hosts
    std::string shared_memory;          // between ranks of one host
    std::string single_copies;          // of long messages within a host: they pass through memory in pieces
};

class JobNetwork {
  public:
    // Collective over the job. `engine` is the one that was asked for. Rank 0 prints the requested features
    // that are unavailable. Of a job of one rank, `locations` may be unknown. Throws Error
    // (invalid_argument).
    JobNetwork(Job& job, const std::string& engine, RankLocations locations);
    // Collective, before the destructor: waits until no rank needs this one any more. Calls `meanwhile` again
    // and again until then.
    void leave(const std::function<void()>& meanwhile = [] {});

    // The engine that was asked for; auto if that one serves only jobs that name it and is unavailable. Equal
    // on all ranks.
    const std::string& engine() const { return engine_; }
    const Missing& missing() const { return missing_; }
    const RankLocations& locations() const { return locations_; }
    // RankLocations::placement_of(). Duplicates of a communicator share one placement. By any thread.
    std::shared_ptr<const Placement> placement_of(const std::vector<int>& members);
    // The network between hosts, for people: "ucx (UCX 1.13.1, tcp on eth0)". Empty if all ranks are on one
    // host.
    const std::string& description() const { return description_; }
    bool needs_links_of_job() const { return needs_links_of_job_; }
    bool may_have_thread() const { return settings_.may_have_progress_thread(); }

    // Null if the job has none:
    Fabric* fabric() const { return fabric_.get(); }
    shm::ShmNode* node() const { return node_.get(); }
    // Advances lists beside the program, by shared memory, the fabric, or both.
    ProgressThread* progress_thread() const {
        return progress_thread_ != nullptr && progress_thread_->started() ? progress_thread_.get() : nullptr;
    }
    // The same, also before it has started, for engines that may start it.
    ProgressThread* thread_of_engines() const { return progress_thread_.get(); }

    // The engines that may run lists of this job, in the order of the catalogue; the last one runs every
    // list.
    struct OpenEngine {
        const Engine* engine;
        std::unique_ptr<JobEngine> job;
    };
    const std::vector<OpenEngine>& engines() const { return engines_; }

    // For rank 0 of a group: a number that no other group of the job has.
    std::uint64_t draw_number();
    static constexpr std::uint64_t number_of_all = 1;  // the group of all ranks

    // Prints a line for people, unless this rank has printed it before. By any thread.
    void warn_first_time(const std::string& line);

    // All operations in flight fail with `why`. By any thread.
    void fail(const std::string& why);

  private:
    bool names(const Engine& engine) const { return engine_ == engine.name(); }
    bool may_run(const Engine& engine) const;
    void open(const Engine& engine);
    void refuse(const Engine& engine, const std::string& why, bool by_choice = false);
    void open_engine_by_name();
    void open_fabric();
    void open_engines();
    void open_tcp_fabric();
    void share_memory();
    void open_progress_thread();
    void warn_of_missing() const;

    Job& job_;
    const NetworkSettings settings_;
    const RankLocations locations_;
    const bool several_hosts_ = false;
    std::string engine_;
    std::string description_;
    bool needs_links_of_job_ = false;
    Missing missing_;
    std::uint64_t numbers_ = 0;
    std::mutex placement_mutex_;
    std::vector<int> placed_;  // the members of the last group
    std::shared_ptr<const Placement> placement_;
    std::mutex printed_mutex_;
    std::vector<std::string> printed_;  // see warn_first_time()

    // Destroyed in the opposite order.
    std::vector<OpenEngine> engines_;
    std::unique_ptr<Fabric> fabric_;
    std::unique_ptr<WakePipe> pipe_;  // wakes the progress thread, if there is a fabric
    std::unique_ptr<shm::ShmNode> node_;
    std::unique_ptr<ProgressThread> progress_thread_;
};

}  // namespace lapwing
