"""What the tests of `lapwing bench` and `lapwing tune` share: jobs of one MPI that the tool starts.

Variables: LAPWING_TOOL, LAPWING_BUILD (the build directory), MPI_FAMILY (openmpi or mpich).
"""

import os
import pathlib

import jobs
from support import TOOL, ToolTest, clean_environment

BUILD = pathlib.Path(os.environ["LAPWING_BUILD"])
MPI = os.environ["MPI_FAMILY"]


def launcher_environment():
    environment = clean_environment()
    return {**environment, **{k: v for k, v in jobs.environment(MPI, BUILD).items() if k == "LD_PRELOAD"}}


class LaunchedTest(ToolTest):
    def start(self, *words, ranks=2, program=(), status=0, seconds=100, tool=TOOL, **variables):
        """Runs the tool with these words and a launcher, and expects `status`. Returns the output."""
        command = [tool, *words, "--", *jobs.launcher(MPI, ranks), *program]
        ended, output = jobs.execute(command, seconds, {**launcher_environment(), **variables})
        self.assertEqual(ended, status, output)
        return output

    def refused_beside_launcher(self, *words, because):
        """Expects that the tool refuses these words, which stand before a launcher that is right."""
        self.refused(*words, "--", *jobs.launcher(MPI, 2), because=because)
