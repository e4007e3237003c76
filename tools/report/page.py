"""The page: results and traces as one HTML file that needs nothing else."""

import base64
import datetime
import hashlib
import json
import pathlib
import re

import benchmarks
import charts
import figures
import timelines
import values
import words
from markup import E, data, written

TIMELINES = "Who did what, when?"
HERE = pathlib.Path(__file__).resolve().parent


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "plot"


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
    def __init__(self, results, traces, left_out, title):
        order = list(benchmarks.BENCHMARKS)
        self.results = sorted(results, key=lambda one: order.index(one.benchmark) if one.benchmark in order else len(order))
        self.traces, self.left_out, self.title = traces, left_out, title
        self.plots = {}
        self.cited = []
        self.tables = 0

    # Plots

    def plot(self, key, spec, title, label, file):
        """A figure element; its data goes to the script."""
        spec["usermeta"]["file"] = slug(file)
        self.plots[key] = spec
        buttons = [E("button", kind.upper(), type="button", data_save=kind, data_plot=key,
                     aria_label=f"Save {title} as {kind.upper()}") for kind in ("svg", "png")]
        return E("figure", E("figcaption", E("h4", title), E("span", buttons, class_="tools")),
                 E("div", class_="canvas", data_plot=key, tabindex="0", role="group",
                   aria_label=f"{label}. The arrow keys go from point to point."))

    def view(self, figure, view, is_first):
        plots = [self.plot(panel.key, charts.chart(panel, view, figure), panel.title,
                           f"Plot: {view.quantity.title.lower()} of {panel.title}",
                           f"{figure.result.benchmark}-{figure.method}-{view.quantity.name}-{panel.title}")
                 for panel in view.panels]
        meaning = f"{view.quantity.title}: {view.quantity.meaning}. " if view.quantity.meaning else ""
        if any(panel.limits and not panel.is_bars for panel in view.panels):
            meaning += f"Dotted, the limit: {benchmarks.QUANTITIES['limit'].meaning}."
        return E("div", E("p", meaning, class_="quiet") if meaning else None, E("div", plots, class_="panels"), class_="view", id=f"{figure.key}-{view.quantity.name}",
                 hidden=not is_first)

    def choice(self, figure):
        if len(figure.views) < 2:
            return None
        options = [E("label", E("input", type="radio", name=figure.key, value=f"{figure.key}-{view.quantity.name}",
                                checked=index == 0), E("span", view.quantity.title))
                   for index, view in enumerate(figure.views)]
        return E("fieldset", E("legend", "Show"), options, class_="choice")

    def legend(self, figure):
        styles = charts.styles_of(figure.series)
        return E("div", [E("button", swatch(styles[one.key]), one.label, type="button", data_series=one.key,
                           aria_pressed="true", title="Show or hide") for one in figure.series],
                 class_="legend", role="group", aria_label="Series")

    def beside(self, figure):
        """The values that papers report on the same question."""
        if not figure.references:
            return None
        items = []
        for reference in figure.references:
            document, entry = reference.document, reference.entry
            self.cited += [document] if document not in self.cited else []
            said = [E("b", entry["says"]), f": {entry['label']}"] if "says" in entry else f"{entry['label']}: {entry['remark']}"
            items.append(E("li", E("span", f"[{reference.number}]" if reference.drawable else "–"), E("span", said,
                                   f" ({entry['note']})" if "note" in entry else "", ". ",
                                   E("cite", f"{document['short']}, {entry['place']}"))))
        return E("div", E("h4", "What papers report"), E("ol", items), class_="beside", role="note")

    def table(self, figure):
        """Every value of the figure: medians with quartiles."""
        shown = [view.quantity for view in figure.views]
        present = dict.fromkeys(name for row in figure.rows for m in row.engines for name in m.summary)
        shown += [benchmarks.quantity_of(figure.result.benchmark, name, figure.method) for name in present
                  if name not in {quantity.name for quantity in shown}]
        axis = figures.axis_of(benchmarks.benchmark_of(figure.result.benchmark), figure.rows)
        varied = figures.conditions_of(figure.rows)
        has_sizes = any(row.bytes for row in figure.rows)
        separate = axis.kind != "bytes"  # the sizes stand in the first column then
        body = []
        for row in figure.rows:
            name = figures.panel_title(figures.panel_key(row, varied, has_sizes))
            place = axis.shown(figures.place_on(row)) if separate or row.bytes else "–"
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
                body.append(E("tr", E("th", name, class_="word", scope="row"), E("td", place),
                              E("td", who, f", {row.variant}" if row.variant else "", class_="word"), cells,
                              E("td", m.rounds or "–")))
        head = [E("th", "what", class_="word", scope="col"), E("th", axis.title, scope="col"),
                E("th", "who", class_="word", scope="col"), [E("th", quantity.title, scope="col") for quantity in shown],
                E("th", "rounds", scope="col")]
        table = E("table", E("caption", "Medians over the rounds, the quartiles below them."),
                  E("thead", E("tr", head)), E("tbody", body))
        return E("details", E("summary", "The table behind these plots"), self.scrolled(table))

    def scrolled(self, table):
        self.tables += 1
        return E("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"Table {self.tables}")

    def figure(self, figure):
        return E("div", E("h3", figure.title or "Plots", class_=None if figure.title else "unseen"),
                 E("p", figure.explanation) if figure.explanation else None,
                 E("div", self.legend(figure), self.choice(figure), class_="bar"),
                 [self.view(figure, view, index == 0) for index, view in enumerate(figure.views)],
                 self.beside(figure), self.table(figure), class_="figure")

    # Sections

    def finding(self, said):
        """A sentence; with a bar if it is about a share."""
        if getattr(said, "share", None) is None:
            return E("li", said)
        colour = charts.ENGINE_COLOURS.get(said.engine, charts.FURTHER[0])
        return E("li", said, E("svg", E("rect", width="100", height="6", rx="1", fill="var(--grid)"),
                               E("rect", width=f"{100 * said.share:.2f}", height="6", rx="1", fill=colour),
                               viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true"))

    def summary(self):
        measured = [result for result in self.results if not result.simulated]
        places = list(dict.fromkeys(words.where(result) for result in measured))
        lead = words.headline(self.results)
        common = E("p", f"Everything was measured with {places[0]}.") if len(places) == 1 and len(self.results) > 1 and len(measured) == len(self.results) else None
        cards = []
        for name, results in self.by_benchmark().items():
            parts = []
            for result in results:
                parts.append(E("p", words.range_of(result), None if common is not None else [E("br"), words.where(result)],
                               class_="place"))
                said = words.findings(result)
                parts.append(E("ul", [self.finding(one) for one in said]) if said else
                             E("p", f"{values.plural(len(result.rows), 'row')}. This version of Lapwing does not have "
                                    "the benchmark: its plots use the names in the file."))
                parts += [E("p", warning, class_="warning") for warning in words.cautions(result)]
            cards.append(E("div", E("h3", E("a", benchmarks.benchmark_of(name).question, href=f"#{self.anchor(name)}")),
                           parts, class_="card"))
        for trace in self.traces:
            cards.append(E("div", E("h3", E("a", TIMELINES, href="#timelines")),
                           E("p", pathlib.PurePath(trace.path).name, class_="place"),
                           E("ul", [E("li", sentence) for sentence in timelines.findings(trace)]), class_="card"))
        problems = [E("p", f"Left out: {error}", class_="warning") for error in self.left_out]
        return E("section", E("h2", "Summary"), E("p", lead, class_="lead") if lead else None, common,
                 E("div", cards, class_="summary"), problems, id="summary")

    def by_benchmark(self):
        found = {}
        for result in self.results:
            found.setdefault(result.benchmark, []).append(result)
        return found

    def anchor(self, benchmark):
        return f"b-{list(self.by_benchmark()).index(benchmark)}-{slug(benchmark)}"

    def benchmark(self, name, results):
        known = benchmarks.benchmark_of(name)
        parts = []
        for result in results:
            heading = E("p", words.where(result), E("br"), E("code", pathlib.PurePath(result.path).name), class_="place")
            drawn = [self.figure(figure) for figure in figures.figures_of(result, self.results.index(result))]
            parts.append(E("div", heading, [E("p", warning, class_="warning") for warning in words.cautions(result)],
                           drawn or E("p", "The file has no values to draw."), class_="card"))
        for where, joined in figures.by_ranks(results):
            key = f"{self.results.index(results[0])}-by-{len(parts)}"
            parts.append(E("div", E("p", f"All of these results by number of ranks; {where}.", class_="place"),
                           [self.figure(figure) for figure in figures.figures_of(joined, key)], class_="card"))
        return E("section", E("h2", known.question), E("p", E("code", benchmarks.COMMANDS.get(name, f"lapwing bench {name}")),
                 f"  {known.explanation}" if known.explanation else ""), parts, id=self.anchor(name))

    def timelines(self):
        parts = []
        for index, trace in enumerate(self.traces):
            drawing = timelines.draw(trace)
            key = f"t{index}"
            zoom = [E("button", text, type="button", data_zoom=how, data_plot=key)
                    for how, text in (("in", "Zoom in"), ("out", "Zoom out"), ("earlier", "Earlier"), ("later", "Later"),
                                      ("whole", "Whole"))]
            name = pathlib.PurePath(trace.path).name
            square = {"shape": "square", "dash": [], "filled": True}
            kinds = [E("span", swatch({**square, "colour": colour}), f" {label}") for label, colour in drawing.legend]
            parts.append(E("div", E("h3", f"Timeline of {name}", class_="unseen"),
                           [E("p", sentence) for sentence in drawing.sentences],
                           E("div", E("div", kinds, class_="legend"), E("span", zoom, class_="tools zoom"), class_="bar"),
                           self.plot(key, drawing.spec, name, f"Timeline of {name}", f"timeline-{name}"),
                           self.trace_table(drawing), class_="card figure"))
        return E("section", E("h2", TIMELINES),
                 E("p", E("code", "lapwing run --trace"), "  Each row is a thread or an engine of a rank. Perfetto opens "
                   "the same file and shows all events."), parts, id="timelines")

    def trace_table(self, drawing):
        rows = [E("tr", E("th", entry.who, class_="word", scope="row"), E("td", entry.what, class_="word"), E("td", entry.count),
                  E("td", values.time(entry.total)), E("td", values.time(entry.median)), E("td", values.time(entry.longest)))
                for entry in drawing.table]
        heads = [E("th", text, scope="col", class_="word" if index < 2 else None)
                 for index, text in enumerate(("who", "what", "count", "in all", "median", "longest"))]
        table = E("table", E("caption", "For the whole file, including events that are not drawn."), E("thead", E("tr", heads)),
                  E("tbody", rows))
        return E("details", E("summary", "The table behind this plot"), self.scrolled(table))

    def made_of(self):
        """Everything needed to repeat each measurement."""
        parts = []
        for result in self.results:
            head = result.head
            def command(value):
                return " ".join(quoted(word) for word in value) if isinstance(value, list) else words_of_value(value)
            entries = [("command", E("pre", command(head["command"])) if head.get("command") else None),
                       ("started", E("pre", command(head["launched"])) if head.get("launched") else None),
                       ("time", words_of_value(head.get("time"))), ("MPI", words_of_value(head.get("mpi"))),
                       ("Lapwing", words_of_value(head.get("lapwing"))), ("Linux", words_of_value(head.get("kernel"))),
                       ("hosts by rank", words_of_value(head.get("hosts")))]
            told = {"command", "launched", "time", "mpi", "lapwing", "kernel", "hosts", "benchmark"}
            entries += [(benchmarks.words_of(name), words_of_value(value)) for name, value in head.items()
                        if name not in told]
            parts.append(E("details", E("summary", result.path), E("dl", [(E("dt", name), E("dd", value))
                                                                         for name, value in entries if value])))
        for trace in self.traces:
            parts.append(E("p", E("code", trace.path)))
        parts += [E("p", f"Left out: {error}", class_="warning") for error in self.left_out]
        return E("section", E("h2", "How it was measured"),
                 E("p", "From these files; each holds the command, versions and settings of its run. Plots show the median of the "
                   "rounds of a run, with a band or a bar from the first to the third quartile. Hollow marks are series of a "
                   "second kind, or engines other than the requested ones."), parts, id="measured")

    def papers(self):
        if not self.cited:
            return None
        items = [E("li", f"{document['authors']}: ", E("cite", document["title"]), f". {document['venue']}. ",
                   E("small", f"Measured on {document['where']}.")) for document in self.cited]
        return E("section", E("h2", "Papers"),
                 E("p", "Their values are shown beside the plots for comparison; they come from other machines, "
                   "networks and numbers of processes. Only values from their text and tables are shown."),
                 E("ul", items), id="papers")

    def body(self):
        sections = [self.summary()]
        sections += [self.benchmark(name, results) for name, results in self.by_benchmark().items()]
        sections += [self.timelines()] if self.traces else []
        sections += [self.made_of(), self.papers()]
        sections = [section for section in sections if section is not None]
        short = {self.anchor(name): values.first_up(benchmarks.words_of(name)) for name in self.by_benchmark()}
        short["timelines"] = "Timelines"
        contents = [E("li", E("a", short.get(section.get("id")) or section.find("h2").text, href=f"#{section.get('id')}"))
                    for section in sections]
        return [
            E("a", "To the summary", href="#summary", class_="skip"),
            E("header", E("div", E("h1", self.title), E("p", made_when(), class_="place")),
              E("button", "Theme: auto", type="button", id="theme", class_="theme"),
              E("nav", E("ul", contents), aria_label="Contents")),
            E("main", E("noscript", E("p", "The plots need JavaScript; the tables hold all their values.", class_="warning")),
              sections),
            E("footer", "Made by lapwing report. Plots by Vega (BSD 3-Clause, in this file)."),
            E("div", id="tip", hidden=True, aria_hidden="true"), E("div", id="live", class_="unseen", aria_live="polite")]

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


def made_when():
    return f"Made by lapwing report, {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC"


def quoted(word):
    word = word if isinstance(word, str) else json.dumps(word)
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def words_of_value(value):
    if value is None or value == "":
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
