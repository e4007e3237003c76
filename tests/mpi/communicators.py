"""Random, correct programs of communicators under `lapwing run` (support/random_programs.py). The gate has none with threads: MPICH 4.0
and Open MPI 5 alone hang in 1 to 3 of 100 of those."""

import pathlib
import sys

import random_programs

HOST, KERNEL = ["--engine", "host"], ["--engine", "kernel"]
# Ranks, words of the program after the seed (threads, and the origin of its communicators), options of `lapwing run`, hosts.
GATE = {
    "openmpi": [(4, [0], []), (3, [0], KERNEL), (3, [0], [], 2), (3, [0], [*HOST, "--network", "mpi"], 2), (2, [0, "spawn"], [])],
    "mpich": [(3, [0], HOST), (3, [0, "session"], KERNEL)],
}
# Without Lapwing, too, threads of Open MPI 4.1.4 crash in MPI_Comm_dup, Debian's MPICH 4.0.2 cannot spawn, and it crashes in the second
# session of a program without MPI_Init. Open MPI 4 has no sessions.
ORIGINS = {"openmpi": ["spawn"], "mpich": ["session"]}


def runs_of(mpi):
    """All configurations for a long series. Options None: the MPI alone."""
    if mpi != "openmpi":
        yield from ((2, [3], options) for options in (None, HOST, KERNEL))
    for origin in ([], *([name] for name in ORIGINS.get(mpi, ["spawn", "session", "sessions"]))):
        yield from ((3, [0, *origin], options) for options in (None, HOST, KERNEL))
    yield from ((3, [0], options, 2) for options in (None, HOST, KERNEL))


if __name__ == "__main__":
    # UCX warns when MPICH ends with persistent requests that the program has freed; Open MPI 4's PMIx, of a lock, when jobs spawn.
    programs = random_programs.RandomPrograms(pathlib.Path(__file__).with_suffix(".cpp"), 40, UCX_LOG_LEVEL="error", PMIX_MCA_gds="hash")
    sys.exit(programs.run(GATE, runs_of))
