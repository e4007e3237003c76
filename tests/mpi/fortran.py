"""Fortran programs under `lapwing run`: the results are right, and Lapwing takes every call that starts or completes a collective."""

import jobs

# How often each rank calls each collective.
CALLS = {
    "f08": {"MPI_Ibarrier": 2, "MPI_Ibcast": 2, "MPI_Iallgather": 2, "MPI_Ialltoall": 2, "MPI_Igather": 1,
            "MPI_Iscatter": 1, "MPI_Iallgatherv": 1, "MPI_Igatherv": 1, "MPI_Iscatterv": 1, "MPI_Ialltoallv": 2,
            "MPI_Iallreduce": 18, "MPI_Ireduce": 1, "MPI_Iscan": 1, "MPI_Iexscan": 1, "MPI_Ireduce_scatter_block": 1,
            "MPI_Ireduce_scatter": 1, "MPI_Ineighbor_allgather": 2, "MPI_Ineighbor_alltoall": 3},
    "f90": {"MPI_Ibarrier": 1, "MPI_Iallgather": 1, "MPI_Ialltoall": 2, "MPI_Iallreduce": 2},
    "late": {"MPI_Ialltoall": 1},
}
CALLS["mpif_h"] = CALLS["f90"]
# Program, ranks, options of `lapwing run`, blocking calls that Lapwing takes as well.
RUNS = [(program, ranks, ["--engine", engine], {}) for program in ("f08", "f90") for ranks, engine in ((4, "host"), (3, "kernel"))]
RUNS += [("late", 3, ["--engine", "kernel"], {}), ("f08", 1, ["--engine", "host"], {}), ("mpif_h", 3, ["--engine", "kernel"], {}),
         ("mpif_h", 2, ["--engine", "host", "--blocking"], {"MPI_Iallreduce": 1})]


def wrong(report, program, ranks, engine, blocking):
    """The errors in the report."""
    calls = {name: ranks * (each + blocking.get(name, 0)) for name, each in CALLS[program].items()}
    yield from jobs.not_run(report, calls, engine)
    for row in report.get("collectives", []):
        if row["taken"] > 0 and row["wait_seconds"] <= 0:
            yield f"{row['name']}: completed by calls that were not taken"
        if row["taken"] > 0 and row["name"] not in calls:
            yield f"{row['name']}: the program does not call it"


def check(test):
    for program, ranks, options, blocking in RUNS:
        words = [test.built(program), *([test.built("late_library")] if program == "late" else [])]
        status, output, report = test.run_with_report(ranks, words, options, LAPWING_CHECK="1")
        faults = list(wrong(report, program, ranks, options[1], blocking))
        test.expect(f"{program} on {ranks} ranks {' '.join(options)}", status == 0 and not faults,
                    f"exit status {status}\n{output}\n" + "\n".join(faults))


if __name__ == "__main__":
    jobs.run(check)
