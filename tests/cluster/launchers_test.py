"""MPI jobs in a cluster, by the plain launcher of Open MPI or MPICH.

python3 launchers_test.py BUILD openmpi|mpich
"""

import collections
import json
import os
import pathlib
import re
import shutil
import sys
import unittest

import jobs
import support
from support import BUILD, TOOL, ClusterTest

MPI = sys.argv[2]
# A program that checks the results of a few collectives, and its last argument: seconds after which it ends.
PROGRAM = BUILD / "libexec" / "lapwing" / f"lapwing-survey-{MPI}"
WORDS = "collectives", 300
LINE = re.compile(r"lapwing-survey initialized (\d+) (\S+)$", re.MULTILINE)


class Launchers(ClusterTest):
    def job(self, hosts, ranks, *before, limit=100):
        """Runs the program. Returns the number of ranks of each host."""
        launcher = [f"mpirun.{MPI}", *(["-n", ranks] if ranks else [])]
        # By itself MPICH 4.0 over TCP hangs in some MPI_Finalize, see flush_native().
        if MPI == "mpich" and not before:
            before = (TOOL, "run", "--engine", "mpi", "--")
        variables = {"LD_PRELOAD": jobs.environment(MPI, BUILD)["LD_PRELOAD"]} if MPI == "mpich" else {}
        command = [TOOL, "cluster", "--hosts", hosts, "--", *before, *launcher, PROGRAM, *WORDS]
        status, output = jobs.execute(command, limit, support.environment(**variables))
        found = LINE.findall(output)
        self.assertEqual(status, 0, output)
        result = json.loads(output.split("lapwing-survey result ")[1].splitlines()[0])
        self.assertEqual(result["right"], result["collectives"], output)
        self.assertEqual(sorted(int(rank) for rank, _ in found), list(range(result["ranks"])), output)
        return dict(collections.Counter(host for _, host in found))

    def test_a_rank_on_each_host(self):
        self.assertEqual(self.job(4, 4), {f"node{number}": 1 for number in (1, 2, 3, 4)})

    def test_more_ranks_than_hosts(self):
        self.assertEqual(self.job(2, 4), {"node1": 2, "node2": 2})

    def test_under_lapwing_run(self):
        report = self.scratch / "report.json"
        run = [TOOL, "run", "--report", "--json", "--output", report, "--engine", "host", "--"]
        self.assertEqual(self.job(2, 2, *run), {"node1": 1, "node2": 1})
        rows = {row["name"]: row for row in json.loads(report.read_text())["collectives"]}
        self.assertEqual(rows["MPI_Ialltoall"]["taken"], 4)
        # Each host has a directory of its own there: rank 0 leaves its mark elsewhere.
        self.assertEqual(self.job(2, 2, "env", "TMPDIR=/dev/shm", TOOL, "run", "--report", "--"), {"node1": 1, "node2": 1})
        self.assertEqual(list(pathlib.Path().glob("lapwing-report-*")), [])

    def test_many(self):
        if MPI == "openmpi":
            self.assertEqual(self.job(8, 8), {f"node{number}": 1 for number in range(1, 9)})
            self.assertEqual(self.job(4, 64, limit=300), {f"node{number}": 16 for number in (1, 2, 3, 4)})

    def test_without_a_number_each_host_has_a_rank(self):
        if MPI == "openmpi":
            self.assertEqual(self.job(3, None), {f"node{number}": 1 for number in (1, 2, 3)})

    def test_bound_ranks_of_different_hosts_share_no_core(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core")
        option = "--bind-to" if MPI == "openmpi" else "-bind-to"
        # One write for the whole line: launchers mix the writes of several ranks.
        show = [sys.executable, "-c",
                "import os, socket; os.write(1, ' '.join(['on', socket.gethostname(), *map(str, os.sched_getaffinity(0))]).encode() + b'\\n')"]
        for options in ([option, "core"], []):
            output = self.cluster("--hosts", 2, "--", f"mpirun.{MPI}", *options, "-n", 2, *show)
            found = dict(re.findall(r"^on (\S+) (.*)$", output, re.MULTILINE))
            self.assertEqual(set(found), {"node1", "node2"}, output)
            self.assertFalse(set(found["node1"].split()) & set(found["node2"].split()), output)

    def test_a_rank_that_fails_ends_the_job(self):
        self.cluster("--hosts", 2, "--", f"mpirun.{MPI}", "-n", 2, "sh", "-c", "exit 3", status=3)

    def test_without_privilege(self):
        if os.getuid() != 0:
            return
        # The build directory may be closed to others.
        self.scratch.chmod(0o755)
        tool, program = (shutil.copy2(file, self.scratch) for file in (TOOL, PROGRAM))
        user = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "env", "-C", "/"]
        status, output = jobs.execute([*user, tool, "cluster", "--hosts", 2, "--", f"mpirun.{MPI}", "-n", 2, program, *WORDS], 20,
                                      support.environment(PATH="/usr/bin:/bin", HOME="/"))
        if status == 125 and "run as root" in output:
            self.skipTest(output)
        self.assertEqual({host for _, host in LINE.findall(output)}, {"node1", "node2"}, output)
        self.assertIn(status, (0, None) if MPI == "mpich" else (0,), output)


if __name__ == "__main__":
    support.main()
