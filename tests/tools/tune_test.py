"""lapwing tune without ranks: its options; and tuning files in `explain`, `run` and `info`."""

import json
import pathlib
import re
import stat
import unittest

from support import ToolTest

TABLE = {"engine": "kernel", "hosts": "several", "ranks": [4, 8], "machine": {"latency": 1},
         "choices": {"alltoall": [{"from": 0, "take": "bruck"}, {"from": 4096, "take": "pairwise:window=3"}]}}


class WithFile(ToolTest):
    def setUp(self):
        self.file = self.write("tuning.json", {"lapwing_tuning": 1, "tables": [TABLE]})

    def write(self, name, content):
        path = self.scratch / name
        path.write_text(json.dumps(content))
        return str(path)


class Simulate(WithFile):
    def test_choices_for_ranks_that_nobody_measured(self):
        costs = {"latency": 1e-5, "task": 1e-6, "gap": 0, "per_byte": 8e-9, "task_per_byte": 0}
        file = self.write("costs.json", {"lapwing_tuning": 1, "tables": [{**TABLE, "messages": costs}]})
        words = ("tune", "--collective", "ialltoall,ibcast", "--bytes", "8,64Ki", "-o", file)
        out, _ = self.call(*words, "--simulate", "8,16,64")
        self.assertIn("2 simulated tables", out)  # 8 were measured
        measured, *simulated = json.loads(pathlib.Path(file).read_text())["tables"]
        self.assertNotIn("simulated", measured)
        self.assertEqual([(one["ranks"], one["simulated"]) for one in simulated], [([16, 16], True), ([64, 64], True)])
        # The fastest by predict.
        out, _ = self.call("predict", "ibcast", "--ranks", 64, "--bytes", "64Ki", "--algorithm", "all", "--engine", "kernel", "--work", 0,
                           "--tuning", file, "--json", "-")
        times = {engine["algorithm"]: engine["summary"]["base"]["median"] for row in json.loads(out)["rows"]
                 for engine in row["engines"]}
        row = simulated[1]["choices"]["broadcast"][-1]
        self.assertLessEqual(row["seconds"], 1.03 * min(times.values()))
        self.assertAlmostEqual(row["seconds"], times[row["take"]], places=9)
        out, _ = self.call("explain", "broadcast", "--ranks", 64, "--bytes", "64Ki", LAPWING_TUNING=file)
        self.assertIn("simulated to be the fastest", out)

    def test_what_messages_cost_is_fitted_again(self):
        # The measured times are the simulation's own. Netgauge's method was far off.
        found = {}
        for burst, words in ((0, ()), (18100, ("--burst", 18100))):
            rows = []
            for collective, sizes in (("ialltoall", "16,64Ki"), ("ibcast", "1Ki,64Ki")):
                out, _ = self.call("predict", collective, "--ranks", 4, "--bytes", sizes, "--algorithm", "all", "--engine", "kernel", "--work",
                                   0, "--constants", "latency=20us,task=5us,per_byte=80ns", *words, "--json", "-", status=0)
                for row in json.loads(out)["rows"]:
                    seconds = {one["algorithm"]: one["summary"]["base"]["median"] for one in row["engines"]}
                    rows.append({"collective": collective[1:], "bytes": row["bytes"], "seconds": seconds})
            wrong = {"latency": 5e-6, "task": 2e-6, "gap": 1e-6, "per_byte": 20e-9, "task_per_byte": 30e-9}
            machine = {"latency": 2e-5, "task": 3e-6, "per_byte": 7e-8, "copy_per_byte": 1e-10, "copy": 5e-8}
            merged = {}
            for row in rows:
                merged.setdefault((row["collective"], row["bytes"]), {}).update(row["seconds"])
            file = self.write("again.json", {"lapwing_tuning": 1, "tables": [
                {**TABLE, "ranks": [4, 4], "ranks_per_host": [1, 1], "machine": machine, "messages": wrong, "made": {"netgauge": wrong},
                 "measured": [{"collective": collective, "bytes": size, "seconds": seconds}
                              for (collective, size), seconds in merged.items()]}]})
            out, _ = self.call("tune", "--fit", *words, "-o", file)
            self.assertIn("1 table of", out)
            table, = json.loads(pathlib.Path(file).read_text())["tables"]
            self.assertEqual(table["made"]["burst"], burst)
            found[burst] = table["messages"]
        for costs in found.values():
            self.assertAlmostEqual(costs["per_byte"] / 80e-9, 1, delta=0.1)
            self.assertLess(costs["task_per_byte"], 8e-9)
        self.refused("tune", "--fit", "-o", self.file, because=self.file)

    def test_times_of_a_starved_machine_are_fitted(self):
        # A second for 8 bytes, three microseconds for each byte of a long message: simulations accept no such costs.
        slow = {"latency": 5e-3, "task": 1e-3, "gap": 0, "per_byte": 3.3e-6, "task_per_byte": 2e-6}
        machine = {"latency": 2.0, "task": 3e-6, "per_byte": 3.3e-6, "copy_per_byte": 1e-10, "copy": 5e-8}
        file = self.write("slow.json", {"lapwing_tuning": 1, "tables": [
            {**TABLE, "ranks": [2, 2], "ranks_per_host": [1, 1], "machine": machine, "messages": slow, "made": {"netgauge": slow},
             "measured": [{"collective": "broadcast", "bytes": size, "seconds": {"binomial": seconds}}
                          for size, seconds in ((8, 1.0), (262144, 0.9))]}]})
        self.call("tune", "--fit", "-o", file)
        table, = json.loads(pathlib.Path(file).read_text())["tables"]
        self.assertLessEqual(table["messages"]["per_byte"], 1e-6)
        self.call("predict", "ibcast", "--ranks", 4, "--engine", "kernel", "--work", 0, "--tuning", file)

    def test_without_costs_of_messages(self):
        self.refused("tune", "--simulate", 64, "-o", self.file, because="hosts")
        self.refused("tune", "--simulate", 1, "-o", self.file, because="--simulate")


class Explain(WithFile):
    def chosen(self, *options, **variables):
        out, _ = self.call("explain", "alltoall", *options, **variables)
        return next(line for line in out.splitlines() if line.startswith("  chosen"))

    def test_which_line_of_which_file(self):
        line = self.chosen("--ranks", 8, "--bytes", "64Ki", LAPWING_TUNING=self.file)
        self.assertRegex(line, r"^  chosen +pairwise:window=3 \(")
        self.assertIn(f"{self.file}, tables[0].choices.alltoall[1]: measured", line)
        self.assertRegex(line, r"; modelled [\d.]+ \w+; next \w+.* [\d.]+ \w+\)$")

    def test_by_the_variable_by_constants_and_by_what_is_shipped(self):
        self.assertRegex(
            self.chosen("--ranks", 8, LAPWING_TUNING=self.file, LAPWING_ALGORITHM="ialltoall=ring"),
            r"chosen +ring \(asked for by LAPWING_ALGORITHM; modelled 7\.\d s; next ")
        self.assertIn(f"cost model, constants: {self.file}, tables[0]; modelled",
                      self.chosen("--ranks", 9, LAPWING_TUNING=self.file))
        self.assertIn("defaults, tables[", self.chosen("--ranks", 9))

    def test_for_another_engine_or_place(self):
        for options in (("--engine", "host"), ("--hosts", "one"), ("--engine", "kernel", "--hosts", "one")):
            self.assertNotIn(self.file, self.chosen("--ranks", 8, *options, LAPWING_TUNING=self.file))
        self.assertNotIn(self.file, self.chosen("--ranks", 8, LAPWING_TUNING=self.file, LAPWING_ENGINE="host"))
        self.refused("explain", "alltoall", "--ranks", 8, "--engine", "kernle", because="'kernel'")
        self.refused("explain", "alltoall", "--ranks", 8, "--hosts", "sevral", because="'several'")

    def test_json(self):
        out, _ = self.call("explain", "alltoall", "--ranks", 4, "--format", "json", LAPWING_TUNING=self.file)
        told = json.loads(out)
        self.assertEqual((told["chosen_by"], told["engine"], told["hosts"], told["algorithm"]["name"]),
                         ("tuning", "kernel", "several", "bruck"))
        self.assertGreater(told["modelled_seconds"], 0)

    def test_the_manuals_example_is_a_tuning_file(self):
        manual = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference.md").read_text()
        example = next(text for text in re.findall(r"^```json\n(.*?)^```$", manual, re.M | re.S)
                       if "lapwing_tuning" in text)
        file = self.write("manual.json", json.loads(example))
        self.assertIn("pairwise:window=2", self.chosen("--ranks", 8, "--bytes", "4Ki", LAPWING_TUNING=file))


class WrongFiles(WithFile):
    def test_are_told_before_anything_starts(self):
        wrong = self.write("wrong.json", {"lapwing_tuning": 1, "tables": [{**TABLE, "choices": {
            "alltoall": [{"from": 0, "take": "pairwize"}]}}]})
        place = f"{wrong}: tables[0].choices.alltoall[0].take: "
        for err in (self.refused("explain", "alltoall", "--ranks", 4, because=place, LAPWING_TUNING=wrong),
                    self.refused("run", "--tuning", wrong, "--", "mpirun", "-n", 2, "true", because=place),
                    self.call("info", status=2, LAPWING_TUNING=wrong)[1]):
            self.assertIn(place, err)
            self.assertIn("'pairwise'", err)
        wrong = self.write("control.json", {"lapwing_tuning": 1, "tables": [], "a\x1b[2J\nb": 1})
        self.refused("run", "--tuning", wrong, "--", "mpirun", "true", because="'a\\x1b[2J\\nb'")
        self.refused("run", "--tuning", "/nowhere/t.json", "--", "mpirun", "true", because="'/nowhere/t.json'")


class Options(WithFile):
    def launcher(self):
        path = self.scratch / "mpirun"
        path.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_wrong_ones_name_the_nearest(self):
        launcher = ("--", self.launcher(), "-n", 2)
        for option, value, because in (
                ("--engine", "kernle", "'kernel'"), ("--collective", "ialltoal", "alltoall'"),
                ("--collective", "iscatterv", "scatterv"), ("--ranks", "1", "1"), ("--bytes", "64Kb", "64Kb"), ("--rounds", 2, "rounds"),
                ("--outptu", "f", "'--output'"), ("-o", "/nowhere/file", "/nowhere/file")):
            self.refused("tune", option, value, *launcher, because=because)
        self.refused("tune", because="launcher")


if __name__ == "__main__":
    unittest.main()
