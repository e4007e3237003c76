"""scripts/plot-overlap: results to a picture."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as tree

PLOT = os.environ["LAPWING_PLOT"]


def spread(middle):
    return {"q1": middle - 0.02, "median": middle, "q3": middle + 0.02}


def engine(name, overlap):
    return {"engine": name, "summary": {"overlap": spread(overlap), "limit": spread(0.97)}}


def result():
    collectives = ["MPI_Ialltoall", "MPI_Ibarrier"]
    rows = [
        {"collective": collective, "method": method, "bytes": size,
         "engines": [engine("mpi", 0.1), engine("host", -0.3), engine("kernel", 0.95)]}
        for method in ("wait", "poll") for collective, sizes in zip(collectives, ([4096, 262144], [0]))
        for size in sizes]
    return {"benchmark": "overlap", "mpi": "Open MPI v4", "ranks": 4, "hosts": ["a", "b", "a", "b"],
            "rows": rows, "settings": {"engines": ["mpi", "host", "kernel"], "collectives": collectives, "compute": "work",
                         "methods": ["wait", "poll"]}}


class Plot(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = pathlib.Path(directory.name)

    def plot(self, text, name="picture.svg"):
        source = self.scratch / "result.json"
        source.write_text(text)
        return subprocess.run([PLOT, source, self.scratch / name], capture_output=True, text=True,
                              timeout=100)

    def test_svg(self):
        done = self.plot(json.dumps(result()))
        self.assertEqual(done.returncode, 0, done.stderr)
        picture = tree.parse(self.scratch / "picture.svg")
        words = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
        for word in ("MPI_Ialltoall", "MPI_Ibarrier", "4Ki", "256Ki", "Open MPI v4 itself",
                     "Lapwing, kernel engine", "overlap %, poll method"):
            self.assertIn(word, words)
        self.assertTrue(any("4 ranks on 2 hosts" in word for word in words))

    def test_png(self):
        self.assertEqual(self.plot(json.dumps(result()), "picture.png").returncode, 0)
        self.assertEqual((self.scratch / "picture.png").read_bytes()[1:4], b"PNG")

    def test_what_is_no_result(self):
        for text in ("{", "[]", '{"benchmark": "other"}'):
            done = self.plot(text)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn("result.json", done.stderr)


if __name__ == "__main__":
    unittest.main()
