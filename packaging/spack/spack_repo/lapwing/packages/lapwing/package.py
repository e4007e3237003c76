# SPDX-FileCopyrightText: 2026 The Lapwing authors
# SPDX-License-Identifier: BSD-3-Clause
#
# `make dist` writes this repository to dist/spack with the checksum of the tarball. Then, in dist:
#
#   spack repo add spack/spack_repo/lapwing
#   spack install lapwing ^openmpi
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Lapwing(CMakePackage):
    """MPI messages and nonblocking collectives that overlap with computation: put
    `lapwing run --` in front of mpirun. A thread drives the MPI for large
    messages; the Linux kernel or a progress thread runs collectives."""

    homepage = "https://lapwing.invalid"
    # The tarball of `make dist`, in the directory in which spack runs.
    url = f"file://{os.getcwd()}/lapwing-0.3.1.tar.gz"
    manual_download = True

    license("BSD-3-Clause")

    version("0.3.1", sha256="@SHA256@")

    variant("rdma", default=True, description="The engine for ConnectX cards")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("fmt@9:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")

    depends_on("mpi")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("elfutils")
    depends_on("hwloc@2:")
    depends_on("libsodium")
    depends_on("liburing@2.3:")
    # Headers are always needed; jobs load the libraries where they are.
    depends_on("libfabric", type=("build", "link", "run"))
    depends_on("ucx", type=("build", "link", "run"))
    depends_on("rdma-core", when="+rdma")

    requires("platform=linux")
    requires(
        "^[virtuals=mpi] openmpi",
        "^[virtuals=mpi] mpich",
        policy="one_of",
        msg="Lapwing supports Open MPI and MPICH",
    )
    conflicts("%gcc@:11", msg="Lapwing needs C++20 as GCC 12 has it")

    generator("ninja")

    def cmake_args(self):
        wrapper = self.spec["mpi"].prefix.bin.mpicc
        openmpi = self.spec.satisfies("^[virtuals=mpi] openmpi")
        return [
            self.define("LAPWING_LAB", True),
            self.define("LAPWING_CCACHE", False),
            self.define("LAPWING_OPENMPI_WRAPPER", wrapper if openmpi else ""),
            self.define("LAPWING_MPICH_WRAPPER", "" if openmpi else wrapper),
            self.define("LAPWING_ABI_WRAPPER", ""),
        ]

    def test_lists(self):
        """prove the lists of one collective"""
        lapwing = Executable(self.prefix.bin.lapwing)
        out = lapwing("verify", "--collective", "barrier", "--ranks", "2:8", output=str.split)
        assert "0 violations" in out
