// Completions of io_uring, in orders that are rare on a real ring.
#include "engines/kernel/submission.hpp"

#include <cerrno>

#include "engines/kernel/chain_progress.hpp"
#include "engines/kernel/engine.hpp"
#include "support/engines.hpp"
#include "support/unit.hpp"

namespace lapwing::kernel {
namespace {

// A chain of three steps of eight bytes each.
Chains chain_of(Step::Kind first, Step::Kind second, Step::Kind third) {
    Chains chains;
    Chain& chain = chains.stages.emplace_back().chains.emplace_back();
    for (const Step::Kind kind : {first, second, third}) {
        Step& step = chain.emplace_back();
        step.kind = kind;
        step.peer = 1;
        step.span = {Space::out, 8 * chain.size(), 8};
    }
    return chains;
}

class CompletionsTest : public testing::Test {
  protected:
    void SetUp() override { LAPWING_NEEDS_ENGINE(kernel_engine()); }
    // A run whose chain is in the kernel.
    void begin(Step::Kind first, Step::Kind second, Step::Kind third) {
        ring_.emplace();
        completions_.emplace(*ring_, runs_, changed_);
        plan_.emplace(chain_of(first, second, third));
        run_.emplace();
        run_->take(*plan_, nullptr);
        run_->restart(false);
        runs_.add(*run_);
        run_->state = KernelRun::State::running;
        run_->operands.sockets = {-1};
        run_->chains.begin_receives(*plan_);
        run_->chains.begin_stage(*plan_);
        run_->chains.enter_kernel(chain());
    }
    void complete(std::uint32_t step, int result, StepTag::Part part = StepTag::Part::whole) {
        io_uring_cqe completion{};
        completion.user_data = StepTag{run_->id, 0, step, part}.packed();
        completion.res = result;
        completions_->handle(completion);
    }
    ChainProgress& chain() { return run_->chains[0]; }
    bool changed() {
        const bool any = !changed_.empty();
        changed_.clear();
        return any;
    }

    static constexpr Step::Kind send = Step::Kind::send;
    static constexpr Step::Kind receive = Step::Kind::receive;
    RunTable runs_;
    std::vector<KernelRun*> changed_;
    std::optional<Ring> ring_;
    std::optional<Completions> completions_;
    std::optional<ChainPlan> plan_;
    std::optional<KernelRun> run_;
};

TEST_F(CompletionsTest, TheLastStepCompletesTheChain) {
    begin(send, receive, send);
    complete(2, 8);
    EXPECT_TRUE(chain().done());
    EXPECT_TRUE(run_->chains.stage_is_complete());
    EXPECT_TRUE(changed());
}

TEST_F(CompletionsTest, ACancelledChainContinuesWhereItStopped) {
    begin(send, receive, send);
    complete(1, -ECANCELED);
    EXPECT_FALSE(chain().in_kernel);
    EXPECT_EQ(chain().step, 1U);
    EXPECT_EQ(chain().offset, 0U);
    EXPECT_EQ(run_->broken_step, nullptr);
    EXPECT_FALSE(run_->chains.all_in_kernel());
    EXPECT_TRUE(changed());
}

TEST_F(CompletionsTest, PartsOfAStepAddUp) {
    begin(send, receive, send);
    complete(1, 3);
    EXPECT_EQ(chain().step, 1U);
    EXPECT_EQ(chain().offset, 3U);
    run_->chains.enter_kernel(chain());
    complete(1, 4);
    EXPECT_EQ(chain().offset, 7U);
    run_->chains.enter_kernel(chain());
    complete(2, 8);
    EXPECT_TRUE(chain().done());
    EXPECT_EQ(run_->broken_step, nullptr);
}

TEST_F(CompletionsTest, TheEndOfAConnectionBreaksAReceive) {
    begin(send, receive, send);
    complete(1, 0);
    EXPECT_EQ(run_->broken_step, &(*chain().chain)[1]);
    EXPECT_EQ(run_->broken_by, ECONNRESET);
}

TEST_F(CompletionsTest, TheFirstErrorIsTheReason) {
    begin(send, receive, send);
    complete(0, -EPIPE);
    EXPECT_EQ(run_->broken_by, EPIPE);
    run_->chains.enter_kernel(chain());
    complete(0, -EIO);
    EXPECT_EQ(run_->broken_by, EPIPE);
}

TEST_F(CompletionsTest, InterruptedStepsAreRetried) {
    for (const int error : {EINTR, EAGAIN}) {
        begin(send, receive, send);
        complete(0, -error);
        EXPECT_EQ(run_->broken_step, nullptr);
        EXPECT_EQ(chain().steps_done(), 0U);
        EXPECT_FALSE(chain().in_kernel);
    }
}

// If a step that reports its success is cancelled, the steps linked to it report their cancellation, too.
TEST_F(CompletionsTest, AChainComesBackAfterAllItsCancelledSteps) {
    begin(send, send, receive);
    plan_->chains[0][0].signals_completion = true;
    complete(0, 5);
    EXPECT_TRUE(chain().in_kernel);
    complete(1, -ECANCELED);
    EXPECT_TRUE(chain().in_kernel);
    complete(2, -ECANCELED);
    EXPECT_FALSE(chain().in_kernel);
    EXPECT_EQ(chain().step, 0U);
    EXPECT_EQ(chain().offset, 5U);
    EXPECT_EQ(run_->broken_step, nullptr);
}

// The steps linked to it may be several operations.
TEST_F(CompletionsTest, AChainComesBackAfterAllOperationsOfItsCancelledSteps) {
    begin(receive, receive, send);
    plan_->chains[0][0].signals_completion = true;
    plan_->chains[0][1].low_water_mark = 3;
    complete(0, 5);
    for (int i = 0; i < 5; ++i) complete(1, -ECANCELED, StepTag::Part::body);
    EXPECT_TRUE(chain().in_kernel);
    complete(2, -ECANCELED);
    EXPECT_FALSE(chain().in_kernel);
    EXPECT_EQ(chain().step, 0U);
    EXPECT_EQ(chain().offset, 5U);
}

// An operation before the tail never reports a success, nor do the operations linked to it.
TEST_F(CompletionsTest, AReceiveInPartsContinuesWhereItStopped) {
    const auto stop = [&](int result, StepTag::Part part) {
        begin(send, receive, send);
        plan_->chains[0][1].low_water_mark = 3;
        plan_->chains[0][1].signals_completion = true;
        complete(1, result, part);
        EXPECT_EQ(chain().in_kernel, part == StepTag::Part::tail);
        EXPECT_EQ(chain().step, 1U);
        EXPECT_EQ(run_->broken_step, nullptr);
        return chain().offset;
    };
    EXPECT_EQ(stop(-ECANCELED, StepTag::Part::body), 0U);
    EXPECT_EQ(stop(4, StepTag::Part::body), 4U);
    EXPECT_EQ(stop(-ECANCELED, StepTag::Part::pause), 5U);
    EXPECT_EQ(stop(-ECANCELED, StepTag::Part::tail), 5U);
    EXPECT_EQ(stop(2, StepTag::Part::tail), 7U);
}

TEST_F(CompletionsTest, CompletionsWithoutARunChangeNothing) {
    begin(send, receive, send);
    io_uring_cqe wake_up{};
    wake_up.user_data = Ring::wake_up;
    completions_->handle(wake_up);
    runs_.remove(*run_);
    complete(2, 8);
    EXPECT_FALSE(changed());
    EXPECT_EQ(completions_->handled(), 0U);
}

}  // namespace
}  // namespace lapwing::kernel
