"""lapwing report: reading files, the content of each plot, and the command."""

import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

sys.path.insert(0, os.environ["LAPWING_REPORT"])
import benchmarks
import charts
import figures
import inputs
import markup
import page
import results
import samples
import summary
from support import TOOL, ToolTest


class Scratch(ToolTest):
    def file(self, content, name="result.json"):
        path = self.scratch / name
        path.write_bytes(content if isinstance(content, bytes) else
                         (content if isinstance(content, str) else json.dumps(content)).encode())
        return path

    def result(self, content):
        return results.read(self.file(content))

    def figures(self, content):
        return figures.figures_of(self.result(content), 0)


class Reading(Scratch):
    def refused(self, content, because):
        with self.assertRaises(inputs.InputError) as caught:
            self.result(content)
        self.assertIn("result.json", str(caught.exception))
        self.assertIn(because, str(caught.exception))

    def test_what_is_wrong_is_told_with_the_file(self):
        whole = json.dumps(samples.latency())
        self.refused("", "the file is empty")
        self.refused(" \n", "the file is empty")
        self.refused(whole[:len(whole) // 2], "cut off")
        self.refused("{nonsense}", "no JSON")
        self.refused(b"\xff\xfe\x00", "UTF-8")
        self.refused("[" * 100000, "nested too deeply")
        self.refused("[]", "no result")
        self.refused({"lapwing_tuning": 1, "tables": []}, "no result")
        self.refused({"benchmark": "latency"}, "rows: a list")
        self.refused({"benchmark": "latency", "rows": []}, "nothing was measured")
        self.refused({"benchmark": "latency", "rows": [7]}, "rows[0]: an object")
        self.refused({"benchmark": 7, "rows": []}, "benchmark: a text")
        wrong = samples.latency()
        wrong["rows"][1]["engines"][0]["summary"]["latency"] = {"q1": 1, "median": "2", "q3": 3}
        self.refused(wrong, "rows[1].engines[0].summary.latency: median is no number")
        wrong["rows"][1]["engines"][0]["summary"]["latency"] = {"q1": 1, "q3": 3}
        self.refused(wrong, "median is no number")
        self.refused(json.dumps(samples.latency()).replace('"q1": 1.9', '"q1": NaN, "old": 1.9', 1), "q1 is no number")
        with self.assertRaisesRegex(inputs.InputError, "none.json: No such file"):
            results.read(self.scratch / "none.json")

    def test_what_could_not_be_measured_is_left_out(self):
        content = samples.latency()
        content["rows"][0]["engines"][0]["summary"]["ratio"] = {"q1": None, "median": None, "q3": None}
        self.assertEqual(list(self.result(content).rows[0].engines[0].summary), ["latency"])

    def test_files_of_a_directory(self):
        below = self.scratch / "below"
        below.mkdir()
        (below / "latency.json").write_text(json.dumps(samples.latency()))
        self.file("", "empty.json")
        self.file("no result", "notes.txt")
        found, left_out = results.collect([self.scratch, below / "latency.json"])
        self.assertEqual([one.benchmark for one in found], ["latency"])
        self.assertEqual([pathlib.Path(error.path).name for error in left_out], ["empty.json"])
        with self.assertRaisesRegex(inputs.InputError, "empty.json"):
            results.collect([below, self.scratch / "empty.json"])
        (self.scratch / "bare").mkdir()
        with self.assertRaisesRegex(inputs.InputError, "no file in this directory"):
            results.collect([self.scratch / "bare"])


class Figures(Scratch):
    def only(self, content):
        found = self.figures(content)
        self.assertEqual(len(found), 1)
        return found[0]

    def test_a_plot_for_each_collective_and_a_line_for_each_engine(self):
        figure = self.only(samples.overlap())
        view = figure.views[0]
        self.assertEqual(view.quantity.name, "overlap")
        self.assertEqual([panel.title for panel in view.panels], ["MPI_Ialltoall", "MPI_Ibcast", "MPI_Ibarrier"])
        self.assertEqual([len(panel.xs) for panel in view.panels], [3, 3, 1])
        self.assertEqual([panel.is_bars for panel in view.panels], [False, False, True])
        self.assertEqual([series.label for series in figure.series],
                         ["Open MPI v4.1.4 alone", "Lapwing's host engine", "Lapwing's kernel engine"])

    def test_a_parameter_is_the_axis_and_sizes_are_plots(self):
        figure = self.only(samples.window())
        self.assertEqual([panel.title for panel in figure.views[0].panels], ["MPI_Ialltoall, 4 KiB", "MPI_Ialltoall, 64 KiB"])
        self.assertEqual(figure.views[0].panels[0].xs, [1, 2, 4, 6, 8, 16])

    def test_noise_by_frequency_with_a_plot_for_each_length_of_burst(self):
        panels = self.only(samples.noise()).views[0].panels
        self.assertEqual([panel.title for panel in panels],
                         ["MPI_Ibcast, 64 KiB, bursts of 50.0 µs", "MPI_Ibcast, 64 KiB, bursts of 250 µs"])
        self.assertEqual(panels[0].xs, [20, 100, 1000])

    def test_numbers_that_come_with_each_row_make_no_plots(self):
        content = samples.throughput()
        for place, one in enumerate(content["rows"]):
            one["calibration"] = 1.5 + place
        self.assertEqual([panel.title for panel in self.only(content).views[0].panels], ["MPI_Ibcast"])

    def test_variants_are_lines_of_their_own(self):
        figure = self.only(samples.latency())
        self.assertEqual(len(figure.series), 6)
        self.assertIn("Lapwing's kernel engine, nonblocking", [series.label for series in figure.series])
        styles = charts.styles_of(figure.series)
        self.assertEqual(len({(style["colour"], tuple(style["dash"])) for style in styles.values()}), 6)

    def test_an_unknown_benchmark_is_drawn_by_the_names_it_has(self):
        figure = self.only(samples.unknown())
        self.assertEqual([view.quantity.title for view in figure.views], ["Speed"])
        self.assertEqual([series.label for series in figure.series], ["photon"])

    def test_every_benchmark_that_is_known_has_its_quantities_known(self):
        for benchmark in benchmarks.BENCHMARKS.values():
            for name in benchmark.quantities:
                self.assertIn(name, benchmarks.QUANTITIES)

    def test_what_was_simulated_says_so_in_each_title(self):
        figure, = self.figures(samples.predict())
        self.assertEqual(figure.title, "By number of ranks")
        panels = [panel for view in figure.views for panel in view.panels]
        self.assertEqual(len(panels), 2 * 2)
        for panel in panels:
            self.assertTrue(panel.title.endswith(", simulated"), panel.title)
            self.assertEqual(panel.xs, [4, 16, 32])
        self.assertEqual(panels[0].title, "MPI_Ibarrier, noise 10hz:2500us, simulated")


class Summary(Scratch):
    def test_where(self):
        self.assertEqual(summary.where(self.result(samples.overlap())),
                         "4 ranks on 4 hosts (virtual ones, on 1 machine) with 2 processors in all, Open MPI v4.1.4, Lapwing 0.2.0, Linux 6.1.0")
        self.assertEqual(summary.where(self.result(samples.predict())), "simulated, 4 to 32 ranks, network flat, Lapwing 0.2.0")

    def test_cautions(self):
        content = samples.overlap()
        self.assertEqual(summary.cautions(self.result(content)), [])
        for one in content["rows"][:3]:
            for engine in one["engines"]:
                engine["summary"]["overlap"].update(q1=0.1, q3=0.9)
        self.assertRegex(summary.cautions(self.result(content))[0], "^In 9 of 21 points the rounds lie far apart")
        simulated = summary.cautions(self.result(samples.predict()))
        self.assertIn("not measured", simulated[0])
        self.assertEqual(simulated[1:], ["host: overstated"])
        content = samples.latency()
        content["rows"][0]["engines"][1].update(confirmed=False, used="mpi", unconfirmed="3 of 8 calls taken")
        self.assertIn("did not run MPI_Ibarrier (hollow marks): 3 of 8 calls taken", summary.cautions(self.result(content))[0])
        content = samples.overlap()
        content["more_ranks_than_processors"] = True
        self.assertIn("more ranks than CPUs", summary.cautions(self.result(content))[0])
        content["settings"]["compute"] = "sleep"
        self.assertEqual(summary.cautions(self.result(content)), [])

    def test_noise_is_no_negative_overlap(self):
        content = samples.overlap()
        content["rows"][0]["engines"][0]["summary"]["overlap"].update(q1=-366.0, median=-239.0, q3=0.1)
        point = self.figures(content)[0].views[0].panels[0].series[0].points[0]
        self.assertEqual((point.spread.q1, point.spread.median, point.spread.q3), (0, 0, 0.1))


def places_in(value, path=()):
    """Every position in a document, as the keys that lead there."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from places_in(entry, (*path, key))


def replaced(document, path, value):
    document = copy.deepcopy(document)
    if not path:
        return value
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return document


class Strangers(Scratch):
    """Any value in place of any other in a document: the result is a page, or an error that names the file."""

    def survives(self, document):
        for path in places_in(document):
            for value in (None, -1, 10**400, "x,\n\0</p>", [[7]], {"value": 3, "name": 4}):
                with self.subTest(path=path, value=str(value)[:20]):
                    try:
                        found = results.Reader("result.json").parse(json.dumps(replaced(document, path, value)))
                        made = page.Page([found], [], "Strange")
                        self.assertTrue([markup.written(part) for part in made.body()] and markup.data(made.plots))
                    except inputs.InputError as error:
                        self.assertIn("result.json", str(error))

    def test_results(self):
        document = samples.latency()
        document.update(rows=document["rows"][:1])
        self.survives(document)
        document = samples.noise()
        document.update(rows=[dict(document["rows"][0], variant="v", parameter={"name": "n", "value": 1})])
        self.survives(document)


class Markup(unittest.TestCase):
    def test_characters_that_no_page_may_have(self):
        self.assertEqual(markup.clean("a\0\x1b\ud800\n"), "a\ufffd\ufffd\ufffd\n")


class Command(ToolTest):
    def setUp(self):
        self.page = self.scratch / "report.html"
        self.result = self.scratch / "overlap.json"
        self.result.write_text(json.dumps(samples.overlap()))

    def test_a_page(self):
        out, err = self.call("report", "overlap.json", "-o", "report.html", "--title", "Our <cluster>", cwd=self.scratch)
        self.assertEqual((out, err), ("", ""))
        text = self.page.read_text()
        self.assertIn("<title>Our &lt;cluster&gt;</title>", text)
        self.assertNotRegex(text.split("<script>")[0], r"(src|href)=\"(?!#)")  # nothing from elsewhere
        self.assertEqual(sorted(path.name for path in self.scratch.iterdir()), ["overlap.json", "report.html"])
        out, _ = self.call("report", self.result, "-o", "-")
        self.assertTrue(out.startswith("<!DOCTYPE html>"))

    def test_files_of_a_directory_that_are_no_results_are_named(self):
        (self.scratch / "cut.json").write_text(self.result.read_text()[:1000])
        out, err = self.call("report", self.scratch, "-o", self.page, status=1)
        self.assertEqual(out, "")
        self.assertIn("cut.json", err)
        self.assertIn("cut.json", self.page.read_text())

    def test_streams_links_and_pipes(self):
        full = self.script("full", f'exec {TOOL} "$@" >/dev/full')
        self.refused("report", self.result, "-o", "-", tool=full, because="the page cannot be written: No space left on device")
        (self.scratch / "cut.json").write_text("{")
        mute = self.script("mute", f'exec {TOOL} "$@" 2>/dev/full')
        self.assertEqual(self.call("report", self.scratch, "-o", self.page, tool=mute, status=1), ("", ""))
        link = self.scratch / "link.html"
        link.symlink_to(self.page)
        self.call("report", self.result, "-o", link)
        self.assertTrue(link.is_symlink())
        os.mkfifo(self.scratch / "pipe")
        with subprocess.Popen(["cp", self.scratch / "pipe", self.scratch / "piped.html"]):
            self.call("report", self.result, "-o", self.scratch / "pipe")
        # Pages name the minute in which they were made.
        piped, page = (re.sub(rb"\d\d:\d\d UTC", b"", file.read_bytes()) for file in (self.scratch / "piped.html", self.page))
        self.assertEqual(piped, page)

    def test_what_makes_no_page(self):
        self.page.write_text("the old one")
        empty = self.scratch / "empty.json"
        empty.write_text("")
        self.refused("report", self.result, empty, "-o", self.page, because="empty.json")
        self.refused("report", self.scratch / "none.json", "-o", self.page, because="none.json")
        self.refused("report", self.result, "-o", self.page, "--vega", self.scratch, because="libjs-vega")
        self.refused("report", self.result, because="-o")
        self.refused("report", "-o", self.page, because="no file")
        self.refused("report", self.result, "-o", self.scratch / "none" / "report.html", because="No such file")
        self.refused("report", self.result, "-o", self.page, because="python3", PATH=str(self.scratch))
        self.assertEqual(self.page.read_text(), "the old one")

    def test_without_the_program(self):
        alone = self.scratch / "bin" / "lapwing"
        alone.parent.mkdir()
        shutil.copy(os.environ["LAPWING_TOOL"], alone)
        self.refused("report", self.result, "-o", self.page, because="libexec/lapwing/report", tool=alone)


class Pictures(Scratch):
    def timeline(self, name, *calls):
        return self.file({"traceEvents": [{"ph": "X", "cat": "call", "name": "MPI_Wait", "pid": rank, "tid": 1, "ts": begin, "dur": length}
                                          for rank, begin, length in calls]}, name)

    def test_a_picture_of_timelines(self):
        alone = self.timeline("the-MPI <alone>.json", (0, 5000, 1), (0, 6000, 3000), (1, 5000, 4000))
        ours = self.timeline("with-Lapwing.json", (0, 100, 1), (0, 2099, 1), (1, 100, 10))
        picture = self.scratch / "picture.svg"
        self.call("report", alone, ours, "-o", picture)
        drawing = ElementTree.fromstring(picture.read_text())
        words = ["".join(text.itertext()) for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("the MPI <alone>  4 ms", words)
        self.assertIn("with Lapwing  2 ms", words)
        kinds = {kind: [(float(box.get("x")), float(box.get("width"))) for box in drawing.iter("{http://www.w3.org/2000/svg}rect")
                        if box.get("class") == kind][1:] for kind in ("computes", "mpi")}
        # A lane for each rank of each timeline, all on one axis of 4 ms; a box for each call.
        self.assertEqual([len(kinds["computes"]), len(kinds["mpi"])], [4, 6])
        whole = kinds["computes"][0][1]
        self.assertAlmostEqual(kinds["computes"][2][1], whole / 2, delta=0.2)
        self.assertAlmostEqual(kinds["mpi"][1][1], whole * 3 / 4, delta=0.2)
        self.assertIn("prefers-color-scheme:dark", picture.read_text())
        for content, because in (("{}", "is no timeline"), ("[7]", "is no timeline"), ('{"traceEvents": []}', "has no calls")):
            with self.subTest(content=content):
                self.refused("report", self.file(content), "-o", picture, because=because)
        self.refused("report", ours, "-o", picture, "--title", "x", because="--title, --vega: have no effect on a picture")
        self.assertIn("with Lapwing", picture.read_text())


if __name__ == "__main__":
    unittest.main()
