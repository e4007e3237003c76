"""Names and meanings of benchmarks and quantities. Unknown ones have the names in the file."""

import dataclasses
import json
import pathlib

import values


@dataclasses.dataclass(frozen=True)
class Quantity:
    name: str
    title: str
    kind: str = "number"  # share, time, rate, ratio, number
    better: str = ""  # more, less; empty where neither is
    meaning: str = ""


@dataclasses.dataclass(frozen=True)
class Benchmark:
    name: str
    question: str
    quantities: tuple  # those with plots of their own, the most telling first
    explanation: str
    x_title: str = ""  # of a parameter


QUANTITIES = {quantity.name: quantity for quantity in (
    Quantity("overlap", "Overlap", "share", "more",
             "the part of the collective's own time that is hidden behind computation; at 100 % the collective costs no time"),
    Quantity("available", "Time for computing", "share", "more",
             "the longest work that does not lengthen the collective, over its base time"),
    Quantity("available_per_second", "Overlap over time", "rate", "more", "the share of the time that is left for work, for each second"),
    Quantity("base", "Base time", "time", "less", "the collective alone: start it, then wait immediately"),
    Quantity("alone", "Work alone", "time", "", "the computation with nothing in flight"),
    Quantity("start", "Start", "time", "less", "time in the call that starts the collective"),
    Quantity("test", "Test", "time", "less", "time in the calls that test for its completion"),
    Quantity("wait", "Wait", "time", "less", "time in the call that waits for it, after the work"),
    Quantity("total", "Total time", "time", "less", "start, work and wait together"),
    Quantity("latency", "Latency", "time", "less", "from the call to its completion, with no computation"),
    Quantity("per_collective", "Time per collective", "time", "less", "the total over the number of collectives in flight"),
    Quantity("overhead", "Overhead", "time", "less", "time that the program loses, because overlap cannot hide it"),
    Quantity("share", "Share", "share", "", ""),
    Quantity("ratio", "Time over the MPI's", "ratio", "less", "below 1 is faster than the native MPI"),
    Quantity("flops_alone", "Computation alone", "rate", "more", "floating-point operations per second, nothing in flight"),
    Quantity("flops_beside", "Computation beside it", "rate", "more",
             "floating-point operations per second while the collective is in flight"),
    Quantity("throughput_alone", "Throughput without noise", "rate", "more", "work per second on quiet processors"),
    Quantity("throughput_noise", "Throughput with noise", "rate", "more", "work per second beside the competing process"),
    Quantity("slowdown", "Slow-down by noise", "ratio", "less", "the time with noise or late ranks over the undisturbed time"),
    Quantity("iteration", "Undisturbed iteration", "time", "", "work and collective, one of many in a row"),
    Quantity("iteration_noise", "Disturbed iteration", "time", "less", "the same with noise or late ranks"),
    Quantity("loss_of_work", "Loss of the work alone", "share", "", "the share of work that noise takes without any collective"),
    Quantity("loss", "Loss by noise", "share", "less", "how much noise lowers the throughput"),
    Quantity("calls_of_all", "In test and wait, all ranks", "time", "less", "of one iteration, summed over the ranks"),
    Quantity("work_of_all", "Work, all ranks", "time", "", "of one iteration, summed over the ranks"),
    Quantity("total_of_all", "Total, all ranks", "time", "less", "of one iteration, summed over the ranks"),
    Quantity("program", "In the program", "time", "less", "from MPI_Init to MPI_Finalize, of the rank that takes longest"),
    Quantity("processor", "Processor time", "time", "less", "user and system time of all ranks"),
)}

# By the method, where it has a meaning of its own there.
BY_METHOD = {
    ("fixed", "overlap"): Quantity("overlap", "Overlap", "share", "more",
                                   "the part of the time, from the start to the end of the wait, that is not spent in tests "
                                   "and wait"),
    ("fixed", "available"): Quantity("available", "Left for computing", "share", "more",
                                     "the same work alone, over the time that it takes with the collective"),
}
OVERRIDES = {
    ("overhead", "share"): Quantity("share", "Share that is lost", "share", "less",
                                    "the overhead over the time of the collective alone"),
    ("throughput", "share"): Quantity("share", "Throughput kept", "share", "more",
                                      "computation beside the collective over computation alone"),
    ("compare", "total"): Quantity("total", "Time of the program", "time", "less", "from the start of the launcher to its end"),
}

# The tool writes its own table when it is built (bench/program/benchmarks.def).
TABLE = pathlib.Path(__file__).with_name("benchmarks.json")
BENCHMARKS = {row["name"]: Benchmark(row["name"], row["question"], tuple(row["quantities"]), row["explanation"], row["x_title"])
              for row in json.loads(TABLE.read_text(encoding="utf-8"))}
BENCHMARKS["compare"] = Benchmark(
    "compare", "Does Lapwing help the program?", ("ratio", "total"),
    "The same program without Lapwing and with it, in turns; each round has a ratio of its own.")

# What `lapwing predict` writes; it is no benchmark.
BENCHMARKS["predict"] = Benchmark(
    "predict", "Simulated: how well does it scale?", ("overlap", "loss"),
    "The task lists of all ranks, run in simulated time. Nothing here was measured.", "ranks")

METHODS = {
    "wait": ("one block of work, then one wait", "The program makes no MPI calls in between: the collective advances "
                                                "only if an engine advances it while the program computes."),
    "poll": ("work with a test after each quantum", "Tests let every engine make progress."),
    "fixed": ("work for the base time, then one wait", "Work that takes just as long as the collective alone."),
}

ENGINES = {"blocking": "blocking collectives of the MPI", "native": "the MPI alone", "mpi": "the MPI under lapwing run", "host": "Lapwing's host engine", "kernel": "Lapwing's kernel engine",
           "auto": "Lapwing's choice", "thread": "Lapwing's host engine with a progress thread", "card": "a network card"}


def benchmark_of(name):
    return BENCHMARKS.get(name, Benchmark(name, f"Benchmark “{name}”", (), ""))


def words_of(name):
    return name.replace("_", " ").strip() or "value"


def quantity_of(benchmark, name, method=""):
    known = BY_METHOD.get((method, name)) or OVERRIDES.get((benchmark, name)) or QUANTITIES.get(name)
    return known or Quantity(name, values.first_up(words_of(name)))


def engine_label(result, engine):
    label = ENGINES.get(engine, engine)
    return label.replace("the MPI", result.mpi) if engine in ("native", "mpi") and result.mpi else label
