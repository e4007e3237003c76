// Which ranks of the job have this library. Each announces itself in the key-value store of its launcher
// before the MPI's MPI_Init, in which the MPI synchronizes all ranks by the same store. A rank that has not
// announced itself by the end of MPI_Init is therefore not late: the library is absent there.
#pragma once

#include <string>

namespace lapwing {

// Before the MPI's MPI_Init.
void announce_rank();

// After the MPI's MPI_Init. Names the next rank, and its host, if that rank has not announced itself. Empty
// where the launcher has no store that is known here: PMIx (Open MPI, Slurm), or Hydra's (MPICH, Intel MPI).
std::string next_rank_without_library(int rank, int ranks);

}  // namespace lapwing
