"""Traces of `lapwing run --trace` (the Trace Event format): a drawing of some events around the middle, and how much overlapped."""

import collections
import dataclasses

import values
from charts import TICK_TEXT
from inputs import InputError, is_number, text_of

MAX_EVENTS = 300  # in a drawing; Perfetto shows all
MAX_TRACKS = 40
ROW = 17
GAP = 7
KINDS = {"call": ("in a call of MPI", "var(--call)"), "collective": ("a collective in flight", "var(--collective)"),
         "task": ("a task of its list", "var(--task)"), "chain": ("a chain in the kernel", "var(--auto)")}
OTHER = ("other", "var(--further-6)")
ARGUMENTS = ("algorithm", "engine", "bytes", "peer", "collective", "number", "seen_by", "requests")


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


class Trace:
    """The events of a trace that can be drawn, by track."""

    def __init__(self, path, about, events):
        self.path, self.about = path, about
        self.slices, self.names, self.orders, ends = [], {}, {}, {}
        for index, event in enumerate(events):
            if not isinstance(event, dict):
                raise InputError(path, f"traceEvents[{index}]: an object is expected here")
            track = tuple(identifier(event.get(key)) for key in ("pid", "tid"))
            arguments = event.get("args") if isinstance(event.get("args"), dict) else {}
            phase = event.get("ph")
            if phase == "M":
                self.name(event, track, arguments)
            elif phase in ("s", "f", "X"):
                begin, length = event.get("ts"), event.get("dur", 0) if phase == "X" else 0
                for key, number in (("ts", begin), ("dur", length)):
                    if not is_number(number):
                        raise InputError(path, f"traceEvents[{index}].{key}: a number is expected here")
                if phase == "X":
                    self.slices.append(Slice(track, text_of(event.get("name")) or "?", text_of(event.get("cat")), begin * 1e-6,
                                             (begin + max(0, length)) * 1e-6, arguments))
                else:
                    ends.setdefault(str(event.get("id")), {})[phase] = (track, begin * 1e-6)
        if not self.slices:
            raise InputError(path, "the trace has no complete event (\"ph\": \"X\")")
        zero = min(one.begin for one in self.slices)
        for one in self.slices:
            # To the nanosecond, so that what ends where another begins does so after the subtraction, too.
            one.begin, one.end = round(one.begin - zero, 9), round(one.end - zero, 9)
        self.slices.sort(key=lambda one: (one.begin, -one.end))
        self.arrows = [(pair["s"][0], pair["s"][1] - zero, pair["f"][0], pair["f"][1] - zero)
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

    def thread(self, track):
        return self.names.get(track) or f"thread {track[1]}"

    def label(self, track):
        return f"{self.names.get((track[0], None)) or f'rank {track[0]}'}: {self.thread(track)}"


def identifier(value):
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else "?"


def sort_key(value):
    return (0, value, "") if isinstance(value, int) else (1, 0, value)


def union(stretches):
    joined = []
    for begin, end in sorted(stretches):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def length(stretches):
    return sum(end - begin for begin, end in union(stretches))


def outside_of_calls(trace):
    """For each rank with collectives: the share of the time with a collective in flight that it spent outside of MPI calls."""
    found = collections.defaultdict(lambda: {"collective": [], "call": []})
    for one in trace.slices:
        if one.kind in ("collective", "call"):
            found[one.track[0]][one.kind].append((one.begin, one.end))
    # Both together, without the calls.
    return [(length(kinds["collective"] + kinds["call"]) - length(kinds["call"])) / length(kinds["collective"])
            for kinds in found.values() if length(kinds["collective"]) > 0]


def facts(trace):
    sentences = []
    if shares := outside_of_calls(trace):
        sentences.append(f"While a collective was in flight, a rank was outside of MPI calls, and could compute, for "
                         f"{values.span('share', shares)} of the time.")
    error, dropped = trace.about.get("clock_error_us"), trace.about.get("dropped_events")
    if is_number(error) and error > 0:
        sentences.append(f"Times of different hosts compare to within {values.time(error * 1e-6)}.")
    if isinstance(dropped, dict) and dropped:
        sentences.append(f"The oldest events of {values.plural(len(dropped), 'rank')} were dropped.")
    return sentences


def tip_of(trace, one):
    lines = [one.name, f"{trace.label(one.track)}, at {values.time(one.begin)}",
             f"{values.time(one.end - one.begin)}" if one.end > one.begin else "only this moment is known"]
    for name in ARGUMENTS:
        value = one.arguments.get(name)
        if is_number(value) or (isinstance(value, str) and value):
            lines.append(f"{name.replace('_', ' ')} {value if isinstance(value, str) else values.number(value)}")
    return lines


def draw(trace):
    """(a sentence on what is not drawn, the legend, the specification for Vega)."""
    tracks = trace.tracks[:MAX_TRACKS]
    inside = [one for one in trace.slices if one.track in set(tracks)]
    first = max(0, (len(inside) - MAX_EVENTS) // 2)
    drawn = inside[first:first + MAX_EVENTS]
    left_out = (f"Drawn are {len(drawn)} of {values.number(len(trace.slices))} events, around the middle; Perfetto shows all."
                if len(drawn) < len(trace.slices) else "")
    begin, end = drawn[0].begin, max(one.end for one in drawn)
    end = max(end, begin + 1e-6)
    # A track has one row for each nesting depth of its slices.
    rows, bands, tops, top = [], [], {}, 0
    for index, track in enumerate(tracks):
        same_rank = index and tracks[index - 1][0] == track[0]
        height = ROW * (1 + max(one.depth for one in inside if one.track == track))
        bands.append({"y": index, "label": trace.thread(track) if same_rank else trace.label(track), "t": top, "u": top + height})
        tops[track] = top
        top += height + GAP
    for one in drawn:
        rows.append(row_of(tops[one.track] + ROW * one.depth, one.begin, one.end, one.name, KINDS.get(one.kind, OTHER)[1],
                           tip_of(trace, one)))
    arrows = [{"y": tops[start] + ROW, "a": sent, "z": tops[target] + ROW, "b": came}
              for start, sent, target, came in trace.arrows
              if start in tops and target in tops and sent <= end and came >= begin]
    legend = list(dict.fromkeys(KINDS.get(one.kind, OTHER) for one in drawn))
    return left_out, legend, specification(rows, arrows, bands, [begin, end], legend)


def row_of(top, begin, end, name, colour, tip):
    """A slice as data of a drawing."""
    return {"y": top, "a": begin, "b": end, "n": name, "c": colour, "tip": tip, "says": ", ".join(tip),
            "i": "var(--ink)" if colour == KINDS["collective"][1] else "var(--surface)"}


def specification(rows, arrows, bands, sight, legend):
    width = "scale('x', datum.b) - scale('x', datum.a)"
    in_sight = "min(width, scale('x', datum.b)) - max(0, scale('x', datum.a))"
    return {
        "$schema": "https://vega.github.io/schema/vega/v5.json", "width": 900, "padding": 4,
        "height": max(band["u"] for band in bands), "autosize": {"type": "fit-x", "contains": "padding"},
        "description": "What each thread and engine of each rank did, by time",
        "usermeta": {"title": "Timeline", "notes": [],
                     "legends": [{"fill": "legend_colour", "orient": "bottom", "columns": 4, "symbolType": "square"}]},
        "data": [{"name": "points", "values": rows}, {"name": "arrows", "values": arrows}, {"name": "tracks", "values": bands}],
        "scales": [{"name": "legend_colour", "type": "ordinal", "domain": [label for label, _ in legend],
                    "range": [colour for _, colour in legend]},
                   {"name": "x", "type": "linear", "domain": sight, "range": "width", "zero": False},
                   {"name": "track", "type": "ordinal", "domain": [band["y"] for band in bands],
                    "range": [(band["t"] + band["u"]) / 2 for band in bands]},
                   {"name": "label", "type": "ordinal", "domain": [band["y"] for band in bands],
                    "range": [band["label"] for band in bands]}],
        "axes": [{"orient": "bottom", "scale": "x", "grid": True, "tickCount": 6, "labelOverlap": "greedy",
                  "encode": {"labels": {"update": {"text": {"signal": TICK_TEXT["time"].replace("'.3~r'", "'.6~r'")}}}}},
                 {"orient": "left", "scale": "track", "labelLimit": 220,
                  "encode": {"labels": {"update": {"text": {"scale": "label", "field": "value"}}}}}],
        "marks": [
            {"type": "rect", "from": {"data": "tracks"}, "aria": False,
             "encode": {"update": {"x": {"value": 0}, "x2": {"signal": "width"}, "y": {"field": "t"}, "y2": {"field": "u"},
                                   "fill": {"value": "var(--soft)"}}}},
            {"type": "rect", "from": {"data": "points"}, "clip": True,
             "encode": {"update": {"x": {"scale": "x", "field": "a"}, "width": {"signal": f"max(1.2, {width})"},
                                   "y": {"field": "y"}, "height": {"value": ROW},
                                   "fill": {"field": "c"}, "stroke": {"value": "var(--surface)"}, "strokeWidth": {"value": 0.5},
                                   "tooltip": {"field": "tip"}, "description": {"field": "says"}}}},
            {"type": "rule", "from": {"data": "arrows"}, "clip": True, "aria": False, "interactive": False,
             "encode": {"update": {"x": {"scale": "x", "field": "a"}, "x2": {"scale": "x", "field": "b"},
                                   "y": {"field": "y"}, "y2": {"field": "z"},
                                   "stroke": {"value": "var(--muted)"}, "strokeWidth": {"value": 0.8},
                                   "strokeOpacity": {"value": 0.6}}}},
            {"type": "text", "from": {"data": "points"}, "clip": True, "aria": False, "interactive": False,
             "encode": {"update": {"x": {"signal": "max(0, scale('x', datum.a)) + 4"}, "y": {"field": "y", "offset": ROW / 2},
                                   "text": {"field": "n"}, "baseline": {"value": "middle"}, "fontSize": {"value": 11},
                                   "fill": {"field": "i"}, "limit": {"signal": f"max(1, {in_sight} - 8)"},
                                   "opacity": {"signal": f"{in_sight} > 46 ? 1 : 0"}}}}],
    }
