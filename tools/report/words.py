"""The sentences of the summary: the setup of a measurement, the overlap of each engine, and its meaning for a program."""

from __future__ import annotations

import dataclasses
import itertools
import statistics

import benchmarks
import values
from inputs import text_of
from values import clipped


# Quartiles this far apart, in this part of the points, make a warning.
WIDE_SHARE = 0.2
WIDE_PART = 0.5
MANY_POINTS = 0.25


@dataclasses.dataclass
class Finding:
    text: str
    share: float | None = None  # drawn as a bar below the text
    engine: str = ""

    def __str__(self):
        return self.text


def where(result):
    """One sentence on ranks, hosts and software of a measurement or a simulation."""
    head = result.head
    if result.simulated:
        ranks = [row.parameter[1] for row in result.rows if row.parameter and row.parameter[0] == "ranks"]
        on = f"{span('number', ranks)} ranks" if ranks else ""
        network = f"network {head['network']}" if isinstance(head.get("network"), str) else ""
        version = f"Lapwing {head['lapwing']}" if isinstance(head.get("lapwing"), str) else ""
        return ", ".join(text for text in ("simulated", on, network, version) if text)
    words = []
    if result.ranks:
        words.append(values.plural(result.ranks, "rank"))
    if result.hosts:
        words.append(f"on {values.plural(result.hosts, 'host')}")
        machines = head.get("machines")
        if isinstance(machines, int) and machines and machines < result.hosts:
            words.append(f"(virtual ones, on {values.plural(machines, 'machine')})")
    if isinstance(head.get("processors"), int):
        words.append(f"with {values.plural(head['processors'], 'processor')} each" if not (
            isinstance(head.get("machines"), int) and result.hosts and head["machines"] < result.hosts)
            else f"with {values.plural(head['processors'], 'processor')} in all" if head["machines"] == 1 else "")
    text = " ".join(word for word in words if word)
    software = [result.mpi] if result.mpi else []
    if isinstance(head.get("lapwing"), str):
        software.append(f"Lapwing {head['lapwing']}")
    if isinstance(head.get("kernel"), str):
        software.append(" ".join(head["kernel"].split(" ")[:2]))
    return ", ".join([text or "unknown hosts", *software])


def range_of(result):
    collectives = list(dict.fromkeys(row.collective for row in result.rows if row.collective))
    sizes = sorted({row.bytes for row in result.rows if row.bytes})
    text = values.listed(collectives)
    if len(sizes) == 1:
        text += f", {values.size(sizes[0])}"
    elif sizes:
        text += f", {values.size(sizes[0])} to {values.size(sizes[-1])}"
    return text


def medians(rows, engine, quantity, variant=None):
    return [m.summary[quantity].median for row in rows for m in row.engines
            if m.engine == engine and quantity in m.summary and (variant is None or row.variant == variant)]


def engines_of(rows):
    return list(dict.fromkeys(m.engine for row in rows for m in row.engines))


def span(kind, numbers):
    low, high = values.shown(kind, min(numbers)), values.shown(kind, max(numbers))
    return low if low == high else f"{low} to {high}"


def among(kind, numbers):
    """The range of the points; empty if all are equal."""
    apart = span(kind, numbers)
    return f" (from {apart})" if " to " in apart else ""


def overlap_words(result, rows, quantity="overlap", measure="hides", of_what="time"):
    """The typical overlap of each engine, then its meaning for a program."""
    sentences, typical = [], {}
    for engine in engines_of(rows):
        numbers = [clipped(number) for number in medians(rows, engine, quantity)]
        if numbers:
            typical[engine] = statistics.median(numbers)
            sentences.append(Finding(f"{benchmarks.engine_label(result, engine)} {measure} "
                                     f"{values.share(typical[engine])} of a collective's {of_what}{among('share', numbers)}.",
                                     typical[engine], engine))
    ours = {engine: share for engine, share in typical.items() if engine != "mpi"}
    if "mpi" in typical and ours:
        best = max(ours, key=ours.get)
        left, mpi_left = 1 - ours[best], 1 - typical["mpi"]
        name = benchmarks.ENGINES.get(best, best)
        if left < mpi_left - 0.02:
            sentences.append(
                f"A program with enough work beside a collective of 10 ms still pays "
                f"about {values.time(0.01 * left) if left > 0.001 else 'nothing'} with {name}, and "
                f"{values.time(0.01 * mpi_left)} with the MPI itself.")
        elif left > mpi_left + 0.02:
            sentences.append(f"Here the MPI itself hides more than {name}.")
        else:
            sentences.append(f"Here the MPI itself and {name} hide about as much.")
    return sentences


def times_words(result, rows, quantity):
    """Each engine against the MPI, in the same rows."""
    sentences = []
    for engine in engines_of(rows):
        if engine == "mpi":
            continue
        ratios = []
        for row in rows:
            of = {m.engine: m.summary[quantity].median for m in row.engines if quantity in m.summary}
            if of.get("mpi", 0) > 0 and of.get(engine, 0) > 0:
                ratios.append(of[engine] / of["mpi"])
        if not ratios:
            continue
        middle = statistics.median(ratios)
        name = benchmarks.ENGINES.get(engine, engine)
        much = (f"takes {values.ratio(middle)} the time of the MPI itself" if not 0.97 < middle < 1.03
                else "takes as long as the MPI itself")
        sentences.append(f"{name} {much}, the median of {len(ratios)} points{among('ratio', ratios)}."
                         if len(ratios) > 1 else f"{name} {much}.")
    return sentences


def total_words(result, rows):
    """For each variant: how much longer a collective takes with work beside it."""
    sentences = []
    for variant in dict.fromkeys(row.variant for row in rows):
        for engine in engines_of(rows):
            ratios = [m.summary["total"].median / m.summary["latency"].median for row in rows if row.variant == variant
                      for m in row.engines if m.engine == engine and {"total", "latency"} <= set(m.summary)
                      and m.summary["latency"].median > 0]
            if ratios:
                who = benchmarks.engine_label(result, engine) + (f", {variant}" if variant else "")
                sentences.append(f"{who}: with work beside it a collective takes {values.ratio(statistics.median(ratios))} "
                                 f"its latency{among('ratio', ratios)}.")
    return sentences


def tests_words(result, rows):
    sentences = []
    for engine in engines_of(rows):
        points = [(row.parameter[1], m.summary["overlap"].median) for row in rows if row.parameter
                  for m in row.engines if m.engine == engine and "overlap" in m.summary]
        if not points:
            continue
        most, least = max(points, key=lambda p: p[1]), min(points, key=lambda p: p[1])
        name = benchmarks.engine_label(result, engine)
        if clipped(most[1]) - clipped(least[1]) < 0.1:
            sentences.append(f"{name} overlaps {values.share(clipped(statistics.median(p[1] for p in points)))}, however often "
                             "the program tests.")
        else:
            sentences.append(f"{name} overlaps from {values.share(clipped(least[1]))}, with {values.number(least[0])} calls of "
                             f"MPI_Test, to {values.share(clipped(most[1]))}, with {values.number(most[0])}.")
    return sentences


def typical_words(result, rows, quantity, verb):
    """A sentence for each engine, with its typical value."""
    known = benchmarks.quantity_of(result.benchmark, quantity)
    kind, good = known.kind, known.kind == "share" and known.better == "more"
    parts = []
    for engine in engines_of(rows):
        numbers = medians(rows, engine, quantity)
        if numbers:
            middle = statistics.median(numbers)
            if known.name == "loss" and middle <= 0:
                parts.append(Finding(f"{benchmarks.engine_label(result, engine)}: no loss ({values.shown(kind, middle)})."))
                continue
            parts.append(Finding(f"{benchmarks.engine_label(result, engine)}: {verb} {values.shown(kind, middle)}"
                                 f"{among(kind, numbers)}.", clipped(middle) if good else None, engine))
    return parts


def window_words(result, rows, quantity):
    sentences = []
    for engine in engines_of(rows):
        best = {}
        for row in rows:
            for m in row.engines:
                if m.engine == engine and quantity in m.summary and row.parameter:
                    time = m.summary[quantity].median
                    key = (row.collective, row.bytes)
                    best[key] = min(best.get(key, (time, row.parameter[1])), (time, row.parameter[1]))
        if len({place for _, place in best.values()}) == 1 and best:
            sentences.append(f"{benchmarks.engine_label(result, engine)} is fastest with a window of "
                             f"{values.number(next(iter(best.values()))[1])}.")
        elif best:
            sentences.append(f"{benchmarks.engine_label(result, engine)} is fastest with windows of " + values.listed(
                f"{values.number(place)} ({values.size(size) if size else name})" for (name, size), (_, place) in best.items())
                             + ".")
    return sentences


def variants_words(result, rows, quantity):
    """Compares the variants of an engine."""
    variants = list(dict.fromkeys(row.variant for row in rows if row.variant))
    kind = benchmarks.quantity_of(result.benchmark, quantity).kind
    sentences = []
    for engine in engines_of(rows):
        parts = [f"{variant} {values.shown(kind, statistics.median(numbers))}" for variant in variants
                 if (numbers := medians(rows, engine, quantity, variant))]
        if len(parts) > 1:
            sentences.append(f"{benchmarks.engine_label(result, engine)}: {values.listed(parts)}.")
    return sentences


def methods_words(result, rows):
    """One sentence for each way of transfer and progress."""
    found = {}
    for row in rows:
        for m in row.engines:
            if "overlap" in m.summary:
                found.setdefault((row.variant, m.engine), []).append(clipped(m.summary["overlap"].median))
    return [Finding(f"{variant if variant and variant != engine else benchmarks.engine_label(result, engine)}: hides "
                    f"{values.share(statistics.median(numbers))} of a collective's time{among('share', numbers)}.",
                    statistics.median(numbers), engine) for (variant, engine), numbers in found.items()]


def predict_words(result, rows):
    """From the fewest to the most ranks."""
    sentences = []
    variants = list(dict.fromkeys(row.variant for row in rows))
    for quantity, verb, by in (("gain", "gains", " by overlap"), ("overlap", "hides", ""), ("loss", "loses", " by noise or late ranks")):
        # Overlap has no meaning below 0; a gain has.
        counted = (lambda share: share) if quantity == "gain" else clipped
        for engine, variant in itertools.product(engines_of(rows), variants):
            points = {}
            for row in rows:
                for m in row.engines:
                    if m.engine == engine and row.variant == variant and quantity in m.summary and row.parameter:
                        points.setdefault(row.parameter[1], []).append(counted(m.summary[quantity].median))
            if not points:
                continue
            ends = [f"{values.share(statistics.median(points[ranks]))} on {values.number(ranks)} ranks"
                    for ranks in sorted({min(points), max(points)})]
            subject = benchmarks.engine_label(result, engine) + (f" with {variant}" if len(variants) > 1 and variant else "")
            sentences.append(f"In the simulation {subject} {verb} {values.listed(ends)}{by}.")
    return sentences


def findings(result):
    """The sentences on a result; none for an unknown benchmark, because the meaning of its quantities is unknown."""
    rows = result.rows
    name = result.benchmark
    present = {quantity for row in rows for m in row.engines for quantity in m.summary}
    if name == "overlap":
        sentences = []
        for method in dict.fromkeys(row.method for row in rows):
            chosen = [row for row in rows if row.method == method]
            if method == "idle":
                sentences += typical_words(result, chosen, "loss", "work beside a pending collective loses")
            elif any(row.parameter for row in chosen):
                sentences += overlap_words(result, chosen, "available", "leaves room for work of", "base time")
            elif method == "wait":
                sentences += overlap_words(result, chosen)
            else:  # only the wait method measures the time that a program loses
                some = overlap_words(result, chosen, "overlap", "leaves to the program", "time")
                sentences += [Finding(f"{one.text[:-1]}, by the {method} method.", one.share, one.engine)
                              for one in some if isinstance(one, Finding)]
        return sentences
    if name == "predict":
        return predict_words(result, rows)
    if name == "total" and {"total", "latency"} <= present:
        return total_words(result, rows)
    if name == "tests":
        return tests_words(result, rows)
    if name == "window" and (quantity := next((q for q in ("latency", "base", "total") if q in present), None)):
        return window_words(result, rows, quantity)
    if name == "methods":
        return methods_words(result, rows)
    if name == "connections":
        return variants_words(result, rows, "latency")
    benchmark = benchmarks.benchmark_of(name)
    quantity, words = benchmark.finding
    if quantity in present:
        return typical_words(result, rows, quantity, words)
    for quantity in ("base", "latency", "total", "per_collective"):
        if quantity in benchmark.quantities and quantity in present:
            return times_words(result, rows, quantity)
    return []


def headline(results):
    """The main sentence of the page, from the first result about overlap that has enough reliable points; empty if there is none."""
    measured = [result for result in results if result.benchmark == "overlap"]
    reliable = [result for result in measured if not unreliable_points(result)[0]]
    if measured and not reliable:
        return "These measurements do not say how much overlaps: in too many points the rounds lie far apart."
    for result in reliable:
        rows = [row for row in result.rows if row.method == "wait" and not row.parameter]
        shares = {engine: statistics.median(map(clipped, numbers)) for engine in engines_of(rows)
                  if (numbers := medians(rows, engine, "overlap"))}
        ours = {engine: share for engine, share in shares.items() if engine != "mpi"}
        if "mpi" in shares and ours:
            best = max(ours, key=ours.get)
            return (f"{benchmarks.ENGINES.get(best, best)} hides {100 * ours[best]:.0f} % of a collective behind computation; "
                    f"{benchmarks.engine_label(result, 'mpi')} hides {100 * shares['mpi']:.0f} %.")
    return ""


def lies_apart(kind, spread):
    """Whether the middle half of the rounds is too wide for its median to tell much."""
    width = spread.q3 - spread.q1
    return width > WIDE_SHARE if kind == "share" else width > WIDE_PART * abs(spread.median)


def unreliable_points(result):
    """Whether there are too many, how many, and of how many."""
    main = benchmarks.benchmark_of(result.benchmark).quantities[:1]
    spreads = [(benchmarks.quantity_of(result.benchmark, name, row.method).kind, m.summary[name])
               for row in result.rows for m in row.engines for name in main if name in m.summary]
    wide = sum(lies_apart(*spread) for spread in spreads)
    return wide > MANY_POINTS * len(spreads), wide, len(spreads)


def cautions(result):
    """Warnings about the quality of a measurement."""
    said = []
    if result.simulated:
        said.append("Simulated, not measured: no figure here was seen on a machine.")
        notes = result.head.get("notes")
        said += [text_of(note) for note in notes if text_of(note)] if isinstance(notes, list) else []
    settings = result.head.get("settings")
    works = not isinstance(settings, dict) or settings.get("compute") != "sleep"
    if result.head.get("more_ranks_than_processors") is True and works:
        said.append("There were more ranks than processors: ranks also waited for each other's computation, so the figures say "
                    "little about overlap.")
    too_many, wide, points = unreliable_points(result)
    if too_many:
        said.append(f"In {wide} of {values.plural(points, 'point')} the rounds lie far apart: look at the bands before the "
                    "medians, or measure again, with more rounds and nothing else running.")
    return said + unconfirmed(result)


def unconfirmed(result):
    """Requested engines that did not do the work, with the rows where."""
    places = {}
    for row in result.rows:
        for m in row.engines:
            if not m.confirmed:
                places.setdefault((m.engine, m.used), []).append(row.collective)
    return [f"{benchmarks.ENGINES.get(engine, engine)} was requested, but {used or 'an unknown engine'} ran "
            f"{values.listed(dict.fromkeys(collectives))}: hollow marks."
            for (engine, used), collectives in places.items()]
