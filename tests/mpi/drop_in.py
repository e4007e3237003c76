"""Plain MPI programs under `lapwing run`: results right, their collectives taken, by the engine that was asked for."""

import json
import pathlib
import sys
import tempfile

import jobs

COLLECTIVES = ["MPI_Ibarrier", "MPI_Ibcast", "MPI_Igather", "MPI_Ialltoall", "MPI_Ireduce", "MPI_Iallreduce",
               "MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter", "MPI_Iscan", "MPI_Iexscan", "MPI_Ineighbor_alltoall"]

# Ranks, options of `lapwing run` or variables, options of the program.
RUNS = [(ranks, [], []) for ranks in range(1, 6)] + [
    (3, ["LAPWING_TRANSFER=processor"], []),
    (4, ["LAPWING_SHARED_MEMORY=0"], []),
    (3, ["LAPWING_PROGRESS_THREAD=any", "LAPWING_TRANSFER=processor"], []),
    (2, ["LAPWING_PROGRESS_THREAD=any"], ["--threads"]),
    (4, ["--algorithm", "ialltoall=pairwise:window=1,ibcast=scatter_ring,igather=sequential,ibarrier=dissemination"], []),
    (5, ["--algorithm", "ialltoall=bruck,ibcast=scatter_recursive_doubling,igather=binomial"], []),
    (3, ["--algorithm", "ialltoall=ring,ibcast=k_nomial:k=3,igather=binary"], []),
    (3, ["--blocking"], []),
    (3, ["--blocking", "auto"], []),
    (2, [], ["--threads"]),
    (1, ["--engine", "kernel"], []),
    (4, ["--engine", "kernel"], []),
    (5, ["--engine", "kernel", "--blocking"], []),
    (3, ["--engine", "kernel", "--algorithm", "ialltoall=pairwise:window=1,ibcast=scatter_ring,igather=sequential"], []),
    (3, ["--engine", "kernel", "--algorithm", "ialltoall=bruck,ibcast=k_nomial:k=3,igather=binomial"], []),
    (2, ["--engine", "kernel"], ["--threads"]),
    (3, ["--engine", "kernel", "LAPWING_SUBMIT=thread"], []),
]


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    for ranks, options, arguments in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            variables = dict(option.split("=", 1) for option in options if option.startswith("LAPWING_"))
            chosen = [option for option in options if not option.startswith("LAPWING_")]
            command = [build / "bin" / "lapwing", "run", "--report", "--json", "--report-file", report, *chosen, "--",
                       *jobs.launcher(mpi, ranks), build / "tests" / f"drop_in-{mpi}", *arguments]
            environment = jobs.environment(mpi, build)
            environment |= variables | {"LAPWING_CHECK": "1"}
            status, output = jobs.execute(command, 120, environment)
            what = f"{mpi}, {ranks} ranks {' '.join(options + arguments)}"
            try:
                told = json.loads(report.read_text())
                collectives = [row for row in told["collectives"] if row["name"] in COLLECTIVES]
                taken = {row["name"]: row["taken"] for row in collectives}
                progress = "thread" if "LAPWING_PROGRESS_THREAD" in variables else "caller"
                if told.get("inside_host", {}).get("progress", progress) != progress:
                    taken = {"error": f"not by the {progress}: {told['inside_host']}"}
                engine = "kernel" if "kernel" in options and ranks > 1 else "host"
                for row in collectives:
                    if engine not in [use["engine"] for use in row["uses_of_rank_0"]]:
                        taken[row["name"]] = f"not by {engine}: {row['uses_of_rank_0']}"
            except (OSError, ValueError, KeyError) as error:
                taken = {"error": str(error)}
        if status != 0 or "do not match" in output or not all(isinstance(taken.get(name), int) and taken[name] > 0 for name in COLLECTIVES):
            print(f"{output}\nFAILED {what}: exit status {status}, taken {taken}", flush=True)
            failed += 1
        else:
            print(f"{what}: taken {taken}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
