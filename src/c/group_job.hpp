// The job of a group: its ranks meet by the caller's exchange function, once, and then exchange bytes over
// connections of their own.
#pragma once

#include <lapwing.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engines/job.hpp"
#include "links/connections.hpp"
#include "links/lifeline.hpp"
#include "links/streams/stream_link.hpp"

namespace lapwing::c {

class GroupJob final : public Job {
  public:
    // Collective. `wrong`: why this rank cannot take part; all ranks throw it then. `lost` is called once,
    // when a rank has been lost, on the event thread or on the one that fails the job. Throws Error,
    // ExchangeError.
    GroupJob(int rank, int size, Settings settings, const std::optional<Error>& wrong,
             lapwing_exchange* meeting, void* context, Lifeline::Lost lost);
    ~GroupJob() override;

    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override;
    void leave_together(const std::function<void()>& meanwhile) override;
    void warn(const std::string& line) override;
    JobKey shared_key() override;
    std::uint64_t descriptors_to_come() const override;

    // Reaches all peers.
    Link& messages() { return *messages_; }
    // All ranks learn why. By any thread.
    void fail(const std::string& why) { lifeline_->fail(why); }
    // Messages of this job fail with `why`, and its connections end: nothing waits for them any more. By any
    // thread.
    void shut_down(const std::string& why) {
        messages_->fail(why);
        connections_->give_up(why);
    }
    // This rank leaves in order: the others do not take it for lost.
    void leave() { lifeline_.reset(); }

  private:
    struct Hello;
    void meet(const std::optional<Error>& wrong, lapwing_exchange* meeting, void* context);
    // Waits for peers up to `limit`.
    std::vector<std::vector<std::byte>> exchange_by_messages(std::span<const std::byte> mine,
                                                             std::chrono::milliseconds limit,
                                                             const std::function<void()>& meanwhile);
    void await(std::vector<Link::Transfer>& transfers, const std::vector<int>& peers,
               std::chrono::milliseconds limit, const std::function<void()>& meanwhile);

    JobKey key_{};                        // derived from the group's
    std::chrono::milliseconds limit_{0};  // for a peer to answer
    // In this order: what is below uses what is above.
    std::unique_ptr<Connections> connections_;
    std::unique_ptr<Connections> lives_;
    std::unique_ptr<StreamLink> messages_;
    std::unique_ptr<Lifeline> lifeline_;
};

// The settings of a group: variables LAPWING_*, and the options of lapwing_group_create, which override them.
// `options` is null, or "name=value" strings ended by null. Throws Error (invalid_argument).
Settings read_group_settings(const char* const* options, const char* const* environment);

}  // namespace lapwing::c
