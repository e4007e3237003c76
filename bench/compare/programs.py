"""The kinds of programs that are compared: how each is made, started, and read."""

import dataclasses
import functools
import json
import pathlib
import re
import statistics
import sys
import tempfile

import inputs
from harness import ROOT, Failure, Outcome, jobs, must, same, spread

PETSC = pathlib.Path("/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp/tutorials")


def seconds(value):
    return f"{value:.4f}"


def milliseconds(value):
    return f"{value * 1e3:.2f}"


def microseconds(value):
    return f"{value * 1e6:.{3 if value < 1e-5 else 1 if value < 1e-3 else 0}f}"


def percent(value):
    return f"{min(max(value, 0), 1) * 100:.1f}"


def number(value):
    return f"{value:.1f}"


class Program:
    """What all kinds have, unless they say otherwise."""

    quantities = (("seconds", "s", seconds),)  # key, title, how it is shown; the first has ratios
    is_prepared = False

    def prepare(self, build, mpis):
        """Builds or installs what is missing."""

    def compare(self, case, variant, first, result):
        """What differs from the result of the group's first variant; a Failure if nothing may."""
        if result != first:
            raise Failure(f"{case.title()}, {variant.name}: {result}, but {first} before")
        return 0

    def notes(self, comparison):
        return []

    def bound_of(self, comparison):
        return {}

    def engine_of(self, variant):
        return variant.name


class Application(Program):
    """A sample application (make apps), which verifies its results; with its computation and communication alone, too."""

    NAMES = {"blocking": "blocking", "HPL's ring": "blocking", "nonblocking": "native", "Ibcast": "native", "host engine": "host", "kernel engine": "kernel"}

    def __init__(self, name):
        self.name = name
        self.promised = {}  # by the case's title
        if name == "hpl":
            self.quantities = (*Program.quantities, ("rate", "Gflop/s", number), ("mpi", "MPI %", percent))

    def prepare(self, build, mpis):
        if self.name == "hpl":
            must([ROOT / "apps" / "hpl" / "build", build])
        elif not (build / "apps" / f"{self.name}-openmpi").is_file():
            raise Failure(f"{build}/apps/{self.name}-openmpi is missing; make apps builds it")

    def measure(self, job):
        words = [job.build / "apps" / f"{self.name}-{job.mpi.family}"]
        repeat = [] if self.name == "hpl" else ["--repeat", 3]  # HPL runs once
        words += [*job.case.words.split(), "--json", *repeat]
        if job.is_first:
            self.profile(job, words, repeat[-1] if repeat else 1)
        job.run([*words, *(["--bound"] if job.is_first and repeat else [])])
        found = job.line()
        row = {key: found[key] for key in ("seconds", "computing", "communicating") if key in found}
        if self.name == "hpl":
            n = job.case.size
            row["rate"] = [(2 / 3 * n**3 + 3 / 2 * n**2) / whole / 1e9 for whole in found["seconds"]]  # as HPL counts
            row["mpi"] = [inside / whole for inside, whole in zip(found["phases"]["MPI"], found["seconds"])]
        return Outcome({"": row})

    def profile(self, job, words, repeat):
        """What `lapwing profile` calls savable by Lapwing, in a repetition of the nonblocking program."""
        native = next((one for one in job.case.variants if self.NAMES.get(one.name) == "native"), None)
        if native is None:
            return
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "profile.json"
            dataclasses.replace(job, variant=native).run(words, profile=file)
            calls = json.loads(file.read_text())["calls"]
        self.promised[job.case.title()] = sum(call["saved_at_once_seconds_at_most"] for call in calls) / repeat

    def parts(self, comparison):
        """Seconds of computation and communication alone; None of HPL, whose parts cannot run alone."""
        found = comparison.rows[""]
        parts = [[one for samples in found.get(key, {}).values() for one in samples] for key in ("computing", "communicating")]
        return [statistics.median(samples) for samples in parts] if all(parts) else None

    def bound_of(self, comparison):
        parts = self.parts(comparison)
        return {"bound": spread([min(parts) / sum(parts)])} if parts else {}

    def notes(self, comparison):
        notes, parts = [], self.parts(comparison)
        if parts:
            blocking = comparison.baseline(comparison.rows[""]["seconds"])
            notes.append(f"  computation {parts[0]:.3f} s, communication {parts[1]:.3f} s, each alone; the most that overlap can gain: "
                         f"{100 * min(parts) / sum(parts):.1f} % of their sum, {100 * (1 - max(parts) / blocking):.1f} % of the first variant")
        if comparison.case.title() in self.promised:
            notes.append(f"  lapwing profile promised {self.promised[comparison.case.title()]:.4f} s")
        return notes

    def engine_of(self, variant):
        return self.NAMES.get(variant.name, variant.name)


class Petsc(Program):
    """An example of Debian's PETSc, as it is. Its group must take the same iterations to the same residual, but for the order of sums."""

    quantities = (("seconds", "solver s", seconds), ("wait", "wait for halo s", seconds))

    def __init__(self, example):
        self.example = example

    def prepare(self, build, mpis):
        flags = unmodified(build, "PETSc")
        must(["mpicc.openmpi", "-O2", PETSC / f"{self.example}.c", *flags, "-lm", "-o", build / "unmodified" / self.example])

    def measure(self, job):
        output = job.run([job.build / "unmodified" / self.example, *job.case.words.split()])
        solve, wait = (re.search(rf"^{event} +\d+ \S+ (\S+)", output, re.MULTILINE) for event in ("KSPSolve", "VecScatterEnd"))
        result = petsc_result(output)
        if not (solve and wait and result):
            raise Failure(f"{job.case.title()}, {job.variant.name}: no result\n{output}")
        return Outcome({"": {"seconds": [float(solve[1])], "wait": [float(wait[1])]}}, result)

    def compare(self, case, variant, first, result):
        return 0 if same(first, result, 1e-4) else super().compare(case, variant, first, result)


class Spfft(Program):
    """SpFFT by its public interface: several transforms one by one, or by multi_transform, which starts all exchanges first."""

    def prepare(self, build, mpis):
        unmodified(build)
        must(["cmake", "--build", build, "--target", "apps_program-openmpi"])
        libraries = [build / "apps" / "libapps_program-openmpi.a", build / "tools" / "command_line" / "liblapwing_command_line.a",
                     build / "src" / "liblapwing_base.a"]
        must(["mpicxx.openmpi", "-O2", "-std=c++20", "-DOMPI_SKIP_MPICXX", f"-I{ROOT / 'apps'}", ROOT / "bench" / "compare" / "spfft.cpp",
              *libraries, "-lfmt", "-lspfft", "-o", build / "unmodified" / "spfft"])

    def measure(self, job):
        job.run([job.build / "unmodified" / "spfft", *job.case.words.split()])
        return Outcome({"": {"seconds": job.line()["seconds"]}})


@functools.cache
def petsc_example(example):
    return Petsc(example)


@functools.cache
def unmodified(build, package=None):
    """The directory of programs that nobody changed; the flags of a package."""
    must([ROOT / "scripts" / "install-dependencies", "apps", "unmodified"])
    (build / "unmodified").mkdir(parents=True, exist_ok=True)
    return must(["pkg-config", "--cflags", "--libs", package]).split() if package else []


def number_after(pattern):
    """The result of a run: the text after the last match of `pattern`."""
    def find(output, directory):
        found = re.findall(pattern + r"\s*(\S+)", output, re.MULTILINE)
        return found[-1] if found else None
    return find


def total_energy(output, directory):
    file = directory / "TOTENERGY.OUT"
    return file.read_text().split()[-1] if file.exists() else None


def lammps_result(output, directory):
    last = re.search(r"^ *\d+ \S+ (\S+).*\nLoop time", output, re.MULTILINE)
    return last and last[1]


def petsc_result(output, directory=None):
    reason = re.search(r"converged due to \w+ iterations (\d+)", output)
    norm = re.search(r"(?:Residual norm|Norm of error) (\S+)", output)
    return f"{norm[1]} after {reason[1]}" if reason and norm else None


class Code(Program):
    """A whole run of a program of Debian's, or of one that is built here: the launcher's time. `result` finds its result in output and
    directory; results of the same input differ by no more than the share `tolerance`, because sums are added in another order.
    SIZE in words and files is the first of `sizes` on one host, and the second between hosts, where messages take longer."""

    quantities = (("seconds", "s", seconds), ("taken", "by lists %", percent))

    def __init__(self, words, files, result, tolerance=0.0, sizes=("", "")):
        self.words, self.files, self.result, self.tolerance, self.sizes = words, files, result, tolerance, sizes

    def prepare(self, build, mpis):
        must([ROOT / "scripts" / "install-dependencies", "build", "apps", "unmodified", "codes"])
        program = self.words[0]
        if "hpl" in program:
            must([ROOT / "apps" / "hpl" / "build", build])
        elif "fftw_mpi" in program:
            unmodified(build)
            must(["mpicc.openmpi", "-O2", ROOT / "bench" / "compare" / "fftw_mpi.c", "-lfftw3_mpi", "-lfftw3", "-lm", "-o", build / "unmodified" / "fftw_mpi"])
        elif "unmodified" in program:
            petsc_example(pathlib.Path(program).name).prepare(build, mpis)

    def measure(self, job):
        size = self.sizes[1 if job.case.hosts else 0]
        words = [word.replace("BUILD", str(job.build)).replace("SIZE", size) for word in self.words]
        with tempfile.TemporaryDirectory(dir=job.build) as scratch:
            directory = pathlib.Path(scratch)
            for file, text in self.files.items():
                (directory / file).write_text((text() if callable(text) else text).replace("SIZE", size))
            output = job.run(words, {"CP2K_DATA_DIR": "/usr/share/cp2k"}, directory=directory)
            result = self.result(output, directory)
        if result is None:
            raise Failure(f"{job.case.title()}, {job.variant.name}: no result\n{output}")
        rows = job.report.get("collectives", [])
        taken = sum(row.get("taken", 0) for row in rows)
        back = sum(sum(row["fell_back"].values()) if isinstance(row.get("fell_back"), dict) else row.get("fell_back", 0) for row in rows)
        return Outcome({"": {"seconds": [job.seconds], **({"taken": [taken / (taken + back)]} if taken + back else {})}}, result)

    def compare(self, case, variant, first, result):
        return 0 if same(first, result, self.tolerance) else super().compare(case, variant, first, result)


def petsc_code(example, words):
    # A norm is what is left of large numbers, so the order of sums shows in it.
    return Code([f"BUILD/unmodified/{example}", *words.split(), "-ksp_converged_reason"], {}, petsc_result, 1e-4)


CODES = {
    "cp2k": Code(["cp2k.popt", "-i", "water.inp"], {"water.inp": inputs.water(3, steps=1)}, number_after(r"ENERGY\| Total FORCE_EVAL.*:"), 1e-10),
    "quantum-espresso": Code(["pw.x", "-i", "silicon.in"], {"silicon.in": inputs.SILICON, "Si.pz-vbc.UPF": inputs.silicon_pseudopotential},
                             number_after(r"^!\s+total energy\s+="), sizes=("4 4 4", "2 2 2")),
    "lammps-lj": Code(["lmp", "-in", "melt.in", "-log", "none"], {"melt.in": inputs.MELT}, lammps_result, 1e-9),
    "lammps-pppm": Code(["lmp", "-in", "salt.in", "-log", "none"], {"salt.in": inputs.SALT}, lammps_result, 1e-9, ("400", "100")),
    "elk": Code(["elk-lapw"], {"elk.in": inputs.ELK}, total_energy, 1e-10),
    "hpl": Code(["BUILD/apps/hpl-openmpi", "--n", "6000"], {}, number_after(r"passed, residual")),
    "petsc-ex2": petsc_code("ex2", "-m 700 -n 700 -ksp_type cg -pc_type jacobi -ksp_rtol 1e-6"),
    "petsc-ex45": petsc_code("ex45", "-da_grid_x 129 -da_grid_y 129 -da_grid_z 129 -ksp_type cg -pc_type jacobi -ksp_rtol 1e-6"),
    "petsc-ex34": petsc_code("ex34", "-da_grid_x 96 -da_grid_y 96 -da_grid_z 96 -ksp_type pipecg -pc_type jacobi -ksp_rtol 1e-6"),
    # What the launcher and the start and end of MPI take in each of the other rows.
    "empty": Code(["BUILD/unmodified/fftw_mpi", "4", "0"], {}, number_after("largest error")),
    "fftw-mpi": Code(["BUILD/unmodified/fftw_mpi", "128", "SIZE"], {}, number_after("largest error"), 0.5, ("50", "15")),
}


class Bench(Program):
    """`lapwing bench`, by one engine: times in microseconds, and overlap. `rounds` and `limit`: of its options, if the command has others."""

    rounds = limit = None

    def __init__(self, main="latency", others=()):
        known = {"base": ("base", "us", microseconds), "latency": ("latency", "us", microseconds), "overlap": ("overlap", "overlap %", percent)}
        self.quantities = tuple(known[name] for name in (main, *others))

    def measure(self, job):
        words = job.case.words.split()
        for option, value in (("--rounds", Bench.rounds), ("--seconds", Bench.limit)):
            if value is not None:
                words = words[:words.index(option)] + words[words.index(option) + 2:] if option in words else words
                words += [option, value]
        # A directory of a timeline is for one job.
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "result.json"
            trace = {"LAPWING_TRACE": scratch} if "LAPWING_TRACE" in job.variant.variables else {}
            job.execute([job.tool(), "bench", *words, "--engine", job.variant.engine, "--passes", 1, "--json", file, "--", *job.launcher()], trace, 1800)
            found = json.loads(file.read_text())
        rows = {}
        for row in found["rows"]:
            for measured in row["engines"]:
                # An unavailable engine is replaced by another one, which was not asked for.
                if measured["confirmed"]:
                    label = f"{row['collective'][4:]} {int(row['bytes'])} B"
                    rows[label] = {key: [sample[key] for sample in measured["rounds"]] for key, _, _ in self.quantities}
        return Outcome(rows)


class ManyRanks(Program):
    """What Lapwing adds to each of many ranks: MPI_Init, MPI_Finalize, memory, descriptors, the first use of a communicator, and what
    communicators that are made and freed leave (private dirty bytes for each). Of all ranks the largest value; of times the median."""

    quantities = (("init", "init s", seconds), ("finalize", "finalize s", seconds), ("peak", "peak MiB", number),
                  ("dirty", "private dirty MiB", number), ("descriptors", "descriptors", number), ("first", "first ms", milliseconds),
                  ("second", "second ms", milliseconds), ("communicator", "communicator ms", milliseconds), ("growth", "growth B", number))
    MEDIANS = ("first", "second", "communicator")

    def measure(self, job):
        output = job.run([job.build / "bench" / f"many-ranks-{job.mpi.family}", *job.case.words.split()], limit=3600)
        found = {}
        for _, what, value in re.findall(r"^many-ranks (\d+) (\w+) (\S+)$", output, re.MULTILINE):
            found.setdefault(what, []).append(float(value) / (1024 if what in ("peak", "dirty") else 1))
        if any(len(found.get(key, [])) != job.case.ranks for key, _, _ in self.quantities):
            raise Failure(f"{job.case.title()}, {job.variant.name}: values are missing\n{output}")
        return Outcome({"": {key: [(statistics.median if key in self.MEDIANS else max)(values)] for key, values in found.items()}})


class Messages(Program):
    """Messages beside computation (messages.cpp). The first job of a case decides how much all of its jobs compute."""

    quantities = (("seconds", "whole us", microseconds), ("overlap", "overlap %", percent), ("exchange", "exchange us", microseconds),
                  ("computation", "computation us", microseconds), ("rate", "messages/s", number))

    def __init__(self):
        self.amounts = {}  # by the case's title

    def measure(self, job):
        words = [job.build / "bench" / f"messages-{job.mpi.family}", *job.case.words.split(), *job.variant.words.split()]
        for option, value in (("--rounds", Bench.rounds), ("--seconds", Bench.limit), ("--amounts", self.amounts.get(job.case.title()))):
            words += [option, value] if value else []
        try:
            job.run(words, limit=1800)
        except Failure as failure:
            # Intel MPI's thread crashes in some jobs with derived types. The rows before that count.
            if job.variant.name != "its own thread":
                raise
            print(failure, file=sys.stderr)
        found = [json.loads(line) for line in job.output.splitlines() if line.startswith('{"row"')]
        self.amounts.setdefault(job.case.title(), ",".join(str(row["amount"]) for row in found))
        rows = {}
        for row in found:
            whole, exchange, computation = (row.get(key) for key in ("seconds", "exchange", "computation"))
            if exchange:
                row["overlap"] = (exchange + computation - whole) / min(exchange, computation)
            elif row["row"].startswith("rate"):
                row["rate"] = 1 / whole
            rows[row["row"]] = {key: [row[key]] for key, _, _ in self.quantities if key in row}
        return Outcome(rows)


class Printed(Program):
    """A command whose output is the result, saved as it is. RESULTS in its words: a directory for samples, which stay in the build directory."""

    def __init__(self, file):
        self.file = file

    def command(self, job):
        samples = job.build / "bench" / self.file
        samples.mkdir(parents=True, exist_ok=True)
        words = [word.replace("BUILD", str(job.build)).replace("RESULTS", str(samples)) for word in job.case.words.split()]
        return [*words, *(["--", *job.launcher()] if "bench" in words else [])]

    def measure(self, job):
        job.execute(["env", *(f"{name}={value}" for name, value in job.variant.variables.items()), *self.command(job)], {}, 7200)
        return Outcome({}, job.output.replace(str(ROOT) + "/", ""))
