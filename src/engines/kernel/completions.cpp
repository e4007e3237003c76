#include "engines/kernel/completions.hpp"

#include <algorithm>
#include <cerrno>

#include "engines/kernel/step_tag.hpp"

namespace lapwing::kernel {

void Completions::take_in() {
    ring_.reap([this](const io_uring_cqe& completion) { take(completion); });
}

void Completions::take(const io_uring_cqe& completion) {
    if (completion.user_data == Ring::wake_up) return;
    const StepTag tag = StepTag::of(completion.user_data);
    Run* const run = runs_.find(tag.run);
    if (run == nullptr) return;
    ChainProgress& chain = run->chains[tag.chain];
    if (!chain.in_kernel) return;
    if (chain.cancelled_due > 0) {
        if (--chain.cancelled_due == 0) leave_kernel(*run, chain);
        return;
    }
    ++taken_;
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

// The chain has come to its end, or has stopped at this step: cancelled (by a caller who takes it back, or
// because the thread that submitted it has ended), or broken.
void Completions::stop(Run& run, std::uint32_t number, std::uint32_t at, int result) {
    ChainProgress& chain = run.chains[number];
    const PlannedStep& step = (*chain.chain)[at];
    if (at != chain.step) chain.offset = 0;
    chain.step = at;
    // A step that reports its success also lets those that are linked to it report that they are cancelled.
    // These completions must not be taken for those of the next try.
    if (step.signals_completion)
        chain.cancelled_due = static_cast<std::uint32_t>(chain.chain->size()) - at - 1;
    if (chain.cancelled_due == 0) leave_kernel(run, chain);
    if (result > 0) {
        chain.offset += static_cast<std::uint64_t>(result);
        if (chain.offset < step.bytes) return;  // the next try reports what has stopped it
        chain.step = at + 1;
        chain.offset = 0;
        run.chains.completed(number);
        return;
    }
    const bool closed = result == 0 && step.kind == Step::Kind::receive;
    const bool may_try_again = result == -ECANCELED || result == -EINTR || result == -EAGAIN || result == 0;
    if (closed) {
        run.broke(step, ECONNRESET);
    } else if (!may_try_again) {
        run.broke(step, -result);
    }
}

void Completions::leave_kernel(Run& run, ChainProgress& chain) {
    run.chains.leave_kernel(chain);
    changed_.push_back(&run);
}

}  // namespace lapwing::kernel
