#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

struct Barrier {
    static constexpr Collective collective = Collective::barrier;

    Started start(CallContext& context) const {
        Problem problem = {.collective = collective, .ranks = context.ranks()};
        return context.start(problem, [](Request&, Buffers&, int*) {});
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_FUNCTIONS(MPI_Ibarrier, MPI_Barrier, MPI_Barrier_init, , Barrier, (), ())
