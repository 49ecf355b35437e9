"""The source distribution: the repository's files and nothing else, from which CMake configures."""

import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
from pathlib import Path

from support import ROOT, mpis, run

# What lies beside the sources of whoever has built, tested and measured.
LEFT_BEHIND = (
    ".deps/usr/include/other.h",
    ".deps/venv/bin/python",
    "build/default/lib/libhob_mpich.so",
    "dist/hob_mpi-0.0.0-py3-none-any.whl",
    "out/demo/demo.html",
    "tools/hob/__pycache__/cli.cpython-311.pyc",
)
MAKE = "import sys; sys.path.insert(0, 'packaging/pip'); import backend; backend.build_sdist(sys.argv[1])"


@unittest.skipUnless((ROOT / ".git").exists(), "no clone: nothing says which files are sources")
class SourceDistribution(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        directory = Path(cls.scratch.name)
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True
        ).stdout
        cls.sources = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
        tree = directory / "tree"
        for name in cls.sources:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
            (tree / name).chmod((ROOT / name).stat().st_mode)
        for name in LEFT_BEHIND:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text("not a source\n")
        subprocess.run(
            [sys.executable, "-B", "-c", MAKE, directory / "dist"],
            cwd=tree,
            check=True,
            capture_output=True,
        )
        (cls.file,) = (directory / "dist").iterdir()
        with tarfile.open(cls.file) as archive:
            archive.extractall(directory / "unpacked", filter="data")
        (cls.unpacked,) = (directory / "unpacked").iterdir()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_it_is_named_by_name_and_version(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        name = f"{project['name'].replace('-', '_')}-{project['version']}"
        self.assertEqual((self.file.name, self.unpacked.name), (f"{name}.tar.gz", name))

    def test_it_has_the_sources_and_nothing_else(self):
        files = {
            str(path.relative_to(self.unpacked))
            for path in self.unpacked.rglob("*")
            if path.is_file()
        }
        self.assertEqual(self.sources - files, set())
        self.assertEqual(files - self.sources, {"PKG-INFO"})

    def test_what_is_executed_can_be(self):
        for name in ("hob", "scripts/setup"):
            self.assertTrue((self.unpacked / name).stat().st_mode & 0o100, name)

    def test_cmake_configures_from_it(self):
        name, mpi = next(iter(mpis().items()))
        words = ["cmake", "-G", "Ninja", "-S", self.unpacked, "-B", f"{self.scratch.name}/build"]
        status, out, err = run([*words, f"-DHOB_MPICC={mpi['cc']}"])
        self.assertEqual(status, 0, f"{name}: {out}{err}")
        rules = Path(self.scratch.name, "build", "build.ninja").read_text()
        self.assertIn(f"libhob_{mpi['family']}.so", rules)


if __name__ == "__main__":
    unittest.main()
