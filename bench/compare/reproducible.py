"""Random sums whose bits must be equal over engines, networks, placements and MPIs with `lapwing run --reproducible`.

Each job makes the same random reductions of float and double (build/bench/reproducible-MPI). The results of sums and products are
also computed here, in the fixed bracketing.
"""

import pathlib
import random
import struct
import tempfile

from harness import Failure, Outcome, jobs
from programs import Program, number

# Engine and network; "thread" is the host engine whose lists a progress thread runs. Not possible: kernel with ucx or ofi (the engine
# sends by sockets); triggered with tcp or ucx (libfabric triggers it); mlx5 (needs a card).
WAYS = (("host", "tcp"), ("host", "ucx"), ("host", "ofi"), ("thread", "tcp"), ("thread", "ucx"), ("thread", "ofi"), ("kernel", "tcp"),
        ("triggered", "ofi"))
# Hosts, and the order of the ranks.
PLACEMENTS = {"1 host": (0, "in order"), "2 hosts": (2, "in order"), "2 hosts, in turn": (2, "in turn"),
              "3 hosts, reversed": (3, "reversed"), "4 hosts, shuffled": (4, "shuffled")}


def variables(engine, network):
    found = {"LAPWING_NETWORK": network, **jobs.NETWORKS.get(network, {})}
    if engine == "triggered":
        found.pop("FI_PROVIDER", None)
        return {**found, "LAPWING_TRIGGER_PROVIDER": "sockets", "LAPWING_NETWORK": "tcp"}
    return {**found, "LAPWING_PROGRESS_THREAD": {"host": "none", "thread": "any"}.get(engine, "auto")}


def order(ranks, hosts, kind):
    """The rank of MPI_COMM_WORLD of each rank; the launcher fills one host after the other."""
    numbers = list(range(ranks))
    if kind == "reversed":
        numbers.reverse()
    elif kind == "shuffled":
        random.Random(ranks).shuffle(numbers)
    elif kind == "in turn":
        numbers.sort(key=lambda rank: rank % -(-ranks // hosts))
    return ",".join(map(str, numbers))


def left_to_mpi(report):
    """Whether the MPI ran reductions."""
    return any(row.get("reasons") for row in report.get("collectives", []) if "educe" in row["name"] or "scan" in row["name"])


class Sums(Program):
    """Lines with the bits of random sums. With `contributors` only these ranks of MPI_COMM_WORLD have numbers to add, whatever the
    placement, and all others add zeros. `level`: of --reproducible; 0: without, and lines may differ."""

    quantities = (("lines", "sums", number), ("differing", "that differ", number))

    def __init__(self, level, placement, contributors=()):
        self.level, self.placement, self.contributors = level, placement, contributors

    def measure(self, job):
        hosts, kind = PLACEMENTS[self.placement]
        with tempfile.TemporaryDirectory() as scratch:
            file = pathlib.Path(scratch) / "lines"
            job.run([job.build / "bench" / f"reproducible-{job.mpi.family}", *job.case.words.split(), file, order(job.case.ranks, hosts, kind),
                     *self.contributors], jobs.environment(job.mpi.family, job.build),
                    options=[f"--reproducible={self.level}"] if self.level != "0" else ["--blocking"])
            lines = file.read_text().splitlines()
        if self.level != "0" and left_to_mpi(job.report):
            raise Failure(f"{job.case.title()}, {job.variant.name}: the MPI ran reductions\n{job.report}")
        failed, compared = wrong(lines)
        if self.level == "1" and not self.contributors and (failed or not compared):
            raise Failure(f"{job.case.title()}, {job.variant.name}: {failed} of {compared} results are not in the fixed bracketing")
        return Outcome({"": {"lines": [len(lines)]}}, lines)

    def compare(self, case, variant, first, result):
        count = differing(result, first)
        if count and self.level != "0":
            raise Failure(f"{case.title()}, {variant.name}: {count} sums have other bits than those of the first variant")
        return count

    def notes(self, comparison):
        return [f"  {name}: {count} sums have other bits than those of the first variant" for name, count in comparison.differing.items() if count]


def all_ranks(values, join):
    """The fixed bracketing of all ranks: docs/guide.md, "Reproducible reductions"."""
    core = 1 << (len(values).bit_length() - 1)
    pairs = len(values) - core
    values = [join(values[2 * i], values[2 * i + 1]) for i in range(pairs)] + values[2 * pairs:]
    while len(values) > 1:
        values = [join(*values[i:i + 2]) for i in range(0, len(values), 2)]
    return values[0]


def first_ranks(values, join, exclusive=False):
    """Those of scan and exscan."""
    if len(values) == 1:
        return values[0]
    last = (1 << (len(values).bit_length() - 1)) - 1 if exclusive else 1 << ((len(values) - 1).bit_length() - 1)
    return join(first_ranks(values[:-last], join), first_ranks(values[-last:], join, exclusive))


def expected(line):
    """The bits that the first element of a sum or product must have on each rank, None if this is not known; and those it has."""
    head, contributions, results = line.split(" |")
    function, kind, op, _ = head.split()
    form, bits = ("<d", "<Q") if kind == "double" else ("<f", "<I")
    got = [None if word == "-" else int(word, 16) for word in results.split()]
    values = [None if word == "-" else struct.unpack(form, struct.pack(bits, int(word, 16)))[0] for word in contributions.split()]
    if op not in ("sum", "product") or None in values:
        return [None] * len(got), got

    def join(a, b):
        # A sum or product of two floats, rounded to double and then to float, is rounded correctly.
        return struct.unpack(form, struct.pack(form, a + b if op == "sum" else a * b))[0]

    def of(rank):
        if function in ("scan", "exscan"):
            exclusive = function == "exscan"
            return first_ranks(values[:rank if exclusive else rank + 1], join, exclusive)
        # A rank's block of a reduce-scatter begins with another element, except that of rank 0.
        return all_ranks(values, join) if function in ("allreduce", "reduce") or rank == 0 else None

    wanted = [of(rank) if has is not None else None for rank, has in enumerate(got)]
    return [value if value is None else struct.unpack(bits, struct.pack(form, value))[0] for value in wanted], got


def wrong(lines):
    """How many lines do not have the fixed bracketing, and how many results were compared."""
    failed = compared = 0
    for line in lines:
        wanted, got = expected(line)
        pairs = [(one, other) for one, other in zip(wanted, got) if one is not None]
        compared += len(pairs)
        failed += any(one != other for one, other in pairs)
    return failed, compared


def differing(lines, reference):
    return sum(line != other for line, other in zip(lines, reference, strict=True))
