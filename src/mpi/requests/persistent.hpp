// Persistent collectives: requests that MPI_Start starts again and again.
//
// The program's handle is a persistent request of the MPI's: a receive of an empty message from this rank
// itself. While no collective is in flight it is inactive there, too, so the MPI does with it what the
// standard says. It is started in the MPI's eyes only when the MPI must know (the program completes it
// together with other requests), and completes there by a message that is sent when the collective is
// complete.
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

namespace lapwing {

struct Request;

// Fills the buffers of a request from the program's, before each start.
class Preparation {
  public:
    virtual ~Preparation() = default;
    virtual void prepare(Request& request, Buffers& buffers, int* error) const = 0;
};

// What a request keeps from one start to the next.
struct Persistence {
    std::unique_ptr<const Preparation> preparation;
    std::uint32_t channel = 0;  // a kept one, link.hpp
    int lane = -1;              // -1: none
    int tag = 0;                // of the message that completes the handle
    bool active_in_mpi = false;
    // The program may free its own: theirs and ours.
    std::vector<std::pair<MPI_Datatype, MPI_Datatype>> types;
    MpiReducer operands;  // holds the operator

    Persistence() = default;
    ~Persistence();  // inside Entry, when it holds an operator
};

// While one stands, the calls of this thread are not started but kept.
class KeptForStarts {
  public:
    KeptForStarts() { present_ = this; }
    ~KeptForStarts();
    KeptForStarts(const KeptForStarts&) = delete;
    KeptForStarts& operator=(const KeptForStarts&) = delete;
    static KeptForStarts* present() { return present_; }

    std::unique_ptr<Persistence> persistence = std::make_unique<Persistence>();

  private:
    static constinit thread_local KeptForStarts* present_;
};

// Whether all functions that a persistent request may be given to are Lapwing's: a tool that stands before
// them and calls the MPI's would find the request inactive.
bool takes_persistent_requests();

// The datatype that takes the place of the program's for all starts: the same one where nothing is kept. The
// MPI's error shows when it is used.
MPI_Datatype kept_for_starts(MPI_Datatype type, KeptForStarts& kept);
inline MPI_Datatype kept_for_starts(MPI_Datatype type) {
    KeptForStarts* kept = KeptForStarts::present();
    return kept == nullptr ? type : kept_for_starts(type, *kept);
}
void keep_for_starts(MPI_Op op, MPI_Datatype type, const Layout& layout);

// Persistent collectives of ours that the program has not freed. Read without Entry, for the short way.
extern std::atomic<int> persistent_requests;

// All of these inside Entry, for requests with persistence.
int start_again(Request& request);              // the MPI's error code
void tell_mpi_of_start(Request& request);       // active in the MPI's eyes from now on
void tell_mpi_of_completion(Request& request);  // complete there
void free_persistent(Request& request);         // not running; its place is used for another
// At the end of MPI: those that the program did not free.
void free_message_communicator();

}  // namespace lapwing
