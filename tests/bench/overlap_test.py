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

FURTHER = "iscatter,iallgather,igatherv,ialltoallv,iallreduce"


class Overlap(LaunchedTest):
    def measure(self, *options, what="overlap", rounds=2, passes=1, iterations=2, ranks=2, status=0, tool=TOOL, **variables):
        """Runs the benchmark. Returns its JSON (None if it wrote none) and its output."""
        file = self.scratch / "result.json"
        output = self.start("bench", what, "--rounds", rounds, "--passes", passes, "--iterations", iterations, "--json", file,
                            *options, ranks=ranks, status=status, seconds=150, tool=tool, **variables)
        result = json.loads(file.read_text()) if file.exists() else None
        file.unlink(missing_ok=True)
        return result, output

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

    def check_rows(self, result, output, expected):
        """Rows of the wait method, of the MPI alone and of the host engine, for these collectives and sizes."""
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

    def test_further_collectives(self):
        size = 33001
        names = ("MPI_Iscatter", "MPI_Iallgather", "MPI_Igatherv", "MPI_Ialltoallv", "MPI_Iallreduce")
        result, output = self.measure("--engine", "native,host", "--bytes", f"1,{size}", "--collective", FURTHER, "--compute",
                                      "sleep", ranks=3)
        self.check_rows(result, output, [(name, one) for name in names for one in (1, size)])

    def test_latency(self):
        result, output = self.measure("--bytes", "8,4Ki", "--engine", "native,host,auto", "--form", "nonblocking", "--collective",
                                      "ibarrier,ibcast,igather,ialltoall,iallreduce", what="latency")
        self.assertEqual(result["benchmark"], "latency")
        self.assertEqual([(row["collective"], row["bytes"]) for row in result["rows"]],
                         [("MPI_Ibarrier", 0)]
                         + [(name, size) for name in ("MPI_Ibcast", "MPI_Igather", "MPI_Ialltoall",
                                                      "MPI_Iallreduce") for size in (8, 4096)])
        for row in result["rows"]:
            native, host, auto = row["engines"]
            self.assertEqual([engine["used"] for engine in (native, host, auto)], ["native", "host", "host"])
            self.assertEqual([engine["iterations"] for engine in (native, host, auto)], [2, 2, 2])
            alone = statistics.median(sample["latency"] for sample in native["rounds"])
            for engine in (native, host, auto):
                self.assertTrue(engine["confirmed"])
                ratios = [sample["latency"] / alone for sample in engine["rounds"]]
                self.assertAlmostEqual(engine["summary"]["ratio"]["median"], statistics.median(ratios))
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual(len([words for words in lines if words[:4] == ["4096", "nonblocking", "auto", "(host)"]]), 4)

    def test_repetitions_are_found_and_limited(self):
        result, _ = self.measure("--seconds", "1e-9", "--collective", "ibarrier", "--form", "nonblocking", "--engine", "mpi,auto",
                                 what="latency", rounds=50, passes=2, iterations=0)
        (row,) = result["rows"]
        for engine in row["engines"]:
            self.assertEqual([sample["pass"] for sample in engine["rounds"]], [0, 0, 1, 1])
            self.assertGreaterEqual(engine["iterations"], 1)

    def test_polling(self):
        result, output = self.measure("--method", "poll", "--engine", "host,native", "--collective", "ialltoall",
                                      "--bytes", "64Ki")
        (row,) = result["rows"]
        self.assertEqual([engine["engine"] for engine in row["engines"]], ["host", "native"])
        for engine in row["engines"]:
            shares = [s["work_of_all"] / s["total_of_all"] for s in engine["rounds"]]
            self.assertAlmostEqual(engine["summary"]["overlap"]["median"], statistics.median(shares))
            for sample in engine["rounds"]:
                self.assertGreater(sample["work_of_all"], 0)
        self.assertIn("MPI_Ialltoall: poll method", output)

    def test_numbers_of_ranks_in_one_job(self):
        result, text = self.measure("--method", "poll", "--collective", "ibarrier", "--processes", "2,3", "--engine", "native,host", ranks=4)
        self.assertEqual([row["parameter"] for row in result["rows"]], [{"name": "ranks", "value": 2}, {"name": "ranks", "value": 3}])
        self.assertRegex(text, r"bytes +ranks +engine")
        for row in result["rows"]:
            for engine in row["engines"]:
                for sample in engine["rounds"]:
                    self.assertAlmostEqual(sample["available_per_second"], sample["overlap"] / sample["total"])
        self.measure("--processes", "2,4", "--engine", "native", ranks=3, status=1)

    def test_sleep(self):
        result, output = self.measure("--compute", "sleep", "--engine", "native", "--collective", "ibcast",
                                      "--bytes", "4Ki", "--work-factor", "100", ranks=3)
        (row,) = result["rows"]
        (engine,) = row["engines"]
        self.assertEqual(engine["block_operations"], 0)
        for sample in engine["rounds"]:
            self.assertGreaterEqual(sample["alone"], engine["block_seconds"])
        self.assertIn("the same sleep for all: 100 x the base time of native", output)

    def test_a_wrong_byte_is_found(self):
        # The last byte that a rank has received; of uneven blocks either rank's may be reported first.
        last = {"ialltoall": "4095", "ibcast": "4095", "igather": "4095", "iscatter": "4095",
                "iallgather": "4095", "igatherv": "6143", "ialltoallv": "(6143|2047)", "iallreduce": "4095"}
        for collective, byte in last.items():
            result, output = self.measure("--engine", "host,native", "--collective", collective, "--bytes",
                                          "4Ki", "--corrupt", "native", status=1)
            self.assertIsNone(result)
            self.assertIn("by engine native: wrong data on rank", output)
            sender = "the sum" if collective == "iallreduce" else "what rank [01] sent"
            self.assertRegex(output, f"byte {byte} of {sender}")

        result, output = self.measure("--collective", "ibcast", "--engine", "native,auto", "--corrupt", "auto", what="latency", status=1)
        self.assertIsNone(result)
        self.assertRegex(output, "by engine auto: wrong data on rank [01]")

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

    def test_each_kind_of_row_is_served_by_what_it_names(self):
        result, _ = self.measure("--engine", "native,mpi,host", "--collective", "ibcast,iallreduce", "--bytes", "64,4Ki", passes=2)
        for job in result["jobs"]:
            for collective, calls in job["calls"].items():
                self.assertGreater(calls["all"], 2 * 2 * 2)
                self.assertEqual(calls["all"], 2 * calls["rank_0"])
                if job["engine"] == "native":
                    self.assertIsNone(job["report"])
                    continue
                counted = next(row for row in job["report"]["collectives"] if row["name"] == collective)
                taken = {"mpi": 0, "host": calls["all"]}[job["engine"]]
                self.assertEqual((counted["taken"], counted["fell_back"]), (taken, calls["all"] - taken))

    def test_a_wrong_baseline_is_noticed(self):
        result, output = self.measure("--engine", "native,host", "--collective", "ibcast", "--bytes", "8", status=1,
                                      LD_PRELOAD=str(BUILD / "lib" / f"liblapwing-{MPI}.so"))
        (row,) = result["rows"]
        self.assertEqual([engine["confirmed"] for engine in row["engines"]], [False, True])
        self.assertIn("library is loaded in 2 of 2 ranks", row["engines"][0]["unconfirmed"])
        self.assertIn("the row native of MPI_Ibcast is not what it says", output)

    def test_an_engine_that_declines_is_noticed(self):
        # Lists whose receives are below the top have no chain form: the kernel engine leaves them to the host engine.
        lists = self.scratch / "own.lists"
        lists.write_text("problem allgather ranks 2 chunks 1\n" + "".join(
            f"list {rank} in 1 out 2 scratch 0\n  copy out[{rank}+1] in[0+1]\n{tasks}  wait {1 - rank} 1\nend\n"
            for rank, tasks in ((0, "  send 1 in[0+1]\n  recv 1 out[1+1]\n"), (1, "  recv 0 out[0+1]\n  send 0 in[0+1]\n"))))
        result, output = self.measure("--engine", "kernel", "--collective", "iallgather", "--bytes", "8", "--algorithm",
                                      f"iallgather=file:{lists}", status=1)
        self.assertFalse(result["rows"][0]["engines"][0]["confirmed"])
        self.assertRegex(output, "row kernel of MPI_Iallgather is not what it says: .* calls taken, ran on host")

    def test_json_to_standard_output(self):
        out, _ = self.call("bench", "overlap", "--json", "-", "--engine", "native", "--collective", "ibarrier",
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
