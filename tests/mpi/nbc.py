"""A program written for LibNBC: the results are right with and without Lapwing, which takes every collective."""

import jobs

# How often each rank calls each collective.
CALLS = {"MPI_Ibarrier": 1, "MPI_Ibcast": 1, "MPI_Ialltoall": 2, "MPI_Ialltoallv": 1, "MPI_Iallgather": 1,
         "MPI_Iallgatherv": 1, "MPI_Igather": 1, "MPI_Igatherv": 1, "MPI_Iscatter": 1, "MPI_Iscatterv": 1,
         "MPI_Ireduce": 1, "MPI_Iallreduce": 2, "MPI_Iscan": 1, "MPI_Ireduce_scatter": 1}
# Ranks, engine; None: without Lapwing.
RUNS = [(4, "host"), (3, "kernel"), (3, None)]


def check(test):
    for ranks, engine in RUNS:
        words = [test.built("nbc")]
        if engine:
            status, output, report = test.run_with_report(ranks, words, ["--engine", engine])
        else:
            status, output = jobs.execute([*jobs.launcher(test.mpi, ranks), *words], 60, test.environment)
        faults = list(jobs.not_run(report, {name: ranks * calls for name, calls in CALLS.items()}, engine)) if engine else []
        test.expect(f"{ranks} ranks, {engine or 'without Lapwing'}", status == 0 and not faults,
                    f"exit status {status}\n{output}\n" + "\n".join(faults))


if __name__ == "__main__":
    jobs.run(check)
