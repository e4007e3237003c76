#include "mpi/calls/arguments.hpp"
#include "mpi/calls/functions.hpp"

namespace lapwing {
namespace {

struct Barrier {
    static constexpr Collective collective = Collective::barrier;

    bool describe(const Communicator&, Problem&, UserBuffers&) const { return true; }
    watch::CallArguments recorded(int) const { return {}; }
    Transfer transfer(const CallPeers&) const { return {}; }
};

}  // namespace
}  // namespace lapwing

using namespace lapwing;

LAPWING_FUNCTIONS(Ibarrier, Barrier, , Barrier, (), ())
