"""lapwing explain: the tables of the barrier, formats, and the errors for wrong options."""

import json
import shutil
import subprocess
import unittest
import xml.dom.minidom

from support import TOOL, ToolTest, clean_environment

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

    def test_work_queue_entries(self):
        out, _ = self.call(*BARRIER, "--level", "wqe")
        self.assert_golden(below_header(out), "barrier_wqe.txt")
        out, _ = self.call(*BARRIER, "--level", "wqe", "--variant", "peer-rdma", "--rank", 0)
        self.assert_golden(below_header(out), "barrier_wqe_peer_rdma.txt")
        # Messages are written where their receiver has them; those of a gather are sent.
        allgather = ("explain", "allgather", "--algorithm", "recursive_doubling", "--ranks", 4, "--bytes", 16)
        out, _ = self.call(*allgather, "--level", "wqe", "--variant", "mq-rdma", "--rank", 2)
        self.assert_golden(below_header(out), "allgather_wqe_mq_rdma.txt")
        out, _ = self.call("explain", "gather", "--ranks", 4, "--bytes", 16, "--level", "wqe", "--variant", "mq-rdma")
        self.assertNotIn("RDMA_WRITE", out)

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


COLLECTIVES = ("barrier", "broadcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
               "alltoall", "alltoallv", "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan",
               "exscan", "neighbor_allgather", "neighbor_alltoall")
WITH_PARTS = ("gatherv", "scatterv", "allgatherv", "alltoallv", "reduce_scatter", "neighbor_allgather",
              "neighbor_alltoall")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan")
NEVER_IN_PLACE = ("barrier", "broadcast", "alltoall", "alltoallv", "neighbor_allgather", "neighbor_alltoall")


class EveryCollective(ToolTest):
    def explained(self, *arguments):
        return json.loads(self.call("explain", *arguments, "--ranks", 4, "--format", "json")[0])

    def proven(self, *arguments):
        """The output of explain is a list file that verify proves."""
        file = self.scratch / "lists"
        self.call("explain", *arguments, "--ranks", 5, "--format", "text", "-o", file)
        self.assertIn("proved 5 lists and their chain forms", self.call("verify", file)[0])

    def test_lists_are_proven(self):
        for collective in COLLECTIVES:
            self.proven(collective)
            if collective not in NEVER_IN_PLACE:
                self.proven(collective, "--in-place")
            if collective in REDUCTIONS:
                self.proven(collective, "--op", "user", "--type", "opaque:24", "--bytes", 72, "--ordered")
            if collective in WITH_PARTS:
                self.proven(collective, "--sizes", "uneven", "--bytes", 64)
                self.proven(collective, "--sizes", 7, "--bytes", 64)
        self.proven("alltoall", "--hosts", "0,1,0,1,1", "--algorithm", "two_level")

    def test_json_tells_the_problem(self):
        for collective in COLLECTIVES:
            told = self.explained(collective)
            problem = told["problem"]
            self.assertEqual(problem["collective"], collective)
            self.assertEqual("in_place" in problem, collective not in NEVER_IN_PLACE)
            self.assertEqual("op" in problem, collective in REDUCTIONS)
            self.assertEqual(len(problem.get("parts", [])), 4 if collective in WITH_PARTS else 0)
            self.assertEqual(told.get("sizes"), "even" if collective in WITH_PARTS else None)
            known = collective in ("allgatherv", "reduce_scatter")
            self.assertEqual(problem.get("bytes"),
                             8 if known or collective not in ("barrier", *WITH_PARTS) else None)

    def test_reductions(self):
        problem = self.explained("scan", "--op", "user", "--type", "opaque:24", "--bytes", "48", "--ordered")["problem"]
        self.assertEqual([problem[key] for key in ("op", "type", "element", "ordered", "bytes")],
                         ["user", "opaque", 24, True, 48])
        # The default element is one that the operator accepts.
        self.assertEqual(self.explained("reduce")["problem"]["type"], "float64")
        self.assertEqual(self.explained("reduce", "--op", "bit_xor")["problem"]["type"], "int64")
        self.assertEqual(self.explained("reduce", "--op", "user")["problem"]["element"], 8)
        self.assertEqual(self.explained("reduce", "--type", "int16")["problem"]["bytes"], 2)
        out, _ = self.call("explain", "allreduce", "--ranks", 4, "--op", "maximum", "--ordered")
        self.assertTrue(out.startswith("allreduce on 4 ranks, 8 bytes in a block, maximum of float64 in the order of "
                                       "the ranks: "), out)

    def test_hosts(self):
        told = json.loads(self.call("explain", "broadcast", "--hosts", "2x3", "--format", "json")[0])
        self.assertEqual(told["problem"]["ranks"], 6)
        self.assertEqual(told["problem"]["hosts"], [0, 0, 0, 1, 1, 1])
        self.assertIn("two_level", [row["name"] for row in told["candidates"] if "seconds" in row])
        self.assertEqual(self.explained("barrier", "--hosts", "1+2+1")["problem"]["hosts"], [0, 1, 1, 2])
        out, _ = self.call("explain", "barrier", "--hosts", "7,3,7,7", "--algorithm", "two_level")
        self.assertIn("\n  hosts       2: ranks 0 2 3; ranks 1\n", out)
        out, _ = self.call("explain", "barrier", "--ranks", 4)
        self.assertIn("two_level                      declines: the hosts of the ranks are unknown", out)
        for hosts in ("2x", "x4", "2x0", "0x2", "1+x", "0,,1", "2x4x1", "1+2,3", "9999999x9999999"):
            self.refused("explain", "barrier", "--hosts", hosts, because=f"'{hosts}' does not describe hosts")
        self.refused("explain", "barrier", "--hosts", "2x4", "--ranks", 4,
                     because="the hosts of 8 ranks are given, but the group has 4")
        self.refused("explain", "barrier", because="or their hosts, as in --hosts 2x4")
        _, err = self.call("explain", "barrier", "--ranks", 4, "--algorithm", "two_level", status=2)
        self.assertIn("two_level declines this problem: the hosts of the ranks are unknown; give them with --hosts", err)

    def test_groups_inside_hosts(self):
        told = json.loads(self.call("explain", "reduce", "--hosts", "2x4", "--numa", 2, "--algorithm", "multi_level",
                                    "--format", "json")[0])
        self.assertEqual(told["problem"]["groups"], [[0, 0, 1, 1, 2, 2, 3, 3]])
        out, _ = self.call("explain", "barrier", "--hosts", "one", "--ranks", 8, "--numa", 2, "--caches", 2)
        self.assertIn("\n  hosts       1: ranks 0 1 | 2 3 | 4 5 | 6 7\n", out)
        self.proven("allreduce", "--hosts", "4+1", "--numa", 2, "--algorithm", "multi_level", "--bytes", "64Ki")
        self.proven("broadcast", "--hosts", "one", "--numa", 3, "--algorithm", "multi_level")
        self.refused("explain", "barrier", "--ranks", 8, "--numa", 2, because="--numa and --caches divide known hosts")
        self.refused("explain", "barrier", "--hosts", "one", "--ranks", 8, "--numa", 0, because="--numa")

    def test_sizes(self):
        even = self.explained("alltoallv", "--bytes", 100)
        self.assertEqual({part["bytes"] for rank in even["problem"]["parts"] for part in rank["sends"]}, {100})
        uneven = self.explained("alltoallv", "--bytes", 100, "--sizes", "uneven")
        self.assertEqual({part["bytes"] for rank in uneven["problem"]["parts"] for part in rank["sends"]},
                         {0, 50, 100, 150, 200})
        one, again, two = (self.explained("alltoallv", "--bytes", 100, "--sizes", seed) for seed in (1, 1, 2))
        self.assertEqual(one, again)
        self.assertEqual(one["sizes"], 1)
        self.assertNotEqual(one["problem"]["parts"], two["problem"]["parts"])

    def test_header_tells_blocks_and_neighbours(self):
        out, _ = self.call("explain", "gatherv", "--ranks", 4, "--sizes", "uneven")
        self.assertTrue(out.startswith("gatherv on 4 ranks, root 0, up to 16 bytes in a block: "), out)
        self.assertIn("  blocks      of no bytes, and of 1/2, 1, 1 1/2 and 2 times 8 bytes, in turn\n", out)
        out, _ = self.call("explain", "alltoallv", "--ranks", 4, "--sizes", "9")
        self.assertIn("of random lengths up to 16 bytes, from the seed 9", out)
        out, _ = self.call("explain", "ineighbor_alltoallv", "--ranks", 4)
        self.assertIn("  blocks      all of one length; for others use --sizes uneven or a seed\n", out)
        self.assertIn("  neighbours  of each rank those before and behind it, in a line whose ends meet\n", out)
        out, _ = self.call("explain", "gather", "--ranks", 4)
        self.assertNotIn("  blocks ", out)

    def test_text_of_parts(self):
        out, _ = self.call("explain", "alltoallv", "--ranks", 3, "--bytes", 100, "--sizes", "uneven", "--algorithm",
                           "flat", "--format", "text")
        self.assert_golden(out, "alltoallv_list.txt")

    def test_tables_of_reductions(self):
        out, _ = self.call("explain", "exscan", "--ranks", 3, "--algorithm", "linear", "--op", "user", "--ordered")
        self.assert_golden(below_header(out), "exscan_list.txt")

    def test_many_ranks(self):
        out, _ = self.call("explain", "neighbor_alltoall", "--ranks", "100000", "--rank", "5")
        self.assertIn("2 sends", out)
        self.refused("explain", "alltoallv", "--ranks", "100000", "--rank", "5", because="the maximum is 4096")


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
        for root in (0, 4):
            file = self.scratch / f"{root}.list"
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
        file = self.scratch / "barrier.svg"
        self.call(*BARRIER, "-o", file)
        self.assertEqual(xml.dom.minidom.parse(str(file)).documentElement.tagName, "svg")

    def test_svg_without_graphviz(self):
        self.refused(*BARRIER, "--format", "svg", because="install Graphviz", PATH="/dev/null")


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
        self.refused(*BARRIER, "--rank", "4", because="rank 4 is out of range: the group has ranks 0 to 3")
        self.refused("explain", "gather", "--ranks", "4", "--root", "-1", because="root -1")
        self.refused("explain", "gather", "--ranks", "4", "--bytes", "1x", because="'1x'")
        self.refused("explain", "gather", "--ranks", "4", "--bytes", "99999999999999999999", because="9999")
        self.refused("explain", "alltoall", "--ranks", "100000", because="--rank")
        for more in ((), ("--rank", "3")):
            self.refused("explain", "alltoall", "--ranks", "2000000000", *more, because="at most 1048576")

    def test_options_of_other_collectives(self):
        self.refused("explain", "alltoall", "--ranks", "2", "--op", "sum", because="--op does not apply")
        self.refused("explain", "barrier", "--ranks", "2", "--type", "int8", because="--type does not apply")
        self.refused("explain", "gather", "--ranks", "2", "--ordered", because="--ordered does not apply")
        self.refused("explain", "gather", "--ranks", "2", "--sizes", "even", because="--sizes does not apply")
        self.refused("explain", "barrier", "--ranks", "2", "--bytes", "8", because="barrier carries no bytes")
        self.refused("explain", "alltoallv", "--ranks", "2", "--in-place", because="never in_place")

    def test_reductions_that_make_no_sense(self):
        scan = ("explain", "scan", "--ranks", "2")
        self.refused(*scan, "--op", "sun", because="did you mean 'sum'?")
        self.refused(*scan, "--type", "float63", because="did you mean 'float64'?")
        self.refused(*scan, "--type", "int32:4", because="'int32:4' is not a type")
        self.refused(*scan, "--op", "user", "--type", "opaque", because="opaque:24")
        self.refused(*scan, "--op", "user", "--type", "opaque:0", because="need a size")
        self.refused(*scan, "--type", "opaque:8", because="the caller's own function")
        self.refused(*scan, "--op", "bit_or", "--type", "float32", because="bit_or does not apply to elements of float32")
        self.refused(*scan, "--op", "maximum_location", "--bytes", "16", because="whole elements of float64_int32")
        for collective in ("scan", "reduce_scatter"):
            self.refused("explain", collective, "--ranks", "2", "--bytes", "7", because="whole elements of float64")
        self.refused("explain", "gatherv", "--ranks", "2", "--sizes", "unevn", because="did you mean 'uneven'?")
        self.refused("explain", "gatherv", "--ranks", "2", "--sizes", "-1", because="'-1'")
        self.refused("explain", "gatherv", "--ranks", "2", "--root", "2", because="root 2")
        self.refused("explain", "alltoallv", "--ranks", "4", "--bytes", "4000000000000000000", because="too many")

    def test_chains_are_not_drawn(self):
        for form in ("dot", "svg"):
            self.refused(*BARRIER, "--level", "chains", "--format", form, because="chains cannot be drawn")
        self.refused("explain", "broadcast", "--ranks", "2", "--bytes", "1152921504606846976",
                     "--level", "chains", because="too long to show")

    def test_goal_is_a_schedule_of_all_ranks(self):
        self.assertIn("rank 3 {\nl1: recv 1b from ", self.call(*BARRIER, "--format", "goal")[0])
        for words in (("--level", "queues"), ("--rank", 1)):
            self.refused(*BARRIER, "--format", "goal", *words, because="the lists of all ranks")

    def test_unknown_variable(self):
        self.refused("explain", "barrier", "--ranks", "4", because="'LAPWING_ENGINE'", LAPWING_ENGIEN="host")

    def test_output_that_cannot_be_written(self):
        self.refused(*BARRIER, "-o", "/dev/null/barrier.txt", because="/dev/null/barrier.txt: Not a directory")
        self.refused(*BARRIER, "-o", "/dev/full", because="the table cannot be written to /dev/full: No space left on device")
        with open("/dev/full", "w") as full:
            done = subprocess.run([TOOL, *BARRIER], stdout=full, stderr=subprocess.PIPE, text=True, env=clean_environment())
        self.assertEqual(done.returncode, 2)
        self.assertIn("the output could not be written: No space left on device", done.stderr)


if __name__ == "__main__":
    unittest.main()
