// The rules of Slingshot's cards for deferred work, beyond libfabric's interface. They are asserted on every
// provider, so that tests with another provider find violations. From fi_cxi(7) and the provider's source
// (cxip_dom.c).
#pragma once

#include <rdma/fi_trigger.h>

#include <cstdint>
#include <string>

namespace lapwing::ofi {

// A message is a tagged one, too, as far as this goes.
template <typename Message>
std::string broken_by(const Message& message, std::uint64_t flags, const void* context) {
    if (message.iov_count != 1) return "a deferred transfer must have one local vector";
    if (message.context != context)
        return "the context of a message must be the context of its deferred work";
    if ((flags & FI_INJECT) != 0) return "deferred work must not use FI_INJECT";
    return "";
}

inline std::string broken_by(const fi_op_rma& work, const void* context) {
    if (work.msg.rma_iov_count != 1) return "a deferred RDMA transfer must have one remote vector";
    if (work.msg.rma_iov->len != work.msg.msg_iov->iov_len)
        return "the local and the remote vector must have the same length";
    return broken_by(work.msg, work.flags, context);
}

// The rule that the work breaks, or empty. `max_counted`: the largest threshold.
inline std::string broken_rule(const fi_deferred_work& work, std::uint64_t max_counted) {
    if (work.triggering_cntr == nullptr) return "deferred work needs a triggering counter";
    if (work.threshold > max_counted) return "the threshold exceeds the maximum of a counter";
    switch (work.op_type) {
        case FI_OP_RECV:
        case FI_OP_TRECV:
            if (work.threshold != 0) return "the threshold of a receive must be 0";
            break;
        case FI_OP_CNTR_SET:
        case FI_OP_CNTR_ADD:
            if (work.completion_cntr != nullptr)
                return "an operation on a counter must not have a completion counter";
            if (work.op.cntr->cntr == work.triggering_cntr)
                return "a counter must not trigger an operation on itself";
            return "";
        case FI_OP_SEND:
        case FI_OP_TSEND:
        case FI_OP_READ:
        case FI_OP_WRITE:
            break;
        default:
            return "atomic operations are not supported";
    }
    if (work.completion_cntr == nullptr) return "deferred transfers need a completion counter";
    if (work.completion_cntr == work.triggering_cntr)
        return "the completion counter must not be the triggering counter";
    switch (work.op_type) {
        case FI_OP_READ:
        case FI_OP_WRITE:
            return broken_by(*work.op.rma, &work.context);
        case FI_OP_SEND:
        case FI_OP_RECV:
            return broken_by(work.op.msg->msg, work.op.msg->flags, &work.context);
        default:
            return "";
    }
}

}  // namespace lapwing::ofi
