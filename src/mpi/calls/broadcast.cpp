#include "mpi/calls/call.hpp"

namespace lapwing {
namespace {

struct Broadcast {
    static constexpr Collective collective = Collective::broadcast;
    void* buffer;
    MPI_Count count;
    MPI_Datatype type;
    int root;

    bool plausible(const Communicator& group) const {
        return lapwing::plausible(count, type) && plausible_root(group, root);
    }
    Started start(Communicator& group) const {
        const Elements elements(buffer, static_cast<std::uint64_t>(count), type);
        if (elements.layout.error != MPI_SUCCESS) return Started::failed_by(elements.layout.error);
        Problem problem = {
            .collective = collective, .ranks = group.ranks, .root = root, .bytes = elements.bytes()};
        return lapwing::start(group, problem,
                              [=, *this, &group](Request& request, Buffers& buffers, int* error) {
                                  if (group.rank == root) {
                                      // A group of one moves nothing.
                                      if (group.ranks > 1) buffers.in = input(request, elements, error);
                                  } else {
                                      buffers.out = output(request, elements, error);
                                  }
                              });
    }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

#define LAPWING_BROADCAST(suffix, Count, Displacement)                              \
    LAPWING_FUNCTIONS(Ibcast##suffix, Bcast##suffix, Bcast_init##suffix, Broadcast, \
                      (void* buffer, Count count, MPI_Datatype type, int root), (buffer, count, type, root))
LAPWING_WITH_COUNTS(LAPWING_BROADCAST)
