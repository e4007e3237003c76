"""lapwing tune on 2 and 3 local ranks: it writes a file that this build reads and that decides its choices."""

import json
import re
import unittest

from launched import BUILD, MPI, TOOL, LaunchedTest

TINY = ("--rounds", 3, "--seconds", 0, "--bytes", "64,1Ki")


class Tune(LaunchedTest):
    def setUp(self):
        self.file = self.scratch / "tuning.json"

    def tune(self, *options, ranks=2, status=0):
        return self.start("tune", "-o", self.file, *TINY, *options, ranks=ranks, status=status)

    def tables(self):
        return json.loads(self.file.read_text())["tables"]

    def explained(self, collective, ranks, size):
        """The algorithm that is chosen, and why."""
        out, _ = self.call("explain", collective, "--ranks", ranks, "--bytes", size, "--engine", "host", "--hosts",
                           "one", LAPWING_TUNING=str(self.file))
        return re.search(r"^  chosen +(\w+)\S* \((.*)\)$", out, re.MULTILINE).groups()

    def test_the_file_is_read_by_explain_and_by_ranks(self):
        output = self.tune("--engine", "host", "--ranks", "2,3", ranks=3)
        self.assertIn("% MPI_Ibarrier of 0 bytes on host, 2 ranks", output)  # no terminal: lines
        self.assertIn("host engine, inside one host, 3 ranks", output)
        two, three = self.tables()
        self.assertEqual((two["engine"], two["hosts"], two["ranks"], three["ranks"]), ("host", "one", [2, 2], [3, 3]))
        self.assertEqual(len(three["choices"]), 15)
        self.assertIn("tune", three["made"]["command"])
        for row in three["measured"]:
            self.assertTrue(all(seconds > 0 for seconds in row["seconds"].values()), row)
        # The file names the algorithm that was measured to be the fastest, or an equally fast one.
        rows = {(row["collective"], row["bytes"]): row["seconds"] for row in three["measured"]}
        for collective in ("alltoall", "allreduce"):
            name, why = self.explained(collective, 3, 1024)
            self.assertIn(f"{self.file}, tables[1].choices.{collective}[", why)
            seconds = rows[collective, 1024]
            taken = next(row["take"] for row in reversed(three["choices"][collective]) if row["from"] <= 1024)
            self.assertEqual(taken.split(":")[0], name)
            self.assertLessEqual(seconds[taken], 1.03 * min(seconds.values()) + 1e-12)
        self.assertIn(f"constants: {self.file}, tables[1]", self.explained("alltoall", 4, 1024)[1])

        # Ranks choose by the file: it names an algorithm that no other rule would choose.
        table = {"engine": "host", "hosts": "one", "ranks": [3, 3],
                 "choices": {"alltoall": [{"from": 0, "take": "ring"}], "barrier": [{"from": 0, "take": "dissemination"}]}}
        self.file.write_text(json.dumps({"lapwing_tuning": 1, "tables": [table]}))
        output = self.start("run", "--engine", "host", "--tuning", self.file, "--report", ranks=3,
                            program=[BUILD / "tests" / f"faults-{MPI}", "plain"])
        self.assertIn(" ring on host", output)
        self.assertNotIn("pairwise on host", output)

    def test_lists_of_a_file_are_measured_beside_the_catalogue(self):
        lists = self.file.with_name("own.lists")
        lists.write_text("problem allgather ranks 2 chunks 2\n" + "".join(
            f"list {rank} in 2 out 4 scratch 0\n  recv {peer} out[{2 * peer}+1]\n  recv {peer} out[{2 * peer + 1}+1]\n"
            f"  copy out[{2 * rank}+2] in[0+2]\n  send {peer} in[0+1]\n  send {peer} in[1+1]\n  wait {peer} 2\nend\n"
            for rank, peer in ((0, 1), (1, 0))))
        self.tune("--engine", "host", "--collective", "iallgather", "--algorithm", f"iallgather=file:{lists}")
        for row in self.tables()[0]["measured"]:
            self.assertEqual(f"file:{lists}" in row["seconds"], row["collective"] == "allgather", row)

    def test_tables_are_added_and_replaced(self):
        self.tune("--engine", "host", "--collective", "ibarrier")
        first = self.tables()
        self.tune("--engine", "kernel,host", "--collective", "ibarrier", "--add")
        second = self.tables()
        self.assertEqual([table["engine"] for table in second], ["kernel", "host"])
        self.assertNotEqual(second[1]["made"]["command"], first[0]["made"]["command"])

    def test_without_engine_those_of_the_job_are_measured(self):
        output = self.tune("--collective", "ibarrier")
        self.assertEqual([table["engine"] for table in self.tables()], ["host"])
        self.assertIn("this job does not use the kernel engine: not measured", output)

    def test_the_file_is_written_where_no_message_can_be(self):
        mute = self.script("mute", f'exec {TOOL} "$@" >/dev/full 2>/dev/full')
        self.start("tune", "-o", self.file, *TINY, "--engine", "host", "--collective", "ibarrier", tool=mute)
        self.assertEqual(len(self.tables()), 1)

    def test_nothing_is_kept_of_what_fails(self):
        output = self.tune("--engine", "host", "--collective", "ibarrier", "--ranks", "5", status=1)
        self.assertIn("must be 2 to 2, because the job has 2 ranks", output)
        self.assertEqual(list(self.file.parent.iterdir()), [])
        self.file.write_text("{}")
        output = self.tune("--engine", "host", "--add", status=125)
        self.assertIn("is not a tuning file", output)
        self.assertEqual(self.file.read_text(), "{}")


if __name__ == "__main__":
    unittest.main()
