#include "engines/host/prepared.hpp"

#include "base/error.hpp"
#include "engines/local_work.hpp"
#include "engines/witness.hpp"

namespace lapwing {

struct HostPrepared::Run : Operation {
    Memory memory;
    std::uint32_t channel = 0;
    std::size_t step = 0;  // the next one to do
    Messages messages;
    Witness witness;  // of a traced one
};

HostPrepared::HostPrepared(const List& list, Link& link) : link_(link), scratch_bytes_(list.scratch_bytes) {
    steps_.reserve(list.tasks.size());
    for (const Task& task : list.tasks) {
        Step& step = steps_.emplace_back();
        step.task = task;
        switch (task.kind) {
            case Kind::send:
            case Kind::write:
                step.index = messages_.send();
                break;
            case Kind::recv:
                step.index = messages_.recv(task.peer);
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
}

HostPrepared::~HostPrepared() = default;

Operation* HostPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    return start_run<false>(buffers, channel);
}

bool HostPrepared::test(Operation* operation) {
    return test_run<false>(operation);
}

Operation* TracedHostPrepared::start(const Buffers& buffers, std::uint32_t channel) {
    return start_run<true>(buffers, channel);
}

bool TracedHostPrepared::test(Operation* operation) {
    return test_run<true>(operation);
}

template <bool traced>
Operation* HostPrepared::start_run(const Buffers& buffers, std::uint32_t channel) {
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<Run>();
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
    if constexpr (traced) run->witness.start();
    if (link_.ready()) {
        advance<traced>(*run, false);
        link_.flush();
    }
    return run;
}

template <bool traced>
bool HostPrepared::test_run(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    if (run.step == 0 && !link_.ready()) return false;
    // After an exception the run stays in runs_ but is not started again: the link may still touch its
    // memory.
    const bool complete =
        advance<traced>(run, true) && run.messages.sent(link_, messages_, messages_.sends().size());
    link_.flush();
    if (!complete) return false;
    idle_.push_back(&run);
    return true;
}

// Does tasks until a wait is not satisfied, or, unless `may_wait`, until the first wait. True at the end.
template <bool traced>
bool HostPrepared::advance(Run& run, bool may_wait) {
    for (; run.step < steps_.size(); ++run.step) {
        const Step& step = steps_[run.step];
        const Task& task = step.task;
        if constexpr (traced) run.witness.begin();
        switch (task.kind) {
            case Kind::send:
            case Kind::write:
                link_.send(task.peer, run.memory.source(task.source), task.source.length, run.channel,
                           run.messages[step.index]);
                break;
            case Kind::recv:
                link_.recv(task.peer, run.memory.target(task.target), task.target.length, run.channel,
                           run.messages[step.index]);
                break;
            case Kind::wait:
                if (!may_wait) return false;
                if (!run.messages.arrived(link_, messages_, step.index)) return false;
                break;
            case Kind::copy:
            case Kind::reduce:
                work(run.memory, {&task, 1});
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
        if constexpr (traced) run.witness.end(task, run.step);
    }
    return true;
}

}  // namespace lapwing
