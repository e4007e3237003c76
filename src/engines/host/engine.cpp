#include "engines/host/engine.hpp"

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/object_pool.hpp"
#include "base/short_message.hpp"
#include "engines/local_work.hpp"
#include "engines/messages.hpp"
#include "engines/progress_thread.hpp"
#include "engines/task_tracer.hpp"

namespace lapwing {
namespace {

class HostPrepared;

struct HostRun final : Operation, ProgressThread::Work {
    Outcome advance() override;

    HostPrepared* owner = nullptr;
    Memory memory;
    std::uint32_t channel = 0;
    std::size_t task = 0;     // the next one to do
    std::size_t awaited = 0;  // receives, by the tasks that are done
    Messages messages;
    TaskTracer tracer;
    bool shared = false;  // registered with the progress thread
    bool complete = false;
    std::exception_ptr error;
};

// What the prepared lists of a group share, with the runs that they use in turn: a new list then finds memory
// for its run, and its scratch.
struct SharedByLists {
    Link& link;
    ProgressThread* progress_thread;
    bool traced;
    ObjectPool<HostRun> runs = {};
};

class HostPrepared final : public Prepared {
  public:
    HostPrepared(List list, std::shared_ptr<SharedByLists> shared);
    ~HostPrepared() override;

    Operation* start(const Buffers& buffers, std::uint32_t channel) override;
    bool test(Operation* operation) override;
    int prepare_to_sleep(Operation*) override { return link_.poll_descriptor(); }
    std::optional<Position> position(Operation* operation) override;

  private:
    friend HostRun;

    // The thread that advances a run.
    enum class Caller {
        start,    // a thread of the program in start(), which does not poll yet
        program,  // a thread of the program
        progress_thread,
    };
    bool advance(HostRun& run, Caller caller);
    bool do_tasks(HostRun& run, Caller caller);
    template <bool traced>
    bool do_tasks(HostRun& run, Caller caller);
    // Whether the run has stopped at a task of this kind.
    bool is_at(const HostRun& run, Kind kind) const {
        return run.task < list_.tasks.size() && list_.tasks[run.task].kind == kind;
    }
    void remove(HostRun& run);
    bool release(HostRun& run, bool left_to_progress);

    const std::shared_ptr<SharedByLists> shared_;
    Link& link_;
    ProgressThread* const progress_thread_;  // null: only threads of the program advance runs
    const List list_;
    const MessagePlan messages_;
    bool is_short_ = false;
    int in_flight_ = 0;
};

HostPrepared::HostPrepared(List list, std::shared_ptr<SharedByLists> shared)
    : shared_(std::move(shared)),
      link_(shared_->link),
      progress_thread_(shared_->progress_thread),
      list_(std::move(list)),
      messages_(list_.tasks) {
    std::uint64_t bytes = 0;  // sent and received
    for (const Task& task : list_.tasks) {
        if (task.kind == Kind::enable_send || task.kind == Kind::enable_recv)
            throw Error(ErrorCode::internal, "the host engine runs lists, not queues");
        if (task.kind == Kind::send) bytes += task.source.length;
        if (task.kind == Kind::recv) bytes += task.target.length;
    }
    is_short_ = bytes <= max_short_bytes;
}

HostPrepared::~HostPrepared() {
    if (in_flight_ == 0) return;
    for (const auto& run : shared_->runs.objects()) {
        if (run->owner != this || !run->shared) continue;
        while (!progress_thread_->try_acquire(*run)) std::this_thread::yield();
        remove(*run);
    }
}

Operation* HostPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    HostRun& run = shared_->runs.take();
    run.set_short(is_short_);
    run.owner = this;
    run.memory.make_scratch(list_.scratch_bytes);
    run.memory.buffers = buffers;
    run.channel = channel;
    run.task = run.awaited = 0;
    run.messages.restart(messages_);
    ++in_flight_;
    run.complete = false;
    run.error = nullptr;
    if (shared_->traced) run.tracer.start(buffers.operation);
    if (progress_thread_ != nullptr) {
        progress_thread_->add(run);
        run.shared = true;
    }
    bool left_to_progress = false;
    try {
        run.complete = do_tasks(run, Caller::start) && run.messages.went_at_once();
        left_to_progress = is_at(run, Kind::send);
        // The progress thread flushes after the send that is left to it.
        if (!left_to_progress) link_.flush();
    } catch (...) {
        // The first test throws it.
        run.error = std::current_exception();
        run.complete = true;
    }
    release(run, left_to_progress);
    return &run;
}

bool HostPrepared::test(Operation* operation) {
    HostRun& run = static_cast<HostRun&>(*operation);
    if (run.shared && !progress_thread_->try_acquire(run)) return false;
    try {
        if (!run.complete) run.complete = advance(run, Caller::program);
        if (run.error != nullptr) std::rethrow_exception(run.error);
    } catch (...) {
        // The run is not started again, because the link may still use its memory.
        remove(run);
        throw;
    }
    if (!release(run, false)) return false;
    --in_flight_;
    shared_->runs.release(run);
    return true;
}

// Returns whether the run is complete. The caller owned it and must not use it afterwards unless it is.
bool HostPrepared::release(HostRun& run, bool left_to_progress) {
    if (run.complete) {
        remove(run);
        return true;
    }
    if (run.shared) progress_thread_->release(run, left_to_progress);
    return false;
}

// The progress thread must not use the run any more.
void HostPrepared::remove(HostRun& run) {
    if (!std::exchange(run.shared, false)) return;
    progress_thread_->remove(run);
    run.wake_ups = run.times_woken();
}

auto HostRun::advance() -> Outcome {
    try {
        complete = complete || owner->advance(*this, HostPrepared::Caller::progress_thread);
    } catch (...) {
        error = std::current_exception();
        complete = true;
    }
    if (complete) return Outcome::complete;
    // The thread stops at a reduction only if the program's own function must do it.
    return owner->is_at(*this, Kind::reduce) ? Outcome::needs_program : Outcome::pending;
}

// Returns whether the run is complete.
inline bool HostPrepared::advance(HostRun& run, Caller caller) {
    const bool complete = do_tasks(run, caller) && run.messages.sent(link_);
    link_.flush();
    return complete;
}

std::optional<Prepared::Position> HostPrepared::position(Operation* operation) {
    HostRun& run = static_cast<HostRun&>(*operation);
    if (run.shared && !progress_thread_->try_acquire(run)) return std::nullopt;
    Position position{run.task, list_.tasks.size(), {}};
    if (is_at(run, Kind::wait)) position.awaited.push_back(list_.tasks[run.task].peer);
    if (run.shared) progress_thread_->release(run);
    return position;
}

// Does tasks until one must wait for messages or for another thread. Returns whether all tasks are done.
bool HostPrepared::do_tasks(HostRun& run, Caller caller) {
    return shared_->traced ? do_tasks<true>(run, caller) : do_tasks<false>(run, caller);
}

template <bool traced>
bool HostPrepared::do_tasks(HostRun& run, Caller caller) {
    for (; run.task < list_.tasks.size(); ++run.task) {
        const Task& task = list_.tasks[run.task];
        if constexpr (traced) run.tracer.begin();
        switch (task.kind) {
            case Kind::send:
                if (caller == Caller::start && progress_thread_ != nullptr &&
                    link_.sends_slowly(task.peer, task.source.length))
                    return false;
                link_.send(task.peer, run.memory.source(task.source), task.source.length, run.channel,
                           run.messages.next_send());
                break;
            case Kind::recv:
                link_.recv(task.peer, run.memory.target(task.target), task.target.length, run.channel,
                           run.messages.next_receive());
                break;
            case Kind::wait:
                if (caller == Caller::start) {
                    // Receives that were complete when they were posted wake no thread.
                    if (progress_thread_ == nullptr ||
                        !run.messages.came_at_once(messages_, run.awaited + task.count))
                        return false;
                } else if (!run.messages.arrived(link_, messages_, run.awaited + task.count)) {
                    return false;
                }
                run.awaited += task.count;
                break;
            case Kind::reduce:
                // The program's own function may call MPI.
                if (caller == Caller::progress_thread && task.op == Operator::user) return false;
                [[fallthrough]];
            case Kind::copy:
                work(run.memory, {&task, 1});
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
        if constexpr (traced) run.tracer.end(task, run.task);
    }
    return true;
}

class HostGroup final : public GroupEngine {
  public:
    // `progress_thread` advances runs, too, if any thread may use `link`.
    HostGroup(Link& link, ProgressThread* progress_thread)
        : shared_(std::make_shared<SharedByLists>(
              SharedByLists{link, link.any_thread() ? progress_thread : nullptr, trace::on()})) {}
    std::unique_ptr<Prepared> prepare(const Problem&, List list, const ListUse&) override {
        return std::make_unique<HostPrepared>(std::move(list), shared_);
    }

  private:
    // Prepared lists, which may outlive this object, own it as well.
    const std::shared_ptr<SharedByLists> shared_;
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
