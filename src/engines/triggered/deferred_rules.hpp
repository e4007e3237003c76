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
    if (message.iov_count != 1) return "a work has one local vector";
    if (message.context != context) return "the context of a message is its work's";
    if ((flags & FI_INJECT) != 0) return "a work cannot be injected";
    return "";
}

inline std::string broken_by(const fi_op_rma& work, const void* context) {
    if (work.msg.rma_iov_count != 1) return "a work has one remote vector";
    if (work.msg.rma_iov->len != work.msg.msg_iov->iov_len) return "the vectors of a work are equally long";
    return broken_by(work.msg, work.flags, context);
}

// The rule that the work breaks, or empty. `max_counted`: the largest threshold.
inline std::string broken_rule(const fi_deferred_work& work, std::uint64_t max_counted) {
    if (work.triggering_cntr == nullptr) return "a work waits for a counter";
    if (work.threshold > max_counted) return "a threshold is beyond what a counter counts";
    switch (work.op_type) {
        case FI_OP_RECV:
        case FI_OP_TRECV:
            if (work.threshold != 0) return "a receive does not wait";
            break;
        case FI_OP_CNTR_SET:
        case FI_OP_CNTR_ADD:
            if (work.completion_cntr != nullptr) return "nothing counts what changes a counter";
            if (work.op.cntr->cntr == work.triggering_cntr) return "a counter does not raise itself";
            return "";
        case FI_OP_SEND:
        case FI_OP_TSEND:
        case FI_OP_READ:
        case FI_OP_WRITE:
            break;
        default:
            return "atomics are not used";
    }
    if (work.completion_cntr == nullptr) return "a counter tells when a message's work is over";
    if (work.completion_cntr == work.triggering_cntr) return "a work does not wait for its own end";
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
