# SPDX-FileCopyrightText: 2026 The Lapwing authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lapwing for notebooks and job scripts: the paths of its files, and the report of a job as data.

    import lapwing

    report = lapwing.report(["mpirun", "-n", "4", "python", "program.py"])
    for row in report["collectives"]:
        print(row["name"], row["taken"], row["fell_back"])

    os.environ["LD_PRELOAD"] = str(lapwing.preload_path("openmpi"))    # without `lapwing run`

The module itself uses only Python's standard library, not MPI.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

__all__ = ["Error", "library_path", "prefix", "preload_path", "report", "tool_path"]

MPIS = ("openmpi", "mpich", "abi")


class Error(Exception):
    """A part of Lapwing is missing, or a job ended without a report. The message says what to do."""


def prefix():
    """The directory with bin, lib, include and libexec: of this package, or where the tool on PATH is installed."""
    package = pathlib.Path(__file__).resolve().parent
    if (package / "bin/lapwing").is_file():
        return package
    # Debian's module is apart from its tool.
    found = shutil.which("lapwing")
    if found is None:
        raise Error("the tool lapwing is neither in this package nor on PATH")
    return pathlib.Path(found).resolve().parent.parent


def tool_path():
    """The command-line tool."""
    return prefix() / "bin/lapwing"


def _library(name):
    directories = [prefix() / "lib", prefix() / "lib64", *sorted((prefix() / "lib").glob("*-linux-gnu*"))]
    # Debian's package keeps preload libraries apart.
    directories += [directory / "lapwing" for directory in directories]
    for directory in directories:
        if (directory / name).is_file():
            return directory / name
    raise Error(f"{name} is not installed in {' or '.join(map(str, directories))}")


def library_path():
    """The library of the C API; its header is include/lapwing.h below `prefix()`."""
    return _library("liblapwing.so.0.3")


def preload_path(mpi=None):
    """The library for LD_PRELOAD: for programs of Open MPI ("openmpi"), of MPICH and Intel MPI ("mpich"), or of the MPI standard
    ABI ("abi"). Without `mpi` for the MPI whose mpirun is on PATH."""
    if mpi is None:
        mpi = _mpi_on_path()
    if mpi not in MPIS:
        raise ValueError(f"no MPI {mpi!r}; there are {', '.join(MPIS)}")
    return _library(f"liblapwing-{mpi}.so")


def _mpi_on_path():
    done = subprocess.run([tool_path(), "run", "--dry-run", "--", "mpirun", "-n", "1", "true"], capture_output=True, text=True,
                          check=False)
    for mpi in MPIS:
        if done.returncode == 0 and f"liblapwing-{mpi}.so" in done.stdout:
            return mpi
    raise Error(f"no mpirun of a supported MPI ({done.stderr.strip()}); name the MPI: {', '.join(MPIS)}")


def report(job, options=(), **more):
    """The report of a job as a dictionary, with what `lapwing run --json` writes.

    `job` is the path of a file that `lapwing run --json --output` has written, or the words of a command, launcher first, which is
    run by `lapwing run`, with `options` such as ["--engine", "kernel"]. `more` goes to subprocess.run. A job that fails raises
    subprocess.CalledProcessError.
    """
    if isinstance(job, (str, os.PathLike)):
        return json.loads(pathlib.Path(job).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="lapwing-") as directory:
        file = pathlib.Path(directory) / "report.json"
        subprocess.run([tool_path(), "run", "--json", "--output", file, *options, "--", *job], check=True, **more)
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise Error("the job ended without a report: no rank came through MPI_Finalize with Lapwing; is "
                        f"{job[0]} the launcher of the program's MPI?") from None
