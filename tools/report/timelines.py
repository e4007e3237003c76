"""Traces of `lapwing run --trace` (the Trace Event format): a small drawing, a table and sentences."""

import dataclasses
import statistics

import values
from charts import TICK_TEXT
from inputs import is_number

DRAWN_EVENTS = 6000
FIRST_STRETCH = 300  # events that are in sight at first
DRAWN_TRACKS = 40
DRAWN_ARROWS = 1500
ROW = 17
GAP = 7
KINDS = {"call": ("in a call of MPI", "var(--call)"), "collective": ("a collective in flight", "var(--collective)"),
         "task": ("a task of its list", "var(--task)"), "chain": ("a chain in the kernel", "var(--auto)")}
OTHER = ("other", "var(--further-6)")
ARGUMENTS = ("algorithm", "engine", "bytes", "peer", "collective", "number", "seen_by", "requests")


@dataclasses.dataclass
class Entry:
    who: str
    what: str
    count: int
    total: float
    median: float
    longest: float


@dataclasses.dataclass
class Drawing:
    sentences: list
    legend: list
    spec: dict
    table: list


def union(stretches):
    joined = []
    for begin, end in sorted(stretches):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def length(stretches):
    return sum(end - begin for begin, end in stretches)


def common(some, others):
    result, j = [], 0
    for begin, end in some:
        while j and others[j - 1][1] > begin:
            j -= 1
        while j < len(others) and others[j][0] < end:
            low, high = max(begin, others[j][0]), min(end, others[j][1])
            if low < high:
                result.append([low, high])
            j += 1
    return result


def of_ranks(events):
    """For each process: the intervals with a collective in flight, and the intervals in MPI calls."""
    found = {}
    for one in events.slices:
        if one.kind in ("collective", "call"):
            found.setdefault(one.track[0], {"collective": [], "call": []})[one.kind].append((one.begin, one.end))
    return {process: {kind: union(stretches) for kind, stretches in kinds.items()} for process, kinds in found.items()}


def findings(trace):
    events = trace.events
    total = max(one.end for one in events.slices)
    processes = {track[0] for track in events.tracks}
    count = sum(one.kind == "collective" for one in events.slices)
    sentences = [f"{values.plural(len(processes), 'rank')}, {values.plural(count, 'collective')} and "
                 f"{values.plural(sum(one.kind == 'task' for one in events.slices), 'task')} in {values.time(total)}."]
    shares = []
    for kinds in of_ranks(events).values():
        in_flight = length(kinds["collective"])
        if in_flight > 0:
            shares.append(1 - length(common(kinds["collective"], kinds["call"])) / in_flight)
    if shares:
        low, high = values.share(min(shares)), values.share(max(shares))
        sentences.append(f"Of the time with a collective in flight, a rank was outside of calls of MPI, and could compute, for "
                         f"{low if low == high else f'{low} to {high}'}.")
    about = trace.about
    if is_number(about.get("clock_error_us")):
        error = about["clock_error_us"]
        sentences.append(f"Times of different hosts compare to within {values.time(error * 1e-6)}." if error > 0 else
                         "All times are of one clock.")
    dropped = about.get("dropped_events")
    if isinstance(dropped, dict) and dropped:
        sentences.append(f"The oldest events of {values.plural(len(dropped), 'rank')} were dropped.")
    return sentences


def table_of(events):
    groups = {}
    for one in events.slices:
        groups.setdefault((one.track, one.kind, one.name if one.kind != "task" else one.name.split(" ")[0]), []).append(
            one.end - one.begin)
    order = {track: index for index, track in enumerate(events.tracks)}
    entries = []
    for (track, kind, name), times in sorted(groups.items(), key=lambda item: (order[item[0][0]], item[0][1:])):
        entries.append(Entry(events.label(track), name, len(times), sum(times), statistics.median(times), max(times)))
    return entries[:400]


def around_the_middle(slices, count):
    """The interval of this many events."""
    if len(slices) <= count:
        return slices
    first = (len(slices) - count) // 2
    return slices[first:first + count]


def tip_of(events, one):
    lines = [one.name, f"{events.label(one.track)}, at {values.time(one.begin)}",
             f"{values.time(one.end - one.begin)}" if one.end > one.begin else "only this moment is known"]
    for name in ARGUMENTS:
        value = one.arguments.get(name)
        if is_number(value) or (isinstance(value, str) and value):
            lines.append(f"{name.replace('_', ' ')} {value if isinstance(value, str) else values.number(value)}")
    return lines


def draw(trace):
    events = trace.events
    tracks = events.tracks[:DRAWN_TRACKS]
    places = {track: index for index, track in enumerate(tracks)}
    inside = [one for one in events.slices if one.track in places]
    drawn = around_the_middle(inside, DRAWN_EVENTS)
    sentences = []
    if len(drawn) < len(events.slices):
        rows = f", on the first {len(tracks)} of {len(events.tracks)} rows" if len(tracks) < len(events.tracks) else ""
        sentences.append(f"Drawn are {len(drawn)} of its {len(events.slices)} events{rows}.")
    if events.others:
        sentences.append(f"Not drawn: {values.plural(events.others, 'event')} of other kinds.")
    whole = [drawn[0].begin, max(one.end for one in drawn)]
    if whole[1] <= whole[0]:
        whole[1] = whole[0] + 1e-6
    sight = around_the_middle(drawn, FIRST_STRETCH)
    stretch = [sight[0].begin, max(one.end for one in sight)] if len(sight) < len(drawn) else list(whole)
    if stretch[1] <= stretch[0]:
        stretch = list(whole)
    # A track has one row for each nesting depth of its slices.
    tops, top = [], 0
    for track in tracks:
        tops.append(top)
        top += ROW * (1 + max(one.depth for one in inside if one.track == track)) + GAP
    tracks_drawn = [{"y": index, "label": events.thread(track) if index and tracks[index - 1][0] == track[0] else events.label(track),
                    "t": tops[index], "u": (tops + [top])[index + 1] - GAP}
                   for index, track in enumerate(tracks)]
    rows = []
    for one in drawn:
        tip = tip_of(events, one)
        rows.append({"y": tops[places[one.track]] + ROW * one.depth, "a": one.begin, "b": one.end, "n": one.name,
                     "c": KINDS.get(one.kind, OTHER)[1], "i": "var(--ink)" if one.kind == "collective" else "var(--surface)",
                     "tip": tip, "says": ", ".join(tip)})
    arrows = [{"y": tops[places[start]] + ROW, "a": begin, "z": tops[places[end]] + ROW, "b": finish}
              for start, begin, end, finish in events.arrows
              if start in places and end in places and begin <= whole[1] and finish >= whole[0]][:DRAWN_ARROWS]
    kinds = dict.fromkeys(one.kind for one in events.slices)
    legend = list(dict.fromkeys(KINDS.get(kind, OTHER) for kind in kinds))
    return Drawing(sentences, legend, specification(rows, arrows, tracks_drawn, whole, stretch, legend), table_of(events))


def specification(rows, arrows, tracks, whole, stretch, legend):
    seen = "datum.b >= stretch[0] && datum.a <= stretch[1]"
    width = "scale('x', datum.b) - scale('x', datum.a)"
    in_sight = "min(width, scale('x', datum.b)) - max(0, scale('x', datum.a))"
    legend_scale = {"name": "legend_colour", "type": "ordinal", "domain": [label for label, _ in legend],
                    "range": [colour for _, colour in legend]}
    return {
        "$schema": "https://vega.github.io/schema/vega/v5.json", "width": 900, "padding": 4,
        "height": max(track["u"] for track in tracks), "autosize": {"type": "fit-x", "contains": "padding"},
        "description": "What each thread and engine of each rank did, by time",
        "signals": [{"name": "stretch", "value": stretch}],
        "usermeta": {"title": "Timeline", "notes": [], "whole": whole,
                     "legends": [{"fill": "legend_colour", "orient": "bottom", "columns": 4, "symbolType": "square"}]},
        "data": [{"name": "points", "values": rows, "transform": [{"type": "filter", "expr": seen}]},
                 {"name": "arrows", "values": arrows, "transform": [{"type": "filter", "expr": seen}]},
                 {"name": "tracks", "values": tracks}],
        "scales": [legend_scale,
                   {"name": "x", "type": "linear", "domain": {"signal": "stretch"}, "range": "width", "zero": False},
                   {"name": "track", "type": "ordinal", "domain": [track["y"] for track in tracks],
                    "range": [(track["t"] + track["u"]) / 2 for track in tracks]},
                   {"name": "label", "type": "ordinal", "domain": [track["y"] for track in tracks],
                    "range": [track["label"] for track in tracks]}],
        "axes": [{"orient": "bottom", "scale": "x", "grid": True, "tickCount": 6, "labelOverlap": "greedy",
                  "encode": {"labels": {"update": {"text": {"signal": TICK_TEXT["time"].replace("'.3~r'", "'.6~r'")}}}}},
                 {"orient": "left", "scale": "track", "labelLimit": 220,
                  "encode": {"labels": {"update": {"text": {"scale": "label", "field": "value"}}}}}],
        "marks": [
            {"type": "rect", "from": {"data": "tracks"}, "aria": False,
             "encode": {"update": {"x": {"value": 0}, "x2": {"signal": "width"}, "y": {"field": "t"}, "y2": {"field": "u"},
                                   "fill": {"value": "var(--soft)"}}}},
            {"type": "rect", "from": {"data": "points"}, "clip": True,
             "encode": {"update": {"x": {"scale": "x", "field": "a"},
                                   "width": {"signal": f"max(1.2, {width})"},
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
