"""One picture of several timelines of `lapwing run --trace` and `lapwing profile --trace`: when each rank computes, and when it is in
MPI, on one time axis. The picture is an SVG that follows the reader's light or dark theme."""

import json
import math
import pathlib

import inputs
from markup import E, written

WIDTH, LEFT, LANE, GAP = 860, 96, 20, 4
STYLE = """text{font:13px system-ui,sans-serif;fill:#1f2328}.name{font-weight:600}.small{fill:#59636e}.computes{fill:#2f81c5}
.mpi{fill:#f0a35c}.axis{stroke:#d1d9e0}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}.computes{fill:#4493d8}
.mpi{fill:#c9762b}.axis{stroke:#3d444d}}"""


def read(path):
    """The calls of MPI of each rank's threads, as {rank: [(begin, end)]} in microseconds; of the first thread of a rank that has some."""
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        calls = [(event["pid"], event["tid"], event["ts"], event["ts"] + event["dur"]) for event in events
                 if event.get("ph") == "X" and event.get("cat") == "call"]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise inputs.InputError(path, "is no timeline of `lapwing run --trace`") from error
    if not calls or not all(inputs.is_number(value) for call in calls for value in call):
        raise inputs.InputError(path, "has no calls of MPI")
    thread = {}
    for rank, tid, *_ in sorted(calls):
        thread.setdefault(rank, tid)
    return {rank: sorted((begin, end) for pid, tid, begin, end in calls if (pid, tid) == (rank, thread[rank])) for rank in sorted(thread)}


def step_of(length):
    """A round distance of marks on the axis, at most eight of them."""
    power = 10 ** math.floor(math.log10(length / 8))
    return next(power * factor for factor in (1, 2, 5, 10) if length <= 8 * power * factor)


def picture(paths):
    timelines = [(path, read(path)) for path in map(pathlib.Path, paths)]
    starts = [min(calls[0][0] for calls in ranks.values()) for _, ranks in timelines]
    ends = [max(end for calls in ranks.values() for _, end in calls) - start for (_, ranks), start in zip(timelines, starts)]
    longest = max(*ends, 1e-3)
    scale = (WIDTH - LEFT - 16) / longest
    drawn, y = [], 40
    for x, name, words in ((LEFT, "computes", "computes"), (LEFT + 100, "mpi", "in MPI")):
        drawn += [E("rect", x=x, y=8, width=12, height=12, class_=name), E("text", words, x=x + 18, y=19)]
    for (path, ranks), start, end in zip(timelines, starts, ends):
        name = path.stem.replace("-", " ").replace("_", " ")
        drawn.append(E("text", E("tspan", name, class_="name"), f"  {end / 1000:.3g} ms", x=LEFT, y=y + 10))
        y += 18
        for rank, calls in ranks.items():
            x = [LEFT + (time - start) * scale for time in (calls[0][0], max(finish for _, finish in calls))]
            drawn += [E("text", f"rank {rank}", x=LEFT - 10, y=y + 15, text_anchor="end", class_="small"),
                      E("rect", x=f"{x[0]:.1f}", y=y, width=f"{x[1] - x[0]:.1f}", height=LANE, class_="computes")]
            drawn += [E("rect", x=f"{LEFT + (begin - start) * scale:.1f}", y=y, width=f"{max((finish - begin) * scale, 0.3):.1f}",
                        height=LANE, class_="mpi") for begin, finish in calls]
            y += LANE + GAP
        y += 14
    step = step_of(longest / 1000)
    drawn.append(E("line", x1=LEFT, x2=WIDTH - 16, y1=y, y2=y, class_="axis"))
    for mark in range(int(longest / 1000 / step) + 1):
        drawn.append(E("text", f"{mark * step:g}{' ms' if mark == 0 else ''}", x=f"{LEFT + mark * step * 1000 * scale:.1f}", y=y + 16,
                       text_anchor="middle", class_="small"))
    words = "; ".join(f"{path.stem}: {end / 1000:.3g} ms" for (path, _), end in zip(timelines, ends))
    return written(E("svg", E("title", words), E("style", STYLE), *drawn, xmlns="http://www.w3.org/2000/svg", width=WIDTH, height=y + 26,
                     viewBox=f"0 0 {WIDTH} {y + 26}", role="img")) + "\n"
