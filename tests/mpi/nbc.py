"""A program written for LibNBC: the results are right, and Lapwing takes every collective, under `lapwing run` and when linked to Lapwing."""

import pathlib
import tempfile

import jobs

# How often each rank calls each collective.
CALLS = {"MPI_Ibarrier": 1, "MPI_Ibcast": 1, "MPI_Ialltoall": 2, "MPI_Ialltoallv": 1, "MPI_Iallgather": 1,
         "MPI_Iallgatherv": 1, "MPI_Igather": 1, "MPI_Igatherv": 1, "MPI_Iscatter": 1, "MPI_Iscatterv": 1,
         "MPI_Ireduce": 1, "MPI_Iallreduce": 2, "MPI_Iscan": 1, "MPI_Ireduce_scatter": 1}
# Ranks, program, engine; None: without Lapwing.
RUNS = [(4, "nbc", "host"), (3, "nbc", "kernel"), (2, "nbc_linked", "kernel"), (3, "nbc", None)]


def check(test):
    for ranks, program, engine in RUNS:
        words = [test.built(program)]
        if program == "nbc_linked":
            with tempfile.TemporaryDirectory() as scratch:
                report = pathlib.Path(scratch) / "report.json"
                # The library that makes MPICH's ranks yield would be loaded before Lapwing here.
                environment = {name: value for name, value in test.environment.items() if name != "LD_PRELOAD"}
                environment |= {"LAPWING_ENGINE": engine, "LAPWING_REPORT": "json", "LAPWING_REPORT_FILE": str(report)}
                status, output = jobs.execute([*jobs.launcher(test.mpi, ranks), *words], 60, environment)
                report = jobs.report_in(report)
        elif engine:
            status, output, report = test.run_with_report(ranks, words, ["--engine", engine])
        else:
            status, output = jobs.execute([*jobs.launcher(test.mpi, ranks), *words], 60, test.environment)
        faults = list(jobs.not_run(report, {name: ranks * calls for name, calls in CALLS.items()}, engine)) if engine else []
        test.expect(f"{program} on {ranks} ranks, {engine or 'without Lapwing'}", status == 0 and not faults,
                    f"exit status {status}\n{output}\n" + "\n".join(faults))


if __name__ == "__main__":
    jobs.run(check)
