"""What `explain` and the Python module write: lists that `verify` proves."""

import unittest

from explain_test import COLLECTIVES, NEVER_IN_PLACE, REDUCTIONS, WITH_PARTS
from support import ToolTest


class ExplainedLists(ToolTest):
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
        self.proven("allreduce", "--hosts", "4+1", "--numa", 2, "--algorithm", "multi_level", "--bytes", "64Ki")
        self.proven("gather", "--root", 4)
        self.proven("broadcast", "--hosts", "one", "--numa", 3, "--algorithm", "multi_level")


if __name__ == "__main__":
    unittest.main()
