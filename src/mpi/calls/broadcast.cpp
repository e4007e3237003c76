#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

struct Broadcast {
    static constexpr Collective collective = Collective::broadcast;
    BlockArgument data;
    int root;

    // Inline as start_call() is: 2 ns of 50.
    [[gnu::always_inline]] Started start(CallContext& context) const {
        if (!data.plausible() || !context.has(root)) return Started::declined();
        const Elements elements = data.elements(context);
        if (elements.refused()) return Started::declined();
        Problem problem = {
            .collective = collective, .ranks = context.ranks(), .root = root, .bytes = elements.bytes()};
        const bool is_root = context.rank() == root;
        const bool moves = context.ranks() > 1;
        return context.start(problem, [=](Request& request, Buffers& buffers, int* error) {
            if (!is_root)
                buffers.out = output(request, elements, error);
            else if (moves)
                buffers.in = input(request, elements, error);
        });
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_BROADCAST(suffix, Count)                                                                 \
    LAPWING_FUNCTIONS(MPI_Ibcast, MPI_Bcast, MPI_Bcast_init, suffix, Broadcast, (LAPWING_BUFFER(Count)), \
                      (LAPWING_BUFFER_NAMES))
LAPWING_WITH_COUNTS(LAPWING_BROADCAST)
