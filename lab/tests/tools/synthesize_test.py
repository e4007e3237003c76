"""lapwing synthesize: what it finds on links whose best lists are known, what it writes, and what it refuses."""

import json
import unittest

from support import ToolTest

EQUAL = "ranks 4\nrate 100mbit\nlatency 60us\ntask 2us\n"


class Synthesize(ToolTest):
    def setUp(self):
        self.lists = self.scratch / "my.lists"

    def links(self, text):
        path = self.scratch / "my.links"
        path.write_text(text)
        return path

    def rows(self, collective, links, *options, steps=300, status=0):
        out, _ = self.call("synthesize", collective, "--topology", self.links(links), "--steps", steps, "--json", *options,
                           status=status)
        return json.loads(out)

    def test_a_slow_port_makes_an_allreduce_a_third_faster(self):
        (row,) = self.rows("iallreduce", EQUAL + "port 3 rate 10mbit\n", "--bytes", "1Mi", "--chunks", 16, "-o", self.lists)
        self.assertLess(row["seconds"], 0.8 * row["catalogue"][0]["seconds"])
        self.assertLessEqual(row["bound"], row["seconds"])
        out, _ = self.call("verify", self.lists)
        self.assertIn("proved 4 lists and their chain forms", out)
        text = self.lists.read_text()
        self.assertIn("# Written by lapwing synthesize ", text)
        self.assertIn("best of the catalogue: " + row["catalogue"][0]["algorithm"], text)
        # The file serves other sizes and types, as any file of lists.
        out, _ = self.call("explain", "iallreduce", "--ranks", 4, "--bytes", 4000, "--algorithm", f"file:{self.lists}")
        self.assertIn("file:", out)

    def test_an_algorithm_in_another_order_of_ranks_is_better_than_no_search(self):
        links = EQUAL + "link 0-1 rate 1mbit\n"
        for collective in ("allreduce", "broadcast", "reduce"):
            with self.subTest(collective):
                (row,) = self.rows(collective, links, "--bytes", "256Ki", "--chunks", 1, "-o", self.lists, steps=0)
                best = row["any_order"]
                self.assertEqual(sorted(best["order"]), [0, 1, 2, 3])
                self.assertLess(best["seconds"], 0.1 * row["catalogue"][0]["seconds"])
                # The lists avoid the slow link as the algorithm does in the other order.
                self.assertAlmostEqual(row["seconds"], best["seconds"])
                self.assertEqual(row["search"], f"{best['algorithm']} of the catalogue, ranks in order {','.join(map(str, best['order']))}")
                out, _ = self.call("verify", self.lists)
                self.assertIn("proved 4 lists and their chain forms", out)
        # Other collectives: the order is printed as advice for the launcher.
        (row,) = self.rows("alltoall", links, "--bytes", "256Ki", "--chunks", 1, "--always", steps=0)
        self.assertLess(row["any_order"]["seconds"], 0.1 * row["catalogue"][0]["seconds"])

    def test_algorithms_that_need_a_missing_link_are_left_out(self):
        (row,) = self.rows("allgather", EQUAL + "link 0-1 none\n", "--bytes", "64Ki")
        names = [one["algorithm"] for one in row["catalogue"]]
        self.assertNotIn("ring", names)

    def test_sizes_share_a_file(self):
        self.rows("allgather,ibcast", EQUAL + "port 1 rate 20mbit\n", "--bytes", "1Ki,16Ki", "--always", "-o", self.lists)
        heads = [line for line in self.lists.read_text().splitlines() if line.startswith("problem")]
        self.assertEqual(len(heads), 4)
        self.assertIn("max_bytes 4096", heads[0])
        self.assertIn("min_bytes 4097", heads[1])

    def test_the_catalogue_is_better(self):
        # On equal links nothing beats one message of each rank to each other.
        words = ("synthesize", "alltoall", "--topology", self.links(EQUAL), "--bytes", 64, "--steps", 100, "--chunks", 1, "-o", self.lists)
        out, _ = self.call(*words, status=1)
        self.assertIn("of the catalogue is better: LAPWING_ALGORITHM=alltoall=", out)
        self.assertFalse(self.lists.exists())
        self.call(*words, "--always")
        self.assertTrue(self.lists.exists())

    def test_refusals(self):
        def refused(links, because, *options):
            self.refused("synthesize", "allgather", "--topology", self.links(links), *options, because=because)

        refused("ranks 4\nrate fast\nlatency 1us\n", "my.links:2: 'fast' is not a rate")
        refused(EQUAL + "prot 3 rate 10mbit\n", "my.links:5: 'prot' must be ranks, rate")
        refused(EQUAL + "\n# comment\nport 4 rate 10mbit\n", "my.links:7: '4' must be a rank from 0 to 3")
        refused(EQUAL + "link 1-1 none\n", "my.links:5: a link must be between two ranks")
        refused("rate 1gbit\n", "my.links:1: the first line must be 'ranks N'")
        refused("ranks 4\nrate 1gbit\n", "my.links:3: 'latency TIME' is missing")
        refused("ranks 4\nrate 1gbit\nlatency 2s\n", "my.links:3: latency must be a time of up to 1 s")
        refused(EQUAL + "link 0-3 none\nlink 1-3 none\nlink 2-3 none\n", "no path of links connects ranks 0 and 3")
        refused(EQUAL, "--chunks 16: a block of 8 bytes has fewer elements", "--chunks", 16, "--bytes", 8)
        self.refused("synthesize", "scan", "--topology", self.links(EQUAL), because="lists of scan cannot be synthesized")
        self.refused("synthesize", "allgather", "--topology", "/no/file", because="the link file '/no/file' cannot be read")


if __name__ == "__main__":
    unittest.main()
