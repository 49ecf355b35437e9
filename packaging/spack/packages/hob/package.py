# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe. What is fetched is the branch main of the address in packaging/address; while that says none, of
the clone that this file lies in. In the clone:

    spack repo add packaging/spack
    spack install hob

`spack dev-build hob@main` builds what lies in the clone, whether committed or not."""

import pathlib

from spack.package import *


class Hob(CMakePackage):
    """Makes unmodified MPI programs faster: cached remote gets, ghost processes, message matching."""

    _clone = pathlib.Path(__file__).resolve().parents[4]
    _address = (_clone / "packaging" / "address").read_text().strip()
    git = _clone.as_uri() if _address == "none" else _address

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type=("build", "run"))
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
