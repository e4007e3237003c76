// What a simulation reports of scripts while it runs: where the time of each rank is.
#pragma once

#include "simulate/time.hpp"

namespace lapwing::simulate {

class Observer {
  public:
    virtual ~Observer() = default;
    // The rank was in a call of this site from `begin` to `left`, and outside of MPI from then to `end`.
    virtual void called(int rank, int site, Time begin, Time left, Time end) = 0;
    // The rank has started a collective or a message with this request; later, it is complete.
    virtual void started(int rank, int request, int site, Time begin) = 0;
    virtual void completed(int rank, int request, Time end) = 0;
    // The rank begins a pass of its main loop, see Action::begins_pass.
    virtual void began_pass(int rank, Time begin) = 0;
};

}  // namespace lapwing::simulate
