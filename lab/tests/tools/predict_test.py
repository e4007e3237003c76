"""lapwing predict: tables, JSON, the options that it refuses and the cases that it leaves out."""

import json
import unittest

from support import ToolTest

# Two overheads of 1 us, 5 us between them.
ROUND = ["--constants", "latency=5us,task=1us,per_byte=1ns,copy=0ns,copy_per_byte=0ns"]


class Simulated(ToolTest):
    def rows(self, *arguments):
        out, _ = self.call("predict", *arguments, "--json")
        result = json.loads(out)
        self.assertEqual((result["schema"], result["simulated"]), (1, True))
        return [(row, engine) for row in result["rows"] for engine in row["engines"]]


class Predict(Simulated):
    def value(self, quantity, *arguments):
        (_, engine), = self.rows(*arguments)
        return engine["summary"][quantity]["median"]

    def test_base_times_are_sums(self):
        for ranks, steps in ((2, 1), (8, 3), (1024, 10)):
            base = self.value("base", "barrier", "--ranks", ranks, "--algorithm", "dissemination", "--engine", "card",
                              "--work", 0, *ROUND)
            self.assertAlmostEqual(base, steps * 7e-6, places=12)

    def test_rows_stand_in_order_with_engines_side_by_side(self):
        rows = self.rows("barrier,ibcast", "--ranks", "4:64", "--bytes", "8,1Ki", "--engine", "host,card", "--algorithm", "all",
                         "--tests", "0,5", *ROUND)
        places = [(row["collective"], row["bytes"], row["parameter"]["value"]) for row, _ in rows]
        self.assertEqual(len(dict.fromkeys(places)), 3 + 2 * 3)
        self.assertEqual({len(row["engines"]) for row, _ in rows}, {2})
        self.assertIn("binomial, 5 tests", {row["variant"] for row, _ in rows})

    def test_a_card_hides_all_and_the_host_engine_what_tests_let_it(self):
        rows = self.rows("ialltoall", "--ranks", 64, "--bytes", "4Ki", "--algorithm", "pairwise:window=4", "--tests", "0,1000",
                         "--engine", "host,card", "--constants", "task=100ns,latency=5us,per_byte=1ns")
        overlap = {(engine["engine"], row["tests"]): engine["summary"]["overlap"]["median"] for row, engine in rows}
        self.assertEqual(overlap["card", 0], 1)
        self.assertLess(overlap["host", 0], 0.2)
        self.assertGreater(overlap["host", 1000], 0.8)

    def test_noise_has_a_round_for_each_seed_and_repeats(self):
        words = ("barrier", "--ranks", 64, "--engine", "host", "--work", "1ms", "--noise", "100hz:250us", "--iterations",
                 20, "--rounds", 5)
        (row, engine), = self.rows(*words)
        self.assertEqual(row["noise"], "100hz:250us")
        losses = [one["loss"] for one in engine["rounds"]]
        self.assertEqual(len(set(losses)), 5)
        self.assertTrue(all(0 < loss < 1 for loss in losses), losses)
        for more in (("--threads", 1), ("--threads", 7)):
            self.assertEqual(self.rows(*words, *more), [(row, engine)])
        self.assertNotEqual(self.rows(*words, "--seed", 9), [(row, engine)])

    def test_noise_takes_its_share_and_late_ranks_delay(self):
        share = self.value("loss_of_work", "barrier", "--ranks", 2, "--engine", "card", "--noise", "10000hz:25us", "--work", "1ms",
                           "--rounds", 1)
        self.assertAlmostEqual(share, 0.25, places=2)
        # One of two ranks is late by the time of an iteration.
        slowdown = self.value("slowdown", "barrier", "--ranks", 2, "--engine", "card", "--late", "one:1ms", "--work", "1ms")
        self.assertAlmostEqual(slowdown, 2, places=2)

    def test_networks(self):
        def base(network, *more):
            return self.value("base", "ialltoall", "--ranks", 64, "--bytes", "64Ki", "--algorithm", "pairwise", "--engine", "card",
                              "--work", 0, "--interconnect", network, *more, *ROUND)

        flat = base("flat")
        self.assertGreaterEqual(base("fat-tree:8x8"), flat)
        self.assertGreater(base("fat-tree:8x8:1x2"), 2 * base("fat-tree:8x8"))
        self.assertGreater(base("mesh:64"), 2 * base("torus:4x4x4"))
        self.assertGreater(base("flat", "--ranks-per-host", 4), 2 * flat)

    def test_groups_inside_hosts_shape_lists(self):
        def base(*groups):
            return self.value("base", "ibcast", "--ranks", 64, "--algorithm", "multi_level:k=1", "--engine", "kernel", "--work", 0,
                              "--ranks-per-host", 32, *groups, *ROUND)

        # Chains: 31 steps inside a host, 3 and 7, or 3, 3 and 1.
        self.assertGreater(base(), base("--numa", 4))
        self.assertGreater(base("--numa", 4), base("--numa", 4, "--caches", 4))

    def test_rings_that_know_the_hosts_are_faster_on_a_torus(self):
        def base(placement, *more):
            return self.value("base", "iallgather", "--ranks", 64, "--bytes", "64Ki", "--algorithm", "ring", "--engine", "card",
                              "--work", 0, "--interconnect", "torus:4x4x4", "--placement", placement, *more, *ROUND)

        self.assertGreater(base("random"), 1.5 * base("in-order"))
        self.assertAlmostEqual(base("random-known"), base("in-order-known"), places=5)
        self.assertLess(base("in-order-known"), 1.01 * base("in-order"))
        self.assertNotEqual(base("random"), base("random", "--seed", 2))
        self.refused("predict", "barrier", "--ranks", 4, "--placement", "anywhere", because="random")

    def test_gather_trees_that_know_the_path_through_a_one_way_torus_share_no_link(self):
        def base(placement):
            return self.value("base", "igather", "--ranks", 16, "--bytes", "1Mi", "--algorithm", "binomial", "--engine", "card", "--work", 0,
                              "--interconnect", "one-way-torus:4x4", "--placement", placement, *ROUND)

        self.assertGreater(base("in-order"), 1.1 * base("in-order-known"))

    def test_the_table_says_that_nothing_was_measured(self):
        out, err = self.call("predict", "barrier", "--ranks", 16)
        self.assertTrue(out.startswith("Simulated, not measured: "))
        self.assertIn("recursive_doubling", out)
        self.assertIn("messages", err)

    def test_long_messages_of_the_host_engine_wait_for_calls(self):
        def overlap(*more):
            return self.value("overlap", "ibcast", "--ranks", 2, "--bytes", "1Mi", "--engine", "host", *ROUND, *more)

        self.assertLess(overlap(), 0.01)
        self.assertGreater(overlap("--rendezvous", "2Mi"), 0.99)
        self.assertGreater(overlap("--rendezvous", "none"), 0.99)
        self.assertGreater(overlap("--tests", 100), 0.9)
        self.assertLess(overlap("--tests", 100, "--rendezvous", "64Ki:4Ki"), 0.5)
        self.refused("predict", "ibcast", "--ranks", 2, "--rendezvous", "64Ki:0", because="window")
        self.refused("predict", "ibcast", "--ranks", 2, "--rendezvous", "much", because="number of bytes")

    def test_a_dry_run_says_what_it_needs(self):
        out, err = self.call("predict", "iallreduce", "--ranks", "1Mi", "--engine", "kernel", "--algorithm", "recursive_doubling",
                             "--work", 0, "--dry-run")
        self.assertRegex(out, r"^1 case, about 21 million messages, up to \d+ MiB for a case; about \d+ s\n$")
        self.assertEqual(err, "")

    def test_what_does_not_fit_is_refused_or_left_out(self):
        self.refused("predict", "ialltoall", "--ranks", "64Ki", "--algorithm", "pairwise", because="--memory")
        out, _ = self.call("predict", "barrier", "--ranks", 4096, "--algorithm", "all", "--memory", "64Mi", "--work", 0, status=1)
        self.assertIn("left out: barrier, 4096 ranks, flat: it needs about", out)
        self.assertIn("barrier: two_level declines: the hosts of the ranks are unknown (4096 ranks)", out)
        self.refused("predict", "iallgather", "--ranks", "1Mi", "--algorithm", "flat", because="--memory")
        self.refused("predict", "barrier", "--ranks", 4096, "--algorithm", "all", "--memory", "1Ki", because="nothing can be simulated")

    def test_what_is_wrong_is_refused(self):
        for words, because in (
                (("barier", "--ranks", 4), "barrier"),
                (("barrier", "--ranks", 1), "--ranks"),
                (("barrier", "--ranks", "64:4"), "the last value is smaller than the first"),
                (("barrier", "--ranks", "2Mi"), "--ranks"),
                (("barrier",), "--ranks is missing"),
                (("barrier", "--ranks", 4, "--engine", "kernl"), "kernel"),
                (("barrier", "--ranks", 4, "--algorithm", "ring"), "no algorithm 'ring'"),
                (("barrier", "--ranks", 4, "--algorithm", "two_level"), "the hosts of the ranks are unknown"),
                (("barrier", "--ranks", 4, "--noise", "10hz"), "10hz"),
                (("barrier", "--ranks", 4, "--noise", "10hz:2500"), "must be a time"),
                (("barrier", "--ranks", 4, "--noise", "10hz:200ms"), "leaves no CPU time"),
                (("barrier", "--ranks", 4, "--late", "uniform"), "--late"),
                (("barrier", "--ranks", 4, "--interconnect", "torus"), "torus:8x8x16"),
                (("barrier", "--ranks", 4, "--interconnect", "ring:4"), "unknown network"),
                (("barrier", "--ranks", 9, "--interconnect", "mesh:2x4"), "do not fit"),
                (("barrier", "--ranks", 4, "--interconnect", "fat-tree:4x4:1"), "fat-tree"),
                (("barrier", "--ranks", 4, "--constants", "latncy=1us"), "latency"),
                (("barrier", "--ranks", 4, "--constants", "latency=0ns"), "latency"),
                (("barrier", "--ranks", 4, "--work", "-1"), "--work"),
                (("ialltoall", "--ranks", 64, "--bytes", "1Mi", "--work", "1e6"), "too long"),
                (("barrier", "--ranks", 4, "--work", "900s", "--late", "one:1s", "--iterations", 10000), "26 days"),
                (("ialltoallv", "--ranks", 8192), "limited to 4096 ranks"),
                (("barrier", "--ranks", 4, "--tuning", self.scratch / "none"), "none")):
            with self.subTest(words=words):
                _, err = self.call("predict", *words, status=125)
                self.assertIn(because, err)



if __name__ == "__main__":
    unittest.main()
