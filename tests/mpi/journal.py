"""The journal of MPI calls that ranks keep, with each engine and without one."""

import jobs

RUNS = [(2, ["--engine", "host", "--messages", "on"]), (4, []), (1, []), (3, ["--engine", "kernel"]), (3, ["--engine", "mpi"]), (3, ["--blocking"])]


def check(test):
    for ranks, options in RUNS:
        status, output = test.run_job(ranks, [test.built("journal")], options, 120)
        test.expect(f"{ranks} ranks {' '.join(options)}", status == 0, f"exit status {status}\n{output}")


if __name__ == "__main__":
    jobs.run(check)
