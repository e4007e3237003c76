"""Reads what a report is made of: results of `lapwing bench`, `compare` and `predict` with --json.

What is wrong with a file is an InputError that names it; nothing in a file is trusted to have the right type.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib

import values
from inputs import InputError, is_number, text_of

MAX_RANKS = 1 << 31
QUARTILES = ("q1", "median", "q3")
# Keys of a row that are no condition of its measurement.
ROW_FRAME = {"collective", "bytes", "method", "parameter", "engines", "variant"}


@dataclasses.dataclass
class Spread:
    q1: float
    median: float
    q3: float

    def clipped(self):
        return Spread(*(values.clipped(value) for value in (self.q1, self.median, self.q3)))


@dataclasses.dataclass
class Measurement:
    """One engine in one row."""

    engine: str
    used: str
    unconfirmed: str  # why the row is not what it says; empty: it is
    rounds: int
    summary: dict  # of quantities to Spread


@dataclasses.dataclass
class Row:
    collective: str
    method: str
    variant: str
    bytes: float | None
    parameter: tuple | None  # name, value
    conditions: tuple  # (name, value) of further conditions of the row
    engines: list


@dataclasses.dataclass
class Result:
    path: str
    benchmark: str
    head: dict
    rows: list

    @property
    def ranks(self):
        value = self.head.get("ranks")
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_RANKS else None

    @property
    def hosts(self):
        hosts = self.head.get("hosts")
        return len({str(host) for host in hosts}) if isinstance(hosts, list) else None

    @property
    def simulated(self):
        return self.head.get("simulated") is True

    @property
    def mpi(self):
        return text_of(self.head.get("mpi")).split(",")[0].split("\n")[0].strip()


class Reader:
    """One document; its errors say where in it they are."""

    def __init__(self, path):
        self.path = path

    def fail(self, where, what):
        raise InputError(self.path, f"{where}: {what}" if where else what)

    def expect(self, value, kind, where):
        if not isinstance(value, kind):
            names = {dict: "an object", list: "a list", str: "a text"}
            self.fail(where, f"{names[kind]} is expected here")
        return value

    def number(self, value, where):
        if not is_number(value):
            self.fail(where, "a number is expected here")
        return float(value)

    def each(self, entries, where):
        """The objects of a list, each with its position."""
        for index, entry in enumerate(self.expect(entries, list, where)):
            yield self.expect(entry, dict, f"{where}[{index}]"), f"{where}[{index}]"

    def spread(self, value, where):
        """None where a value could not be measured, which JSON writes as null."""
        self.expect(value, dict, where)
        found = [value.get(key) for key in QUARTILES]
        if any(number is None for number in found) and all(key in value for key in QUARTILES):
            return None
        for key, number in zip(QUARTILES, found):
            if not is_number(number):
                self.fail(where, f"{key} is no number")
        return Spread(*map(float, found))

    def measurement(self, value, where):
        engine = self.expect(value.get("engine"), str, f"{where}.engine")
        summary = {}
        for name, spread in self.expect(value.get("summary"), dict, f"{where}.summary").items():
            read = self.spread(spread, f"{where}.summary.{name}")
            if read is not None:
                summary[name] = read
        rounds = value.get("rounds")
        confirmed = value.get("confirmed", True) is not False
        return Measurement(engine, text_of(value.get("used")), "" if confirmed else text_of(value.get("unconfirmed")) or "unknown reason",
                           len(rounds) if isinstance(rounds, list) else 0, summary)

    def row(self, value, where):
        parameter = value.get("parameter")
        if parameter is not None:
            self.expect(parameter, dict, f"{where}.parameter")
            parameter = (text_of(parameter.get("name")) or "parameter",
                         self.number(parameter.get("value"), f"{where}.parameter.value"))
        size = value.get("bytes")
        conditions = tuple((name, entry) for name, entry in value.items()
                           if name not in ROW_FRAME and (is_number(entry) or isinstance(entry, str)))
        engines = [self.measurement(*one) for one in self.each(value.get("engines"), f"{where}.engines")]
        return Row(self.expect(value.get("collective", ""), str, f"{where}.collective"), text_of(value.get("method")),
                   text_of(value.get("variant")), float(size) if is_number(size) else None, parameter, conditions,
                   engines)

    def result(self, document):
        benchmark = self.expect(document["benchmark"], str, "benchmark")
        rows = [self.row(*one) for one in self.each(document.get("rows"), "rows")]
        if not rows:
            self.fail("rows", "nothing was measured")
        head = {name: value for name, value in document.items() if name != "rows"}
        return Result(str(self.path), benchmark, head, rows)

    def read(self):
        try:
            text = pathlib.Path(self.path).read_text(encoding="utf-8")
        except OSError as error:
            self.fail("", error.strerror or str(error))
        except UnicodeDecodeError:
            taken = "report takes the JSON of bench, compare and predict"
            if pathlib.Path(self.path).read_bytes()[:2] == b"\x1f\x8b":
                self.fail("", f"it is compressed by gzip: unpack it first; {taken}")
            self.fail("", f"it is not text in UTF-8; {taken}")
        return self.parse(text)

    def parse(self, text):
        if not text.strip():
            self.fail("", "the file is empty: its benchmark ended without a result, or has not ended yet")
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")
            self.fail(f"line {error.lineno}", "the file ends too early: it is cut off" if cut else f"no JSON: {error.msg}")
        except (RecursionError, ValueError):
            self.fail("", "not a benchmark's JSON: it is nested too deeply, or a number has too many digits")
        if isinstance(document, dict) and isinstance(document.get("traceEvents"), list):
            self.fail("", "a timeline, which Perfetto shows (ui.perfetto.dev), and -o NAME.svg draws")
        if isinstance(document, dict) and "benchmark" in document:
            return self.result(document)
        self.fail("", "no result of `lapwing bench`, `compare` or `predict` with --json")


def read(path):
    """A Result. Raises InputError."""
    return Reader(path).read()


def collect(paths):
    """The contents of the files, and a list of InputErrors for unusable files in directories. A file that was named itself raises its
    InputError."""
    found, left_out, seen = [], [], set()
    for path in map(pathlib.Path, paths):
        inside = path.is_dir()
        files = sorted(path.rglob("*.json")) if inside else [path]
        if not files:
            raise InputError(path, "no file in this directory ends in .json")
        for file in files:
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            try:
                found.append(read(file))
            except InputError as error:
                if not inside:
                    raise
                left_out.append(error)
    if not found:
        raise left_out[0]
    return found, left_out
