"""Random, correct programs of communicators under `lapwing run`: their results are right, and Lapwing prints nothing.

communicators.py BUILD MPI [SEEDS [FIRST]]      so many seeds in each configuration; 3 from 1 without, and no threads: MPICH 4.0 alone
                                                hangs in 1 of some 200 programs with threads
"""

import sys

import jobs

# Ranks, threads, hosts, options. Threads of Open MPI 4.1.4 crash in MPI_Comm_dup, also without Lapwing.
RUNS = {
    "openmpi": [(4, 0, 0, []), (3, 0, 0, ["--engine", "kernel"]), (3, 0, 2, []), (3, 0, 2, ["--engine", "host", "--network", "mpi"])],
    "mpich": [(3, 0, 0, ["--engine", "host"]), (2, 3, 0, ["--engine", "host"]), (2, 3, 0, ["--engine", "kernel"])],
}


def main():
    test = jobs.Test(*sys.argv[1:3])
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    has_hosts = test.has_hosts()
    for ranks, threads, hosts, options in RUNS[test.mpi]:
        if (hosts and not has_hosts) or (threads and len(sys.argv) <= 3):
            continue
        wrong = []
        for seed in range(first, first + seeds):
            words = test.under(options, ranks, [test.built("communicators"), seed, threads])
            if hosts:
                words = [test.tool, "cluster", "--hosts", hosts, "--", *words]
            # UCX warns when MPICH ends with persistent requests that the program has freed.
            status, output = jobs.execute(words, 120, test.environment | {"UCX_LOG_LEVEL": "error"})
            if status != 0 or output != "ok\n":
                wrong.append(f"seed {seed}: status {status}\n{output}")
        test.expect(f"{ranks} ranks, {threads} threads, {hosts or 1} hosts {' '.join(options)}: {seeds} programs", not wrong, "\n".join(wrong))
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
