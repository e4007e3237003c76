"""The sample applications check their own results: with the MPI alone and under `lapwing run`, on one host and between
virtual hosts. Each application must detect a number that was changed in transit."""

import json

import jobs

# By program: ranks and words.
PROGRAMS = {
    "fft": [(1, "--size 8 9 7 --mode blocking"),
            (2, "--size 8 9 7 --mode one-sided --window 3"),
            (3, "--size 9 4 2 --variables 2 --tiles 3 --window 2 --tests 3"),
            (4, "--size 9 10 7 --grid 2 2 --variables 5 --window 4 --bound"),
            (2, "--task taylor-green --size 16 16 16 --iterations 2")],
    "cg": [(1, "--size 12 9 14 --mode blocking"),
           (4, "--size 12 9 14 --halo alltoallv"),
           (3, "--size 6 9 13 --solver gropp --tests 3"),
           (4, "--size 12 9 14 --halo-of residual --tests 2"),
           (2, "--size 9 12 9 --halo-of residual --mode blocking --bound"),
           (2, "--size 9 9 9 --solver pipelined --bound")],
    "compress": [(2, "--bytes 5000 --chunks 4 --mode blocking"),
                 (4, "--bytes 5000 --chunks 5 --codec zstd --window 3"),
                 (3, "--bytes 200000 --chunks 3")],
}
# Options beside the last run of each program.
PLANTED = {"cg": [(3, "--size 9 9 9 --halo-of residual"), (1, "--size 9 9 9 --halo-of residual")]}
# Between hosts, by the kernel engine.
HOSTS = {"fft": (4, "--size 16 18 20 --grid 2 2 --variables 3")}


class Applications(jobs.Test):
    def run(self, program, ranks, words, engine, before=()):
        command = [] if engine == "mpi" else [self.tool, "run", "--report", "--engine", engine, "--"]
        status, output = jobs.execute([*before, *command, *jobs.launcher(self.mpi, ranks), self.build / "apps" / f"{program}-{self.mpi}",
                                       *words.split()], 100, self.environment)
        return status, f"exit status {status}\n{output}"

    def transpose(self):
        cases = [(engine, ranks, words, 0) for engine in ("host", "kernel")
                 for ranks, words in [(4, "64 5"), (3, "48 4"), (1, "32 3")]]
        # So short that MPI_Finalize may come before the private duplicate of the communicator is made.
        cases += [("kernel", 4, "64 1", 0)] * 4
        cases.append(("host", 3, "50 1", 2))
        for engine, ranks, words, wanted in cases:
            status, output = self.run("transpose", ranks, words, engine)
            good = status == wanted and ("0 errors" in output if wanted == 0 else "no multiple" in output)
            self.expect(f"{engine}: transpose {words} on {ranks} ranks", good, output)

    def verified(self, status, output, wanted=True):
        """Whether the program reported in its JSON that its check passed, or failed, and has the exit status for it."""
        results = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        return (status == 0) == wanted and [result["verification"]["passed"] for result in results] == [wanted] and \
            all(seconds > 0 for result in results for seconds in result["seconds"])

    def checks_itself(self, program, cases):
        for ranks, words in cases:
            # Without nonblocking calls an engine has nothing to do. One run with the MPI alone is enough.
            engines = ("mpi",) if "--mode" in words else ("mpi", "host", "kernel") if words == cases[-1][1] else ("host", "kernel")
            for engine in engines:
                status, output = self.run(program, ranks, f"{words} --json", engine)
                good = self.verified(status, output)
                good = good and (engine == "mpi" or f"on {engine}" in output)
                self.expect(f"{engine}: {program} {words} on {ranks} ranks", good, output)
        for ranks, words in [cases[-1], *PLANTED.get(program, [])]:
            status, output = self.run(program, ranks, f"{words} --json --plant-error", "host")
            self.expect(f"{program} {words} notices a wrong number", self.verified(status, output, False), output)

    def residual_travels(self):
        """The way in which the data are sent changes neither the number of iterations nor a digit of the result."""
        found = []
        for words in ("", "--halo-of residual", "--halo-of residual --mode blocking"):
            status, output = self.run("cg", 4, f"--size 17 12 20 --grid 2 1 2 --json {words}", "mpi")
            found += [(result["results"]["iterations"], result["verification"]["error"])
                      for result in (json.loads(line) for line in output.splitlines() if line.startswith("{"))]
            self.expect(f"cg {words}: {found[-1:]}", status == 0 and len(set(found)) == 1, output)
        status, output = self.run("cg", 2, "--solver gropp --halo-of residual", "mpi")
        self.expect("cg refuses --halo-of residual of another solver", status != 0 and "is for --solver cg" in output, output)

    def between_hosts(self, program, ranks, words):
        before = [self.tool, "cluster", "--hosts", "2", "--rate", "none", "--"]
        status, output = self.run(program, ranks, f"{words} --json", "kernel", before)
        self.expect(f"{program} {words} between hosts", self.verified(status, output), output)


def check(applications):
    applications.side_by_side((applications.transpose,), *((applications.checks_itself, program, cases) for program, cases in PROGRAMS.items()),
                              (applications.residual_travels,))
    if applications.has_hosts():
        for program, (ranks, words) in HOSTS.items():
            applications.between_hosts(program, ranks, words)


if __name__ == "__main__":
    jobs.run(check, of=Applications)
