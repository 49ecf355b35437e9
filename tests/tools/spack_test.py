"""The Spack recipe, read with a stand-in for Spack: what it fetches is there, what it names CMake knows,
and what CMake looks for it names."""

import importlib.util
import re
import subprocess
import sys
import tempfile
import tomllib
import types
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT, mpis, run

REPOSITORY = ROOT / "packaging" / "spack"
RECIPE = REPOSITORY / "packages" / "hob" / "package.py"
# What CMake looks for, and the Spack package that has it; None: no package of its own.
PACKAGES = {
    "fmt": "fmt",
    "nlohmann_json": "nlohmann-json",
    "CLI11": "cli11",
    "Boost": "boost",
    "hwloc.h": "hwloc",
    "hwloc/autogen/config.h": "hwloc",
    "Python3": "python",
    "Threads": None,
    "GTest": None,  # of the tests, which the recipe leaves out
}
# What is needed without being looked for: compilers and CMake itself, the MPI that is named, pictures.
UNSEARCHED = {"c", "cxx", "cmake", "mpi", "py-matplotlib"}


class CMakePackage:
    """The part of Spack's class that the recipe uses."""

    def __init__(self, mpicc):
        self.spec = {"mpi": types.SimpleNamespace(mpicc=mpicc)}

    @staticmethod
    def define(name, value):
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        return f"-D{name}:STRING={value}"


def recipe():
    """(the recipe's class, {directive: [(arguments, keywords), ...]})."""
    said = {"license": [], "version": [], "depends_on": []}
    package = types.ModuleType("spack.package")
    package.CMakePackage = CMakePackage
    for name, calls in said.items():
        setattr(package, name, lambda *words, calls=calls, **more: calls.append((words, more)))
    with mock.patch.dict(
        sys.modules, {"spack": types.ModuleType("spack"), "spack.package": package}
    ):
        spec = importlib.util.spec_from_file_location("recipe", RECIPE)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.Hob, said


def git(*words, cwd=ROOT):
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def cmake_files():
    """The text of CMake's files, those of the tests left out."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    for part in ("src", "tools"):
        files += (ROOT / part).rglob("CMakeLists.txt")
    return "\n".join(file.read_text() for file in files)


class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package, cls.said = recipe()
        names = [words[0] for words, _ in cls.said["depends_on"]]
        # name@from: as {name: from}
        cls.needs = {name.partition("@")[0]: name.partition("@")[2].rstrip(":") for name in names}

    def test_it_lies_where_spack_looks(self):
        self.assertEqual((REPOSITORY / "repo.yaml").read_text(), "repo:\n  namespace: hob\n")
        self.assertEqual(RECIPE.parent.name, self.package.__name__.lower())

    def test_each_dependency_is_looked_for_and_each_one_looked_for_is_named(self):
        looked_for = set(
            re.findall(
                r"^\s*find_(?:package\(|path\(\w+ )([\w./]+)", cmake_files(), flags=re.MULTILINE
            )
        )
        self.assertEqual(looked_for, set(PACKAGES))
        wanted = {PACKAGES[name] for name in looked_for} - {None}
        self.assertEqual(set(self.needs), wanted | UNSEARCHED)

    def test_versions_agree(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        cmake = (ROOT / "CMakeLists.txt").read_text()
        self.assertIn(f"project(hob VERSION {project['version']} ", cmake)
        self.assertIn(f"cmake_minimum_required(VERSION {self.needs['cmake']})", cmake)
        self.assertEqual(project["requires-python"], f">={self.needs['python']}")
        for words, _ in self.said["version"]:
            self.assertIn(words[0], ("main", project["version"]))

    def test_every_version_can_be_fetched(self):
        self.assertEqual(self.package.git, ROOT.resolve().as_uri())
        self.assertTrue(self.said["version"])
        for words, how in self.said["version"]:
            self.assertEqual(list(how), ["branch"], words)
            if git("rev-parse", "--verify", "-q", f"refs/heads/{how['branch']}")[0] != 0:
                self.skipTest(f"this is no clone with a branch {how['branch']}")
            with tempfile.TemporaryDirectory() as scratch:
                # As Spack does it.
                status, _, err = git(
                    "clone",
                    "--quiet",
                    "--depth=1",
                    "--single-branch",
                    f"--branch={how['branch']}",
                    self.package.git,
                    "fetched",
                    cwd=scratch,
                )
                self.assertEqual(status, 0, err)
                self.assertTrue(Path(scratch, "fetched", "CMakeLists.txt").exists())

    def test_cmake_knows_every_variable(self):
        mpi = next(iter(mpis().values()))
        words = self.package(mpi["cc"]).cmake_args()
        for word in words:
            name = word.removeprefix("-D").partition(":")[0]
            self.assertRegex(cmake_files(), rf"(option\({name} |set\({name} .* CACHE )")
        with tempfile.TemporaryDirectory() as build:
            status, out, err = run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *words])
            self.assertEqual(status, 0, out + err)
            self.assertNotIn("not used by the project", out + err)
            rules = Path(build, "build.ninja").read_text()
        self.assertIn(f"libhob_{mpi['family']}.so", rules)
        self.assertNotIn("gtest", rules)
        self.assertNotIn("hob-bench-", rules)


if __name__ == "__main__":
    unittest.main()
