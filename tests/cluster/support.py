"""Functions that the tests of `lapwing cluster` share."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import threading
import unittest

import jobs
from scratch import ScratchTest

BUILD = pathlib.Path(sys.argv[1]).resolve()
TOOL = BUILD / "bin" / "lapwing"
SKIPPED = 77


def mark():
    """A variable of the processes of this thread's test: other tests run clusters at the same time."""
    return "TEST_OF_CLUSTER", f"{os.getpid()}.{threading.get_ident()}"


def environment(**changes):
    """The environment without the variables that the tool or the launchers read."""
    ours = ("LAPWING_", "OMPI_", "PRTE_", "PMIX_", "HYDRA_", "MPIR_", "UCX_", "FI_", "I_MPI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **dict([mark()]), **changes}


def clusters():
    """The processes of this test's clusters: the tool, the first process, and the processes that hold the hosts."""
    return set(jobs.processes_of(TOOL)) & set(jobs.processes_with(*mark()))


class ClusterTest(ScratchTest):
    def execute(self, command, limit=60, **more):
        """Runs a command. Returns its exit status, standard output and standard error."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit,
                              **{"env": environment(), "stdin": subprocess.DEVNULL, **more})
        return done.returncode, done.stdout, done.stderr

    def setUp(self):
        self.before = clusters()

    def left(self):
        return sorted(clusters() - self.before)

    def tearDown(self):
        self.assertEqual(self.left(), [], "a cluster has left processes behind")

    def cluster(self, *words, status=0, limit=60, before=(), **variables):
        """Runs `lapwing cluster` with these words and expects `status`. Returns both output streams."""
        found, output = jobs.execute([*before, TOOL, "cluster", *words], limit, environment(**variables))
        self.assertEqual(found, status, f"{words}\n{output}")
        return output

    def shell(self, hosts, script, *options, **more):
        """Runs a shell script in the head."""
        return self.cluster("--hosts", hosts, *options, "--", "sh", "-c", script, **more)


class SideBySide(unittest.TestSuite):
    """Tests that wait most of the time, four at once."""

    def run(self, result, debug=False):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda test: test(result), [test for tests in self for test in tests]))
        return result


def main(suite=unittest.TestSuite):
    """Runs the tests of the calling file. Exits with SKIPPED, and prints the reason, if this machine cannot run a cluster."""
    tried = subprocess.run([TOOL, "cluster", "--hosts", "1", "--", "true"], env=environment(), timeout=60,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "namespaces" in tried.stdout or "package iproute2" in tried.stdout:
        print(f"skipped: {tried.stdout}")
        sys.exit(SKIPPED)
    loader = unittest.TestLoader()
    loader.suiteClass = suite
    unittest.main(argv=sys.argv[:1], testLoader=loader)
