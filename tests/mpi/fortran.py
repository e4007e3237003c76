"""Fortran programs under `lapwing run`: the results are right, and Lapwing takes every call that starts or completes a collective."""

import sys

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


def wrong(rows, program, ranks, engine, blocking):
    """The errors in the report."""
    found = {row["name"]: row for row in rows if row["taken"] > 0}
    for name, calls in CALLS[program].items():
        row = found.get(name, {"taken": 0})
        if row["taken"] != ranks * (calls + blocking.get(name, 0)):
            yield f"{name}: {row['taken']} of {ranks} x {calls} calls taken"
        elif row["wait_seconds"] <= 0:
            yield f"{name}: completed by calls that were not taken"
        elif engine not in [use["engine"] for use in row["uses_of_rank_0"]]:
            yield f"{name}: not by {engine}: {row['uses_of_rank_0']}"
    for name in found.keys() - CALLS[program].keys():
        yield f"{name}: the program does not call it"


def main():
    test = jobs.Test(*sys.argv[1:3])
    for program, ranks, options, blocking in RUNS:
        words = [test.built(program), *([test.built("late_library")] if program == "late" else [])]
        status, output, report = test.run_with_report(ranks, words, options, LAPWING_CHECK="1")
        faults = list(wrong(report["collectives"], program, ranks, options[1], blocking)) if report else ["no report"]
        test.expect(f"{program} on {ranks} ranks {' '.join(options)}", status == 0 and not faults,
                    f"exit status {status}\n{output}\n" + "\n".join(faults))
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
