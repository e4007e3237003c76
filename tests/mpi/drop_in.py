"""Plain MPI programs under `lapwing run`: the results are right, and the requested engine runs their collectives."""

import jobs

COLLECTIVES = ["MPI_Ibarrier", "MPI_Ibcast", "MPI_Ialltoall", "MPI_Ireduce", "MPI_Iallreduce",
               "MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter", "MPI_Iscan", "MPI_Iexscan"]

# Ranks, options of `lapwing run` or variables, options of the program.
RUNS = [(1, [], []), (4, [], []), (3, ["--blocking"], []), (2, [], ["--threads"]), (4, ["--engine", "kernel"], [])]
MORE = [(ranks, [], []) for ranks in (2, 3, 5)] + [
    (3, ["LAPWING_TRANSFER=processor"], []),
    (4, ["LAPWING_SHARED_MEMORY=0"], []),
    (3, ["LAPWING_PROGRESS_THREAD=any", "LAPWING_TRANSFER=processor"], []),
    (2, ["LAPWING_PROGRESS_THREAD=any"], ["--threads"]),
    (4, ["--algorithm", "ialltoall=pairwise:window=1,ibcast=scatter_ring,ibarrier=dissemination"], []),
    (5, ["--algorithm", "ialltoall=bruck,ibcast=scatter_recursive_doubling"], []),
    (3, ["--algorithm", "ialltoall=ring,ibcast=k_nomial:k=3"], []),
    (1, ["--engine", "kernel"], []),
    (5, ["--engine", "kernel", "--blocking"], []),
    (3, ["--engine", "kernel", "--algorithm", "ialltoall=pairwise:window=1,ibcast=scatter_ring"], []),
    (3, ["--engine", "kernel", "--algorithm", "ialltoall=bruck,ibcast=k_nomial:k=3"], []),
    (2, ["--engine", "kernel"], ["--threads"]),
    (3, ["--engine", "kernel", "LAPWING_SUBMIT=thread"], []),
]


def check(test):
    for ranks, options, arguments in MORE if test.more else RUNS:
        variables = dict(option.split("=", 1) for option in options if option.startswith("LAPWING_"))
        chosen = [option for option in options if not option.startswith("LAPWING_")]
        status, output, report = test.run_with_report(ranks, [test.built("drop_in"), *arguments], chosen, 120, LAPWING_CHECK="1", **variables)
        faults = list(jobs.not_run(report, COLLECTIVES, "kernel" if "kernel" in options and ranks > 1 else "host"))
        progress = "thread" if "LAPWING_PROGRESS_THREAD" in variables else "caller"
        if report.get("inside_host", {}).get("progress", progress) != progress:
            faults.append(f"not by the {progress}: {report['inside_host']}")
        test.expect(f"{ranks} ranks {' '.join(options + arguments)}", status == 0 and not faults and "do not match" not in output,
                    f"exit status {status}\n{output}\n" + "\n".join(faults))
    if not test.more:
        differ = jobs.neighbors_differ(jobs.launcher(test.mpi, 4), test.built("neighbors"), test.tool, test.environment)
        test.expect("neighbours get what they get from the MPI alone", not differ, differ)


if __name__ == "__main__":
    jobs.run(check)
