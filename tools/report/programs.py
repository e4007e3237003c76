"""Recorded programs: the call sites, as `lapwing predict --program` simulates them."""

import dataclasses
import subprocess

import results
import values
from inputs import InputError, text_of

BENCHMARK = "program"
SITES = "call sites"
MAX_SITES = 10


@dataclasses.dataclass
class Program:
    measured_with: str
    notes: list  # sentences on cores that ranks share
    replays: list  # of (ranks, measured, predicted)
    sites: dict  # of ranks to lists of (name, {label of a bar: seconds})


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
    def ranks_of(entry, where):
        return int(reader.number(entry.get("ranks"), f"{where}.ranks"))

    def bars(site, where, now):
        """From now to the bound; without what was not measured or simulated."""
        predicted = reader.expect(site.get("predicted", {}), dict, f"{where}.predicted")
        later = reader.expect(site.get("later_wait", {}), dict, f"{where}.later_wait")
        engine = best(predicted)
        found = {"now, measured": site.get("measured"), f"now, simulated ({now})": predicted.get(now),
                 f"Lapwing ({engine}), program unchanged": predicted.get(engine),
                 f"Lapwing ({engine}), waited for later": later.get(engine), "bound": site.get("bound")}
        return {label: reader.number(seconds, f"{where}: {label}") for label, seconds in found.items() if seconds is not None}

    program = Program(text_of(value.get("measured_with")) or "native", [], [], {})
    program.notes += [f"{text_of(line)}." for line in reader.expect(value.get("cores", []), list, "program.cores")]
    for entry, where in reader.each(value.get("replays", []), "program.replays"):
        program.replays.append((ranks_of(entry, where), reader.number(entry.get("measured"), f"{where}.measured"),
                                reader.number(entry.get("predicted"), f"{where}.predicted")))
    for entry, where in reader.each(value.get("sites", []), "program.sites"):
        program.sites[ranks_of(entry, where)] = [(text_of(site.get("name")), bars(site, place, program.measured_with))
                                                 for site, place in reader.each(entry.get("sites", []), f"{where}.sites")]
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
            results.Measurement(label, label, "", 0, {"in_mpi": results.Spread(seconds, seconds, seconds)})
            for label, seconds in bars.items()]))
    return dataclasses.replace(result, benchmark=SITES, head={**result.head, "simulated": False}, rows=rows) if rows else None
