"""Makes figures from results: the plots, their axes, and their series."""

import dataclasses

import benchmarks
import values

# Conditions that separate plots, and conditions that are an axis, with its title.
CONDITIONS = {"burst_seconds": ("bursts of {}", "time")}
AXES = {"frequency_hz": "bursts per second, Hz"}
SHARES = {"work_share"}  # parameters that are fractions


@dataclasses.dataclass
class Point:
    x: float
    spread: object  # results.Spread
    measurement: object  # results.Measurement


@dataclasses.dataclass
class Series:
    key: str
    engine: str
    variant: str
    label: str
    points: list


@dataclasses.dataclass
class Axis:
    kind: str  # bytes, share, number
    title: str

    def shown(self, x):
        return {"bytes": values.size, "share": values.share}.get(self.kind, values.number)(x)


@dataclasses.dataclass
class Panel:
    key: str
    title: str
    quantity: benchmarks.Quantity
    axis: Axis
    series: list

    @property
    def xs(self):
        return sorted({point.x for series in self.series for point in series.points})

    @property
    def is_bars(self):
        return len(self.xs) < 2


@dataclasses.dataclass
class View:
    """One quantity of a figure."""

    quantity: benchmarks.Quantity
    panels: list


@dataclasses.dataclass
class Figure:
    key: str
    title: str
    explanation: str
    result: object  # results.Result
    rows: list
    method: str
    views: list
    series: list  # of all its panels, without points


def axis_of(benchmark, rows):
    first = rows[0]
    if first.parameter:
        name = first.parameter[0]
        if name in SHARES:
            return Axis("share", "work, as a share of the base time")
        return Axis("number", (benchmark.x_title if name != "ranks" else "") or benchmarks.words_of(name))
    for name, title in AXES.items():
        if any(key == name for key, _ in first.conditions):
            return Axis("number", title)
    return Axis("bytes", "bytes of a block")


def place_on(row):
    if row.parameter:
        return row.parameter[1]
    for name, value in row.conditions:
        if name in AXES and not isinstance(value, str):
            return float(value)
    return row.bytes or 0.0


def conditions_of(rows):
    """Names of the conditions that separate plots: known ones that vary, and those that distinguish rows at one position."""
    names = {name for row in rows for name, value in row.conditions
             if name not in AXES and (name in CONDITIONS or isinstance(value, str))}
    varied = {name for name in names if len({dict(row.conditions).get(name) for row in rows}) > 1}
    places = {}
    for row in rows:
        known = tuple(dict(row.conditions).get(name) for name in sorted(varied))
        places.setdefault((row.collective, row.method, row.variant, row.bytes, place_on(row), known), []).append(row)
    for group in places.values():
        for name in {name for row in group for name, _ in row.conditions if name not in AXES}:
            if len({dict(row.conditions).get(name) for row in group}) > 1:
                varied.add(name)
    return sorted(varied)


def condition_words(name, value):
    if value is None:
        return ""
    if name in CONDITIONS and not isinstance(value, str):
        words, kind = CONDITIONS[name]
        return words.format(values.shown(kind, value))
    return f"{benchmarks.words_of(name)} {value if isinstance(value, str) else values.number(value)}"


def panel_key(row, varied, has_sizes):
    size = row.bytes if has_sizes and (row.parameter or any(n in AXES for n, _ in row.conditions)) else None
    conditions = dict(row.conditions)
    return row.collective, size, tuple((name, conditions.get(name)) for name in varied)


def panel_title(key):
    collective, size, conditions = key
    words = [collective or "all rows"]
    words += [values.size(size)] if size else []
    words += [text for text in (condition_words(*condition) for condition in conditions) if text]
    return ", ".join(words)


def label_of(result, engine, variant, rows):
    """The name of a line: its engine, its variant or both, so that it differs from the other lines."""
    name = benchmarks.engine_label(result, engine)
    variants = {row.variant for row in rows}
    if not variant or variant == engine or len(variants) == 1:
        return name
    engines = {one: {m.engine for row in rows if row.variant == one for m in row.engines} for one in variants}
    return variant if all(len(of_variant) == 1 for of_variant in engines.values()) else f"{name}, {variant}"


# Shares of a collective's time. A measurement with noise finds some below 0, without a bound.
CLIPPED = ("overlap",)


def series_of(result, rows, quantity):
    series = {}
    for row in rows:
        for measurement in row.engines:
            if quantity not in measurement.summary:
                continue
            key = (measurement.engine, row.variant)
            one = series.get(key)
            if one is None:
                label = label_of(result, measurement.engine, row.variant, result.rows)
                one = series[key] = Series("|".join(key), measurement.engine, row.variant, label, [])
            spread = measurement.summary[quantity]
            one.points.append(Point(place_on(row), spread.clipped() if quantity in CLIPPED else spread, measurement))
    for one in series.values():
        one.points.sort(key=lambda point: point.x)
    return list(series.values())


def quantities_of(benchmark, rows):
    """The quantities of the benchmark that the rows have; for an unknown benchmark, all in the rows."""
    present = list(dict.fromkeys(name for row in rows for m in row.engines for name in m.summary))
    wanted = [name for name in benchmark.quantities if name in present]
    if "available" in wanted and rows[0].parameter and rows[0].parameter[0] in SHARES:
        wanted.insert(0, wanted.pop(wanted.index("available")))  # the steps measure this
    return wanted or present


def without_steps(rows):
    """One row for each collective and size, without the share of work: for a quantity that is computed from all steps."""
    last = {(row.collective, row.method, row.variant, row.bytes, row.conditions): row for row in rows}
    return [dataclasses.replace(row, parameter=None) for row in last.values()]


def view_of(result, figure_key, rows, name):
    benchmark = benchmarks.benchmark_of(result.benchmark)
    quantity = benchmarks.quantity_of(result.benchmark, name, rows[0].method)
    if name == "available" and rows[0].parameter and rows[0].parameter[0] in SHARES:
        rows = without_steps(rows)
    varied = conditions_of(rows)
    has_sizes = any(row.bytes for row in rows)
    groups = {}
    for row in rows:
        groups.setdefault(panel_key(row, varied, has_sizes), []).append(row)
    panels = []
    for key, members in groups.items():
        series = series_of(result, members, name)
        if not series:
            continue
        panel = Panel(f"{figure_key}-{len(panels)}-{name}", panel_title(key), quantity, axis_of(benchmark, members), series)
        if panel.is_bars and panel.axis.kind == "bytes" and panel.xs[0] > 0:
            panel.title += f", {panel.axis.shown(panel.xs[0])}"
        elif panel.is_bars and panel.axis.kind == "number" and result.benchmark in benchmarks.BENCHMARKS:
            panel.title += f", {panel.axis.title.split(',')[0]}: {panel.axis.shown(panel.xs[0])}"
        if result.simulated:
            panel.title += ", simulated"
        panels.append(panel)
    return View(quantity, panels)


def figures_of(result, number):
    """All figures of a result; `number` makes their keys unique in the page."""
    benchmark = benchmarks.benchmark_of(result.benchmark)
    by_method = {}
    for row in result.rows:
        by_method.setdefault((row.method, row.parameter[0] if row.parameter else ""), []).append(row)
    figures = []
    for index, ((method, parameter), rows) in enumerate(by_method.items()):
        key = f"f{number}-{index}"
        views = [view for view in (view_of(result, key + f"-{i}", rows, name)
                                   for i, name in enumerate(quantities_of(benchmark, rows))) if view.panels]
        if not views:
            continue
        title, explanation = "", ""
        if method in benchmarks.METHODS and result.benchmark == "overlap":
            title, explanation = benchmarks.METHODS[method]
            title = f"{method.capitalize()} method: {title}"
        elif method and result.benchmark not in benchmarks.BENCHMARKS:
            title = f"{values.first_up(benchmarks.words_of(method))} method"
        if parameter == "ranks":
            title = f"{title}, by number of ranks" if title else "By number of ranks"
        elif parameter:
            by = f"by {benchmark.x_title or benchmarks.words_of(parameter)}"
            title = f"{title}, {by}" if title else values.first_up(by)
        every = {}
        for view in views:
            for panel in view.panels:
                for series in panel.series:
                    every.setdefault(series.key, dataclasses.replace(series, points=[]))
        figures.append(Figure(key, title, explanation, result, rows, method, views, list(every.values())))
    return figures
