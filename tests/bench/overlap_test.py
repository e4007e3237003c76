"""lapwing bench on 2 local ranks: rows, the values computed from their samples, and faults that it must detect."""

import functools
import json
import pathlib
import shlex
import shutil
import statistics
import unittest

import jobs
from launched import BUILD, MPI, LaunchedTest, launcher_environment
from support import TOOL


class Measured(LaunchedTest):
    """What overlap_more_test.py uses, too."""

    def measure(self, *options, what="overlap", rounds=2, passes=1, iterations=2, ranks=2, status=0, tool=TOOL, **variables):
        """Runs the benchmark. Returns its JSON (None if it wrote none) and its output."""
        file = self.scratch / "result.json"
        output = self.start("bench", what, "--rounds", rounds, "--passes", passes, "--iterations", iterations, "--json", "-o", file,
                            *options, ranks=ranks, status=status, seconds=150, tool=tool, **variables)
        result = json.loads(file.read_text()) if file.exists() else None
        file.unlink(missing_ok=True)
        return result, output

    def check_rows(self, result, output, expected):
        """Rows of the wait method, of the MPI alone and of the host engine, for these collectives and sizes."""
        self.assertEqual(result["schema"], 1)
        self.assertEqual([(row["collective"], row["bytes"]) for row in result["rows"]], expected)
        for row in result["rows"]:
            self.assertEqual(row["method"], "wait")
            native, host = row["engines"]
            self.assertEqual([native["engine"], native["used"], host["engine"], host["used"]], ["native", "native", "host", "host"])
            self.assertEqual([native["block_seconds"], native["block_operations"]], [host["block_seconds"], host["block_operations"]])
            for engine in row["engines"]:
                self.check_summary(engine)
            self.assertIn(f"{row['collective']}: wait method", output)

    def check_summary(self, engine):
        rounds = engine["rounds"]
        self.assertEqual(len(rounds), 2)
        for sample in rounds:
            self.assertGreater(sample["base"], 0)
            self.assertGreater(sample["alone"], 0)
            # Each part is the slowest rank's, so the sum of the parts may exceed the whole.
            self.assertGreaterEqual(sample["total"], sample["start"])
            self.assertGreaterEqual(sample["total"], sample["wait"])
        overlap = statistics.median(1 - (s["total"] - s["alone"]) / s["base"] for s in rounds)
        self.assertAlmostEqual(engine["summary"]["overlap"]["median"], overlap)
        self.assertLessEqual(engine["summary"]["base"]["q1"], engine["summary"]["base"]["q3"])


class Overlap(Measured):
    def test_rows_engines_and_samples(self):
        result, output = self.measure("--engine", "native,host", "--bytes", "1,4Ki,33000")
        self.assertEqual(result["benchmark"], "overlap")
        self.assertEqual(result["ranks"], 2)
        self.assertEqual(len(result["hosts"]), 2)
        self.assertIn({"openmpi": "Open MPI", "mpich": "MPICH"}[MPI], result["mpi"])
        self.assertIn("bench", result["command"])
        names = ("MPI_Ialltoall", "MPI_Ibcast", "MPI_Igather")
        self.check_rows(result, output,
                        [(name, size) for name in names for size in (1, 4096, 33000)] + [("MPI_Ibarrier", 0)])
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual(len([words for words in lines if words[:2] == ["33000", "host"]]), 3)
        self.assertNotIn("NOT ", output)
        self.assertRegex(output, "MPI_Ialltoall, MPI_Ibcast, MPI_Igather of 33000 bytes: .* alone hides")

    def test_an_engine_that_did_not_run_is_noticed(self):
        # An installation whose preload library is not a library: the loader continues without it.
        (self.scratch / "bin").mkdir()
        (self.scratch / "lib").mkdir()
        tool = shutil.copy2(TOOL, self.scratch / "bin" / "lapwing")
        (self.scratch / "lib" / f"liblapwing-{MPI}.so").touch()
        programs = self.scratch / "libexec" / "lapwing"
        programs.mkdir(parents=True)
        shutil.copy2(BUILD / "libexec" / "lapwing" / f"lapwing-bench-{MPI}", programs)
        result, output = self.measure("--engine", "native,host", "--collective", "ibcast", "--bytes", "8",
                                      status=1, tool=tool)
        (row,) = result["rows"]
        self.assertEqual([engine["confirmed"] for engine in row["engines"]], [True, False])
        self.assertIn("NOT CONFIRMED: Lapwing wrote no report", output)
        self.assertIn("the row host of MPI_Ibcast is not what it says", output)

    def test_json_to_standard_output(self):
        out, _ = self.call("bench", "overlap", "--json", "--engine", "native", "--collective", "ibarrier",
                           "--rounds", "2", "--passes", "1", "--iterations", "2", "--", *jobs.launcher(MPI, 2), **launcher_environment())
        self.assertEqual(json.loads(out)["rows"][0]["collective"], "MPI_Ibarrier")

    def test_one_rank_is_refused_by_the_program(self):
        _, output = self.measure("--engine", "native", ranks=1, status=1)
        self.assertIn("start two or more", output)

    def test_command(self):
        words = ["bench", "overlap", "--dry-run", "--bytes", "4Ki:1Mi", "--engine", "host", "--"]
        out, _ = self.call(*words, *jobs.launcher(MPI, 2), LAPWING_ENGINE="mpi", LAPWING_PROGRESS_THREAD="any")
        command = shlex.split(out)
        settings = json.loads(command[-1])
        self.assertEqual(settings["bytes"], [4096, 16384, 65536, 262144, 1048576])
        self.assertEqual(settings["engine"], "host")
        self.assertEqual(pathlib.Path(command[-2]).name, f"lapwing-bench-{MPI}")
        self.assertIn("LAPWING_ENGINE", out)
        self.assertNotIn("ENGINE=mpi", out)
        self.assertRegex(out, "LAPWING_PROGRESS_THREAD[= ]any")

    def test_wrong_options(self):
        wrong = functools.partial(self.refused_beside_launcher, "bench")
        wrong("overlp", because="'overlap'")
        wrong("overlap", "--engine", "hsot", because="'host'")
        wrong("latency", "--method", "wait", because="unknown option '--method'")
        wrong("overlap", "--engine", "mpi,,host", because="empty value")
        wrong("overlap", "--collective", "ialtoall", because="'Ialltoall'")
        wrong("overlap", "--collective", "ireduce", because="MPI_Ireduce is not measured; valid: ialltoall")
        wrong("overlap", "--method", "wiat", because="'wait'")
        wrong("overlap", "--bytes", "0", because="--bytes must be")
        wrong("overlap", "--bytes", "2Gi", because="--bytes must be")
        wrong("overlap", "--bytes", "64Ki:4Ki", because="the last value is smaller than the first")
        wrong("overlap", "--processes", "1", because="--processes")
        wrong("overlap", "--processes", "2", "--steps", because="--steps")
        wrong("overlap", "--roudns", "3", because="'--rounds'")
        wrong("overlap", "--algorithm", "ialltoall=pairwize", because="'pairwise'")
        self.refused("bench", "overlap", because="no launcher")
        self.refused("bench", "latency", because="lapwing bench latency")
        self.refused("bench", "overlap", "mpirun", "-n", "2", because="'--' is missing")
        self.refused("bench", "overlap", "--", "no-such-launcher", because="not a program on PATH")
        self.refused("bench", "overlap", "--", BUILD / "apps" / f"transpose-{MPI}", because="is a program")


if __name__ == "__main__":
    unittest.main()
