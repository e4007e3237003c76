// What a persistent collective keeps from one start to the next.
//
// The program's handle is a persistent request of the MPI's: a receive of an empty message from this rank
// itself. While no collective is in flight it is inactive in the MPI, too, so the MPI treats it as the
// standard demands. It is started in the MPI only when the MPI must see it (the program completes it together
// with other requests), and completed there by a message that is sent when the collective is complete.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "mpi/native/datatype.hpp"
#include "mpi/native/reduction.hpp"
#include "mpi/requests/communicator.hpp"

namespace lapwing {

// Fills the buffers of a request from the program's, before each start.
class Preparation {
  public:
    virtual ~Preparation() = default;
    virtual void prepare(Request& request, Buffers& buffers, int* error) const = 0;
};

// The receive that stands for a persistent collective in the MPI. Inside Entry.
class PersistentHandle {
  public:
    int make(MPI_Request* handle);  // the MPI's error code
    void start(MPI_Request handle);
    bool active() const { return active_; }
    void complete(MPI_Request handle, int error);  // after a start, when there was none yet
    void free(MPI_Request handle, int error);      // complete, where it is active

  private:
    int tag_ = 0;  // of the message that completes it
    bool active_ = false;
};

struct Persistence {
    std::unique_ptr<const Preparation> preparation;
    PersistentHandle handle;
    std::uint32_t channel = 0;  // a kept one, link.hpp
    // The program may free its own: theirs and ours.
    std::vector<std::pair<MPI_Datatype, MPI_Datatype>> types;
    // An operator of the MPI's that is held from the first start to the end.
    bool reduces = false;
    MPI_Op op{};
    MPI_Datatype operand{};
    Layout layout;
    MpiReducer operands;

    Persistence() = default;
    Persistence(const Persistence&) = delete;
    Persistence& operator=(const Persistence&) = delete;
    ~Persistence();  // inside Entry, once it holds the operator

    // The datatype that takes the place of the program's for all starts: the same one where it is predefined.
    // The MPI's error shows when it is used.
    MPI_Datatype keep(MPI_Datatype type);
    void keep_operator(MPI_Op reduction, MPI_Datatype type, const Layout& of_type);
    // Inside Entry.
    void hold_operator();
};

// Persistent collectives of ours that the program has not freed. Read without Entry, for the short way.
extern std::atomic<int> persistent_requests;

}  // namespace lapwing
