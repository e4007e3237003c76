#include "mpi/calls/reduction_call.hpp"

namespace lapwing {
namespace {

// Whether the MPI refuses the type or a buffer.
bool refused(const Problem& problem, const Operands& operands) {
    const auto& [op, send_buffer, result, sent, receives] = operands;
    if (result.refused() || (sent > 0 && !result.layout.committed)) return true;
    // The MPI also checks the receive buffer on ranks without a result, except in MPI_Reduce.
    const bool has_result = receives || problem.collective != Collective::reduce;
    const auto missing = [&type = result.type](const void* buffer, std::uint64_t count) {
        return may_be_no_buffer(buffer) && is_no_buffer(buffer, count > 0, type);
    };
    if (has_result && missing(result.address, result.count)) return true;
    return !problem.in_place && (missing(send_buffer, sent) ||
                                 (has_result && send_buffer == result.address &&
                                  is_aliased(problem.collective, send_buffer, result.address, sent)));
}

}  // namespace

bool describe_operands(Problem& problem, UserBuffers& buffers, const Operands& operands) {
    const auto& [op, send_buffer, result, sent, receives] = operands;
    // An element without data is no operand.
    if (refused(problem, operands) || result.layout.size == 0) return false;
    Reduction reduction;
    if (!reduction_of(op, result.type, result.layout, reduction)) return false;
    reduction.describe(problem);
    if (reduction.by_mpi()) buffers.reduction = {op, result.type, result.layout};
    if (!problem.in_place) {
        Elements input = result;
        input.address = send_buffer;
        input.count = sent;
        buffers.sent.set(input);
    }
    if (receives) {
        buffers.received.set(result);
        if (problem.in_place) buffers.received.contributes(result, 0);
    }
    return true;
}

}  // namespace lapwing
