# SPDX-FileCopyrightText: 2026 The Lapwing authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks of an installation of Lapwing, for ReFrame 4: the site's own configuration says where and with which compilers.

    reframe -C SITE.py -c packaging/reframe/lapwing.py -r -S modules=lapwing -S mpi=openmpi
"""

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_after, run_before, sanity_function, variable


@rfm.simple_test
class Installation(rfm.RunOnlyRegressionTest):
    """The tool starts, and proves the lists of one collective."""

    descr = "lapwing verify"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    local = True
    executable = "lapwing"
    executable_opts = ["verify", "--collective", "barrier", "--ranks", "2:8"]

    @sanity_function
    def proves_all(self):
        return sn.assert_found(r"proved \d+ lists .*, 0 violations", self.stdout)


@rfm.simple_test
class Doctor(rfm.RunOnlyRegressionTest):
    """The hosts, the network between them, and the MPI with Lapwing."""

    descr = "lapwing doctor on the hosts of a job"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    mpi = variable(str, value="openmpi")
    num_tasks = 2
    executable = "true"

    @run_after("setup")
    def put_before_the_launcher(self):
        launcher = " ".join(self.job.launcher.command(self.job))
        self.postrun_cmds = [f"lapwing doctor --mpi {self.mpi} -- {launcher}"]

    @sanity_function
    def works(self):
        return sn.assert_found("Lapwing can work here", self.stdout)


@rfm.simple_test
class Transpose(rfm.RegressionTest):
    """A plain MPI program, compiled here, whose collectives Lapwing takes; and how long it runs."""

    descr = "a matrix transposition by MPI_Ialltoall, with Lapwing"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    build_system = "SingleSource"
    sourcepath = "transpose.c"
    mpi = variable(str, value="openmpi")
    examples = variable(str, value="$(dirname $(command -v lapwing))/../share/lapwing/examples")
    num_tasks = 2
    executable_opts = ["512", "10"]

    @run_before("compile")
    def take_the_example(self):
        self.sourcesdir = None
        self.prebuild_cmds = [f"cp {self.examples}/transpose.c ."]
        self.build_system.cflags = ["-O2"]
        self.build_system.ldflags = ["-lm"]

    @run_before("run")
    def put_lapwing_before_the_launcher(self):
        self.job.launcher.modifier = "lapwing"
        self.job.launcher.modifier_options = ["run", "--mpi", self.mpi, "--report", "--"]

    @sanity_function
    def is_right_and_taken(self):
        return sn.all([sn.assert_found(r"transposed on \d+ ranks in .* s, 0 errors", self.stdout),
                       sn.assert_found(r"^MPI_Ialltoall +[1-9]", self.stderr)])

    @performance_function("s")
    def seconds(self):
        return sn.extractsingle(r"ranks in ([\d.]+) s", self.stdout, 1, float)
