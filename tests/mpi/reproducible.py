"""`lapwing run --reproducible`: random sums have the same bits on every engine, network and placement that is tried, and they are those
of the fixed bracketing, which this test computes; what is left to the MPI is named. With `--reproducible=any` the order and number of
ranks do not matter either."""

import pathlib
import random
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
import jobs

# Hosts, and the order of the ranks.
PLACEMENTS = {"1 host": (0, "in order"), "2 hosts, in turn": (2, "in turn"), "3 hosts, reversed": (3, "reversed"), "4 hosts, shuffled": (4, "shuffled")}
# Placement, engine and network; "thread" is the host engine whose lists a progress thread runs.
JOBS = [("1 host", "host", "tcp"), ("1 host", "thread", "tcp"), ("1 host", "kernel", "tcp"), ("2 hosts, in turn", "kernel", "tcp"),
        ("3 hosts, reversed", "host", "ucx")]


class Failure(Exception):
    pass


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


def lines_of(test, level, placement, engine, network="tcp", ranks=5, contributors=()):
    """The lines with the bits of the sums of one job; a Failure if they are not in the fixed bracketing (level fixed), or if the MPI ran
    reductions. With `contributors` only these ranks of MPI_COMM_WORLD have numbers to add, whatever the placement."""
    hosts, kind = PLACEMENTS[placement]
    per_host = -(-ranks // hosts) if hosts else 0
    place = [] if not hosts else ["--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE"] if test.mpi == "openmpi" else ["-ppn", per_host]
    before = [test.tool, "cluster", "--hosts", hosts, "--rate", "none", "--cores-per-host", "all", "--", test.tool] if hosts else [test.tool]
    first, *rest = jobs.launcher(test.mpi, ranks)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "lines"
        words = [first, *place, *rest, test.built("reproducible"), "120", "7", file, order(ranks, hosts, kind), *contributors]
        variables = {"LAPWING_NETWORK": network, **jobs.NETWORKS.get(network, {}), "LAPWING_PROGRESS_THREAD": {"host": "none", "thread": "any"}.get(engine, "auto")}
        status, output, report = jobs.with_report(before, [f"--reproducible={level}", "--engine", "host" if engine == "thread" else engine], words, 300,
                                                  test.environment | variables)
        lines = file.read_text().splitlines() if file.exists() else []
    if status != 0 or not lines or left_to_mpi(report):
        raise Failure(f"{placement}, {engine}, {network}: status {status}\n{output}\n{report}")
    failed, compared = wrong(lines)
    if level == "fixed" and not contributors and (failed or not compared):
        raise Failure(f"{placement}, {engine}, {network}: {failed} of {compared} results are not in the fixed bracketing")
    return lines


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


def any_ranks(test):
    """The same four contributions on 4 and 5 ranks in three orders. Level fixed is the planted fault: there the order matters."""
    for level in ("any", "fixed"):
        first = None
        for ranks, placement, engine in ((4, "1 host", "host"), (4, "2 hosts, in turn", "kernel"), (5, "4 hosts, shuffled", "thread")):
            lines = lines_of(test, level, placement, engine, ranks=ranks, contributors=[4])
            first = first or lines
            count = differing(lines, first)
            test.expect(f"{ranks} ranks on {placement}: {count} sums have other bits by --reproducible={level}",
                        (count > 0) == (level == "fixed" and placement != "1 host"), f"{lines}")


def check(test):
    has_hosts = test.has_hosts()
    reference = None
    # Jobs of MPICH on several hosts take long.
    for placement, engine, network in (JOBS if test.mpi == "openmpi" else JOBS[:3]) if has_hosts else []:
        lines = lines_of(test, "fixed", placement, engine, network)
        reference = reference or lines
        test.expect(f"{placement}, {engine}, {network}: the same bits", lines == reference)
    if reference:
        test.expect("results are in the fixed bracketing", wrong(reference)[1] > 100)
        # A planted fault: the checks above see it.
        changed = [line[:-1] + ("0" if line[-1] != "0" else "1") for line in reference]
        test.expect("other bits are found", differing(changed, reference) == len(reference) and wrong(changed)[0] > 10)
        any_ranks(test)
    left = "MPI_Iallreduce is left to the MPI, whose result may differ from run to run: intercommunicator"
    for options in ([], ["--reproducible"]):
        status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=Communicator.Intercommunicators*"], options)
        test.expect(f"an intercommunicator's {' '.join(options)}", status == 0 and output.count(left) == len(options), f"{status} {output}")
    status, output = test.run_job(2, [test.built("drop_in"), "--gtest_filter=-*"], ["--reproducible", "--engine", "mpi"])
    test.expect("the engine mpi is refused", status != 0 and "LAPWING_REPRODUCIBLE=fixed needs an engine" in output, f"{status} {output}")


if __name__ == "__main__":
    jobs.run(check)
