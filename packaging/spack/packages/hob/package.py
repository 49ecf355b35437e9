# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. In a clone: spack repo add packaging/spack; spack dev-build hob@main"""

from spack.package import *


class Hob(CMakePackage):
    """Makes unmodified MPI programs faster: cached remote gets, ghost processes, message matching."""

    license("BSD-3-Clause")

    version("main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-matplotlib", type="run")
    depends_on("mpi")
    depends_on("fmt@9:")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.11:")
    depends_on("boost@1.74:")
    depends_on("hwloc@2:")

    def cmake_args(self):
        return [
            self.define("HOB_MPICC", self.spec["mpi"].mpicc),
            self.define("HOB_BUILD_TESTS", False),
            self.define("HOB_BUILD_BENCH", False),
            self.define("HOB_BUILD_APPS", False),
        ]
