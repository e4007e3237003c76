"""Recorded programs: what `lapwing predict --program` says of them, as figures, drawings and sentences."""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess

import results
import timelines
import values
from inputs import InputError, is_number, text_of

BENCHMARK = "program"
SITES = "call sites"
MOST_SITES = 10
WORTH_A_PLOT = 0.005  # of the run
MOST_SPANS = 20000
MOST_RANKS_DRAWN = 16
# What a recording on several numbers of ranks is extrapolated to, and how long that may take.
CURVE_STEPS = 6
CURVE_PASSES, CURVE_SECONDS = 8, 120
WHAT = {"compute": "task", "call": "call", "flight": "collective"}
KINDS = {"task": ("computes", "var(--task)"), "call": ("in a call of MPI", "var(--call)"),
         "collective": ("a collective or message in flight", "var(--collective)")}


@dataclasses.dataclass
class Site:
    name: str
    calls: float
    measured: float | None
    predicted: dict  # of engines to seconds in MPI
    later_wait: dict
    bound: float | None


@dataclasses.dataclass
class Span:
    rank: int
    what: str
    site: int
    begin: float
    end: float


@dataclasses.dataclass
class Program:
    measured_with: str
    replays: list  # of (ranks, measured, predicted)
    sites: dict  # of ranks to lists of Site
    limits: dict  # of ranks to (bound, of engines to the total with later waits)
    iterations: dict  # of (ranks, engine) to lists of Span
    ranges: dict  # of (ranks, engine) to (smallest, largest)
    cores: list  # sentences on cores that ranks share
    left_out: list  # sentences

    def best(self, ranks):
        """The engine of Lapwing that the page compares; empty: none was simulated."""
        engines = next((site.predicted for site in self.sites.get(ranks, []) if site.predicted), {})
        ours = [engine for engine in engines if engine != "native"]
        return "kernel" if "kernel" in ours else ours[0] if ours else ""


def is_recording(path):
    return (path / "job.json").is_file() and any(path.glob("rank-*.facts"))


def simulate(tool, recordings):
    """The JSON of `lapwing predict` for these recordings, and why there are no other numbers of ranks."""
    command = [tool, "predict", "--program", *map(str, recordings), "--json", "-"]
    without = []
    if len(recordings) > 1:
        largest = max(len(list(path.glob("rank-*.facts"))) for path in recordings)
        ranks = ",".join(str(largest << step) for step in range(1, CURVE_STEPS + 1))
        ended = run([*command, "--ranks", ranks, "--passes", str(CURVE_PASSES), "--time", str(CURVE_SECONDS)])
        if ended.returncode in (0, 1):
            return ended.stdout, without
        without.append(InputError(", ".join(map(str, recordings)), f"other numbers of ranks: {reason(ended)}"))
    ended = run(command)
    if ended.returncode not in (0, 1):
        raise InputError(", ".join(map(str, recordings)), reason(ended))
    return ended.stdout, without


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def reason(ended):
    lines = [line for line in ended.stderr.splitlines() if line.startswith("lapwing")]
    return (lines[-1] if lines else ended.stderr.strip() or f"lapwing predict ended with {ended.returncode}").removeprefix(
        "lapwing predict: ").removeprefix("lapwing: ")


def read(reader, value):
    """A Program; nothing in `value` is trusted. `reader`: of the file, for its errors."""
    def number(entry, where):
        if not is_number(entry):
            reader.fail(where, "a number is expected here")
        return float(entry)

    def of_engines(entry, where):
        return {engine: number(seconds, f"{where}.{engine}")
                for engine, seconds in reader.expect(entry, dict, where).items()}

    def each(name, entries, where="program"):
        entries = reader.expect(entries.get(name, []), list, f"{where}.{name}")
        return [(reader.expect(entry, dict, f"{where}.{name}[{i}]"), f"{where}.{name}[{i}]") for i, entry in enumerate(entries)]

    def ranks_of(entry, where):
        return int(number(entry.get("ranks"), f"{where}.ranks"))

    program = Program(text_of(value.get("measured_with")), [], {}, {}, {}, {}, [], [])
    program.cores += [f"{text_of(line)}." for line in reader.expect(value.get("cores", []), list, "program.cores")]
    for entry, where in each("replays", value):
        program.replays.append((ranks_of(entry, where), number(entry.get("measured"), f"{where}.measured"),
                                number(entry.get("predicted"), f"{where}.predicted")))
    for entry, where in each("sites", value):
        sites = program.sites.setdefault(ranks_of(entry, where), [])
        for site, place in each("sites", entry, where):
            measured, bound = site.get("measured"), site.get("bound")
            sites.append(Site(text_of(site.get("name")), number(site.get("calls", 0), f"{place}.calls"),
                              None if measured is None else number(measured, f"{place}.measured"),
                              of_engines(site.get("predicted", {}), f"{place}.predicted"),
                              of_engines(site.get("later_wait", {}), f"{place}.later_wait"),
                              None if bound is None else number(bound, f"{place}.bound")))
    for entry, where in each("limits", value):
        program.limits[ranks_of(entry, where)] = (number(entry.get("bound"), f"{where}.bound"),
                                                  of_engines(entry.get("later_wait", {}), f"{where}.later_wait"))
    for entry, where in each("iterations", value):
        spans = program.iterations.setdefault((ranks_of(entry, where), text_of(entry.get("engine"))), [])
        for span, place in each("spans", entry, where)[:MOST_SPANS]:
            what = text_of(span.get("what"))
            if what not in WHAT:
                reader.fail(f"{place}.what", f"one of {', '.join(WHAT)} is expected here")
            spans.append(Span(int(number(span.get("rank"), f"{place}.rank")), what, int(number(span.get("site"), f"{place}.site")),
                              number(span.get("begin"), f"{place}.begin"), number(span.get("end"), f"{place}.end")))
    for entry, where in each("sizes", value):
        ranks = ranks_of(entry, where)
        for engine, ends in reader.expect(entry.get("range", {}), dict, f"{where}.range").items():
            if not isinstance(ends, list) or len(ends) != 2:
                reader.fail(f"{where}.range.{engine}", "two numbers are expected here")
            low, high = (number(end, f"{where}.range.{engine}") for end in ends)
            program.ranges[ranks, engine] = (min(low, high), max(low, high))
        for site, place in each("left_out", entry, where):
            said = (f"Does not extrapolate: {text_of(site.get('site'))}: {text_of(site.get('why'))}; it took "
                    f"{values.share(number(site.get('share'), f'{place}.share'))} of the largest recorded run and is left out.")
            program.left_out += [said] if said not in program.left_out else []
    return program


def widen(rows, program):
    """The totals on other numbers of ranks get the band that the exponents leave open."""
    for row in rows:
        for m in row.engines:
            m.band = "exponents that fit as well:"
            ends = program.ranges.get((int(row.parameter[1]), m.engine)) if row.parameter else None
            if ends and "total" in m.summary:
                total = m.summary["total"]
                m.summary["total"] = type(total)(min(ends[0], total.median), total.median, max(ends[1], total.median))


def shown_sites(program, ranks):
    """Those of the recorded run that took longest."""
    sites = program.sites.get(ranks, [])
    run_time = max((measured for of_ranks, measured, _ in program.replays if of_ranks == ranks), default=0)
    longest = {id(site): max([site.measured or 0, *site.predicted.values()]) for site in sites}
    worth = [site for site in sites if longest[id(site)] > WORTH_A_PLOT * run_time]
    return sorted(worth, key=lambda site: -longest[id(site)])[:MOST_SITES]


def bars_of(program, site, engine):
    """(label, seconds) from now to the bound."""
    now = program.measured_with or "native"
    bars = [("now, measured", site.measured), (f"now, simulated ({now})", site.predicted.get(now)),
            (f"Lapwing ({engine}), program unchanged", site.predicted.get(engine)),
            (f"Lapwing ({engine}), waited for later", site.later_wait.get(engine)), ("bound", site.bound)]
    return [(label, seconds) for label, seconds in bars if seconds is not None]


def site_result(result, ranks):
    """A result whose rows are the call sites of a recorded run; None: none took long."""
    engine = result.program.best(ranks)
    rows, names = [], set()
    for site in shown_sites(result.program, ranks):
        name = site.name if site.name not in names else f"{site.name} ({len(names) + 1})"
        names.add(name)
        rows.append(results.Row(name, "sites", "", None, None, (), [
            results.Measurement(label, label, True, 0, {"in_mpi": results.Spread(seconds, seconds, seconds)})
            for label, seconds in bars_of(result.program, site, engine)]))
    return dataclasses.replace(result, benchmark=SITES, head={**result.head, "simulated": False}, rows=rows) if rows else None


def findings(result):
    program = result.program
    totals = {(row.parameter[1], m.engine): m.summary["total"].median for row in result.rows for m in row.engines
              if row.parameter and "total" in m.summary and dict(row.conditions).get("noise", "none") == "none"}
    sentences = []
    for ranks, measured, predicted in program.replays:
        sentences.append(f"On {values.plural(ranks, 'rank')} the run took {values.time(measured)}; its replay takes "
                         f"{values.time(predicted)}, {values.digits(predicted / measured) if measured else '-'} of that.")
        engine = program.best(ranks)
        if ranks in program.limits and (ranks, engine) in totals:
            bound, later = program.limits[ranks]
            moved = f", {values.time(later[engine])} if it waited for collectives one computation later" if engine in later else ""
            sentences.append(f"With Lapwing ({engine}) the unchanged program takes {values.time(totals[ranks, engine])}"
                             f"{moved}, and {values.time(bound)} if collectives took no time.")
    return sentences + program.cores + program.left_out


def drawings(program):
    """(ranks, name of the engine, specification for Vega, legend, end) of each recorded run, before and after."""
    found = []
    for ranks in dict.fromkeys(ranks for ranks, _ in program.iterations):
        engines = [engine for engine in (program.measured_with or "native", program.best(ranks))
                   if (ranks, engine) in program.iterations]
        spans = {engine: program.iterations[ranks, engine] for engine in engines}
        longest = max((span.end for own in spans.values() for span in own), default=0)
        if longest <= 0:
            continue
        for engine, own in spans.items():
            ends = max((span.end for span in own), default=0)
            name = "now" if engine == (program.measured_with or "native") else f"with Lapwing ({engine})"
            found.append((ranks, name, specification(program.sites.get(ranks, []), own, longest), list(KINDS.values()), ends))
    return found


def specification(sites, spans, longest):
    ranks = sorted({span.rank for span in spans})[:MOST_RANKS_DRAWN]
    rows, tracks, top = [], [], 0
    for rank in ranks:
        own = [span for span in spans if span.rank == rank]
        ends = []  # of the flights in each row
        for span in sorted(own, key=lambda one: one.begin):
            depth = 0
            if span.what == "flight":
                depth = next((i for i, end in enumerate(ends) if end <= span.begin), len(ends))
                ends[depth:depth + 1] = [span.end]
                depth += 1
            kind = WHAT[span.what]
            # The first site, of the time outside of MPI, is not in the file.
            name = "computation" if span.what == "compute" else (
                sites[span.site - 1].name if 0 < span.site <= len(sites) else "")
            tip = [name, KINDS[kind][0], f"from {values.time(span.begin)}, for {values.time(span.end - span.begin)}"]
            rows.append({"y": top + timelines.ROW * depth, "a": span.begin, "b": span.end, "n": name, "c": KINDS[kind][1],
                         "i": "var(--ink)" if span.what == "flight" else "var(--surface)", "tip": tip, "says": ", ".join(tip)})
        height = timelines.ROW * (1 + len(ends))
        tracks.append({"y": len(tracks), "label": f"rank {rank}", "t": top, "u": top + height})
        top += height + timelines.GAP
    return timelines.specification(rows, [], tracks, [0, longest], [0, longest], list(KINDS.values()))
