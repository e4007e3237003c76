// Each rule of Slingshot's cards for deferred work, broken once.
#include "engines/triggered/deferred_rules.hpp"
#include "support/unit.hpp"

namespace lapwing::ofi {
namespace {

constexpr std::uint64_t max_counted = (std::uint64_t{1} << 48) - 1;

// A write that keeps all of them.
struct Write {
    fid_cntr counters[2] = {};
    iovec from{nullptr, 8};
    fi_rma_iov to{0, 8, 0};
    fi_op_rma rma{};
    fi_deferred_work work{};

    Write() {
        rma.msg.msg_iov = &from;
        rma.msg.iov_count = 1;
        rma.msg.rma_iov = &to;
        rma.msg.rma_iov_count = 1;
        rma.msg.context = &work.context;
        work.triggering_cntr = &counters[0];
        work.completion_cntr = &counters[1];
        work.threshold = max_counted;
        work.op_type = FI_OP_WRITE;
        work.op.rma = &rma;
    }
};

TEST(DeferredRules, AWrite) {
    Write right;
    EXPECT_EQ(broken_rule(right.work, max_counted), "");
    const std::function<void(Write&)> breaks[] = {
        [](Write& one) { one.rma.msg.iov_count = 2; },
        [](Write& one) { one.rma.msg.rma_iov_count = 2; },
        [](Write& one) { one.to.len = 4; },
        [](Write& one) { one.rma.msg.context = &one; },
        [](Write& one) { one.rma.flags = FI_INJECT; },
        [](Write& one) { one.work.triggering_cntr = nullptr; },
        [](Write& one) { one.work.completion_cntr = nullptr; },
        [](Write& one) { one.work.completion_cntr = one.work.triggering_cntr; },
        [](Write& one) { one.work.threshold = max_counted + 1; },
    };
    for (const auto& break_one : breaks) {
        Write wrong;
        break_one(wrong);
        EXPECT_NE(broken_rule(wrong.work, max_counted), "") << &break_one - breaks;
    }
}

TEST(DeferredRules, AnAddition) {
    fid_cntr counters[2] = {};
    fi_op_cntr operation{&counters[1], 1};
    fi_deferred_work add{};
    add.triggering_cntr = &counters[0];
    add.op_type = FI_OP_CNTR_ADD;
    add.op.cntr = &operation;
    EXPECT_EQ(broken_rule(add, max_counted), "");
    add.completion_cntr = &counters[1];
    EXPECT_NE(broken_rule(add, max_counted), "");
    add.completion_cntr = nullptr;
    operation.cntr = &counters[0];
    EXPECT_NE(broken_rule(add, max_counted), "");
}

}  // namespace
}  // namespace lapwing::ofi
