"""Recorded programs in the report: call sites, iterations, curves over ranks, and recordings that are simulated first."""

import os
import sys
import unittest

sys.path.insert(0, os.environ["LAPWING_REPORT"])
import figures
import inputs
import programs
import results
import samples
import words
from parts_test import Scratch


class Programs(Scratch):
    def refused(self, change, because):
        content = samples.program()
        change(content["program"])
        with self.assertRaises(inputs.InputError) as caught:
            self.result(content)
        self.assertIn(because, str(caught.exception))

    def test_what_a_recorded_program_gains(self):
        result = self.result(samples.program())
        self.assertEqual(result.benchmark, "program")
        said = [str(one) for one in words.findings(result)]
        self.assertEqual(said, [
            "On 2 ranks the run took 1.10 s; its replay takes 1.00 s, 0.909 of that.",
            "With Lapwing (kernel) the unchanged program takes 700 ms, 600 ms if it waited for collectives one computation later, "
            "and 550 ms if collectives took no time.",
            "64 ranks: each rank has a core of its own.",
            "Does not extrapolate: MPI_Send, main: its peer follows no rule; it took 2.0 % of the largest recorded run and is left out."])

    def test_bars_of_each_call_site_from_now_to_the_bound(self):
        result = self.result(samples.program())
        figure, = figures.figures_of(programs.site_result(result, 2), "sites")
        panels = figure.views[0].panels
        self.assertEqual([panel.title for panel in panels], ["MPI_Wait, solve, cg.c:12", "MPI_Allreduce, solve, cg.c:14"])
        self.assertEqual([(one.label, round(one.points[0].spread.median, 6)) for one in panels[0].series],
                         [("now, measured", 0.3), ("now, simulated (native)", 0.27), ("Lapwing (kernel), program unchanged", 0.15),
                          ("Lapwing (kernel), waited for later", 0.06), ("bound", 0.03)])
        self.assertIsNone(programs.site_result(result, 64))

    def test_totals_over_ranks_have_the_band_of_the_exponents(self):
        figure, = figures.figures_of(self.result(samples.program()), 0)
        native = figure.views[0].panels[0].series[0]
        self.assertEqual([point.x for point in native.points], [2, 64])
        spread = native.points[1].spread
        self.assertEqual((spread.q1, spread.q3), (0.02, 0.05))

    def test_one_iteration_before_and_after(self):
        (ranks, name, spec, _, end), after = programs.drawings(self.result(samples.program()).program)
        self.assertEqual((ranks, name, end, after[1]), (2, "now", 0.013, "with Lapwing (kernel)"))
        data = {one["name"]: one.get("values") for one in spec["data"]}
        self.assertEqual([track["label"] for track in data["tracks"]], ["rank 0", "rank 1"])
        self.assertEqual(len(data["points"]), 6)
        self.assertEqual({row["n"] for row in data["points"]}, {"computation", "MPI_Wait, solve, cg.c:12"})

    def test_what_is_wrong_is_told(self):
        self.refused(lambda one: one.update(replays=7), "program.replays: a list")
        self.refused(lambda one: one.update(cores=7), "program.cores: a list")
        self.refused(lambda one: one["sites"][0]["sites"][0].update(bound="x"), "program.sites[0].sites[0].bound: a number")
        self.refused(lambda one: one["iterations"][0]["spans"][0].update(what="sleep"), "program.iterations[0].spans[0].what")
        self.refused(lambda one: one["sizes"][0]["range"].update(native=[1]), "program.sizes[0].range.native: two numbers")

    def test_recordings_are_simulated(self):
        for name in ("on2", "on4"):
            (self.scratch / name).mkdir()
            self.file("{}", f"{name}/job.json")
            for rank in range(int(name[-1])):
                self.file("", f"{name}/rank-{rank}.facts")
        self.file(samples.program(), "program.json")
        tool = self.file("#!/bin/sh\necho \"$@\" >>" + str(self.scratch / "asked") + "\ncase \"$*\" in *--ranks*) "
                         "echo 'lapwing predict: calls differ' >&2; exit 2;; esac\ncat " + str(self.scratch / "program.json"), "tool")
        tool.chmod(0o755)
        found, left_out = results.collect([self.scratch / "on2", self.scratch / "on4"], str(tool))
        self.assertEqual([one.benchmark for one in found], ["program"])
        self.assertIn("other numbers of ranks: calls differ", str(left_out[0]))
        first, second = (self.scratch / "asked").read_text().splitlines()
        self.assertIn("--ranks 8,16,32,64,128,256", first)
        self.assertNotIn("--ranks", second)


if __name__ == "__main__":
    unittest.main()
