// The rules of Slingshot's cards for deferred work, beyond libfabric's interface. They are asserted on every
// provider, so that tests with another provider find violations. From fi_cxi(7) and the provider's source
// (cxip_dom.c).
#pragma once

#include <rdma/fi_trigger.h>

#include <cstdint>
#include <string>

namespace lapwing::ofi {

// The rule that a write breaks, or empty.
inline std::string broken_by(const fi_op_rma& write, const void* context) {
    if (write.msg.rma_iov_count != 1) return "a deferred RDMA transfer must have one remote vector";
    if (write.msg.rma_iov->len != write.msg.msg_iov->iov_len)
        return "the local and the remote vector must have the same length";
    if (write.msg.iov_count != 1) return "a deferred transfer must have one local vector";
    if (write.msg.context != context)
        return "the context of a message must be the context of its deferred work";
    if ((write.flags & FI_INJECT) != 0) return "deferred work must not use FI_INJECT";
    return "";
}

// The rule that the work breaks, or empty. The engine queues writes and additions to counters. `max_counted`:
// the largest threshold.
inline std::string broken_rule(const fi_deferred_work& work, std::uint64_t max_counted) {
    if (work.triggering_cntr == nullptr) return "deferred work needs a triggering counter";
    if (work.threshold > max_counted) return "the threshold exceeds the maximum of a counter";
    if (work.op_type == FI_OP_CNTR_ADD) {
        if (work.completion_cntr != nullptr)
            return "an operation on a counter must not have a completion counter";
        if (work.op.cntr->cntr == work.triggering_cntr)
            return "a counter must not trigger an operation on itself";
        return "";
    }
    if (work.completion_cntr == nullptr) return "deferred transfers need a completion counter";
    if (work.completion_cntr == work.triggering_cntr)
        return "the completion counter must not be the triggering counter";
    return broken_by(*work.op.rma, &work.context);
}

}  // namespace lapwing::ofi
