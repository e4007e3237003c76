"""The functions of the preload library: each collective of the MPI of this machine, and the persistent ones of other versions."""

import pathlib
import re
import subprocess
import sys

STEMS = ["Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv",
         "Alltoallw", "Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block", "Neighbor_allgather",
         "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv", "Neighbor_alltoallw"]
COLLECTIVE = re.compile(r"MPIX?_(?:(?:%s)(?:_init)?|I(?:%s))(?:_c)?" % ("|".join(STEMS), "|".join(stem.lower() for stem in STEMS)))


def functions_of(library):
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name for name in (line.split()[-1].split("@")[0] for line in table.splitlines()) if COLLECTIVE.fullmatch(name)}


def native_library(build, mpi):
    linked = subprocess.run(["ldd", build / "tests" / f"drop_in-{mpi}"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search(r"libmpi(?:ch)?\.so\S* => (\S+)", linked)[1]


def main():
    build, mpi = pathlib.Path(sys.argv[1]), sys.argv[2]
    native = native_library(build, mpi)
    ours = functions_of(build / "lib" / f"liblapwing-{mpi}.so")
    # Open MPI 4 has persistent collectives as MPIX_, Open MPI 5 as MPI_ functions: one preload library serves both.
    expected = functions_of(native) | {f"{prefix}_{stem}_init" for stem in STEMS
                                       for prefix in (["MPI", "MPIX"] if mpi == "openmpi" else ["MPI"])}
    missing = sorted(expected - ours)
    print(f"{len(ours)} functions, {len(expected)} expected; missing: {missing}", flush=True)
    return 1 if missing or len(expected) < 3 * len(STEMS) else 0


if __name__ == "__main__":
    sys.exit(main())
