"""The parts of the report: reading files, the content of each plot, sentences, timelines, and the documents' values."""

import copy
import gzip
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.environ["LAPWING_REPORT"])
import benchmarks
import charts
import figures
import inputs
import markup
import page
import results
import samples
import timelines
import values
import words


class Scratch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = pathlib.Path(directory.name)

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

    def test_what_a_file_says(self):
        result = self.result(samples.overlap())
        self.assertEqual((result.benchmark, result.ranks, result.hosts, result.mpi), ("overlap", 4, 4, "Open MPI v4.1.4"))
        row = result.rows[0]
        self.assertEqual((row.collective, row.bytes, row.method), ("MPI_Ialltoall", 4096, "wait"))
        self.assertEqual([m.engine for m in row.engines], ["mpi", "host", "kernel"])
        self.assertAlmostEqual(row.engines[2].summary["overlap"].median, 0.94)
        self.assertEqual(row.engines[2].rounds, 5)

    def test_what_is_wrong_is_told_with_the_file(self):
        whole = json.dumps(samples.base())
        self.refused("", "the file is empty")
        self.refused(" \n", "the file is empty")
        self.refused(whole[:len(whole) // 2], "cut off")
        self.refused("{nonsense}", "no JSON")
        self.refused(b"\xff\xfe\x00", "UTF-8")
        self.refused("[" * 100000, "nested too deeply")
        self.refused("[]", "neither a result")
        self.refused({"lapwing_tuning": 1, "tables": []}, "neither a result")
        self.refused({"benchmark": "base"}, "rows: a list")
        self.refused({"benchmark": "base", "rows": []}, "nothing was measured")
        self.refused({"benchmark": "base", "rows": [7]}, "rows[0]: an object")
        self.refused({"benchmark": 7, "rows": []}, "benchmark: a text")
        wrong = samples.base()
        wrong["rows"][1]["engines"][0]["summary"]["base"] = {"q1": 1, "median": "2", "q3": 3}
        self.refused(wrong, "rows[1].engines[0].summary.base: median is no number")
        wrong["rows"][1]["engines"][0]["summary"]["base"] = {"q1": 1, "q3": 3}
        self.refused(wrong, "median is no number")
        self.refused(json.dumps(samples.base()).replace('"q1": 1.9', '"q1": NaN, "old": 1.9', 1), "q1 is no number")
        with self.assertRaisesRegex(inputs.InputError, "none.json: No such file"):
            results.read(self.scratch / "none.json")

    def test_what_could_not_be_measured_is_left_out(self):
        content = samples.base()
        content["rows"][0]["engines"][0]["summary"]["ratio"] = {"q1": None, "median": None, "q3": None}
        self.assertEqual(list(self.result(content).rows[0].engines[0].summary), ["base"])

    def test_files_of_a_directory(self):
        below = self.scratch / "below"
        below.mkdir()
        (below / "base.json").write_text(json.dumps(samples.base()))
        self.file("", "empty.json")
        self.file("no result", "notes.txt")
        found, left_out = results.collect([self.scratch, below / "base.json"])
        self.assertEqual([one.benchmark for one in found], ["base"])
        self.assertEqual([pathlib.Path(error.path).name for error in left_out], ["empty.json"])
        with self.assertRaisesRegex(inputs.InputError, "empty.json"):
            results.collect([below, self.scratch / "empty.json"])
        (self.scratch / "bare").mkdir()
        with self.assertRaisesRegex(inputs.InputError, "no file in this directory"):
            results.collect([self.scratch / "bare"])

    def test_compressed_files(self):
        packed = gzip.compress(json.dumps(samples.base()).encode())
        (self.scratch / "base.json.gz").write_bytes(packed)
        self.assertEqual(results.collect([self.scratch])[0][0].benchmark, "base")
        (self.scratch / "base.json.gz").write_bytes(packed[:-20])
        with self.assertRaisesRegex(inputs.InputError, "base.json.gz: .*ended before"):
            results.collect([self.scratch])
        (self.scratch / "base.json.gz").write_bytes(packed[:20] + b"\xff" + packed[21:])
        with self.assertRaisesRegex(inputs.InputError, "base.json.gz"):
            results.collect([self.scratch])
        with unittest.mock.patch.object(results, "MOST_BYTES", 100):
            (self.scratch / "base.json.gz").write_bytes(packed)
            with self.assertRaisesRegex(inputs.InputError, "when it is unpacked"):
                results.collect([self.scratch])


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
                         ["Open MPI v4.1.4 itself", "Lapwing's host engine", "Lapwing's kernel engine"])

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

    def test_limits_are_lines_of_a_bound(self):
        content = samples.overlap()
        for one in content["rows"]:
            for engine in one["engines"]:
                engine["summary"]["limit"] = samples.spread(0.99)
        panel = self.only(content).views[0].panels[0]
        self.assertEqual(len(panel.limits), 3)
        self.assertNotIn("limit", [view.quantity.name for view in self.only(content).views])

    def test_what_pending_collectives_cost(self):
        figure = self.figures(samples.idle())[1]
        self.assertEqual([view.quantity.title for view in figure.views], ["Loss while it is pending"])
        self.assertEqual([panel.title for panel in figure.views[0].panels], ["MPI_Ibcast, 64 KiB"])

    def test_an_unknown_benchmark_is_drawn_by_the_names_it_has(self):
        figure = self.only(samples.unknown())
        self.assertEqual([view.quantity.title for view in figure.views], ["Speed"])
        self.assertEqual([series.label for series in figure.series], ["photon"])

    def test_results_of_several_numbers_of_ranks_are_put_together(self):
        found = []
        for ranks, hosts in ((2, 2), (4, 4), (8, 8), (8, 2), (8, 1)):
            result = self.result(samples.latency())
            result.head.update(ranks=ranks, hosts=[f"node{rank % hosts}" for rank in range(ranks)])
            found.append(result)
        (where, joined), = figures.by_ranks(found)
        self.assertEqual(where, "1 rank on each host, Open MPI v4.1.4")
        panels = figures.figures_of(joined, 0)[0].views[0].panels
        self.assertEqual([panel.title for panel in panels], ["MPI_Ibarrier", "MPI_Ialltoall, 8 B", "MPI_Ialltoall, 4 KiB"])
        self.assertEqual(panels[0].xs, [2, 4, 8])
        self.assertEqual(panels[0].axis.title, "ranks")
        self.assertEqual(figures.by_ranks(found[3:]), [])

    def test_every_benchmark_has_plots_with_finite_numbers(self):
        for name, make in samples.ALL.items():
            with self.subTest(name):
                for figure in self.figures(make()):
                    for view in figure.views:
                        for panel in view.panels:
                            text = markup.data(charts.chart(panel, view, figure))
                            self.assertIn('"points"', text)

    def test_every_benchmark_that_is_known_has_its_quantities_known(self):
        for benchmark in benchmarks.BENCHMARKS.values():
            for name in benchmark.quantities:
                self.assertIn(name, benchmarks.QUANTITIES)


    def test_what_was_simulated_says_so_in_each_title(self):
        figure, = self.figures(samples.predict())
        self.assertEqual(figure.title, "By number of ranks")
        panels = [panel for view in figure.views for panel in view.panels]
        self.assertEqual(len(panels), 2 * 5)
        for panel in panels:
            self.assertTrue(panel.title.endswith(", simulated"), panel.title)
            self.assertEqual(panel.xs, [4, 16, 32])
        self.assertEqual(panels[0].title, "MPI_Ibarrier, noise 10hz:2500us, simulated")

    def test_gains_fill_their_axis(self):
        gain = self.figures(samples.pipeline())[0].views[0].panels[0]
        domain = charts.value_scale(gain, [gain])[0]["domain"]
        self.assertTrue(-0.2 < domain[0] < -0.1, domain)
        self.assertLess(domain[1], 0.3)


class Documents(Scratch):
    def test_every_value_names_its_source(self):
        for entry in figures.PAPERS["values"]:
            self.assertIn(entry["document"], figures.PAPERS["documents"])
            self.assertTrue(entry["place"] and entry["label"] and (entry.get("says") or entry.get("remark")))
            self.assertIn(entry["benchmark"], benchmarks.BENCHMARKS)
            if any(key in entry for key in ("value", "low", "points")):
                self.assertIn("says", entry)

    def test_what_is_drawn_is_what_is_said(self):
        """The number in the plot is the number in the sentence beside it."""
        for entry in figures.PAPERS["values"]:
            numbers = [entry[key] for key in ("value", "low", "high") if key in entry]
            numbers += [y for _, y in entry.get("points", [])]
            for number in numbers:
                scaled = number * 1e6 if "µs" in entry["says"] else number * 100
                self.assertRegex(entry["says"], rf"\b{scaled:.4g}(\.0)?\b")

    def test_the_table_of_tests_stands_in_the_plot_of_tests(self):
        panel = self.figures(samples.tests())[0].views[0].panels[0]
        _, line = charts.levels_of(panel)
        self.assertEqual([(row["x"], row["m"]) for row in line],
                         [(2, 0.0873), (10, 0.2116), (100, 0.3613), (1000, 0.9724), (100000, 0.7895)])

    def test_values_stand_only_in_plots_of_their_collective(self):
        panels = self.figures(samples.overlap())[0].views[0].panels
        self.assertEqual([len(panel.references) for panel in panels], [0, 2, 2])


class Words(Scratch):
    def said(self, content):
        return [str(finding) for finding in words.findings(self.result(content))]

    def test_overlap_and_what_it_means(self):
        said = self.said(samples.overlap())
        self.assertEqual(said[0], "Open MPI v4.1.4 itself hides 12.0 % of a collective's time.")
        self.assertIn("pays about 600 µs with Lapwing's kernel engine, and 8.80 ms with the MPI itself", said[-1])

    def test_a_worse_engine_is_not_praised(self):
        content = samples.overlap()
        for one in content["rows"]:
            for engine in one["engines"]:
                engine["summary"]["overlap"] = samples.spread(0.8 if engine["engine"] == "mpi" else 0.1)
        self.assertIn("Here the MPI itself hides more than", self.said(content)[-1])

    def test_tests(self):
        said = self.said(samples.tests())
        self.assertIn("to 85.5 %, with 1,000", said[0])
        self.assertEqual(said[2], "Lapwing's kernel engine overlaps 96.0 %, however often the program tests.")

    def test_times(self):
        self.assertEqual(self.said(samples.base()),
                         ["Lapwing's choice takes 0.585 × the time of the MPI itself, the median of 3 points (from 0.5 × to "
                          "0.883 ×)."])
        self.assertEqual(self.said(samples.window()), ["Lapwing's kernel engine is fastest with a window of 6."])

    def test_methods(self):
        said = self.said(samples.methods())
        self.assertEqual(said[0], "Open MPI v4.1.4 itself: hides 0.0 % of a collective's time.")
        self.assertEqual(said[5], "sockets, kernel: hides 83.3 % of a collective's time.")

    def test_every_known_benchmark_has_something_to_say(self):
        for name, make in samples.ALL.items():
            with self.subTest(name):
                self.assertEqual(bool(self.said(make())), name != "unknown")

    def test_what_was_simulated(self):
        result = self.result(samples.predict())
        self.assertEqual(words.where(result), "simulated, 4 to 32 ranks, network flat, Lapwing 0.2.0")
        self.assertIn("not measured", words.cautions(result)[0])
        self.assertEqual(words.cautions(result)[1:], ["host: overstated"])
        self.assertIn("In the simulation a network card loses 2.0 % on 4 ranks and 16.0 % on 32 ranks by noise or late ranks.",
                      [str(one) for one in words.findings(result)])
        self.assertEqual(words.headline([result]), "")

    def test_a_pipeline_that_loses_is_said_to_lose(self):
        self.assertEqual(self.said(samples.pipeline()), [
            "In the simulation Lapwing's host engine with 0 tests gains -11.1 % on 16 ranks and 6.9 % on 256 ranks by overlap.",
            "In the simulation Lapwing's host engine with 100 tests gains 4.0 % on 16 ranks and 17.9 % on 256 ranks by overlap."])

    def test_engines_that_did_not_do_it(self):
        content = samples.base()
        content["rows"][0]["engines"][1].update(confirmed=False, used="mpi")
        self.assertIn("but mpi ran MPI_Ialltoall", words.unconfirmed(self.result(content))[0])

    def test_what_to_be_careful_with(self):
        content = samples.overlap()
        self.assertEqual(words.cautions(self.result(content)), [])
        for one in content["rows"][:3]:
            for engine in one["engines"]:
                engine["summary"]["overlap"].update(q1=0.1, q3=0.9)
        self.assertRegex(words.cautions(self.result(content))[0], "^In 9 of 21 points the rounds lie far apart")
        self.assertIn("do not say how much overlaps", words.headline([self.result(content)]))
        self.assertIn("hides", words.headline([self.result(content), self.result(samples.overlap())]))

    def test_noise_is_no_negative_overlap(self):
        content = samples.overlap()
        content["rows"][0]["engines"][0]["summary"]["overlap"].update(q1=-366.0, median=-239.0, q3=0.1)
        point = self.figures(content)[0].views[0].panels[0].series[0].points[0]
        self.assertEqual((point.spread.q1, point.spread.median, point.spread.q3), (0, 0, 0.1))
        content = samples.overlap()
        content["more_ranks_than_processors"] = True
        self.assertIn("more ranks than processors", words.cautions(self.result(content))[0])
        content["settings"]["compute"] = "sleep"
        self.assertEqual(words.cautions(self.result(content)), [])

    def test_noise_that_costs_nothing(self):
        content = samples.noise()
        for one in content["rows"]:
            one["engines"][1]["summary"]["loss"] = samples.spread(-0.02)
        self.assertEqual(self.said(content)[1], "Lapwing's kernel engine: no loss (-2.0 %).")

    def test_numbers(self):
        self.assertEqual([values.size(size) for size in (0, 8, 4096, 33000, 1 << 20, 3 << 30)],
                         ["0 B", "8 B", "4 KiB", "33,000 B", "1 MiB", "3 GiB"])
        self.assertEqual([values.time(time) for time in (0, 3.25e-8, 1.5e-5, 0.012, 2.5)],
                         ["0 s", "32.5 ns", "15.0 µs", "12.0 ms", "2.50 s"])
        self.assertEqual(values.rate(4.2e10), "42.0 G/s")


class Timelines(Scratch):
    def trace(self, content):
        return results.read(self.file(content, "trace.json"))

    def test_lanes_depths_and_words(self):
        trace = self.trace(samples.trace())
        events = trace.events
        self.assertEqual([events.label(track) for track in events.tracks],
                         ["rank 0 (node0): thread 0", "rank 0 (node0): collectives", "rank 1 (node1): thread 0",
                          "rank 1 (node1): collectives"])
        self.assertEqual({(one.kind, one.depth) for one in events.slices}, {("call", 0), ("collective", 0), ("task", 1)})
        self.assertEqual(len(events.arrows), 6)
        said = timelines.findings(trace)
        self.assertEqual(said[0], "2 ranks, 12 collectives and 24 tasks in 5.77 ms.")
        # Of each 740 us, the call that starts it covers 15 and the wait 45.
        self.assertIn("for 91.9 %", said[1])
        self.assertIn("within 1.50 µs", said[2])

    def test_the_table_is_of_the_whole_file(self):
        entries = timelines.draw(self.trace(samples.trace(collectives=1500))).table
        calls = next(entry for entry in entries if entry.what == "MPI_Wait")
        self.assertEqual(calls.count, 1500)
        self.assertAlmostEqual(calls.median, 60e-6)

    def test_a_long_trace_is_drawn_in_part_and_says_so(self):
        drawing = timelines.draw(self.trace(samples.trace(collectives=1500)))
        self.assertEqual(len(drawing.spec["data"][0]["values"]), timelines.DRAWN_EVENTS)
        self.assertTrue(any("Drawn are 6000 of its 15000 events" in sentence for sentence in drawing.sentences))

    def test_what_is_no_event(self):
        for events, because in (([7], r"traceEvents\[0\]: an object"), ([{"ph": "X", "ts": "now"}], "ts: a number"),
                                ([{"ph": "X", "ts": 1, "dur": []}], "dur: a number"), ([], "no complete event")):
            with self.assertRaisesRegex(inputs.InputError, f"trace.json: .*{because}"):
                self.trace({"traceEvents": events})


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
                        measured = [found] if isinstance(found, results.Result) else []
                        made = page.Page(measured, [] if measured else [found], [], "Strange")
                        self.assertTrue([markup.written(part) for part in made.body()] and markup.data(made.plots))
                    except inputs.InputError as error:
                        self.assertIn("result.json", str(error))

    def test_results(self):
        document = samples.base()
        document.update(rows=document["rows"][:1], idle=samples.idle()["idle"][:1])
        self.survives(document)
        document = samples.noise()
        document.update(rows=[dict(document["rows"][0], variant="v", parameter={"name": "n", "value": 1})])
        self.survives(document)

    def test_traces(self):
        document = samples.trace(1, 1)
        document["traceEvents"] = document["traceEvents"][-2:]
        self.survives(document)


class Markup(unittest.TestCase):
    def test_text_stays_text(self):
        element = markup.E("p", "<script>&", markup.E("b", "x"), "</p>", title='"><b>', hidden=False, open=True)
        self.assertEqual(markup.written(element), '<p title="&quot;&gt;<b&gt;" open="">&lt;script&gt;&amp;<b>x</b>&lt;/p&gt;</p>')

    def test_characters_that_no_page_may_have(self):
        self.assertEqual(markup.clean("a\0\x1b\ud800\n"), "a\ufffd\ufffd\ufffd\n")

    def test_data_cannot_end_its_element(self):
        text = markup.data({"a": "</script><!--\u2028&"})
        self.assertNotRegex(text, r"[<>&\u2028]")
        self.assertEqual(json.loads(text), {"a": "</script><!--\u2028&"})


if __name__ == "__main__":
    unittest.main()
