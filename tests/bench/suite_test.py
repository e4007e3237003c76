"""Every benchmark of `lapwing bench`, as small as possible, on 2 local ranks: its JSON, its tables, and that each
finds a wrong byte. No time is judged.
"""

import functools
import json
import math
import statistics
import unittest

from launched import LaunchedTest

TINY = ["--rounds", "2", "--passes", "1", "--iterations", "2", "--engine", "native,host"]

# Benchmark: options that make it small, the quantities of its summary, and the keys that distinguish its rows.
FIXED = {"total", "overlap", "start", "test", "wait", "available", "tests_made"}
BENCHMARKS = {
    "latency": (["--bytes", "8", "--collective", "ibarrier,ialltoall"], {"latency", "ratio"},
                [("MPI_Ibarrier", 0, "blocking"), ("MPI_Ibarrier", 0, "nonblocking"),
                 ("MPI_Ialltoall", 8, "blocking"), ("MPI_Ialltoall", 8, "nonblocking")]),
    "window": (["--bytes", "4Ki", "--window", "1,2,8"], {"latency", "ratio"}, [("MPI_Ialltoall", 4096, 1)]),
    "concurrent": (["--bytes", "4Ki", "--collectives", "1,3", "--tests", "0,3", "--compute", "work"],
                   FIXED | {"base", "latency", "per_collective"},
                   [("MPI_Ialltoall", 4096, count) for count in (1, 1, 3, 3)]),
    "tests": (["--bytes", "4Ki", "--tests", "0,2", "--compute", "work"], FIXED,
              [("MPI_Ialltoall", 4096, 0), ("MPI_Ialltoall", 4096, 2)]),
    "overhead": (["--bytes", "64,8Ki", "--collective", "igather", "--compute", "work"],
                 {"base", "alone", "start", "wait", "overhead", "total", "overlap", "share"},
                 [("MPI_Igather", 64, None), ("MPI_Igather", 8192, None)]),
    "throughput": (["--bytes", "4Ki"], {"alone", "total", "flops_alone", "flops_beside", "share"},
                   [("MPI_Ibcast", 4096, "no tests")]),
    "noise": (["--bytes", "4Ki", "--frequency", "1000", "--burst", "50", "--tests", "0"],
              {"throughput_alone", "throughput_noise", "loss", "loss_of_products"}, [("MPI_Ibcast", 4096, "no tests")]),
    "connections": ([], {"latency", "ratio"}, [("MPI_Ibarrier", 0, "sparse"), ("MPI_Ibarrier", 0, "dense")]),
}


# Their rows have tests of their own.
ELSEWHERE = {"overlap", "methods"}


def key(row):
    return row["collective"], row["bytes"], row.get("parameter", {}).get("value", row.get("variant"))


class Suite(LaunchedTest):
    def bench(self, *words, status=0):
        """Runs `lapwing bench`. Returns its output."""
        return self.start("bench", *words, status=status)

    def read(self, name):
        return json.loads((self.scratch / f"{name}.json").read_text())

    def table(self):
        """The tool's own table of benchmarks."""
        return json.loads(self.call("bench", "--table")[0])

    def check_head(self, result, name):
        for word in ("lapwing", "mpi", "kernel", "time", "jobs", "command", "settings", "hosts",
                     "processors_of_ranks", "machines", "processors"):
            self.assertTrue(result[word], f"{name}: {word}")
        self.assertEqual(result["benchmark"], name)
        self.assertEqual(result["settings"]["benchmark"], name)
        self.assertIn(result["settings"]["compute"], ("work", "sleep"))
        self.assertEqual((result["ranks"], len(result["hosts"])), (2, 2))
        self.assertIsInstance(result["more_ranks_than_processors"], bool)

    def check_row(self, row, quantities, rounds, engines):
        self.assertIsInstance(row["method"], str)
        self.assertEqual([engine["engine"] for engine in row["engines"]], engines)
        for engine in row["engines"]:
            self.assertTrue(engine["confirmed"], engine)
            self.assertGreaterEqual(engine["iterations"], 1)
            self.assertEqual(len(engine["rounds"]), rounds)
            self.assertLessEqual(quantities, set(engine["summary"]))
            for quantity, spread in engine["summary"].items():
                self.assertEqual(sorted(spread), ["median", "q1", "q3"])
                self.assertLessEqual(spread["q1"], spread["median"])
                self.assertLessEqual(spread["median"], spread["q3"])
                # The work that fits beside a collective, found in steps, comes from no single sample.
                if not (quantity == "available" and "work_of_all" not in engine["rounds"][0] and "parameter" in row):
                    self.assertTrue(all(math.isfinite(sample[quantity]) for sample in engine["rounds"]))

    def test_each_benchmark_writes_its_rows(self):
        for name, (options, quantities, expected) in BENCHMARKS.items():
            with self.subTest(name):
                output = self.bench(name, *TINY, *options, "--json", "-o", self.scratch / f"{name}.json")
                result = self.read(name)
                self.check_head(result, name)
                self.assertEqual([key(row) for row in result["rows"]], expected)
                for row in result["rows"]:
                    self.check_row(row, quantities, 2, ["native", "host"])
                lines = [line.split() for line in output.splitlines()]
                self.assertEqual(len([words for words in lines if "host" in words[:8] and words[0].isdigit()]),
                                 len(expected), output)
                self.check_samples(name, result["rows"])

    def test_every_benchmark_is_tested(self):
        self.assertEqual({row["name"] for row in self.table()}, set(BENCHMARKS) | ELSEWHERE)

    def check_samples(self, name, rows):
        for row in rows:
            for engine in row["engines"]:
                if name == "latency":
                    self.assertEqual((engine["used"], engine["iterations"]), (engine["engine"], 2))
                    alone = statistics.median(sample["latency"] for sample in row["engines"][0]["rounds"])
                    self.assertAlmostEqual(engine["summary"]["ratio"]["median"],
                                           statistics.median(sample["latency"] / alone for sample in engine["rounds"]))
                for sample in engine["rounds"]:
                    if row["method"] == "fixed":
                        self.assertAlmostEqual(sample["overlap"], 1 - sample["calls_of_all"] / sample["total_of_all"])
                        self.assertAlmostEqual(sample["available"], sample["work_of_all"] / sample["total_of_all"])
                        # The clock says when the computation ends.
                        self.assertGreaterEqual(sample["total"], engine["compute_seconds"])
                        self.assertLessEqual(sample["tests_made"], engine["tests"])
                    if name == "concurrent":
                        self.assertAlmostEqual(sample["per_collective"] * row["parameter"]["value"], sample["total"])
                    if name == "overhead":
                        self.assertEqual("test" in sample, row["bytes"] >= 2048)
                        self.assertGreaterEqual(sample["overhead"] * 1.000001, sample["wait"])
                        self.assertAlmostEqual(sample["share"], sample["overhead"] / sample["base"])
                    if name == "throughput":
                        self.assertEqual(engine["block_flops"], 2 * engine["block_order"]**3 * engine["block_products"])
                        self.assertAlmostEqual(sample["flops_beside"] * sample["total"], engine["block_flops"], 3)
                    if name == "noise":
                        self.assertAlmostEqual(sample["loss"], 1 - sample["throughput_noise"] / sample["throughput_alone"])

    def test_overlap_by_steps_and_for_a_fixed_time(self):
        file = self.scratch / "overlap.json"
        self.bench("overlap", *TINY, "--steps", "--method", "wait,fixed", "--collective", "ibarrier", "--json", "-o", file)
        rows = json.loads(file.read_text())["rows"]
        self.assertEqual([(row["method"], row.get("parameter", {}).get("value")) for row in rows],
                         [("wait", tenth / 10) for tenth in range(1, 11)] + [("fixed", None)])
        for row in rows[:-1]:
            self.check_row(row, {"base", "alone", "total", "overlap"}, 2, ["native", "host"])
        self.check_row(rows[-1], {"base", "total", "overlap", "available"}, 2, ["native", "host"])
        # The work that fits: up to the step before the first that takes longer than the collective alone.
        for engine in range(2):
            fits = 0
            for row in rows[:-1]:
                rounds = row["engines"][engine]["rounds"]
                if statistics.median(sample["total"] / sample["base"] for sample in rounds) > 1.05:
                    break
                fits = row["parameter"]["value"]
            for row in rows[:-1]:
                found = row["engines"][engine]["summary"]["available"]
                self.assertEqual(found["median"], fits)
                self.assertTrue(found["q1"] <= fits <= found["q3"])

    def test_methods_joins_its_jobs(self):
        file = self.scratch / "methods.json"
        self.bench("methods", "--rounds", "4", "--passes", "2", "--iterations", "2", "--bytes", "4Ki", "--collective", "ibcast",
                   "--variant", "native:native:", "--variant", "copies:host:LAPWING_TRANSFER=processor", "--json", "-o", file)
        result = json.loads(file.read_text())
        self.check_head(result, "methods")
        self.assertEqual([job["variant"] for job in result["jobs"]], ["native", "copies"])
        self.assertTrue(any("LAPWING_TRANSFER" in word for word in result["jobs"][1]["launched"]))
        self.assertEqual([key(row) for row in result["rows"]],
                         [("MPI_Ibcast", 4096, "native"), ("MPI_Ibcast", 4096, "copies")])
        for row, engine in zip(result["rows"], ("native", "host")):
            self.check_row(row, {"base", "overlap", "overhead"}, 4, [engine])

    def test_all_writes_a_directory(self):
        output = self.bench("all", "--output-directory", self.scratch / "new" / "results", "--quick", "--only",
                            "connections,throughput", "--engine", "native,host")
        self.assertIn("== throughput (1 of 2) ==", output)
        files = sorted(path.name for path in (self.scratch / "new" / "results").iterdir())
        self.assertEqual(files, ["connections.json", "throughput.json"])
        result = json.loads((self.scratch / "new" / "results" / "connections.json").read_text())
        self.assertEqual(result["command"][:4], ["lapwing", "bench", "connections", "--quick"])

    def test_a_wrong_byte_is_found(self):
        # One for each way to measure; a barrier moves no bytes.
        for name in ("latency", "concurrent", "throughput", "methods"):
            with self.subTest(name):
                options = [*TINY, *BENCHMARKS[name][0]] if name != "methods" else ["--variant", "a:host:", "--bytes", "8", "--passes", "1"]
                output = self.bench(name, *options, "--corrupt", "host", status=1)
                self.assertIn("by engine host: wrong data on rank", output)

    def test_wrong_options(self):
        wrong = functools.partial(self.refused_beside_launcher, "bench")
        wrong("tests", "--tests", "1.5", because="--tests must be a whole number")
        wrong("window", "--collective", "ibcast", because="MPI_Ibcast is not measured; valid: ialltoall")
        wrong("noise", "--frequency", "0", because="--frequency")
        wrong("methods", "--variant", "fast", because="write NAME:ENGINE:VARIABLES")
        wrong("methods", "--variant", "fast:host:TRANSFER=kernel", because="must have the form LAPWING_NAME=VALUE")
        wrong("methods", "--variant", "fast:host:LAPWING_TRANSFER=quick", because="LAPWING_TRANSFER")
        wrong("all", because="--output-directory")
        wrong("all", "--output-directory", "/proc/nowhere", because="'/proc/nowhere'")
        wrong("all", "--output-directory", self.scratch, "--only", "noize", because="'noise'")
        self.refused("bench", "all", "--output-directory", self.scratch, because="no launcher")

    def test_help_says_where_it_comes_from(self):
        for row in self.table():
            out, _ = self.call("bench", row["name"], "--help")
            self.assertIn(row["source"], " ".join(out.split()))
            self.assertIn(f"Usage: lapwing bench {row['name']} ", out)


if __name__ == "__main__":
    unittest.main()
