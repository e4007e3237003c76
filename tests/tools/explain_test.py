"""lapwing explain: the tables of the barrier, formats, and what it answers to wrong options."""

import json
import pathlib
import shutil
import tempfile
import unittest
import xml.dom.minidom

from support import ToolTest

BARRIER = ("explain", "barrier", "--algorithm", "recursive_doubling", "--ranks", "4")


def below_header(text):
    return text.split("\n\n", 1)[1]


class Tables(ToolTest):
    """Graham et al. 2010, Tables II, III and IV."""

    def test_list(self):
        out, _ = self.call(*BARRIER, "--level", "list")
        self.assert_golden(below_header(out), "barrier_list.txt")

    def test_queues(self):
        out, _ = self.call(*BARRIER, "--level", "queues")
        self.assert_golden(below_header(out), "barrier_queues.txt")

    def test_chains(self):
        out, _ = self.call(*BARRIER, "--level", "chains")
        self.assert_golden(below_header(out), "barrier_chains.txt")

    def test_chains_of_long_messages(self):
        out, _ = self.call("explain", "broadcast", "--algorithm", "binomial", "--ranks", 4, "--bytes", "64Ki",
                           "--level", "chains", "--rank", 2)
        self.assert_golden(below_header(out), "broadcast_chains.txt")

    def test_header_names_algorithm_and_totals(self):
        out, _ = self.call(*BARRIER)
        header = out.split("\n\n", 1)[0]
        self.assertTrue(header.startswith("barrier on 4 ranks: recursive_doubling\n"))
        self.assertIn("8 sends, 0 bytes, 2 steps", header)
        self.assertIn("Graham et al. 2010", header)
        self.assertNotIn("candidates", header)

    def test_one_rank(self):
        out, _ = self.call(*BARRIER, "--rank", "2")
        table = below_header(out)
        self.assertIn("rank 2", table)
        self.assertNotIn("rank 0", table)
        self.assertIn("send to 3\n  recv wait from 3\n  send to 0\n  recv wait from 0\n", table)

    def test_spans_are_beside_the_tasks(self):
        out, _ = self.call("explain", "bcast", "--algorithm", "binomial", "--ranks", 2, "--bytes", "1Ki")
        self.assertIn("send to 1 in[0+1024]", out)
        self.assertIn("recv from 0 out[0+1024]", out)

    def test_wraps_to_the_width(self):
        out, _ = self.call(*BARRIER, COLUMNS="40")
        self.assertLessEqual(max(map(len, below_header(out).splitlines())), 40)
        self.assertEqual(out.count("tasks\n"), 2)

    def test_group_of_a_million_ranks(self):
        out, _ = self.call("explain", "barrier", "--ranks", "1048576", "--rank", "5")
        self.assertIn("20 sends", out)


class Choice(ToolTest):
    def test_says_which_and_why(self):
        out, _ = self.call("explain", "alltoall", "--ranks", "8")
        self.assertIn("  chosen ", out)
        self.assertIn("  candidates ", out)

    def test_obeys_the_variable(self):
        wish = "ialltoall=pairwise:window=3"
        out, _ = self.call("explain", "alltoall", "--ranks", "8", LAPWING_ALGORITHM=wish)
        self.assertIn("pairwise:window=3\n", out)
        self.assertIn("window = 3", out)

    def test_every_spelling_of_a_collective(self):
        first, _ = self.call("explain", "broadcast", "--ranks", "4")
        for spelling in ("bcast", "ibcast", "MPI_Ibcast", "MPI_Bcast", "Broadcast"):
            self.assertEqual(self.call("explain", spelling, "--ranks", "4")[0], first)


class Formats(ToolTest):
    def test_text_is_a_list_file(self):
        with tempfile.TemporaryDirectory() as directory:
            for root in (0, 4):
                file = pathlib.Path(directory) / f"{root}.list"
                self.call("explain", "gather", "--ranks", 5, "--root", root, "--format", "text", "-o", file)
                out, _ = self.call("verify", file)
                self.assertIn("proved 5 lists", out)

    def test_text_of_one_rank_is_its_list_only(self):
        out, _ = self.call(*BARRIER, "--rank", "1", "--format", "text")
        self.assertTrue(out.startswith("list 1 "))
        self.assertTrue(out.endswith("end\n"))
        self.assertEqual(out.count("list "), 1)

    def test_json(self):
        for level in ("list", "queues", "chains"):
            out, _ = self.call("explain", "alltoall", "--ranks", "3", "--level", level, "--format", "json")
            self.assertEqual(len(json.loads(out)["lists" if level == "list" else level]), 3)

    def test_json_of_chains(self):
        out, _ = self.call(*BARRIER, "--rank", "3", "--level", "chains", "--format", "json")
        chains = json.loads(out)["chains"][0]
        self.assertEqual(chains["rank"], 3)
        steps = chains["stages"][0]["chains"][0]
        self.assertEqual([(step["kind"], step["peer"]) for step in steps],
                         [("send", 2), ("receive", 2), ("send", 1), ("receive", 1)])

    def test_dot(self):
        for level in ("list", "queues"):
            out, _ = self.call(*BARRIER, "--level", level, "--format", "dot")
            self.assertTrue(out.startswith("digraph"), out[:80])

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_svg_by_the_name_of_the_file(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "barrier.svg"
            self.call(*BARRIER, "-o", file)
            self.assertEqual(xml.dom.minidom.parse(str(file)).documentElement.tagName, "svg")

    def test_svg_without_graphviz(self):
        self.refused(*BARRIER, "--format", "svg", because="install Graphviz", PATH="/nonexistent")


class Wrong(ToolTest):
    def test_nearest_names(self):
        for arguments, near in (
            (("explian", "barrier"), "'explain'"),
            (("explain", "barier", "--ranks", "4"), "'barrier'"),
            (("explain", "MPI_Ialltoal", "--ranks", "4"), "'MPI_Ialltoall'"),
            ((*BARRIER, "--level", "quue"), "'queues'"),
            ((*BARRIER, "--format", "svgg"), "'svg'"),
            ((*BARRIER, "--levle", "list"), "'--level'"),
            (("explain", "gather", "--ranks", "4", "--algorithm", "binomal"), "'binomial'"),
        ):
            self.refused(*arguments, because=f"did you mean {near}?")

    def test_values_out_of_range(self):
        self.refused("explain", "barrier", because="--ranks")
        self.refused("explain", "barrier", "--ranks", "0", because="at least 1 rank")
        self.refused("explain", "barrier", "--ranks", "four", because="four")
        self.refused(*BARRIER, "--rank", "4", because="rank 4 is none of the 4 ranks")
        self.refused("explain", "gather", "--ranks", "4", "--root", "-1", because="root -1")
        self.refused("explain", "gather", "--ranks", "4", "--bytes", "1x", because="'1x'")
        self.refused("explain", "gather", "--ranks", "4", "--bytes", "99999999999999999999", because="9999")
        self.refused("explain", "alltoall", "--ranks", "100000", because="--rank")

    def test_chains_are_not_drawn(self):
        for form in ("dot", "svg"):
            self.refused(*BARRIER, "--level", "chains", "--format", form, because="chains are not drawn")
        self.refused("explain", "broadcast", "--ranks", "2", "--bytes", "1152921504606846976",
                     "--level", "chains", because="too long to show")

    def test_unknown_variable(self):
        self.refused("explain", "barrier", "--ranks", "4", because="'LAPWING_ENGINE'", LAPWING_ENGIEN="host")

    def test_output_that_cannot_be_written(self):
        self.refused(*BARRIER, "-o", "/nonexistent/barrier.txt", because="/nonexistent/barrier.txt")


if __name__ == "__main__":
    unittest.main()
