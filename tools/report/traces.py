"""The events of a trace in the Trace Event format that can be drawn."""

import collections
import dataclasses

from inputs import InputError, is_number, text_of


@dataclasses.dataclass
class Slice:
    track: tuple  # pid, tid
    name: str
    kind: str
    begin: float  # seconds from the first event
    end: float
    arguments: dict
    depth: int = 0


def belongs_to(moment, collective):
    """The last task of a collective may be known as a moment only, at the collective's very end."""
    return (collective.kind == "collective" and moment.kind != "collective" and moment.begin == moment.end
            and moment.begin == collective.end)


class Events:
    """The events of a trace that can be drawn, by track."""

    def __init__(self, path, events):
        self.slices, self.names, self.orders, ends = [], {}, {}, {}
        self.others = 0
        for index, event in enumerate(events):
            if not isinstance(event, dict):
                raise InputError(path, f"traceEvents[{index}]: an object is expected here")
            track = tuple(identifier(event.get(key)) for key in ("pid", "tid"))
            arguments = event.get("args") if isinstance(event.get("args"), dict) else {}
            phase = event.get("ph")
            if phase == "M":
                self.name(event, track, arguments)
                continue
            if phase in ("s", "f", "X") and not is_number(event.get("ts")):
                raise InputError(path, f"traceEvents[{index}].ts: a number is expected here")
            if phase == "X":
                length = event.get("dur", 0)
                if not is_number(length):
                    raise InputError(path, f"traceEvents[{index}].dur: a number is expected here")
                self.slices.append(Slice(track, text_of(event.get("name")) or "?", text_of(event.get("cat")),
                                         event["ts"] * 1e-6, (event["ts"] + max(0, length)) * 1e-6, arguments))
            elif phase in ("s", "f"):
                ends.setdefault(str(event.get("id")), {})[phase] = (track, event["ts"] * 1e-6)
            else:
                self.others += 1
        if not self.slices:
            raise InputError(path, "the trace has no complete event (\"ph\": \"X\")")
        self.zero = min(one.begin for one in self.slices)
        for one in self.slices:
            # To the nanosecond, so that what ends where another begins does so after the subtraction, too.
            one.begin, one.end = round(one.begin - self.zero, 9), round(one.end - self.zero, 9)
        self.slices.sort(key=lambda one: (one.begin, -one.end))
        self.arrows = [(pair["s"][0], pair["s"][1] - self.zero, pair["f"][0], pair["f"][1] - self.zero)
                       for pair in ends.values() if len(pair) == 2]
        self.tracks = sorted({one.track for one in self.slices}, key=self.order_of)
        self.nest()

    def name(self, event, track, arguments):
        of_process = event.get("name") in ("process_name", "process_sort_index")
        key = (track[0], None) if of_process else track
        if event.get("name") in ("process_name", "thread_name"):
            self.names[key] = text_of(arguments.get("name"))
        if event.get("name") in ("process_sort_index", "thread_sort_index") and is_number(arguments.get("sort_index")):
            self.orders[key] = arguments["sort_index"]

    def order_of(self, track):
        return (self.orders.get((track[0], None), 0), sort_key(track[0]), self.orders.get(track, 0), sort_key(track[1]))

    def nest(self):
        """How many slices of its track a slice lies in."""
        open_ones = collections.defaultdict(list)
        for one in self.slices:
            above = open_ones[one.track]
            while above and above[-1].end <= one.begin and not belongs_to(one, above[-1]):
                above.pop()
            one.depth = min(3, len(above))
            above.append(one)

    def process(self, track):
        return self.names.get((track[0], None)) or f"rank {track[0]}"

    def thread(self, track):
        return self.names.get(track) or f"thread {track[1]}"

    def label(self, track):
        return f"{self.process(track)}: {self.thread(track)}"


def identifier(value):
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else "?"


def sort_key(value):
    return (0, value, "") if isinstance(value, int) else (1, 0, value)
