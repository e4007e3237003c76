#include "engines/kernel/completions.hpp"

#include <algorithm>
#include <cerrno>

#include "engines/kernel/step_tag.hpp"

namespace lapwing::kernel {

void Completions::poll() {
    ring_.reap([this](const io_uring_cqe& completion) { handle(completion); });
}

void Completions::handle(const io_uring_cqe& completion) {
    if (completion.user_data == Ring::wake_up) return;
    const StepTag tag = StepTag::of(completion.user_data);
    KernelRun* const run = runs_.find(tag.run);
    if (run == nullptr) return;
    ChainProgress& chain = run->chains[tag.chain];
    if (!chain.in_kernel) return;
    if (chain.cancelled_due > 0) {
        if (--chain.cancelled_due == 0) leave_kernel(*run, chain);
        return;
    }
    ++handled_;
    const std::uint64_t offset = tag.step == chain.step ? chain.offset : 0;
    const bool whole = completion.res >= 0 &&
                       offset + static_cast<std::uint64_t>(completion.res) == (*chain.chain)[tag.step].bytes;
    if (whole && tag.step + 1 < chain.chain->size()) {
        // A host step waits for this step. The chain continues in the kernel.
        chain.reported = std::max(chain.reported, tag.step + 1);
        changed_.push_back(run);
        return;
    }
    stop(*run, tag.chain, tag.step, completion.res);
}

// The chain is complete or has stopped at this step. It was cancelled (by a caller, or because the thread
// that submitted it has ended), or the step has failed.
void Completions::stop(KernelRun& run, std::uint32_t number, std::uint32_t at, int result) {
    ChainProgress& chain = run.chains[number];
    const PlannedStep& step = (*chain.chain)[at];
    if (at != chain.step) chain.offset = 0;
    chain.step = at;
    // If a step that reports its success stops, the steps linked to it report that they are cancelled. These
    // completions must not be taken for those of the next submission.
    if (step.signals_completion)
        chain.cancelled_due = static_cast<std::uint32_t>(chain.chain->size()) - at - 1;
    if (chain.cancelled_due == 0) leave_kernel(run, chain);
    if (result > 0) {
        chain.offset += static_cast<std::uint64_t>(result);
        if (chain.offset < step.bytes) return;  // the next submission reports the reason
        chain.step = at + 1;
        chain.offset = 0;
        run.chains.completed(number);
        return;
    }
    const bool closed = result == 0 && step.kind == Step::Kind::receive;
    const bool may_retry = result == -ECANCELED || result == -EINTR || result == -EAGAIN || result == 0;
    if (closed) {
        run.break_at(step, ECONNRESET);
    } else if (!may_retry) {
        run.break_at(step, -result);
    }
}

void Completions::leave_kernel(KernelRun& run, ChainProgress& chain) {
    run.chains.leave_kernel(chain);
    changed_.push_back(&run);
}

}  // namespace lapwing::kernel
