"""A program written for LibNBC: results right, and every collective taken, under `lapwing run` and when linked to Lapwing."""

import json
import pathlib
import sys
import tempfile

import jobs

# How often each rank calls each collective.
CALLS = {"MPI_Ibarrier": 1, "MPI_Ibcast": 1, "MPI_Ialltoall": 2, "MPI_Ialltoallv": 11, "MPI_Iallgather": 1,
         "MPI_Iallgatherv": 1, "MPI_Igather": 1, "MPI_Igatherv": 1, "MPI_Iscatter": 1, "MPI_Iscatterv": 1,
         "MPI_Ireduce": 1, "MPI_Iallreduce": 2, "MPI_Iscan": 1, "MPI_Ireduce_scatter": 1,
         "MPI_Ineighbor_alltoall": 5, "MPI_Ineighbor_allgather": 2}
# Ranks, program, engine; None: without Lapwing.
RUNS = [(4, "nbc", "host"), (3, "nbc", "kernel"), (2, "nbc_linked", "kernel"), (3, "nbc", None)]


def main():
    build = pathlib.Path(sys.argv[1])
    mpi = sys.argv[2]
    failed = 0
    for ranks, program, engine in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            environment = jobs.environment(mpi, build)
            command = [*jobs.launcher(mpi, ranks), build / "tests" / f"{program}-{mpi}"]
            if program == "nbc_linked":
                # What makes ranks of MPICH yield would stand in front of Lapwing here.
                environment.pop("LD_PRELOAD", None)
                environment |= {"LAPWING_ENGINE": engine, "LAPWING_REPORT": "json", "LAPWING_REPORT_FILE": str(report)}
            elif engine:
                command = [build / "bin" / "lapwing", "run", "--engine", engine, "--report", "--json", "--report-file",
                           report, "--", *command]
            status, output = jobs.execute(command, 60, environment)
            faults = []
            if engine:
                try:
                    rows = {row["name"]: row for row in json.loads(report.read_text())["collectives"]}
                    faults = [f"{name}: {rows[name]['taken']} of {ranks} x {calls} calls taken, {rows[name]['uses_of_rank_0']}"
                              for name, calls in CALLS.items() if rows[name]["taken"] != ranks * calls
                              or engine not in [use["engine"] for use in rows[name]["uses_of_rank_0"]]]
                except (OSError, ValueError, KeyError) as error:
                    faults = [f"no report: {error}"]
        good = status == 0 and not faults
        print(f"{mpi}: {program} on {ranks} ranks, {engine or 'without Lapwing'}: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(f"exit status {status}\n{output}\n" + "\n".join(faults), flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
