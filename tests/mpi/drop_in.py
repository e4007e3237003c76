"""Plain MPI programs under `lapwing run`: results right, all four collectives taken."""

import json
import pathlib
import sys
import tempfile

import jobs

COLLECTIVES = ["MPI_Ibarrier", "MPI_Ibcast", "MPI_Igather", "MPI_Ialltoall"]

# Ranks, options of `lapwing run`, options of the program.
RUNS = [(ranks, [], []) for ranks in range(1, 6)] + [
    (4, ["--algorithm", "ialltoall=pairwise:window=1,ibcast=scatter_ring,igather=sequential,ibarrier=dissemination"], []),
    (5, ["--algorithm", "ialltoall=bruck,ibcast=scatter_recursive_doubling,igather=binomial"], []),
    (3, ["--algorithm", "ialltoall=ring,ibcast=k_nomial:k=3,igather=binary"], []),
    (3, ["--blocking"], []),
    (2, [], ["--threads"]),
]


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    for ranks, options, arguments in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            command = [build / "bin" / "lapwing", "run", "--report", "--json", "--report-file", report, *options, "--",
                       *jobs.launcher(mpi, ranks), build / "tests" / f"drop_in-{mpi}", *arguments]
            environment = jobs.environment(mpi, build)
            environment["LAPWING_CHECK"] = "1"
            status, output = jobs.execute(command, 120, environment)
            what = f"{mpi}, {ranks} ranks {' '.join(options + arguments)}"
            try:
                taken = {row["name"]: row["taken"] for row in json.loads(report.read_text())["collectives"]}
            except (OSError, ValueError, KeyError) as error:
                taken = {"error": str(error)}
        if status != 0 or any(taken.get(name, 0) == 0 for name in COLLECTIVES):
            print(f"{output}\nFAILED {what}: exit status {status}, taken {taken}", flush=True)
            failed += 1
        else:
            print(f"{what}: taken {taken}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
