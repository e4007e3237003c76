#include "engines/host/prepared.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/short_message.hpp"
#include "engines/local_work.hpp"
#include "engines/task_tracer.hpp"

namespace lapwing {

struct HostPrepared::Run final : Operation, ProgressThread::Work {
    explicit Run(HostPrepared& prepared) : ProgressThread::Work(prepared.is_short_), owner(prepared) {}
    Moved move() override;

    HostPrepared& owner;
    Memory memory;
    std::uint32_t channel = 0;
    std::size_t step = 0;  // the next one to do
    Messages messages;
    TaskTracer tracer;  // of a traced one

    // Where there is a progress thread, which may have it:
    bool shared = false;
    bool held = false;  // at a step that is for a thread of the program
    bool left = false;  // by the start, at a step that is for the progress thread
    bool complete = false;
    std::exception_ptr error;
};

HostPrepared::HostPrepared(const List& list, Link& link, ProgressThread* progress_thread)
    : link_(link),
      progress_thread_(link.any_thread() ? progress_thread : nullptr),
      traced_(trace::on()),
      scratch_bytes_(list.scratch_bytes) {
    std::uint64_t bytes = 0;  // that it moves
    steps_.reserve(list.tasks.size());
    for (const Task& task : list.tasks) {
        Step& step = steps_.emplace_back();
        step.task = task;
        switch (task.kind) {
            case Kind::send:
                step.index = messages_.send();
                bytes += task.source.length;
                break;
            case Kind::recv:
                step.index = messages_.recv(task.peer);
                bytes += task.target.length;
                break;
            case Kind::wait:
                step.index = messages_.wait(task.peer, task.count);
                break;
            case Kind::copy:
            case Kind::reduce:
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                throw Error(ErrorCode::internal, "the host engine runs lists, not queues");
        }
    }
    is_short_ = bytes <= max_short_bytes;
}

HostPrepared::~HostPrepared() {
    for (const auto& run : runs_) {
        if (!run->shared) continue;
        while (!progress_thread_->hold(*run)) std::this_thread::yield();
        progress_thread_->remove(*run);
    }
}

// True when it is complete.
inline bool HostPrepared::go_on(Run& run, Mover mover) {
    if (run.step == 0 && !link_.ready()) return false;
    const bool complete =
        advance(run, mover) && run.messages.sent(link_, messages_, messages_.sends().size());
    link_.flush();
    return complete;
}

Operation* HostPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<Run>(*this);
        run->messages.make(messages_);
        run->memory.make_scratch(scratch_bytes_);
        idle_.push_back(run.get());
        runs_.push_back(std::move(run));
    }
    Run* run = idle_.back();
    idle_.pop_back();
    run->memory.buffers = buffers;
    run->channel = channel;
    run->step = 0;
    run->messages.restart();
    if (traced_) run->tracer.start(buffers.operation);
    if (progress_thread_ != nullptr) {
        start_beside_progress_thread(*run);
    } else if (link_.ready()) {
        advance(*run, Mover::starter);
        link_.flush();
    }
    return run;
}

void HostPrepared::start_beside_progress_thread(Run& run) {
    run.held = run.left = run.complete = false;
    run.error = nullptr;
    progress_thread_->add(run);
    run.shared = true;
    try {
        // Long copies are not for the start: the progress thread is told of them.
        run.complete = advance(run, Mover::starter) && run.messages.went_at_once(messages_);
        // The progress thread does it.
        if (!run.left) link_.flush();
    } catch (...) {
        // The first test tells it.
        run.error = std::current_exception();
        run.complete = true;
    }
    end_hold(run);
}

bool HostPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    // After an exception the run stays in runs_ but is not started again: the link may still touch its
    // memory.
    const bool complete =
        progress_thread_ == nullptr ? go_on(run, Mover::program) : go_on_beside_progress_thread(run);
    if (complete) idle_.push_back(&run);
    return complete;
}

bool HostPrepared::go_on_beside_progress_thread(Run& run) {
    if (run.shared) return progress_thread_->hold(run) && go_on_held(run);
    if (run.error != nullptr) std::rethrow_exception(run.error);
    return true;
}

bool HostPrepared::go_on_held(Run& run) {
    try {
        if (!run.complete) run.complete = go_on(run, Mover::program);
        if (run.error != nullptr) std::rethrow_exception(run.error);
    } catch (...) {
        run.shared = false;
        progress_thread_->remove(run);
        throw;
    }
    return end_hold(run);
}

bool HostPrepared::end_hold(Run& run) {
    // Once it is let go, the progress thread may complete it.
    const bool complete = run.complete;
    if (complete) {
        run.shared = false;
        progress_thread_->remove(run);
        run.wake_ups = run.times_woken();
    } else {
        progress_thread_->let_go(run, std::exchange(run.left, false));
    }
    return complete;
}

auto HostPrepared::Run::move() -> Moved {
    held = false;
    try {
        complete = complete || owner.go_on(*this, Mover::progress_thread);
    } catch (...) {
        // Who waits for it is told.
        error = std::current_exception();
        complete = true;
    }
    if (complete) return Moved::done;
    return held ? Moved::held : Moved::on;
}

// Does tasks until a wait is not satisfied, or one is for another thread. True at the end.
bool HostPrepared::advance(Run& run, Mover mover) {
    return traced_ ? do_tasks<true>(run, mover) : do_tasks<false>(run, mover);
}

template <bool traced>
bool HostPrepared::do_tasks(Run& run, Mover mover) {
    for (; run.step < steps_.size(); ++run.step) {
        const Step& step = steps_[run.step];
        const Task& task = step.task;
        if constexpr (traced) run.tracer.begin();
        switch (task.kind) {
            case Kind::send:
                if (mover == Mover::starter && progress_thread_ != nullptr &&
                    link_.sends_slowly(task.peer, task.source.length)) {
                    run.left = true;
                    return false;
                }
                link_.send(task.peer, run.memory.source(task.source), task.source.length, run.channel,
                           run.messages[step.index]);
                break;
            case Kind::recv:
                link_.recv(task.peer, run.memory.target(task.target), task.target.length, run.channel,
                           run.messages[step.index]);
                break;
            case Kind::wait:
                if (mover == Mover::starter) {
                    // What a receive has taken in at once is nobody's news.
                    if (progress_thread_ != nullptr && run.messages.came_at_once(messages_, step.index))
                        break;
                    return false;
                }
                if (!run.messages.arrived(link_, messages_, step.index)) return false;
                break;
            case Kind::reduce:
                // The caller's own function may need the MPI.
                if (mover == Mover::progress_thread && task.op == Operator::user) {
                    run.held = true;
                    return false;
                }
                [[fallthrough]];
            case Kind::copy:
                work(run.memory, {&task, 1});
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
        if constexpr (traced) run.tracer.end(task, run.step);
    }
    return true;
}

}  // namespace lapwing
