"""lapwing doctor --nic: its transcript, on doubles of cards and without a card."""

import json
import os
import unittest

from support import ToolTest

TOOL_WITH_CARDS = os.environ["TEST_TOOL_WITH_CARDS"]


class DoctorNic(ToolTest):
    def ask(self, nic, *options, status=0):
        out, err = self.call("doctor", "--nic", "--json", *options, status=status, tool=TOOL_WITH_CARDS, TEST_NIC=nic)
        self.assertEqual(err, "")
        told = json.loads(out)
        self.assertEqual(told["schema"], 1)
        return told

    def outcomes(self, card):
        return {answer["name"]: answer["outcome"] for answer in card["answers"]}

    def test_a_card_that_does_everything(self):
        told = self.ask("seed=3")
        (card,) = told["cards"]
        self.assertEqual(card["name"], "double_0")
        self.assertTrue(card["works"])
        self.assertEqual(card["probes"], {"mq-send": "yes", "peer-send": "yes"})
        self.assertEqual(set(self.outcomes(card).values()), {"passed"})
        self.assertTrue(all(answer["asks"] for answer in card["answers"]))

    def test_as_text(self):
        out, _ = self.call("doctor", "--nic", tool=TOOL_WITH_CARDS, TEST_NIC="seed=4")
        self.assertRegex(out, r"(?m)^card double_0$")
        self.assertRegex(out, r"(?m)^  .*peer-send +yes$")
        self.assertRegex(out, r"(?m)^  passed +wait_plain ")

    def test_what_a_card_lacks_is_not_asked(self):
        card = self.ask("no_cross_channel")["cards"][0]
        self.assertTrue(card["works"])
        outcomes = self.outcomes(card)
        self.assertEqual(outcomes["enable"], "not asked")
        self.assertEqual(outcomes["wait_plain"], "passed")
        self.assertIn("no: ", card["capabilities"]["cross_channel"])

    def test_a_strict_card_waits_in_masters_only(self):
        card = self.ask("strict")["cards"][0]
        self.assertEqual(card["probes"]["mq-send"], "yes")
        self.assertRegex(card["probes"]["peer-send"], "^no: ")
        outcomes = self.outcomes(card)
        self.assertEqual(outcomes["wait_plain"], "not asked")
        self.assertEqual(outcomes["wait_master"], "passed")
        self.assertEqual(outcomes["wait_count"], "passed")

    def test_a_card_that_fails(self):
        card = self.ask("fault=1", status=1)["cards"][0]  # waits end one completion early
        self.assertFalse(card["works"])
        self.assertEqual(self.outcomes(card)["wait_count"], "failed")

    def test_a_card_by_name(self):
        self.assertEqual(len(self.ask("", "--card", "double_0")["cards"]), 1)
        self.assertTrue(self.ask("", "--card", "mlx5_9", status=125)["reason"])

    def test_without_a_card(self):
        told = self.ask("none", status=125)
        self.assertEqual(told["cards"], [])
        self.assertTrue(told["reason"])

    def test_this_host(self):
        # On this machine, whatever cards it has: a transcript, or the reason why there is none.
        if os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
            self.skipTest("this host has a card")
        told = json.loads(self.call("doctor", "--nic", "--json", status=125)[0])
        self.assertEqual(told["cards"], [])
        self.assertTrue(told["reason"])

    def test_words_that_do_not_fit(self):
        self.refused("doctor", "--nic", "--", "mpirun", because="--nic")
        self.refused("doctor", "--card", "mlx5_0", "--", "mpirun", because="--nic")


if __name__ == "__main__":
    unittest.main()
