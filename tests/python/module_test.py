"""The Python module: the paths of files, and the report of a job as data, with a real program on Open MPI."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jobs

# Removed, because lapwing run refuses unknown variables with its prefix.
BUILD = pathlib.Path(os.environ.pop("LAPWING_BUILD"))
ROOT = pathlib.Path(os.environ.pop("LAPWING_ROOT"))
os.environ.update(jobs.environment("openmpi", BUILD))
os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
os.environ["PATH"] = f"{BUILD}/bin:{os.environ['PATH']}"

import lapwing  # noqa: E402


class Paths(unittest.TestCase):
    def test_are_those_of_the_tool_on_path(self):
        self.assertEqual(lapwing.prefix(), BUILD.resolve())
        self.assertEqual(lapwing.tool_path(), BUILD.resolve() / "bin/lapwing")
        self.assertEqual(lapwing.preload_path("openmpi"), BUILD.resolve() / "lib/liblapwing-openmpi.so")
        self.assertEqual(lapwing.library_path(), BUILD.resolve() / "lib/liblapwing.so.0.3")

    def test_the_mpi_is_that_of_mpirun_on_path(self):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "mpirun").symlink_to("/usr/bin/mpirun.openmpi")
            path = os.environ["PATH"]
            os.environ["PATH"] = f"{directory}:{path}"
            try:
                self.assertEqual(lapwing.preload_path().name, "liblapwing-openmpi.so")
            finally:
                os.environ["PATH"] = path

    def test_say_what_is_missing(self):
        with self.assertRaisesRegex(ValueError, "no MPI 'mvapich'; there are openmpi, mpich, abi"):
            lapwing.preload_path("mvapich")
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            with self.assertRaisesRegex(lapwing.Error, "neither in this package nor on PATH"):
                lapwing.tool_path()
        finally:
            os.environ["PATH"] = path

    def test_the_command_becomes_the_tool(self):
        said = subprocess.run([sys.executable, "-m", "lapwing", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        version = re.search(r"set\(LAPWING_VERSION (\S+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(said, f"lapwing {version}\n")
        self.assertEqual(subprocess.run([sys.executable, "-m", "lapwing", "no-such-command"], stderr=subprocess.DEVNULL,
                                        check=False).returncode, 125)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.program = pathlib.Path(cls.scratch.name) / "program"
        subprocess.run(["mpicc.openmpi", ROOT / "packaging/debian/tests/program.c", "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_of_a_command(self):
        report = lapwing.report(["mpirun.openmpi", "--oversubscribe", "-n", "3", self.program], ["--engine", "host"],
                                stdout=subprocess.DEVNULL)
        self.assertEqual((report["ranks"], report["engine"]), (3, "host"))
        rows = {row["name"]: row for row in report["collectives"]}
        # Each row counts the calls of all ranks.
        self.assertEqual([rows[f"MPI_I{name}"]["taken"] for name in ("alltoall", "allreduce", "barrier")], [3, 3, 3])

    def test_of_a_file(self):
        file = pathlib.Path(self.scratch.name) / "report.json"
        file.write_text('{"ranks": 5}')
        self.assertEqual(lapwing.report(file), {"ranks": 5})
        self.assertEqual(lapwing.report(str(file)), {"ranks": 5})

    def test_a_job_that_fails_is_an_error(self):
        with self.assertRaises(subprocess.CalledProcessError):
            lapwing.report(["mpirun.openmpi", "-n", "1", "false"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_a_job_without_mpi_has_no_report(self):
        with self.assertRaisesRegex((lapwing.Error, subprocess.CalledProcessError), "report|exit status 1"):
            lapwing.report(["mpirun.openmpi", "-n", "1", "true"], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
