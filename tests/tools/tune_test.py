"""lapwing tune without ranks: its options; and tuning files in `explain`, `run` and `info`."""

import json
import pathlib
import re
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


class Explain(WithFile):
    def chosen(self, *options, **variables):
        out, _ = self.call("explain", "alltoall", *options, **variables)
        return next(line for line in out.splitlines() if line.startswith("  chosen"))

    def test_which_line_of_which_file(self):
        line = self.chosen("--ranks", 8, "--bytes", "64Ki", LAPWING_TUNING=self.file)
        self.assertRegex(line, r"^  chosen +pairwise:window=3 \(")
        self.assertIn(f"{self.file}, tables[0].choices.alltoall[1]: fastest in measurements", line)
        self.assertRegex(line, r"; modelled [\d.]+ \w+; next \w+.* [\d.]+ \w+\)$")

    def test_by_the_variable_by_constants_and_by_what_is_shipped(self):
        self.assertRegex(
            self.chosen("--ranks", 8, LAPWING_TUNING=self.file, LAPWING_ALGORITHM="ialltoall=ring"),
            r"chosen +ring \(requested by LAPWING_ALGORITHM; modelled 7\.\d s; next ")
        self.assertIn(f"cost model, constants: {self.file}, tables[0]; modelled",
                      self.chosen("--ranks", 9, LAPWING_TUNING=self.file))
        self.assertIn("defaults, tables[", self.chosen("--ranks", 9))

    def test_for_another_engine_or_place(self):
        for options in (("--engine", "host"), ("--hosts", "one"), ("--engine", "kernel", "--hosts", "one")):
            self.assertNotIn(self.file, self.chosen("--ranks", 8, *options, LAPWING_TUNING=self.file))
        self.assertNotIn(self.file, self.chosen("--ranks", 8, LAPWING_TUNING=self.file, LAPWING_ENGINE="host"))
        self.refused("explain", "alltoall", "--ranks", 8, "--engine", "kernle", because="'kernel'")
        self.refused("explain", "alltoall", "--ranks", 8, "--hosts", "sevral", because="'several'")

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
                    self.call("info", status=125, LAPWING_TUNING=wrong)[1]):
            self.assertIn(place, err)
            self.assertIn("'pairwise'", err)
        wrong = self.write("control.json", {"lapwing_tuning": 1, "tables": [], "a\x1b[2J\nb": 1})
        self.refused("run", "--tuning", wrong, "--", "mpirun", "true", because="'a\\x1b[2J\\nb'")
        self.refused("run", "--tuning", "/nowhere/t.json", "--", "mpirun", "true", because="'/nowhere/t.json'")


class Options(ToolTest):
    def test_wrong_ones_name_the_nearest(self):
        launcher = ("--", self.script("mpirun", "echo 'mpirun (Open MPI) 4.1.4'"), "-n", 2)
        for option, value, because in (
                ("--engine", "kernle", "'kernel'"), ("--collective", "ialltoal", "alltoall'"), ("--collective", "iscatterv", "scatterv"),
                ("--ranks", "1", "1"), ("--rounds", 2, "rounds"), ("--outptu", "f", "'--output'")):
            self.refused("tune", option, value, *launcher, because=because)
        self.refused("tune", because="launcher")


if __name__ == "__main__":
    unittest.main()
