#include "engines/kernel/host_steps.hpp"

#include "engines/local_work.hpp"

namespace lapwing::kernel {

HostSteps::Result HostSteps::advance(KernelRun& run, Caller caller) {
    if (!run.alive()) return Result::awaits_kernel;
    intra_node_.test_all(run.plan->host.intra_node(), caller, run.host.intra_node);
    while (!run.may_begin_stage() && run.host_steps_left()) {
        const HostStep& step = run.plan->host.steps()[run.host.next];
        if (run.trace != nullptr) run.trace->begin_host_step(step);
        const Result result = do_step(run, step, caller);
        if (result != Result::done) return result;
        if (run.trace != nullptr) run.trace->end_host_step(run.host.next);
        ++run.host.next;
    }
    return Result::done;
}

HostSteps::Result HostSteps::do_step(KernelRun& run, const HostStep& step, Caller caller) {
    const auto done_if = [](bool met) { return met ? Result::done : Result::awaits_kernel; };
    switch (step.kind) {
        case HostStep::Kind::work:
            if (!may_work(run, caller)) return Result::awaits_program;
            work(run.operands.memory, {&step.task, 1});
            return Result::done;
        case HostStep::Kind::intra_node:
            return intra_node_.do_step(step.task, step.index, run.operands.memory, run.channel, caller,
                                       run.host.intra_node)
                       ? Result::done
                       : Result::awaits_program;
        case HostStep::Kind::receipt:
            return done_if(step.chain < run.chains.size() &&
                           run.chains[step.chain].steps_done() >= step.index);
        case HostStep::Kind::stage:
            return done_if(run.chains.stage() >= step.index);
        case HostStep::Kind::end:
            break;
    }
    return done_if(run.chains.all_complete(*run.plan));
}

}  // namespace lapwing::kernel
