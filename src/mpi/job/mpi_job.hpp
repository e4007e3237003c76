// The job of MPI_COMM_WORLD: its ranks exchange bytes by the native MPI.
#pragma once

#include <mpi.h>

#include "engines/job.hpp"

namespace lapwing {

// The variables of this process, without the files of its job if the job was started by MPI_Comm_spawn: the
// job that spawned it has the same variables, and writes these files itself. Its report goes to standard
// error. Throws Error (invalid_argument).
Settings settings_of_job();

class MpiJob final : public Job {
  public:
    // Collective. `entered`: a thread of Lapwing may call the MPI while the program computes.
    explicit MpiJob(Settings settings, bool entered = false);
    ~MpiJob() override;
    // In MPI_Finalize, before the destructor: receives the messages of collectives that the program did not
    // complete. MPICH 5 ends the job when a communicator is freed on which messages were never received.
    void receive_rest();
    // A duplicate of MPI_COMM_WORLD that the program does not know: Lapwing's messages never match the
    // program's. Returns errors. The first call is collective, and must come before the program goes on.
    MPI_Comm communicator();
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override;
    // Collective: the bytes of all ranks, by rank, at rank 0; at the others nothing.
    std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine);
    void leave_together(const std::function<void()>& meanwhile) override;
    void warn(const std::string& line) override;
    std::string describe_links(bool threads) const override;
    bool links_stand_still() const override { return links_stand_still_; }
    void keep_lists_off() { links_stand_still_ = true; }

  private:
    void send(std::span<const std::byte> bytes, int to);
    // Appends the bytes.
    void receive(std::vector<std::byte>& bytes, int from);

    // While the duplicate is being made, exchanges use MPI_COMM_WORLD and need not wait for it: no program
    // receives yet, and what another rank's program sends already comes after the messages of that rank's
    // exchanges.
    MPI_Comm of_exchanges() const { return being_made_ == MPI_REQUEST_NULL ? own_ : MPI_COMM_WORLD; }

    MPI_Comm own_ = MPI_COMM_NULL;
    MPI_Request being_made_ = MPI_REQUEST_NULL;  // until communicator() is called
    bool entered_ = false;
    bool links_stand_still_ = false;
};

}  // namespace lapwing
