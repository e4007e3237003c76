"""lapwing verify: every algorithm for few ranks, and list files that are right, wrong or truncated."""

import json
import re
import unittest

from support import ToolTest

RIGHT = """# two ranks, one message
problem broadcast ranks 2 root 0 bytes 8 algorithm by_hand
list 0 in 8 out 0 scratch 0
  send 1 in[0+8]
end
list 1 in 0 out 8 scratch 0
  recv 0 out[0+8]
  wait 0 1
end
"""


IN_CHUNKS = """problem allgather ranks 2 chunks 2 min_bytes 2 algorithm halves
list 0 in 2 out 4 scratch 0
  recv 1 out[2+1]
  recv 1 out[3+1]
  copy out[0+2] in[0+2]
  send 1 in[0+1]
  send 1 in[1+1]
  wait 1 2
end
list 1 in 2 out 4 scratch 0
  recv 0 out[0+1]
  recv 0 out[1+1]
  copy out[2+2] in[0+2]
  send 0 in[0+1]
  send 0 in[1+1]
  wait 0 2
end
"""

# By way of scratch, where the first chunk is at the second one's position.
UNALIGNED = IN_CHUNKS.replace("scratch 0", "scratch 2", 1).replace(
    "  send 1 in[0+1]\n", "  copy scratch[1+1] in[0+1]\n  send 1 scratch[1+1]\n")


class Files(ToolTest):
    def file(self, text, name="lists.txt"):
        path = self.scratch / name
        path.write_text(text)
        return path

    def test_right(self):
        file = self.file(RIGHT)
        out, err = self.call("verify", file)
        start = f"{file}: proved 2 lists and their chain forms: problem broadcast ranks 2 "
        self.assertTrue(out.startswith(start), out)
        self.assertIn(" by by_hand;", out)
        self.assertEqual(err, "")

    def test_what_is_no_list_file(self):
        self.refused("verify", "/dev/zero", because="/dev/zero: is not a list file: it is not text")
        file = self.file(RIGHT.replace("broadcast", "broad\x1b[31mcast"))
        self.refused("verify", file, because="unknown collective 'broad\\x1b[31mcast'")

    def test_no_chains(self):
        file = self.file(RIGHT)
        out, _ = self.call("verify", file, "--no-chains")
        self.assertTrue(out.startswith(f"{file}: proved 2 lists: problem broadcast"), out)
        # A receive below the top of the list.
        late = self.file(RIGHT.replace("  recv", "  wait 0 0\n  recv"))
        out, _ = self.call("verify", late)
        self.assertIn("proved 2 lists (no chain form proved: rank 1: a receive stands below the top", out)

    def test_violation(self):
        file = self.file(RIGHT.replace("  send 1 in[0+8]\n", "  send 1 in[0+4]\n"))
        out, _ = self.call("verify", file, status=1)
        self.assertIn(f"{file}: 1 violation", out)
        self.assertRegex(out, r"\n  line 7: matching: rank 1, task 0")

    def test_several_sets_in_chunks(self):
        file = self.file(RIGHT + IN_CHUNKS)
        out, _ = self.call("verify", file)
        self.assertIn("proved 2 lists and their chain forms: problem broadcast ranks 2 root 0 bytes 8 by by_hand;", out)
        self.assertIn("proved 2 lists and their chain forms: problem allgather ranks 2 chunks 2 min_bytes 2 by halves;", out)
        self.assertNotIn("divide evenly", out)
        out, _ = self.call("verify", self.file(UNALIGNED))
        self.assertIn("only for blocks that divide evenly into 2 chunks: rank 0, task 3 (copy scratch[1+1] in[0+1]) is between", out)

    def test_other_commands_take_the_file(self):
        choice = f"file:{self.file(IN_CHUNKS)}"
        out, _ = self.call("verify", "--algorithm", choice, "--ranks", "1:3")
        self.assertRegex(out, r"\nproved [1-9]\d* lists and [1-9]\d* chain forms of [1-9]\d* problems, 0 violations\n$")
        out, _ = self.call("explain", "allgather", "--ranks", "2", "--bytes", "5", "--algorithm", choice, "--format", "text")
        self.assertIn("recv 1 out[5+2]\n", out)
        self.assertIn("recv 1 out[7+3]\n", out)
        out, _ = self.call("verify", self.file(out))
        out, _ = self.call("predict", "iallgather", "--ranks", "2", "--bytes", "8", "--work", "0", "--algorithm", f"ring,{choice}")
        self.assertIn(choice, out)
        _, err = self.call("explain", "allgather", "--ranks", "3", "--bytes", "5", "--algorithm", choice, status=125)
        self.assertIn("declines this problem: the file has no lists for this number of ranks", err)
        _, err = self.call("explain", "alltoall", "--ranks", "2", "--bytes", "5", "--algorithm", choice, status=125)
        self.assertIn("has no lists of alltoall; it has those of allgather", err)
        wrong = f"file:{self.file(IN_CHUNKS.replace('in[1+1]', 'in[0+1]', 1), 'wrong')}"
        out, _ = self.call("explain", "allgather", "--ranks", "2", "--bytes", "4", LAPWING_ALGORITHM=f"iallgather={wrong}")
        self.assertRegex(out, r"wrong declined: .*wrong:\d+: provenance: rank \d")

    def test_list(self):
        out, _ = self.call("verify", "--list")
        self.assertRegex(out, r"\n  allgather +ring +all *\n")
        self.assertRegex(out, r"\n  scan +linear +all +in place\n")
        self.assertRegex(out, r"\n  allreduce +two_level +1 to \d+, 256, 257 *\n")
        rows = re.findall(r"\n  [a-z_]+ +[a-z_]+ +(all|1 to \d+)\b", out)
        self.assertIn(f"\n{rows.count('all')} of {len(rows)} algorithms are proven", out)
        self.assertEqual(len(self.call("verify", "--list", "--collective", "scan")[0].splitlines()), 8)
        self.refused("verify", "--list", "--ranks", 3, because="use --list alone")

    def test_samples_reach_many_ranks(self):
        words = ("verify", "--collective", "scatter", "--algorithm", "flat", "--queue-depth", 1000)
        self.call(*words, "--ranks", "1:64")
        out, _ = self.call(*words, "--sample", 6, status=1)
        self.assertRegex(out, r"\nproblem scatter ranks [1-4]\d{3} .*\n  queue_depth: ")
        self.assertRegex(out, r" of 6 problems, [1-9]\d* violations?\n$")
        self.assertEqual(self.call(*words, "--sample", 6, status=1)[0], out)
        self.assertNotEqual(self.call(*words, "--sample", 6, "--seed", 2, status=1)[0], out)

    def test_samples_of_all(self):
        out, _ = self.call("verify", "--all", "--sample", 2, "--ranks", "1:128")
        *rows, end, total = out.splitlines()[1:]
        self.assertGreater(len(rows), 50)
        for row in rows:
            self.assertRegex(row, r"^  [a-z_]+ +[a-z_]+ +\d+ +0 +2 +\d+ +\d+ +128$")
        self.assertRegex(total, r" problems, 0 violations$")
        self.refused("verify", "--list", "--sample", 1, because="use --list alone")
        self.refused("verify", "--all", "--sample", 0, because="--sample")

    def test_queue_depth(self):
        file = self.file(RIGHT)
        self.call("verify", file, "--queue-depth", "1")
        out, _ = self.call("explain", "barrier", "--ranks", "64", "--format", "text")
        out, _ = self.call("verify", self.file(out), "--queue-depth", "3", status=1)
        self.assertIn("queue_depth: ", out)

    def test_not_parsable(self):
        file = self.file(RIGHT.replace("send", "sned"))
        _, err = self.call("verify", file, status=125)
        self.assertTrue(err.startswith(f"{file}:4:3: "), err)
        self.assertIn("'send'", err)

    def test_not_readable(self):
        missing = self.scratch / "missing"
        _, err = self.call("verify", missing, status=125)
        self.assertEqual(err, f"{missing}: No such file or directory\n")
        _, err = self.call("verify", self.scratch, status=125)
        self.assertIn("is a directory", err)

    def test_several(self):
        right = self.file(RIGHT, "right")
        wrong = self.file(RIGHT.replace("  wait 0 1\n", ""), "wrong")
        out, _ = self.call("verify", right, wrong, status=1)
        self.assertIn("right: proved", out)
        self.assertIn("wrong: ", out)
        out, err = self.call("verify", wrong, self.scratch / "missing", right, status=125)
        self.assertIn("right: proved", out)
        self.assertIn("missing", err)


class All(ToolTest):
    def test_few_ranks(self):
        out, err = self.call("verify", "--all", "--ranks", "1:4")
        self.assertRegex(out.splitlines()[-1],
                         r"^proved (\d{4,}) lists and \1 chain forms of \d{3,} problems, 0 violations$")
        self.assertEqual(err, "")  # the progress bar is for terminals
        for algorithm in ("recursive_doubling", "k_nomial", "sequential", "pairwise", "bruck"):
            self.assertIn(f" {algorithm} ", out)

    def test_every_collective(self):
        known = {row["collective"] for row in json.loads(self.call("info", "--json")[0])["algorithms"]}
        out, _ = self.call("verify", "--all", "--ranks", "2")
        self.assertEqual(set(re.findall(r"\n  ([a-z_]+) +[a-z_]+ +[1-9]\d* ", out)), known)

    def test_one_algorithm(self):
        one = ("--collective", "ialltoall", "--algorithm", "pairwise:window=2")
        out, _ = self.call("verify", *one, "--ranks", "7")
        self.assertIn("proved 35 lists and 35 chain forms of 5 problems, 0 violations", out)
        out, _ = self.call("verify", *one, "--ranks", "7", "--no-chains")
        self.assertIn("proved 35 lists and 0 chain forms of 5 problems, 0 violations", out)
        out, _ = self.call("verify", "--algorithm", "binomial", "--ranks", "2:3")
        self.assertEqual(re.findall(r"\n  ([a-z_]+) +binomial ", out), ["broadcast", "gather", "scatter", "reduce"])

    def test_nothing_applies(self):
        alone = ("verify", "--collective", "allgather", "--algorithm", "recursive_doubling", "--ranks", "3")
        out, _ = self.call(*alone, status=1)
        self.assertRegex(out, r"\nrecursive_doubling of allgather declined: .*power of two")
        self.assertTrue(out.endswith("\nnothing proved: no algorithm applies to any of the problems\n"), out)
        # Algorithms that decline are no error if others apply.
        out, _ = self.call(*alone[:-1], "3:4")
        self.assertRegex(out, r"\nproved [1-9]\d* lists and \d+ chain forms of [1-9]\d* problems, 0 violations\n$")

    def test_counter_examples(self):
        tight = ("verify", "--collective", "barrier", "--queue-depth", "4")
        out, _ = self.call(*tight, "--ranks", "5:64", status=1)
        self.assertIn("barrier ranks 5 by recursive_doubling\n  queue_depth: ", out)
        self.assertRegex(out, r", [1-9]\d* violations?\n$")
        # With the parts of all ranks, where they can be read.
        parts = ("verify", "--collective", "alltoallv", "--algorithm", "flat", "--queue-depth", "1")
        out, _ = self.call(*parts, "--ranks", "2", status=1)
        self.assertRegex(out, r"\nproblem alltoallv ranks 2 by flat\n  parts 0 sends 0:\d.*\n  parts 1 sends .*\n"
                              r"  queue_depth: ")
        out, _ = self.call(*parts, "--ranks", "9", status=1)
        self.assertNotIn("  parts 0 ", out)

    def test_wrong_options(self):
        self.refused("verify", because="--all")
        self.refused("verify", "--all", "file", because="not both")
        self.refused("verify", "--ranks", "5:2", because="'5:2'")
        self.refused("verify", "--ranks", "1:2000000000", because="the maximum is 1048576")
        self.refused("verify", "--collective", "gathr", because="'gather'")
        self.refused("verify", "--algorithm", "bruk", because="'bruck'")
        self.refused("verify", "--al", because="'--all'")


if __name__ == "__main__":
    unittest.main()
