"""An installation in a directory of its own: the command, preloading, linking, find_package."""

import json
import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from support import BUILD, ROOT, mpis, run

PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int loaded = 0;
  while (fgets(line, sizeof line, maps)) {
    for (char* at = line; *at; ++at) {
      if (at[0] == 'l' && at[1] == 'i' && at[2] == 'b' && at[3] == 'h' && at[4] == 'o' &&
          at[5] == 'b' && at[6] == '_') loaded = 1;
    }
  }
  fclose(maps);
  printf("hob loaded: %d\\n", loaded);
  MPI_Finalize();
  return 0;
}
"""

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(hob REQUIRED)
foreach(family IN ITEMS mpich openmpi abi)
  if(TARGET hob::${family})
    get_target_property(where hob::${family} IMPORTED_LOCATION)
    message(STATUS "found ${where}")
  endif()
endforeach()
get_target_property(headers hob::headers INTERFACE_INCLUDE_DIRECTORIES)
if(NOT EXISTS "${headers}/hob/hob.h")
  message(FATAL_ERROR "no header in ${headers}")
endif()
"""

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        cls.prefix = cls.directory / "prefix"
        subprocess.run(
            ["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True
        )
        (cls.directory / "p.c").write_text(PROGRAM)
        cls.mpi = next(iter(mpis().values()))
        cls.program = cls.directory / "p"
        subprocess.run([cls.mpi["cc"], cls.directory / "p.c", "-o", cls.program], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_the_command_works(self):
        status, out, err = run([self.prefix / "bin" / "hob", "config", "--json"])
        self.assertEqual(status, 0, err)
        self.assertIn("cache", [row["key"] for row in json.loads(out)])

    def test_a_program_is_preloaded(self):
        hob = self.prefix / "bin" / "hob"
        status, out, err = run(
            [self.mpi["exec"], "-n", "1", hob, "exec", "--quiet", self.program], **AS_ROOT
        )
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)
        found = json.loads(run([hob, "exec", "--which", self.program])[1])
        self.assertTrue(found["hob"].startswith(str(self.prefix)), found)

    def test_hob_run_starts_it(self):
        hob = self.prefix / "bin" / "hob"
        status, out, err = run([hob, "run", "-n", "1", "--quiet", self.program], **AS_ROOT)
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)

    def test_a_program_links_with_pkg_config(self):
        if not shutil.which("pkg-config"):
            self.skipTest("no pkg-config here")
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", f"hob-{self.mpi['family']}"],
            env={**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "lib" / "pkgconfig")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        linked = self.directory / "linked"
        subprocess.run([self.mpi["cc"], self.directory / "p.c", *flags, "-o", linked], check=True)
        status, out, err = run(
            [self.mpi["exec"], "-n", "1", linked], HOB_REPORT="silent", **AS_ROOT
        )
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config here")
    def test_pkg_config_knows_every_family(self):
        version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
        path = str(self.prefix / "lib" / "pkgconfig")
        for family in {mpi["family"] for mpi in mpis().values()}:
            with self.subTest(family):
                known = ["pkg-config", "--modversion", f"hob-{family}"]
                status, out, err = run(known, PKG_CONFIG_PATH=path)
                self.assertEqual((status, out.strip()), (0, version), err)
                library = ["pkg-config", "--variable=libdir", f"hob-{family}"]
                where = Path(run(library, PKG_CONFIG_PATH=path)[1].strip())
                self.assertTrue((where / f"libhob_{family}.so").exists(), where)

    def test_cmake_finds_it(self):
        project = self.directory / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(PROJECT)
        done = subprocess.run(
            ["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"libhob_{self.mpi['family']}.so", done.stdout)


if __name__ == "__main__":
    unittest.main()
