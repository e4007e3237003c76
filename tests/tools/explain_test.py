"""lapwing explain: the tables of the barrier, formats, and the errors for wrong options."""

import re
import unittest

from support import ToolTest

BARRIER = ("explain", "barrier", "--algorithm", "recursive_doubling", "--ranks", "4")


def below_header(text):
    return text.split("\n\n", 1)[1]


class Tables(ToolTest):
    """Graham et al. 2010, Tables II, III and IV."""

    def test_levels(self):
        for level in ("list", "queues", "chains"):
            out, _ = self.call(*BARRIER, "--level", level)
            self.assert_golden(below_header(out), f"barrier_{level}.txt")

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
    def problem(self, *arguments):
        """The lines of a list file that tell the problem."""
        out, _ = self.call("explain", *arguments, "--format", "text")
        return out[:out.index("list 0 ")].splitlines()

    def test_text_tells_the_problem(self):
        for collective in COLLECTIVES:
            first, *parts = self.problem(collective, "--ranks", 4)
            self.assertTrue(first.startswith(f"problem {collective} ranks 4 "))
            self.assertEqual(" op " in first, collective in REDUCTIONS)
            self.assertEqual(len(parts), 4 if collective in WITH_PARTS else 0)
            known = collective in ("allgatherv", "reduce_scatter")
            self.assertEqual(" bytes 8 " in first, known or collective not in ("barrier", *WITH_PARTS))
            if collective in NEVER_IN_PLACE:
                self.refused("explain", collective, "--ranks", 4, "--in-place", because="in_place")
            else:
                self.assertIn(" in_place ", self.problem(collective, "--ranks", 4, "--in-place")[0])

    def test_reductions(self):
        (problem,) = self.problem("scan", "--ranks", 4, "--op", "user", "--type", "opaque:24", "--bytes", "48", "--ordered")
        self.assertIn(" bytes 48 op user type opaque:24 ordered ", problem)
        # The default element is one that the operator accepts.
        for words, told in (((), "type float64"), (("--op", "bit_xor"), "type int64"), (("--op", "user"), "type opaque:8"),
                            (("--type", "int16"), "bytes 2")):
            self.assertIn(f" {told} ", self.problem("reduce", "--ranks", 4, *words)[0])

    def test_hosts(self):
        out, _ = self.call("explain", "broadcast", "--hosts", "2x3")
        self.assertRegex(out, r"^broadcast on 6 ranks")
        self.assertIn("\n  hosts       2: ranks 0 1 2; ranks 3 4 5\n", out)
        self.assertRegex(out, r"\n  candidates +(.*\n +)*two_level:\S+ +\d")
        self.assertIn(" hosts 0,1,1,2 ", self.problem("barrier", "--hosts", "1+2+1")[0])
        out, _ = self.call("explain", "barrier", "--hosts", "7,3,7,7", "--algorithm", "two_level")
        self.assertIn("\n  hosts       2: ranks 0 2 3; ranks 1\n", out)
        self.refused_each([("--hosts", hosts, f"'{hosts}'") for hosts in
                           ("2x", "x4", "2x0", "0x2", "1+x", "0,,1", "2x4x1", "1+2,3", "9999999x9999999")], "explain", "barrier")
        self.refused_each([("--hosts", "2x4", "--ranks", 4, "8 ranks"), ("--hosts",)], "explain", "barrier")
        _, err = self.call("explain", "barrier", "--ranks", 4, "--algorithm", "two_level", status=125)
        self.assertIn("--hosts", err)

    def test_groups_inside_hosts(self):
        (problem,) = self.problem("reduce", "--hosts", "2x4", "--numa", 2, "--algorithm", "multi_level")
        self.assertIn(" groups 0,0,1,1,2,2,3,3 ", problem)
        out, _ = self.call("explain", "barrier", "--hosts", "one", "--ranks", 8, "--numa", 2, "--caches", 2)
        self.assertIn("\n  hosts       1: ranks 0 1 | 2 3 | 4 5 | 6 7\n", out)
        self.refused_each([("--numa", 2, "--numa"), ("--hosts", "one", "--numa", 0, "--numa")], "explain", "barrier", "--ranks", 8)

    def test_sizes(self):
        def lengths(*sizes):
            return re.findall(r":\d+\+(\d+)", "\n".join(self.problem("alltoallv", "--ranks", 4, "--bytes", 100, *sizes)))

        self.assertEqual(set(lengths()), {"100"})
        self.assertEqual(set(lengths("--sizes", "uneven")), {"0", "50", "100", "150", "200"})
        self.assertEqual(lengths("--sizes", 1), lengths("--sizes", 1))
        self.assertNotEqual(lengths("--sizes", 1), lengths("--sizes", 2))

    def test_header_tells_blocks_and_neighbours(self):
        for words, blocks, neighbours in ((("gatherv", "--sizes", "uneven"), True, False), (("alltoallv", "--sizes", "9"), True, False),
                                          (("ineighbor_alltoallv",), True, True), (("gather",), False, False)):
            out, _ = self.call("explain", *words, "--ranks", 4)
            self.assertEqual(("\n  blocks  " in out, "\n  neighbours  " in out), (blocks, neighbours), words)

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
        self.refused("explain", "alltoallv", "--ranks", "100000", "--rank", "5", because="4096")


class Formats(ToolTest):
    def test_text_of_one_rank_is_its_list_only(self):
        out, _ = self.call(*BARRIER, "--rank", "1", "--format", "text")
        self.assertTrue(out.startswith("list 1 "))
        self.assertTrue(out.endswith("end\n"))
        self.assertEqual(out.count("list "), 1)


class Wrong(ToolTest):
    def test_names(self):
        self.refused_each([(*words, f"did you mean {near}?") for *words, near in (
            ("explian", "barrier", "'explain'"),
            ("explain", "barier", "--ranks", "4", "'barrier'"),
            ("explain", "MPI_Ialltoal", "--ranks", "4", "'MPI_Ialltoall'"),
            (*BARRIER, "--level", "quue", "'queues'"),
            (*BARRIER, "--format", "txt", "'text'"),
            (*BARRIER, "--levle", "list", "'--level'"),
            ("explain", "gather", "--ranks", "4", "--algorithm", "binomal", "'binomial'"),
            ("explain", "scan", "--ranks", "2", "--op", "sun", "'sum'"),
            ("explain", "scan", "--ranks", "2", "--type", "float63", "'float64'"),
            ("explain", "gatherv", "--ranks", "2", "--sizes", "unevn", "'uneven'"),
        )])

    def test_values(self):
        self.refused_each([
            ("barrier", "--ranks"),
            ("barrier", "--ranks", "0", "rank"),
            ("barrier", "--ranks", "4", "--rank", "4", "rank 4"),
            ("gatherv", "--ranks", "2", "--root", "2", "root 2"),
            ("alltoall", "--ranks", "100000", "--rank"),
            ("alltoall", "--ranks", "2000000000", "1048576"),
            ("alltoall", "--ranks", "2000000000", "--rank", "3", "1048576"),
            ("alltoallv", "--ranks", "4", "--bytes", "4000000000000000000", "bytes"),
            ("broadcast", "--ranks", "2", "--bytes", "1152921504606846976", "--level", "chains", "too long"),
        ], "explain")

    def test_options_that_do_not_apply(self):
        self.refused_each([
            ("alltoall", "--op", "sum", "--op"),
            ("barrier", "--type", "int8", "--type"),
            ("gather", "--ordered", "--ordered"),
            ("gather", "--sizes", "even", "--sizes"),
            ("barrier", "--bytes", "8", "bytes"),
            ("alltoallv", "--in-place", "in_place"),
            ("scan", "--type", "int32:4", "'int32:4'"),
            ("scan", "--op", "user", "--type", "opaque", "opaque:24"),
            ("scan", "--op", "user", "--type", "opaque:0", "size"),
            ("scan", "--type", "opaque:8", "opaque"),
            ("scan", "--op", "bit_or", "--type", "float32", "float32"),
            ("scan", "--op", "maximum_location", "--bytes", "16", "float64_int32"),
            ("scan", "--bytes", "7", "float64"),
            ("reduce_scatter", "--bytes", "7", "float64"),
        ], "explain", "--ranks", "2")


if __name__ == "__main__":
    unittest.main()
