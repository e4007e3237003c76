#include "mpi/calls/reduction_call.hpp"

namespace lapwing {

Started ReductionCall::start(CallContext& context, Problem& problem, const void* send_buffer,
                             bool receives) const {
    if (elements.error() != MPI_SUCCESS) return Started::failed_by(elements.error());
    // An element without data is no operand.
    if (elements.layout.size == 0) return Started::declined();
    Reduction reduction;
    const int error = reduction_of(op, elements.type, elements.layout, reduction);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
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
