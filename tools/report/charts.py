"""Panels as specifications for Vega.

Colours are CSS variables of the page: the theme can change, and a print is light, without drawing again. Text of a
file appears in data only, never in an expression.
"""

import math
import textwrap

import values

ENGINE_COLOURS = {"native": "var(--native)", "mpi": "var(--driven)", "host": "var(--host)", "kernel": "var(--kernel)", "auto": "var(--auto)"}
ENGINE_SHAPES = {"native": "circle", "mpi": "cross", "host": "square", "kernel": "diamond", "auto": "triangle-up"}
FURTHER = [f"var(--further-{i})" for i in range(1, 7)]
SHAPES = ["circle", "square", "diamond", "triangle-up", "triangle-down", "cross"]
DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3], [1, 5]]
HEIGHT = 250
BAR = 34
LOWEST_SHARE, HIGHEST_SHARE = -0.25, 1.1  # noise can give a short collective nearly any share
MANY_DECADES = 20

CONFIG = {
    "background": None,
    "font": "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
    "axis": {"labelColor": "var(--muted)", "titleColor": "var(--muted)", "domainColor": "var(--axis)",
             "tickColor": "var(--axis)", "gridColor": "var(--grid)", "labelFontSize": 12, "titleFontSize": 12,
             "titleFontWeight": "normal", "labelPadding": 5, "titlePadding": 8, "tickSize": 4},
    "axisY": {"domain": False, "ticks": False},
    "legend": {"labelColor": "var(--ink)", "labelFontSize": 12, "symbolSize": 90, "symbolStrokeWidth": 2},
    "title": {"color": "var(--ink)", "fontSize": 14, "anchor": "start", "offset": 12},
    "text": {"fontSize": 12},
}

# Formats of axis values. They are constants: no text of a file is run as code.
TICK_TEXT = {
    "share": "format(datum.value * 100, '.3~r') + ' %'",
    "time": "datum.value == 0 ? '0' : abs(datum.value) >= 1 ? format(datum.value, '.3~r') + ' s' : "
            "abs(datum.value) >= 1e-3 ? format(datum.value * 1e3, '.3~r') + ' ms' : "
            "abs(datum.value) >= 1e-6 ? format(datum.value * 1e6, '.3~r') + ' µs' : "
            "format(datum.value * 1e9, '.3~r') + ' ns'",
    "rate": "format(datum.value, '.3~s') + '/s'",
    "ratio": "format(datum.value, '.3~r') + ' ×'",
    "number": "format(datum.value, abs(datum.value) < 1e6 ? ',.6~r' : '.4~s')",
    "bytes": "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~r') + ' GiB' : "
             "datum.value >= 1048576 ? format(datum.value / 1048576, '.3~r') + ' MiB' : "
             "datum.value >= 1024 ? format(datum.value / 1024, '.3~r') + ' KiB' : datum.value + ' B'",
}
BAR_NAME = "split(datum.value, '\\n')"


def styles_of(series):
    """Colour, dash and shape of each series of a figure, by key."""
    variants = list(dict.fromkeys(one.variant for one in series))
    by_engine = len(variants) <= 2
    unknown = [e for e in dict.fromkeys(one.engine for one in series) if e not in ENGINE_COLOURS]
    styles = {}
    for index, one in enumerate(series):
        if by_engine:
            nth = variants.index(one.variant)
            further = unknown.index(one.engine) if one.engine in unknown else 0
            styles[one.key] = {
                "colour": ENGINE_COLOURS.get(one.engine, FURTHER[further % len(FURTHER)]),
                "dash": DASHES[nth], "filled": nth == 0,
                "shape": ENGINE_SHAPES.get(one.engine, SHAPES[further % len(SHAPES)])}
        else:
            styles[one.key] = {"colour": FURTHER[index % len(FURTHER)], "filled": index < len(FURTHER),
                               "dash": DASHES[index // len(FURTHER) % len(DASHES)], "shape": SHAPES[index % len(SHAPES)]}
    return styles


def tip_of(panel, series, point):
    """The tooltip of a point."""
    kind, spread = panel.quantity.kind, point.spread
    lines = [series.label]
    if not panel.is_bars:
        lines.append(panel.axis.shown(point.x))
    lines.append(f"{panel.quantity.title}: {values.shown(kind, spread.median)}")
    if spread.q1 < spread.q3 or point.measurement.rounds > 1:
        lines.append(f"quartiles {values.shown(kind, spread.q1)} to {values.shown(kind, spread.q3)}")
    if point.measurement.rounds:
        lines.append(values.plural(point.measurement.rounds, "round"))
    if point.measurement.used and point.measurement.used != series.engine:
        lines.append(f"run by {point.measurement.used}")
    if point.measurement.unconfirmed:
        lines.append("not the requested engine")
    return lines


def in_lines(label):
    return "\n".join(textwrap.wrap(label, 26, max_lines=3, placeholder=" …"))


def rows_of(panel, list_of_series, styles):
    rows = []
    for series in list_of_series:
        for point in series.points:
            tip = tip_of(panel, series, point)
            rows.append({"s": series.key, "l": series.label, "x": point.x, "m": point.spread.median,
                         "a": point.spread.q1, "b": point.spread.q3, "tip": tip, "says": ", ".join(tip),
                         "w": in_lines(series.label), "c": styles[series.key]["colour"], "d": styles[series.key]["dash"],
                         "k": styles[series.key]["shape"], "v": values.shown(panel.quantity.kind, point.spread.median),
                         "ok": not point.measurement.unconfirmed and styles[series.key]["filled"]})
    return rows


def nice_ticks(low, high):
    """1, 2 and 5 of each decade, or the decades only where there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 3 else (1,)
    ticks = [step * 10.0 ** decade for decade in range(first, last + 1) for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def value_scale(panel, shared):
    """Domain and kind of the axis of values. Shares of one view have one domain, to be compared between plots."""
    kind = panel.quantity.kind
    panels = shared if kind == "share" else [panel]
    spreads = [point.spread for one in panels for series in one.series
               for point in series.points]
    low = min(min(spread.q1, spread.median) for spread in spreads)
    high = max(max(spread.q3, spread.median) for spread in spreads)
    if kind == "share":
        if panel.quantity.better == "less" and high < 0.6:
            return {"type": "linear", "domain": [min(0, max(low, -high - 0.01)), max(high * 1.1, 0.01)], "nice": True}, None
        return {"type": "linear", "domain": [max(LOWEST_SHARE, min(0, low)), min(HIGHEST_SHARE, max(1.02, high))]}, None
    if not panel.is_bars and low > 0 and high / low > MANY_DECADES:
        return {"type": "log", "domain": [low * 0.85, high * 1.15]}, nice_ticks(low * 0.85, high * 1.15)
    if kind == "ratio" and low > 0:
        return {"type": "linear", "domain": [0, max(1.1, high * 1.05)]}, None
    return {"type": "linear", "domain": [min(0, low), high * 1.08 or 1], "nice": True}, None


def place_scale(panel):
    xs = panel.xs
    if panel.axis.kind != "share" and xs[0] > 0 and xs[-1] / xs[0] >= 8:
        return {"type": "log", "base": 2 if panel.axis.kind == "bytes" else 10, "domain": [xs[0], xs[-1]]}, xs
    if panel.axis.kind != "share" and xs[0] == 0 and xs[-1] >= 100:
        return {"type": "symlog", "constant": 1, "domain": [xs[0], xs[-1]]}, xs
    return {"type": "linear", "zero": False, "domain": [min(0, xs[0]) if panel.axis.kind == "share" else xs[0], xs[-1]]}, xs


def axis_text(kind):
    return {"labels": {"update": {"text": {"signal": TICK_TEXT[kind]}}}}


def legend_of(series, styles):
    """Scales and the legend of an exported picture; in the page the buttons above the plots are the legend."""
    labels = [one.label for one in series]
    def scale(name, key):
        return {"name": name, "type": "ordinal", "domain": labels, "range": [styles[one.key][key] for one in series]}
    scales = [scale("legend_colour", "colour"), scale("legend_shape", "shape"), scale("legend_dash", "dash")]
    legend = {"fill": "legend_colour", "stroke": "legend_colour", "shape": "legend_shape", "strokeDash": "legend_dash",
              "orient": "bottom", "columns": 2, "symbolType": "circle", "labelLimit": 320}
    return scales, legend


def frame(panel, series, styles, description):
    scales, legend = legend_of(series, styles)
    return {
        "$schema": "https://vega.github.io/schema/vega/v5.json", "description": description, "width": 420,
        "padding": 4, "autosize": {"type": "fit", "contains": "padding"}, "signals": [{"name": "hidden", "value": []}],
        "scales": scales, "usermeta": {"title": f"{panel.title}: {panel.quantity.title.lower()}", "legends": [legend]},
    }


def shown_only(name, rows):
    return {"name": name, "values": rows, "transform": [{"type": "filter", "expr": "indexof(hidden, datum.s) < 0"}]}


def mark(kind, data, encoding, **more):
    """A mark for each row of the data. Values of the encoding that are no dictionary, and no list of them, are the same for all."""
    encoding = {name: one if isinstance(one, dict) or (isinstance(one, list) and isinstance(one[0], dict)) else {"value": one}
                for name, one in encoding.items()}
    return {"type": kind, "from": {"data": data}, "encode": {"update": encoding}, **more}


TIP = {"tooltip": {"field": "tip"}, "description": {"field": "says"}}
LOWER, MEDIAN, UPPER = ({"scale": "v", "field": field} for field in "amb")


def lines(panel, shared, series, styles):
    values_scale, ticks = value_scale(panel, shared)
    places_scale, places = place_scale(panel)
    spec = frame(panel, series, styles, f"{panel.quantity.title} of {panel.title}, by {panel.axis.title}; the table below "
                                        "the plots has its values")
    spec["height"] = HEIGHT
    spec["data"] = [shown_only("points", rows_of(panel, panel.series, styles))]
    spec["scales"] += [{"name": "x", **places_scale, "range": "width", "padding": 12},
                       {"name": "v", **values_scale, "range": "height", "clamp": True}]
    few = len(places) <= 14
    spec["axes"] = [
        {"orient": "left", "scale": "v", "grid": True, "encode": axis_text(panel.quantity.kind), "tickCount": 5,
         **({"values": ticks} if ticks else {})},
        {"orient": "bottom", "scale": "x", "title": panel.axis.title, "labelOverlap": "greedy", "labelSeparation": 6,
         "encode": axis_text(panel.axis.kind), **({"values": places} if few else {"tickCount": 6})}]
    x, colour = {"scale": "x", "field": "x"}, {"field": "c"}
    point, span = {"x": x, "y": MEDIAN}, {"x": x, "y": LOWER, "y2": UPPER}
    spec["marks"] = [
        {"type": "group", "from": {"facet": {"data": "points", "name": "one_series", "groupby": "s"}}, "aria": False, "marks": [
            mark("area", "one_series", {**span, "fill": colour, "fillOpacity": 0.14}),
            mark("line", "one_series", {**point, "stroke": colour, "strokeWidth": 2.2, "strokeDash": {"field": "d"},
                                        "strokeJoin": "round"})]},
        mark("rule", "points", {**span, "stroke": colour, "strokeWidth": 1.5}, aria=False),
        mark("symbol", "points", {**point, "stroke": colour, "strokeWidth": 2, "shape": {"field": "k"},
                                  "fill": [{"test": "datum.ok", "field": "c"}, {"value": "var(--surface)"}], "size": 60, **TIP},
             name="points_shown")]
    return spec


def bars(panel, shared, series, styles):
    values_scale, _ = value_scale(panel, shared)
    rows = rows_of(panel, panel.series, styles)
    spec = frame(panel, series, styles, f"{panel.quantity.title} of {panel.title}; the table below the plots has its values")
    spec["height"] = BAR * len(rows) + 60
    spec["data"] = [shown_only("points", rows)]
    spec["scales"] += [{"name": "v", **values_scale, "range": "width", "clamp": True},
                       {"name": "band", "type": "band", "domain": {"data": "points", "field": "w"}, "range": "height",
                        "padding": 0.35}]
    spec["axes"] = [{"orient": "bottom", "scale": "v", "grid": True, "tickCount": 5, "labelOverlap": "greedy",
                     "labelSeparation": 8, "encode": axis_text(panel.quantity.kind), "title": panel.quantity.title},
                    {"orient": "left", "scale": "band", "labelLimit": 200, "labelColor": "var(--ink)",
                     "labelLineHeight": 13, "encode": {"labels": {"update": {"text": {"signal": BAR_NAME},
                                                               "dy": {"signal": f"-6.5 * (length({BAR_NAME}) - 1)"}}}}}]
    across, colour = {"scale": "band", "field": "w"}, {"field": "c"}
    middle = {**across, "band": 0.5}
    end = "max(scale('v', max(datum.b, datum.m)), scale('v', 0)) + 6"
    is_left = f"{end} + 52 > width"  # of the bar's end: there is no room to its right
    spec["marks"] = [
        mark("rect", "points", {"x": {"scale": "v", "value": 0}, "x2": MEDIAN, "y": across,
                                "height": {"scale": "band", "band": 1}, "fill": colour, "stroke": colour,
                                "fillOpacity": [{"test": "datum.ok", "value": 0.85}, {"value": 0.25}], "cornerRadius": 2, **TIP}),
        mark("rule", "points", {"x": LOWER, "x2": UPPER, "y": middle, "stroke": "var(--ink)", "strokeWidth": 1.5}, aria=False),
        mark("text", "points", {"y": middle, "baseline": "middle", "text": {"field": "v"}, "fill": "var(--ink)",
                                "x": {"signal": f"{is_left} ? max(scale('v', min(datum.a, datum.m)), 56) - 6 : {end}"},
                                "align": {"signal": f"{is_left} ? 'right' : 'left'"}}, aria=False)]
    return spec


def chart(panel, view, figure):
    """The specification of one plot."""
    styles = styles_of(figure.series)
    draw = bars if panel.is_bars else lines
    return draw(panel, view.panels, figure.series, styles)
