"""lapwing bench, further: methods of overlap, collectives, numbers of ranks, and faults that it must detect."""

import statistics
import unittest

from launched import BUILD, MPI
from overlap_test import Measured

FURTHER = "iscatter,iallgather,igatherv,ialltoallv,iallreduce"


class OverlapMore(Measured):
    def test_further_collectives(self):
        size = 33001
        names = ("MPI_Iscatter", "MPI_Iallgather", "MPI_Igatherv", "MPI_Ialltoallv", "MPI_Iallreduce")
        result, output = self.measure("--engine", "native,host", "--bytes", f"1,{size}", "--collective", FURTHER, "--compute",
                                      "sleep", ranks=3)
        self.check_rows(result, output, [(name, one) for name in names for one in (1, size)])

    def test_repetitions_are_found_and_limited(self):
        result, output = self.measure("--seconds", "1e-9", "--collective", "ibarrier", "--form", "nonblocking", "--engine", "mpi,auto",
                                 what="latency", rounds=50, passes=2, iterations=0)
        (row,) = result["rows"]
        self.assertEqual(row["engines"][1]["used"], "host")
        self.assertIn("auto (host)", " ".join(output.split()))
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
        # By a name that the tool does not know as Lapwing's.
        preloaded = self.scratch / "preloaded.so"
        preloaded.symlink_to(BUILD / "lib" / f"liblapwing-{MPI}.so")
        result, output = self.measure("--engine", "native,host", "--collective", "ibcast", "--bytes", "8", status=1,
                                      LD_PRELOAD=str(preloaded))
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


if __name__ == "__main__":
    unittest.main()
