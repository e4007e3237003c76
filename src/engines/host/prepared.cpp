#include "engines/host/prepared.hpp"

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/short_message.hpp"
#include "engines/local_work.hpp"
#include "engines/progress_choice.hpp"
#include "engines/task_tracer.hpp"

namespace lapwing {

struct HostPrepared::HostRun final : Operation, ProgressThread::Work {
    explicit HostRun(HostPrepared& prepared) : ProgressThread::Work(prepared.is_short_), owner(prepared) {
        messages.make(prepared.messages_);
        memory.make_scratch(prepared.scratch_bytes_);
    }
    Outcome advance() override;

    HostPrepared& owner;
    Memory memory;
    std::uint32_t channel = 0;
    std::size_t step = 0;  // the next one to do
    Messages messages;
    TaskTracer tracer;

    // Used with a progress thread:
    bool shared = false;            // registered with it
    bool needs_program = false;     // the next step is for a thread of the program
    bool left_to_progress = false;  // the start left the next step to the progress thread
    bool complete = false;
    std::exception_ptr error;
};

HostPrepared::HostPrepared(const List& list, Link& link, ProgressThread* progress_thread)
    : link_(link),
      progress_thread_(link.any_thread() ? progress_thread : nullptr),
      traced_(trace::on()),
      scratch_bytes_(list.scratch_bytes) {
    std::uint64_t bytes = 0;  // sent and received
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
    for (const auto& run : runs_.objects()) {
        if (!run->shared) continue;
        while (!progress_thread_->try_acquire(*run)) std::this_thread::yield();
        progress_thread_->remove(*run);
    }
}

Operation* HostPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    HostRun& run = runs_.take([this] { return std::make_unique<HostRun>(*this); });
    run.memory.buffers = buffers;
    run.channel = channel;
    run.step = 0;
    run.messages.restart();
    if (traced_) run.tracer.start(buffers.operation);
    if (progress_thread_ != nullptr) {
        start_shared(run);
    } else {
        do_tasks(run, Caller::start);
        link_.flush();
    }
    return &run;
}

void HostPrepared::start_shared(HostRun& run) {
    run.needs_program = run.left_to_progress = run.complete = false;
    run.error = nullptr;
    progress_thread_->add(run);
    run.shared = true;
    try {
        run.complete = do_tasks(run, Caller::start) && run.messages.went_at_once(messages_);
        // After a send that is left to the progress thread, that thread flushes.
        if (!run.left_to_progress) link_.flush();
    } catch (...) {
        // The first test throws it.
        run.error = std::current_exception();
        run.complete = true;
    }
    release(run);
}

bool HostPrepared::test(Operation* operation) {
    HostRun& run = static_cast<HostRun&>(*operation);
    // After an exception the run is not started again, because the link may still use its memory.
    const bool complete = progress_thread_ == nullptr ? advance(run, Caller::program) : test_shared(run);
    if (complete) runs_.release(run);
    return complete;
}

bool HostPrepared::test_shared(HostRun& run) {
    if (!run.shared) {
        if (run.error != nullptr) std::rethrow_exception(run.error);
        return true;
    }
    if (!progress_thread_->try_acquire(run)) return false;
    try {
        if (!run.complete) run.complete = advance(run, Caller::program);
        if (run.error != nullptr) std::rethrow_exception(run.error);
    } catch (...) {
        run.shared = false;
        progress_thread_->remove(run);
        throw;
    }
    return release(run);
}

// Returns whether the run is complete. The caller owned it and must not use it afterwards unless it is.
bool HostPrepared::release(HostRun& run) {
    if (!run.complete) {
        progress_thread_->release(run, std::exchange(run.left_to_progress, false));
        return false;
    }
    run.shared = false;
    progress_thread_->remove(run);
    run.wake_ups = run.times_woken();
    return true;
}

auto HostPrepared::HostRun::advance() -> Outcome {
    needs_program = false;
    try {
        complete = complete || owner.advance(*this, Caller::progress_thread);
    } catch (...) {
        error = std::current_exception();
        complete = true;
    }
    if (complete) return Outcome::complete;
    return needs_program ? Outcome::needs_program : Outcome::pending;
}

// Returns whether the run is complete.
inline bool HostPrepared::advance(HostRun& run, Caller caller) {
    const bool complete =
        do_tasks(run, caller) && run.messages.sent(link_, messages_, messages_.sends().size());
    link_.flush();
    return complete;
}

std::optional<Prepared::Position> HostPrepared::position(Operation* operation) {
    HostRun& run = static_cast<HostRun&>(*operation);
    const bool locked = run.shared && progress_thread_ != nullptr;
    if (locked && !progress_thread_->try_acquire(run)) return std::nullopt;
    Position position{run.step, steps_.size(), {}};
    if (run.step < steps_.size() && steps_[run.step].task.kind == Kind::wait)
        position.awaited.push_back(steps_[run.step].task.peer);
    if (locked) progress_thread_->release(run);
    return position;
}

// Does tasks until one must wait for messages or for another thread. Returns whether all tasks are done.
bool HostPrepared::do_tasks(HostRun& run, Caller caller) {
    return traced_ ? do_tasks<true>(run, caller) : do_tasks<false>(run, caller);
}

template <bool traced>
bool HostPrepared::do_tasks(HostRun& run, Caller caller) {
    for (; run.step < steps_.size(); ++run.step) {
        const Step& step = steps_[run.step];
        const Task& task = step.task;
        if constexpr (traced) run.tracer.begin();
        switch (task.kind) {
            case Kind::send:
                if (caller == Caller::start && progress_thread_ != nullptr &&
                    link_.sends_slowly(task.peer, task.source.length)) {
                    run.left_to_progress = true;
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
                if (caller == Caller::start) {
                    // Receives that were complete when they were posted wake no thread.
                    if (progress_thread_ != nullptr && run.messages.came_at_once(messages_, step.index))
                        break;
                    return false;
                }
                if (!run.messages.arrived(link_, messages_, step.index)) return false;
                break;
            case Kind::reduce:
                // The program's own function may call MPI.
                if (caller == Caller::progress_thread && task.op == Operator::user) {
                    run.needs_program = true;
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
