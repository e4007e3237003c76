"""A table of bad values over the options of the laboratory, as tests/tools/refusals_test.py has one of the tool."""

import unittest

from refusals_test import RefusalTest

NUMBERS = {  # commands, and all their options that take a number
    ("predict", "alltoall", "--ranks", "4"): "iterations rounds seed ranks-per-host numa caches taken threads tests work bytes memory "
                                             "rendezvous hop test-time wake-up late noise constants interconnect",
    ("predict", "barrier"): "ranks",
    ("verify", "--all"): "queue-depth sample seed ranks",
}
WORDS = [  # a command, and what its message names
    (("verify", "--algorithm", "foo"), "--algorithm"), (("verify", "--collective", "foo"), "--collective"),
    (("verify", "--ranks", "nan"), "--ranks"), (("verify", "--all", "--seed", "2"), "--seed needs --sample"),
    *[(("predict", "barrier", "--ranks", "4", f"--{name}", "foo"), f"--{name}") for name in ("placement", "engine")],
]


class Refusals(RefusalTest):
    def test_numbers(self):
        self.refuses_numbers(NUMBERS)

    def test_words(self):
        self.refuses_words(WORDS)
        _, err = self.call("verify", "--algorithm", "foo", status=125)
        self.assertEqual(err.count("bruck,"), 1)

    def test_settings(self):
        for variable, value in (("LAPWING_STALL", "nan"), ("LAPWING_FOO", "1")):
            self.refused("predict", "barrier", "--ranks", "4", because=variable, **{variable: value})


del RefusalTest

if __name__ == "__main__":
    unittest.main()
