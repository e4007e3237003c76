#include "mpi/calls/reduction_call.hpp"

namespace lapwing {

Started ReductionCall::start(Communicator& group, Problem problem, const void* send_buffer,
                             bool receives) const {
    if (elements.layout.error != MPI_SUCCESS) return Started::failed_by(elements.layout.error);
    // An element without data is no operand.
    if (elements.layout.size == 0) return {Outcome::declined, MPI_SUCCESS, nullptr};
    Reduction reduction;
    const int error = reduction_of(op, elements.type, elements.layout, reduction);
    if (error != MPI_SUCCESS) return Started::failed_by(error);
    reduction.describe(problem);
    if (reduction.by_mpi()) keep_for_starts(op, elements.type, elements.layout);
    const bool in_place = problem.in_place;
    return lapwing::start(group, problem, [=, *this](Request& request, Buffers& buffers, int* failed) {
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
