#include "mpi/calls/reduction_call.hpp"

namespace lapwing {

// Whether the MPI refuses the type, or a buffer.
bool ReductionCall::refused(const Problem& problem, const void* send_buffer, bool receives) const {
    const std::uint64_t sent = input != 0 ? input : elements.count;
    if (elements.refused() || (sent > 0 && !elements.layout.committed)) return true;
    // It looks at the result's on a rank without one, too, unless the root alone has one.
    const bool has_result = receives || problem.collective != Collective::reduce;
    const auto none = [&](const void* buffer, std::uint64_t count) {
        return may_be_no_buffer(buffer) && is_no_buffer(buffer, count > 0, elements.type);
    };
    if (has_result && none(elements.address, elements.count)) return true;
    return !problem.in_place &&
           (none(send_buffer, sent) || (has_result && send_buffer == elements.address &&
                                        is_aliased(problem.collective, send_buffer, elements.address, sent)));
}

Started ReductionCall::start(CallContext& context, Problem& problem, const void* send_buffer,
                             bool receives) const {
    if (refused(problem, send_buffer, receives)) return Started::declined();
    // An element without data is no operand.
    if (elements.layout.size == 0) return Started::declined();
    Reduction reduction;
    if (!reduction_of(op, elements.type, elements.layout, reduction)) return Started::declined();
    reduction.describe(problem);
    if (reduction.by_mpi()) context.reduce_by(op, elements);
    const bool in_place = problem.in_place;
    return context.start(problem, [=, *this](Request& request, Buffers& buffers, int* failed) {
        if (reduction.by_mpi()) {
            request.reducer.hold(op, elements.type, elements.layout);
            buffers.reducer = &request.reducer;
        }
        if (!in_place) {
            Elements sent = elements;
            sent.address = send_buffer;
            if (input != 0) sent.count = input;
            buffers.in = lapwing::input(request, sent, failed);
        }
        if (!receives || *failed != MPI_SUCCESS) return;
        buffers.out = output_in_place(request, elements, 0, in_place ? elements.count : 0, failed);
    });
}

}  // namespace lapwing
