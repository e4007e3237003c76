"""lapwing report on the command line: its messages, its exit status, and the files that it writes."""

import json
import os
import shutil
import unittest

import samples
from support import ToolTest


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
        self.assertRegex(err, r"^lapwing report: left out: .*cut\.json: line \d+: the file ends too early: it is cut off\n$")
        self.assertIn("cut.json", self.page.read_text())

    def test_what_makes_no_page(self):
        self.page.write_text("the old one")
        empty = self.scratch / "empty.json"
        empty.write_text("")
        self.refused("report", self.result, empty, "-o", self.page, because="empty.json: the file is empty")
        self.refused("report", self.scratch / "none.json", "-o", self.page, because="none.json: No such file")
        self.refused("report", self.result, "-o", self.page, "--vega", self.scratch, because="libjs-vega")
        self.refused("report", self.result, because="-o is missing")
        self.refused("report", "-o", self.page, because="no file given; for example: lapwing report")
        self.refused("report", self.result, "-o", self.page, "--titel", "x", because="did you mean '--title'")
        self.refused("report", self.result, "-o", self.scratch / "none" / "report.html", because="No such file")
        self.assertEqual(self.page.read_text(), "the old one")

    def test_without_python(self):
        self.refused("report", self.result, "-o", self.page, because="python3 is not on PATH", PATH=str(self.scratch))

    def test_without_the_program(self):
        alone = self.scratch / "bin" / "lapwing"
        alone.parent.mkdir()
        shutil.copy(os.environ["LAPWING_TOOL"], alone)
        self.refused("report", self.result, "-o", self.page, because="libexec/lapwing/report", tool=alone)


if __name__ == "__main__":
    unittest.main()
