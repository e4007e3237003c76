#include "mpi/calls/reduction_call.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "mpi/job/runtime.hpp"
#include "task/associative.hpp"
#include "task/bracketing.hpp"

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

// Once for each collective and operator.
void warn_of_bracketing(const Problem& problem) {
    static std::array<std::atomic<std::uint64_t>, reported_collectives> warned;
    const auto bit = std::uint64_t{1} << static_cast<unsigned>(problem.op);
    if ((warned[static_cast<std::size_t>(problem.collective)].fetch_or(bit) & bit) != 0) return;
    runtime.job->warn_once(fmt::format(
        "{} by {} of {} gives the same bits only for the same number of ranks: it has no associative form",
        mpi_name(problem.collective), name(problem.op), name(problem.type)));
}

// The problem and the buffers in a form that gives the same bits for any number of ranks, if there is one.
void make_associative(Problem& problem, UserBuffers& buffers) {
    if (!bracketing::matters(problem)) return;
    const std::optional<AssociativeForm> form = AssociativeForm::of(problem.op, problem.type);
    if (!form) {
        warn_of_bracketing(problem);
        return;
    }
    problem.type = form->type();
    problem.bytes = form->bytes(problem.bytes);
    for (Parts& parts : problem.parts) {
        for (std::vector<Part>* some : {&parts.sends, &parts.receives}) {
            for (Part& part : *some) part = {part.peer, form->bytes(part.offset), form->bytes(part.bytes)};
        }
    }
    buffers.sent.convert(*form);
    buffers.received.convert(*form);
    buffers.converted = true;
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
    if (runtime.options.any_ranks) make_associative(problem, buffers);
    return true;
}

}  // namespace lapwing
