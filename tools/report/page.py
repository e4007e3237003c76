"""The page: results as one HTML file that needs nothing else. Plots come first."""

import base64
import datetime
import hashlib
import json
import pathlib
import re
import shlex

import benchmarks
import charts
import figures
import summary
import values
from inputs import text_of
from markup import E, data, written

HERE = pathlib.Path(__file__).resolve().parent


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "plot"


def warnings(sentences):
    return [E("p", sentence, class_="warning") for sentence in sentences]


def table(caption, head, body):
    """`head` and the cells of `body`: elements."""
    return E("div", E("table", E("caption", caption), E("thead", E("tr", head)), E("tbody", [E("tr", row) for row in body])),
             class_="scroll", tabindex="0", role="region", aria_label=caption)


def heads(words, numbers):
    """The heads of columns of words, and of columns of numbers behind them."""
    return ([E("th", text, class_="word", scope="col") for text in words], [E("th", text, scope="col") for text in numbers])


def swatch(style):
    """The mark of a series: its line and its point."""
    shape = {"square": "M9 3h8v8h-8z", "diamond": "M13 1.5l5.5 5.5-5.5 5.5-5.5-5.5z", "triangle-up": "M13 2l5.5 9.5h-11z",
             "triangle-down": "M13 12l5.5-9.5h-11z", "cross": "M11.5 2h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.500v-3h3.500z",
             }.get(style["shape"], "M8.500 7a4.500 4.500 0 1 0 9 0a4.500 4.500 0 1 0 -9 0z")
    return E("svg", E("path", d="M0 7h26", stroke=style["colour"], stroke_width="2",
                      stroke_dasharray=" ".join(map(str, style["dash"])) or None),
             E("path", d=shape, stroke=style["colour"], stroke_width="1.5",
               fill=style["colour"] if style["filled"] else "var(--surface)"),
             viewBox="0 0 26 14", aria_hidden="true")


class Page:
    def __init__(self, found, left_out, title):
        order = list(benchmarks.BENCHMARKS)
        found = sorted(found, key=lambda one: order.index(one.benchmark) if one.benchmark in order else len(order))
        self.left_out, self.title = left_out, title
        self.results = {}  # of benchmarks to lists of (result, its figures)
        for number, result in enumerate(found):
            self.results.setdefault(result.benchmark, []).append((result, figures.figures_of(result, number)))
        self.plots = {}

    def every(self):
        """All results, with their figures."""
        return [one for of_benchmark in self.results.values() for one in of_benchmark]

    def anchor(self, benchmark):
        return f"b-{list(self.results).index(benchmark)}-{slug(benchmark)}"

    # Plots

    def plot(self, key, spec, title, label, file):
        """A figure element; its data goes to the script."""
        spec["usermeta"]["file"] = slug(file)
        self.plots[key] = spec
        button = E("button", "SVG", type="button", data_save=key, aria_label=f"Save {title} as SVG")
        return E("figure", E("figcaption", E("h4", title), E("span", button, class_="tools")),
                 E("div", class_="canvas", data_plot=key, role="group", aria_label=label))

    def view(self, figure, view):
        plots = [self.plot(panel.key, charts.chart(panel, view, figure), panel.title,
                           f"Plot: {view.quantity.title.lower()} of {panel.title}",
                           f"{figure.result.benchmark}-{figure.method}-{view.quantity.name}-{panel.title}")
                 for panel in view.panels]
        meaning = f"{view.quantity.title}: {view.quantity.meaning}." if view.quantity.meaning else ""
        return E("div", E("p", meaning, class_="quiet") if meaning else None, E("div", plots, class_="panels"), class_="view",
                 id=f"{figure.key}-{view.quantity.name}")

    def legend(self, figure):
        styles = charts.styles_of(figure.series)
        return E("div", [E("button", swatch(styles[one.key]), one.label, type="button", data_series=one.key,
                           aria_pressed="true", title="Show or hide") for one in figure.series],
                 class_="legend bar", role="group", aria_label="Series")

    def table(self, figure):
        """Every value of the figure: medians with quartiles."""
        shown = [view.quantity for view in figure.views]
        present = dict.fromkeys(name for row in figure.rows for m in row.engines for name in m.summary)
        shown += [benchmarks.quantity_of(figure.result.benchmark, name, figure.method) for name in present
                  if name not in {quantity.name for quantity in shown}]
        axis = figures.axis_of(benchmarks.benchmark_of(figure.result.benchmark), figure.rows)
        varied = figures.conditions_of(figure.rows)
        has_sizes = any(row.bytes for row in figure.rows)
        body = []
        for row in figure.rows:
            name = figures.panel_title(figures.panel_key(row, varied, has_sizes))
            place = axis.shown(figures.place_on(row)) if axis.kind != "bytes" or row.bytes else "–"
            for m in row.engines:
                cells = []
                for quantity in shown:
                    spread = m.summary.get(quantity.name)
                    spread = spread.clipped() if spread and quantity.name in figures.CLIPPED else spread
                    low, middle, high = ((values.shown(quantity.kind, number) for number in
                                          (spread.q1, spread.median, spread.q3)) if spread else ("", "–", ""))
                    cells.append(E("td", middle, E("small", f"{low} … {high}") if spread else None))
                label = benchmarks.engine_label(figure.result, m.engine)
                who = label if m.used in ("", m.engine) else f"{label} (run by {m.used})"
                body.append([E("th", name, class_="word", scope="row"),
                             E("td", who, f", {row.variant}" if row.variant else "", class_="word"), E("td", place), cells,
                             E("td", m.rounds or "–")])
        return E("details", E("summary", "The table behind these plots"),
                 table("Medians over the rounds, the quartiles below them.",
                       heads(["what", "who"], [axis.title, *(quantity.title for quantity in shown), "rounds"]), body))

    def figure(self, figure):
        return E("div", E("h3", figure.title or "Plots", class_=None if figure.title else "unseen"),
                 E("p", figure.explanation) if figure.explanation else None,
                 self.legend(figure), [self.view(figure, view) for view in figure.views], self.table(figure), class_="figure")

    # Sections

    def conclusions(self):
        """What each measurement of overlap has found, in a sentence."""
        return [text for result, _ in self.every() if (text := text_of(result.head.get("conclusion")))]

    def benchmark(self, name, found):
        known = benchmarks.benchmark_of(name)
        parts = []
        for result, drawn in found:
            parts.append(E("div", warnings(summary.cautions(result)), [self.figure(figure) for figure in drawn],
                           None if drawn else E("p", "The file has no values to draw."),
                           E("p", summary.where(result), ". ", E("code", pathlib.PurePath(result.path).name), class_="place"),
                           class_="card"))
        return E("section", E("h2", known.question), E("p", known.explanation) if known.explanation else None, parts,
                 id=self.anchor(name))

    def made_of(self):
        """Everything needed to repeat each measurement."""
        parts = []
        for result, _ in self.every():
            head = result.head
            jobs = head["jobs"] if isinstance(head.get("jobs"), list) else []
            entries = [("command", E("pre", command(head["command"])) if head.get("command") else None)]
            entries += [(f"job of {text_of(job.get('variant')) or text_of(job.get('engine'))}", E("pre", command(job.get("launched"))))
                        for job in jobs if isinstance(job, dict)]
            entries += [(benchmarks.words_of(name), words_of_value(value)) for name, value in head.items()
                        if name not in ("command", "jobs", "benchmark")]
            parts.append(E("details", E("summary", result.path), E("dl", [(E("dt", name), E("dd", value))
                                                                         for name, value in entries if value])))
        return E("section", E("h2", "How it was measured"),
                 E("p", "From these files; each holds the command, versions and settings of its run. Plots show the median of the "
                   "rounds of a run, with a band or a bar from the first to the third quartile. Hollow marks are series of a "
                   "second kind, or engines other than the requested ones."), parts, id="measured")

    def body(self):
        sections = [self.benchmark(name, found) for name, found in self.results.items()]
        sections.append(self.made_of())
        short = {self.anchor(name): values.first_up(benchmarks.words_of(name)) for name in self.results}
        contents = [E("li", E("a", short.get(section.get("id")) or section.find("h2").text, href=f"#{section.get('id')}"))
                    for section in sections]
        made = f"Made by lapwing report, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC."
        return [
            E("header", E("h1", self.title), [E("p", sentence) for sentence in self.conclusions()], E("nav", E("ul", contents), aria_label="Contents")),
            E("main", E("noscript", E("p", "The plots need JavaScript; the tables hold all their values.", class_="warning")),
              warnings(f"Left out: {error}" for error in self.left_out), sections),
            E("footer", f"{made} Plots by Vega (BSD 3-Clause, in this file)."), E("div", id="tip", hidden=True, aria_hidden="true")]

    def html(self, vega):
        body = "".join(written(part) for part in self.body())
        style = (HERE / "page.css").read_text(encoding="utf-8")
        scripts = [vega, (HERE / "page.js").read_text(encoding="utf-8")]
        for text in scripts:
            if re.search(r"</script|<!--", text, re.IGNORECASE):
                raise ValueError("a script has text that ends its element")
        # Only the page's own scripts run, and nothing is ever fetched.
        policy = (f"default-src 'none'; script-src {' '.join(map(digest, scripts))}; style-src {digest(style)}; "
                  "img-src data: blob:; base-uri 'none'; form-action 'none'")
        head = [E("meta", charset="utf-8"), E("meta", http_equiv="Content-Security-Policy", content=policy),
                E("meta", name="viewport", content="width=device-width, initial-scale=1"), E("title", self.title),
                E("meta", name="generator", content="lapwing report")]
        head = "".join(written(part) for part in head)
        plots = data({"config": charts.CONFIG, "plots": self.plots})
        return (f"<!DOCTYPE html>\n<html lang=\"en\">\n<head>{head}\n<style>{style}</style></head>\n<body>{body}\n"
                f"<script type=\"application/json\" id=\"plots\">{plots}</script>\n"
                + "\n".join(f"<script>{text}</script>" for text in scripts) + "\n</body>\n</html>\n")


def digest(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"


def command(value):
    if not isinstance(value, list):
        return words_of_value(value)
    return shlex.join(word if isinstance(word, str) else json.dumps(word) for word in value)


def words_of_value(value):
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
