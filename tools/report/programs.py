"""Recorded programs: the call sites and one iteration, as `lapwing predict --program` simulates them."""

import dataclasses
import subprocess

import results
import timelines
import values
from inputs import InputError, is_number, text_of

BENCHMARK = "program"
SITES = "call sites"
MAX_SITES = 10
MAX_SPANS = 20000
MAX_RANKS_DRAWN = 16
KINDS = {"compute": ("computes", "var(--task)"), "call": ("in a call of MPI", "var(--call)"),
         "flight": ("a collective or message in flight", "var(--collective)")}


@dataclasses.dataclass
class Program:
    measured_with: str
    notes: list  # sentences on cores that ranks share
    replays: list  # of (ranks, measured, predicted)
    sites: dict  # of ranks to lists of (name, {label of a bar: seconds})
    iterations: dict  # of (ranks, engine) to lists of (rank, what, site, begin, end)


def is_recording(path):
    return (path / "job.json").is_file() and any(path.glob("rank-*.facts"))


def simulate(tool, recording):
    """The JSON of `lapwing predict` for this recording."""
    ended = subprocess.run([tool, "predict", "--program", recording, "--json", "-"], capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        lines = ended.stderr.strip().splitlines()
        raise InputError(recording, lines[-1] if lines else f"lapwing predict ended with {ended.returncode}")
    return ended.stdout


def read(reader, value):
    """A Program; nothing in `value` is trusted. `reader`: of the file, for its errors."""
    def number(entry, where):
        if not is_number(entry):
            reader.fail(where, "a number is expected here")
        return float(entry)

    def each(name, entries, where="program"):
        entries = reader.expect(entries.get(name, []), list, f"{where}.{name}")
        return [(reader.expect(entry, dict, f"{where}.{name}[{i}]"), f"{where}.{name}[{i}]") for i, entry in enumerate(entries)]

    def ranks_of(entry, where):
        return int(number(entry.get("ranks"), f"{where}.ranks"))

    def bars(site, where, now):
        """From now to the bound; without what was not measured or simulated."""
        predicted = reader.expect(site.get("predicted", {}), dict, f"{where}.predicted")
        later = reader.expect(site.get("later_wait", {}), dict, f"{where}.later_wait")
        engine = best(predicted)
        found = {"now, measured": site.get("measured"), f"now, simulated ({now})": predicted.get(now),
                 f"Lapwing ({engine}), program unchanged": predicted.get(engine),
                 f"Lapwing ({engine}), waited for later": later.get(engine), "bound": site.get("bound")}
        return {label: number(seconds, f"{where}: {label}") for label, seconds in found.items() if seconds is not None}

    program = Program(text_of(value.get("measured_with")) or "native", [], [], {}, {})
    program.notes += [f"{text_of(line)}." for line in reader.expect(value.get("cores", []), list, "program.cores")]
    for entry, where in each("replays", value):
        program.replays.append((ranks_of(entry, where), number(entry.get("measured"), f"{where}.measured"),
                                number(entry.get("predicted"), f"{where}.predicted")))
    for entry, where in each("sites", value):
        program.sites[ranks_of(entry, where)] = [
            (text_of(site.get("name")), bars(site, place, program.measured_with)) for site, place in each("sites", entry, where)]
    for entry, where in each("iterations", value):
        spans = program.iterations.setdefault((ranks_of(entry, where), text_of(entry.get("engine"))), [])
        for span, place in each("spans", entry, where)[:MAX_SPANS]:
            what = text_of(span.get("what"))
            if what not in KINDS:
                reader.fail(f"{place}.what", f"one of {', '.join(KINDS)} is expected here")
            rank, site, begin, end = (number(span.get(key), f"{place}.{key}") for key in ("rank", "site", "begin", "end"))
            spans.append((int(rank), what, int(site), begin, end))
    return program


def best(engines):
    """The engine of Lapwing that is compared with what was recorded; empty if none was simulated."""
    ours = [engine for engine in engines if engine != "native"]
    return "kernel" if "kernel" in ours else ours[0] if ours else ""


def facts(program):
    """How near the replay is to the recorded run."""
    return [f"On {values.plural(ranks, 'rank')} the run took {values.time(measured)}; its replay takes {values.time(predicted)}."
            for ranks, measured, predicted in program.replays] + program.notes


def site_result(result, ranks):
    """A result whose rows are the call sites that took longest; None if there are none."""
    sites = sorted(((name, bars) for name, bars in result.program.sites[ranks] if bars), key=lambda one: -max(one[1].values()))
    rows, names = [], []
    for name, bars in sites[:MAX_SITES]:
        names.append(name)
        rows.append(results.Row(name if names.count(name) == 1 else f"{name} ({names.count(name)})", "sites", "", None, None, (), [
            results.Measurement(label, label, True, 0, {"in_mpi": results.Spread(seconds, seconds, seconds)})
            for label, seconds in bars.items()]))
    return dataclasses.replace(result, benchmark=SITES, head={**result.head, "simulated": False}, rows=rows) if rows else None


def drawings(program):
    """(title, specification for Vega) of one iteration of each recorded run, now and with Lapwing, on the same axis."""
    found = []
    for ranks in dict.fromkeys(ranks for ranks, _ in program.iterations):
        of_engines = {engine: spans for (of, engine), spans in program.iterations.items() if of == ranks}
        shown = {"now": program.measured_with, f"with Lapwing ({best(of_engines)})": best(of_engines)}
        longest = max((span[-1] for spans in of_engines.values() for span in spans), default=0)
        found += [(f"One iteration on {values.plural(ranks, 'rank')}, {name}, simulated",
                   drawing(program.sites.get(ranks, []), of_engines[engine], longest))
                  for name, engine in shown.items() if longest > 0 and of_engines.get(engine)]
    return found


def drawing(sites, spans, longest):
    rows, bands, top = [], [], 0
    for rank in sorted({span[0] for span in spans})[:MAX_RANKS_DRAWN]:
        ends = []  # of the flights in each row
        for _, what, site, begin, end in sorted((span for span in spans if span[0] == rank), key=lambda one: one[3]):
            depth = 0
            if what == "flight":
                depth = next((i for i, last in enumerate(ends) if last <= begin), len(ends))
                ends[depth:depth + 1] = [end]
                depth += 1
            # The first site, of the time outside of MPI, is not in the file.
            name = "computation" if what == "compute" else sites[site - 1][0] if 0 < site <= len(sites) else ""
            tip = [name, KINDS[what][0], f"from {values.time(begin)}, for {values.time(end - begin)}"]
            rows.append(timelines.row_of(top + timelines.ROW * depth, begin, end, name, KINDS[what][1], tip))
        height = timelines.ROW * (1 + len(ends))
        bands.append({"y": len(bands), "label": f"rank {rank}", "t": top, "u": top + height})
        top += height + timelines.GAP
    return timelines.specification(rows, [], bands, [0, longest], list(KINDS.values()))
