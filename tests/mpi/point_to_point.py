"""Random, correct programs of point-to-point messages under `lapwing run`, while Lapwing's thread drives the MPI's progress
(support/random_programs.py). Threads under MPICH only: threads of Open MPI 4.1.4 alone fail."""

import pathlib
import sys

import random_programs

# Ranks, words of the program after the seed, options of `lapwing run`; None: the MPI alone.
GATE = {
    "openmpi": [(3, [0], None), (3, [0], []), (2, [0, "turns"], ["--engine", "mpi"])],
    "mpich": [(3, [0], None), (3, [0], []), (2, [2], [])],
    "impi": [(5, [0], None), (5, [0], [])],
}


def runs_of(mpi):
    """All configurations for a long series."""
    for words in ([0], [0, "turns"], [3]):
        if words == [3] and mpi == "openmpi":
            continue
        for ranks in (2, 3, 5):
            yield from ((ranks, words, options) for options in (None, [], ["--engine", "mpi"]))


if __name__ == "__main__":
    # Without LAPWING_MESSAGES there are no messages of the thread in a job on one host without spare processors.
    programs = random_programs.RandomPrograms(pathlib.Path(__file__).with_suffix(".cpp"), 120, UCX_LOG_LEVEL="error", LAPWING_MESSAGES="on")
    sys.exit(programs.run(GATE, runs_of))
