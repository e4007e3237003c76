#include "c/group.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "c/status.hpp"
#include "job/settings.hpp"
#include "plan/options.hpp"

extern char** environ;

namespace lapwing::c {
namespace {

// The job of a group of one.
class AloneJob final : public Job {
  public:
    explicit AloneJob(Settings settings) : Job(0, 1, std::move(settings)) {}
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        return {{mine.begin(), mine.end()}};
    }
    void leave_together(const std::function<void()>&) override {}
    void warn(const std::string&) override {}
};

// No rank is its own peer.
class NoMessages final : public Link {
  public:
    void send(int, const std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    void recv(int, std::byte*, std::uint64_t, std::uint32_t, Transfer&) override {}
    bool test(Transfer&) override { return true; }
};

constexpr std::chrono::milliseconds reason_limit{500};

}  // namespace

Group::Group(int rank, int size, lapwing_exchange* exchange, void* context, const char* const* options)
    : process_(::getpid()), rank_(rank), size_(size) {
    const DefaultFloatingPoint default_floating_point;
    if (size < 1) throw_invalid("size must be at least 1, not {}", size);
    if (rank < 0 || rank >= size)
        throw_invalid("rank {} is out of range: the group has ranks 0 to {}", rank, size - 1);
    if (size > 1 && exchange == nullptr) throw_invalid("the exchange function is null");
    if (size > 1) {
        try {
            join(exchange, context, options);
        } catch (const Error& error) {
            const bool rank_lost = error.code() == ErrorCode::link && job_ != nullptr;
            const std::string why = rank_lost ? lost(error.what()) : "";
            end();
            if (rank_lost) throw Error(ErrorCode::link, why);
            throw;
        } catch (...) {
            end();
            throw;
        }
        return;
    }
    const Settings settings = read_group_settings(options, environ);
    options_ = read_plan_options(settings);
    no_messages_ = std::make_unique<NoMessages>();
    alone_ = std::make_unique<AloneJob>(settings);
    network_ = std::make_unique<JobNetwork>(*alone_, "auto", RankLocations());
    group_.emplace(*network_, 0, std::vector<int>{}, options_, JobNetwork::number_of_all);
    group_->claim();
    group_->open({}, no_messages_.get());
}

Group::~Group() {
    end();
}

void Group::leave(const std::function<void()>& meanwhile) {
    // A child of fork has the memory of its parent's group, but none of its threads and connections.
    if (of_this_process() && network_ != nullptr && !broken_) network_->leave(meanwhile);
}

void Group::end() {
    // First the lifeline, whose thread calls note_broken().
    if (job_ != nullptr) job_->leave();
    group_.reset();
    network_.reset();
    job_.reset();
}

void Group::join(lapwing_exchange* exchange, void* context, const char* const* options) {
    // All ranks learn what is wrong here: they would wait otherwise.
    Settings settings;
    topology::HostOrder hosts;
    std::optional<Error> wrong;
    try {
        settings = read_group_settings(options, environ);
        options_ = read_plan_options(settings);
        hosts = read_host_order(settings);
    } catch (const Error& error) {
        wrong = error;
    }
    set_unless_broken(job_, std::make_unique<GroupJob>(rank_, size_, settings, wrong, exchange, context,
                                                       [this](const std::string& why) { note_broken(why); }));
    compare_settings(*job_, job_->exchange_values(setting_fingerprint(settings)));
    compare_files(*job_, options_, hosts);
    const RankLocations locations(job_->exchange_values(own_location(hosts)), rank_);
    options_.several_hosts = !locations.all_on_one_host();
    auto network = std::make_unique<JobNetwork>(*job_, options_.engine, locations);
    options_.engine = network->engine();
    for (const Unavailable& engine : network->missing().engines) {
        if (note_.empty() && !engine.by_choice) note_ = engine.why;
    }
    if (locations.some_on_one_host())
        inside_host_ = shm::in_words(network->missing().shared_memory, network->missing().single_copies);
    set_unless_broken(network_, std::move(network));
    std::vector<int> members(static_cast<std::size_t>(size_));
    std::iota(members.begin(), members.end(), 0);
    group_.emplace(*network_, rank_, std::move(members), options_, JobNetwork::number_of_all);
    group_->claim();
    group_->open({}, &job_->messages());
}

// Throws Error (link) if a rank was lost while `part` was made: note_broken() could not reach `part`.
template <typename Part>
void Group::set_unless_broken(std::unique_ptr<Part>& place, std::unique_ptr<Part> part) {
    const std::lock_guard lock(broken_mutex_);
    if (broken_) throw Error(ErrorCode::link, why_broken_);
    place = std::move(part);
}

// By any thread, also the event thread's, which must not wait for mutex_.
void Group::note_broken(const std::string& why) {
    GroupJob* job = nullptr;
    JobNetwork* network = nullptr;
    {
        const std::lock_guard lock(broken_mutex_);
        if (broken_) return;
        why_broken_ = why;
        broken_ = true;
        job = job_.get();
        network = network_.get();
    }
    broken_changed_.notify_all();
    if (network != nullptr) network->fail(why);
    if (job != nullptr) job->shut_down(why);
}

void Group::break_up(const std::string& why) {
    // First the others are told, then the connections end: so they know why.
    if (job_ != nullptr)
        job_->fail(why);
    else
        note_broken(why);
}

// For `limit` at most.
std::string Group::await_reason(std::chrono::milliseconds limit) {
    std::unique_lock lock(broken_mutex_);
    broken_changed_.wait_for(lock, limit, [this] { return broken_.load(); });
    return why_broken_;
}

bool Group::of_this_process() const {
    return process_ == ::getpid();
}

void Group::check_usable() {
    if (!of_this_process())
        throw_invalid("the group belongs to the parent of this process: a child of fork() cannot use it");
    if (!broken_) return;
    const std::lock_guard lock(broken_mutex_);
    throw Error(ErrorCode::link, why_broken_);
}

Plan& Group::pin(const Problem& problem) {
    const std::lock_guard lock(mutex_);
    check_usable();
    Plan& plan = group_->planner().plan(problem);
    ++plan.in_flight;  // it is not forgotten
    ++pinned_;
    return plan;
}

void Group::unpin(Plan& plan) {
    const std::lock_guard lock(mutex_);
    --plan.in_flight;
    --pinned_;
}

lapwing_operation* Group::start(const Problem& problem, Buffers buffers, const CallersFunction& function) {
    const std::lock_guard lock(mutex_);
    check_usable();
    return begin(group_->planner().plan(problem), buffers, function);
}

lapwing_operation* Group::start(Plan& plan, Buffers buffers, const CallersFunction& function) {
    const std::lock_guard lock(mutex_);
    check_usable();
    return begin(plan, buffers, function);
}

lapwing_operation* Group::begin(Plan& plan, Buffers buffers, const CallersFunction& function) {
    if (idle_.empty()) {
        // Room for all of them, everywhere: nothing may fail once the run has started.
        operations_.push_back(std::make_unique<lapwing_operation>());
        idle_.reserve(operations_.size());
        running_.reserve(operations_.size());
        idle_.push_back(operations_.back().get());
    }
    lapwing_operation* const operation = idle_.back();
    operation->plan = &plan;
    operation->function = function;
    operation->complete = false;
    operation->status = LAPWING_SUCCESS;
    operation->message.clear();
    buffers.reducer = &operation->function;
    operation->floating_point.capture();
    buffers.floating_point = &operation->floating_point;
    try {
        operation->run = plan.start(buffers, next_channel_);
    } catch (const Error& error) {
        // The other ranks have started, or will: they must not wait for this one.
        const std::string why = lost(error.what());
        throw Error(error.code(), error.code() == ErrorCode::link ? why : error.what());
    }
    ++next_channel_;
    ++plan.in_flight;
    idle_.pop_back();
    operation->group = shared_from_this();
    running_.push_back(operation);
    ++held_;
    return operation;
}

// Breaks the group up. Returns the first reason of all, not what followed from it: the reason of a peer that
// fails may arrive later than the end of its connections, or than a network's refusal to reach it.
std::string Group::lost(const std::string& why) {
    await_reason(reason_limit);
    break_up(why);
    return await_reason(reason_limit);
}

// Whether it is complete now.
bool Group::step(lapwing_operation& operation, bool waits) {
    Prepared& prepared = *operation.plan->prepared;
    try {
        if (!(waits ? prepared.progress(operation.run) : prepared.test(operation.run))) return false;
        --operation.plan->in_flight;
    } catch (const std::exception& exception) {
        // Its plan stays in flight for ever: nobody starts it again.
        operation.status = status_of(exception);
        operation.message = exception.what();
        const std::string why = lost(operation.message);
        if (operation.status == LAPWING_LINK) operation.message = why;
    }
    operation.complete = true;
    return true;
}

bool Group::move(lapwing_operation* awaited, bool waits) {
    const std::lock_guard lock(mutex_);
    if (awaited != nullptr && awaited->complete) return true;
    // All of them: a peer may wait for another one than this rank does.
    std::erase_if(running_, [&](lapwing_operation* operation) {
        return step(*operation, waits && operation == awaited);
    });
    return awaited != nullptr && awaited->complete;
}

void Group::try_move() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    std::erase_if(running_, [&](lapwing_operation* operation) { return step(*operation, false); });
}

bool Group::prepare_to_sleep(std::vector<int>& descriptors) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    for (lapwing_operation* const operation : running_) {
        const int descriptor = operation->plan->prepared->prepare_to_sleep(operation->run);
        if (descriptor < 0) return false;
        if (std::ranges::find(descriptors, descriptor) == descriptors.end())
            descriptors.push_back(descriptor);
    }
    return true;
}

trace::WakeUp Group::sleep(std::chrono::nanoseconds limit) {
    if (ProgressThread* const thread = progress_thread())
        return thread->sleep(limit) ? trace::WakeUp::progress_thread : trace::WakeUp::limit;
    std::optional<std::uint32_t> seen;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || !group_->shares_memory()) {
            std::this_thread::yield();
            return trace::WakeUp::limit;
        }
        seen = network_->node()->prepare_to_sleep();
    }
    // Without the lock: other threads may start and wait meanwhile.
    return !seen || network_->node()->sleep_on(*seen, limit) ? trace::WakeUp::doorbell : trace::WakeUp::limit;
}

lapwing_status Group::give_back(lapwing_operation* operation) {
    const std::lock_guard lock(mutex_);
    const lapwing_status status = operation->status;
    if (status != LAPWING_SUCCESS) failed(status, operation->message.c_str());
    operation->floating_point.raise();
    operation->group.reset();  // the caller of this holds it, too
    idle_.push_back(operation);
    --held_;
    return status;
}

bool Group::busy() {
    const std::lock_guard lock(mutex_);
    return held_ > 0 || pinned_ > 0;
}

}  // namespace lapwing::c
