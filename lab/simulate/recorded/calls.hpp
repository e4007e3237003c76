// The collectives of a recording: which calls of the ranks belong together, and the problem that they
// describe together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "recording/recording.hpp"
#include "simulate/program.hpp"
#include "task/mpi_function.hpp"
#include "task/problem.hpp"

namespace lapwing::simulate {

// A collective or a message of the scripts. Action::operation is its index.
struct ReplayOperation {
    Problem problem = {};      // of a collective, without placement
    int communicator = -1;     // -1: a message
    bool blocking = true;      // the program waits for it in the call that starts it
    std::uint64_t bytes = 0;   // of a message
    bool synchronous = false;  // a message
};

class RecordedCalls {
  public:
    // Throws Error (invalid_argument) if the ranks of a communicator call different collectives, or some have
    // called fewer than others.
    explicit RecordedCalls(const recording::Recording& recording);

    const MpiFunction& function(int rank, std::uint32_t site) const {
        return functions_[static_cast<std::size_t>(rank)].at(site);
    }
    // Returns the index in collectives() of a call of a rank's table; -1 if it is not one that can be
    // simulated.
    int collective(int rank, std::uint32_t call) const {
        return collective_of_[static_cast<std::size_t>(rank)][call];
    }
    // Returns the index of a rank's communicator in communicators(); -1: an intercommunicator.
    int communicator(int rank, std::uint32_t number) const {
        return communicators_of_[static_cast<std::size_t>(rank)].at(number);
    }
    const std::vector<ReplayOperation>& collectives() const { return collectives_; }
    std::vector<Communicator>& communicators() { return communicators_; }

  private:
    void find_communicators(const recording::Recording& recording);
    void find_collectives(const recording::Recording& recording);

    std::vector<std::map<std::uint32_t, MpiFunction>> functions_;  // by rank and site
    std::vector<std::map<std::uint32_t, int>> communicators_of_;   // by rank and number
    std::vector<Communicator> communicators_;
    std::vector<std::vector<int>> collective_of_;  // by rank and call
    std::vector<ReplayOperation> collectives_;
};

}  // namespace lapwing::simulate
