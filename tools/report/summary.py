"""Where and how well something was measured."""

import benchmarks
import values
from inputs import text_of

# Quartiles this far apart, in this part of the points, make a caution.
WIDE_SHARE = 0.2
WIDE_PART = 0.5
MANY_POINTS = 0.25


def where(result):
    """Ranks, hosts and software of a measurement or a simulation."""
    head = result.head
    version = f"Lapwing {head['lapwing']}" if isinstance(head.get("lapwing"), str) else ""
    if result.simulated:
        ranks = [row.parameter[1] for row in result.rows if row.parameter and row.parameter[0] == "ranks"]
        parts = ["simulated", f"{values.span('number', ranks)} ranks" if ranks else "",
                 f"network {head['network']}" if isinstance(head.get("network"), str) else "", version]
        return ", ".join(part for part in parts if part)
    machines, processors = head.get("machines"), head.get("processors")
    virtual = isinstance(machines, int) and result.hosts and 0 < machines < result.hosts
    text = " on ".join(values.plural(count, word) for count, word in ((result.ranks, "rank"), (result.hosts, "host")) if count)
    if virtual:
        text += f" (virtual ones, on {values.plural(machines, 'machine')})"
    if isinstance(processors, int) and not (virtual and machines > 1):
        text += f" with {values.plural(processors, 'processor')} {'in all' if virtual else 'each'}"
    kernel = " ".join(text_of(head.get("kernel")).split(" ")[:2])
    return ", ".join(part for part in (text or "unknown hosts", result.mpi, version, kernel) if part)


def lies_apart(kind, spread):
    """Whether the middle half of the rounds is too wide for its median to tell much."""
    width = spread.q3 - spread.q1
    return width > WIDE_SHARE if kind == "share" else width > WIDE_PART * abs(spread.median)


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
        said.append("There were more ranks than CPUs: ranks also waited for each other's computation, so the figures say "
                    "little about overlap.")
    spreads = [(benchmarks.quantity_of(result.benchmark, name, row.method).kind, m.summary[name]) for row in result.rows
               for m in row.engines for name in benchmarks.benchmark_of(result.benchmark).quantities[:1] if name in m.summary]
    wide = sum(lies_apart(*spread) for spread in spreads)
    if wide > MANY_POINTS * len(spreads):
        said.append(f"In {wide} of {values.plural(len(spreads), 'point')} the rounds lie far apart: read the bands before the "
                    "medians, or measure again, with more rounds and nothing else running.")
    others = {}  # engines whose rows are not what they say, and where
    for row in result.rows:
        for m in row.engines:
            if m.unconfirmed:
                others.setdefault((m.engine, m.unconfirmed), []).append(row.collective)
    return said + [f"{values.first_up(benchmarks.engine_label(result, engine))} did not run {', '.join(dict.fromkeys(collectives))} "
                   f"(hollow marks): {why}." for (engine, why), collectives in others.items()]
