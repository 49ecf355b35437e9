"""README's build for a cluster, with each MPI library alone: all are configured, one is built and run."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT, mpis, run

# Programs that are compiled by the MPI library's wrapper, and for which libraries.
PROGRAMS = {
    "ghost_bench": ("mpich",),
    "rma_hit": ("mpich", "openmpi", "abi"),
    "lcc": ("mpich", "openmpi", "abi"),
}


def readme_line(start):
    """The line of README.md that begins so."""
    for line in (ROOT / "README.md").read_text().splitlines():
        if line.strip().startswith(start):
            return line.strip()
    raise AssertionError(f"README.md has no line that begins with {start}")


class Cluster(unittest.TestCase):
    def configure(self, mpi, build, *more):
        line = readme_line("cmake -B build").split(" && ")[0]
        words = shlex.split(line.replace("-DHOB_MPICC=mpicc", f"-DHOB_MPICC={mpi['cc']}"))
        words[words.index("build")] = str(build)
        # Nothing that scripts/setup found is named; its directory has only the headers.
        done = subprocess.run(
            [*words, "-G", "Ninja", "-S", str(ROOT), *more],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return build

    def test_compilers_are_bounded(self):
        self.assertRegex(readme_line("cmake -B build"), r"--build build -j \d+$")

    def test_each_mpi_alone_is_configured(self):
        for name, mpi in mpis().items():
            if name == "openmpi4":
                continue  # refused: below
            for more in ((), ("-DHOB_BUILD_BENCH=ON", "-DHOB_BUILD_APPS=ON")):
                with self.subTest(name, more=more), tempfile.TemporaryDirectory() as scratch:
                    build = self.configure(mpi, Path(scratch, "build"), *more)
                    rules = (build / "build.ninja").read_text()
                    self.assertIn(f"libhob_{mpi['family']}.so", rules)
                    for other in {"mpich", "openmpi", "abi"} - {mpi["family"]}:
                        self.assertNotIn(f"libhob_{other}.so", rules)
                    # Another compiler may warn of what ours does not.
                    self.assertIn(" -Wall ", rules)
                    self.assertNotIn("-Werror", rules)
                    # No command without its compiler.
                    self.assertIsNone(re.search(r"&& +-std=", rules))
                    for program, families in PROGRAMS.items():
                        expected = bool(more) and mpi["family"] in families
                        self.assertEqual(f"bin/{mpi['family']}/{program}" in rules, expected)

    def test_a_header_that_lacks_calls_is_refused(self):
        with tempfile.TemporaryDirectory() as scratch:
            wrapper = Path(scratch, "mpicc")
            wrapper.write_text("#!/bin/sh\nprintf 'hob_family openmpi\\nhob_openmpi 4\\n'\n")
            wrapper.chmod(0o755)
            words = ["cmake", "-S", ROOT, "-B", Path(scratch, "build"), "-G", "Ninja"]
            status, _, err = run([*words, f"-DHOB_MPICC={wrapper}"])
        self.assertNotEqual(status, 0)
        said = " ".join(err.split())
        self.assertIn("belongs to Open MPI 4: name the mpicc of Open MPI 5, or carry a wheel", said)

    def test_one_is_built_and_installed(self):
        # Of Intel MPI, whose header differs most, nothing else is compiled.
        known = mpis()
        mpi = known.get("intel") or next(iter(known.values()))
        with tempfile.TemporaryDirectory() as scratch:
            build, prefix = Path(scratch, "build"), Path(scratch, "hob")
            self.configure(mpi, build)
            jobs = str(os.cpu_count() or 1)
            for command in (
                ["cmake", "--build", build, "-j", jobs],
                ["cmake", "--install", build, "--prefix", prefix],
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
            source = Path(scratch, "p.c")
            source.write_text(
                "#include <mpi.h>\nint main(int c, char** v)"
                "{ MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
            )
            program = Path(scratch, "p")
            subprocess.run([mpi["cc"], source, "-o", program], check=True)
            status, _, err = run(
                [mpi["exec"], "-n", "2", prefix / "bin" / "hob", "exec", program],
                OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            )
            self.assertEqual(status, 0, err)
            self.assertIn("hob", err)


if __name__ == "__main__":
    unittest.main()
