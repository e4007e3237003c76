#include "engines/host/prepared.hpp"

#include <unordered_map>

#include "base/error.hpp"
#include "engines/local_work.hpp"

namespace lapwing {

struct HostPrepared::Run : Operation {
    Memory memory;
    std::uint32_t channel = 0;
    std::size_t step = 0;     // the next one to do
    std::size_t awaited = 0;  // the next of awaited_, which waits take in order
    std::size_t sent = 0;     // the next send whose completion is looked for
    std::vector<Link::Transfer> transfers;
};

HostPrepared::HostPrepared(const List& list, Link& link) : link_(link), scratch_bytes_(list.scratch_bytes) {
    struct Receives {
        std::vector<std::size_t> transfers;
        std::size_t waited = 0;
    };
    std::unordered_map<int, Receives> receives;
    steps_.reserve(list.tasks.size());
    for (const Task& task : list.tasks) {
        Step& step = steps_.emplace_back();
        step.task = task;
        switch (task.kind) {
            case Kind::send:
            case Kind::write:
                sends_.push_back(transfers_);
                step.index = transfers_++;
                break;
            case Kind::recv:
                receives[task.peer].transfers.push_back(transfers_);
                step.index = transfers_++;
                break;
            case Kind::wait: {
                Receives& of_peer = receives[task.peer];
                if (of_peer.transfers.size() - of_peer.waited < task.count) {
                    throw Error(ErrorCode::internal, "a list waits for a receive that it has not posted");
                }
                for (std::uint64_t i = 0; i < task.count; ++i)
                    awaited_.push_back(of_peer.transfers[of_peer.waited++]);
                step.index = awaited_.size();
                break;
            }
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
    if (idle_.empty()) {
        idle_.reserve(runs_.size() + 1);
        auto run = std::make_unique<Run>();
        run->transfers.resize(transfers_);
        run->memory.make_scratch(scratch_bytes_);
        idle_.push_back(run.get());
        runs_.push_back(std::move(run));
    }
    Run* run = idle_.back();
    idle_.pop_back();
    run->memory.buffers = buffers;
    run->channel = channel;
    run->step = 0;
    run->awaited = 0;
    run->sent = 0;
    if (link_.ready()) advance(*run, false);
    return run;
}

bool HostPrepared::test(Operation* operation) {
    Run& run = static_cast<Run&>(*operation);
    if (run.step == 0 && !link_.ready()) return false;
    // After an exception the run stays in runs_ but is not started again: the link may still touch its
    // memory.
    if (!advance(run, true) || !sends_complete(run)) return false;
    idle_.push_back(&run);
    return true;
}

// Does tasks until a wait is not satisfied, or, unless `may_wait`, until the first wait. True at the end.
bool HostPrepared::advance(Run& run, bool may_wait) {
    for (; run.step < steps_.size(); ++run.step) {
        const Step& step = steps_[run.step];
        const Task& task = step.task;
        switch (task.kind) {
            case Kind::send:
            case Kind::write:
                link_.send(task.peer, run.memory.source(task.source), task.source.length, run.channel,
                           run.transfers[step.index]);
                break;
            case Kind::recv:
                link_.recv(task.peer, run.memory.target(task.target), task.target.length, run.channel,
                           run.transfers[step.index]);
                break;
            case Kind::wait:
                if (!may_wait) return false;
                for (; run.awaited < step.index; ++run.awaited) {
                    if (!link_.test(run.transfers[awaited_[run.awaited]])) return false;
                }
                break;
            case Kind::copy:
            case Kind::reduce:
                work(run.memory, {&task, 1});
                break;
            case Kind::enable_send:
            case Kind::enable_recv:
                break;
        }
    }
    return true;
}

bool HostPrepared::sends_complete(Run& run) {
    for (; run.sent < sends_.size(); ++run.sent) {
        if (!link_.test(run.transfers[sends_[run.sent]])) return false;
    }
    return true;
}

}  // namespace lapwing
