"""The binary wheel: packed from this build, installed without a compiler, used from elsewhere."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from support import BUILD, ROOT, mpis, run

from install_test import AS_ROOT, PROGRAM

sys.path.insert(0, str(ROOT / "tests"))
import installed_wheel  # noqa: E402

CHECK = ROOT / "scripts" / "check-glibc"


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        cls.wheel, cls.there = installed_wheel.install(BUILD, cls.directory)
        cls.hob = cls.there / "bin" / "hob"
        (cls.directory / "p.c").write_text(PROGRAM)
        cls.programs = {}
        for name, mpi in mpis().items():
            cls.programs[name] = cls.directory / name
            subprocess.run(
                [mpi["cc"], cls.directory / "p.c", "-o", cls.programs[name]],
                check=True,
                capture_output=True,
            )

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_its_name_says_which_glibc_it_needs(self):
        self.assertRegex(self.wheel.name, r"^hob_mpi-[\d.]+-py3-none-manylinux_2_34_\w+\.whl$")
        status, out, err = run([CHECK, "2.34", self.there])
        self.assertEqual(status, 0, out + err)
        self.assertEqual(
            re.match(r"\d+", out)[0], str(2 + len({m["family"] for m in mpis().values()}))
        )

    def test_it_is_as_large_as_pages_say(self):
        families = {mpi["family"] for mpi in mpis().values()}
        if len(families) < 3:
            self.skipTest("pages speak of a wheel with every family")
        said = json.loads((ROOT / "docs/measurements/2026-11-headline.json").read_text())
        self.assertAlmostEqual(self.wheel.stat().st_size / 1e6, said["wheel_mb"], delta=1)

    def test_a_newer_symbol_is_named(self):
        source, library = self.directory / "new.c", self.directory / "libnew.so"
        source.write_text(
            "#include <pthread.h>\nint f(void) { return pthread_join(pthread_self(), 0); }\n"
        )
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
        status, out, err = run([CHECK, "2.2", self.directory / "libnew.so"])
        self.assertEqual(status, 1)
        self.assertIn(f"{library}: pthread_join needs glibc 2.", out)
        self.assertIn("newer than glibc 2.2", err)
        # Nothing to look at is no good news.
        self.assertEqual(run([CHECK, "2.34", source])[0], 1)

    def test_it_has_every_family_and_no_sources_but_the_demos(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for mpi in mpis().values():
            self.assertTrue(
                any(name.endswith(f"/lib/hob/libhob_{mpi['family']}.so") for name in names), names
            )
        sources = [name for name in names if name.endswith((".cpp", ".hpp"))]
        self.assertFalse([name for name in sources if "/share/hob/apps/" not in name])

    def test_it_serves_each_mpi_library(self):
        for name, program in self.programs.items():
            with self.subTest(mpi=name):
                status, out, err = run(
                    [mpis()[name]["exec"], "-n", "1", self.hob, "exec", "--quiet", program],
                    **AS_ROOT,
                )
                self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)
                found = json.loads(run([self.hob, "exec", "--which", program])[1])
                self.assertTrue(found["hob"].startswith(str(self.there)), found)

    def test_it_runs_and_reports_in_any_directory(self):
        program = next(iter(self.programs.values()))
        status, out, err = run(
            [self.hob, "run", "-n", "2", "--json", "run.json", program],
            cwd=self.directory,
            **AS_ROOT,
        )
        self.assertEqual((status, out.count("hob loaded: 1")), (0, 2), err)
        status, out, err = run([self.hob, "report", "run.json"], cwd=self.directory)
        self.assertEqual(status, 0, err)
        self.assertTrue(list(self.directory.glob("*.html")), os.listdir(self.directory))

    def test_what_needs_the_source_says_so(self):
        status, _, err = run([self.hob, "bench", "hit"], cwd=self.directory)
        self.assertEqual(status, 2)
        self.assertIn("source", err)
        self.assertNotIn("Traceback", err)

    def test_the_demo_is_compiled_here(self):
        mpi = next(mpi for mpi in mpis().values() if mpi["family"] == "mpich")
        words = ["demo", "--mpicxx", mpi["cxx"], "--ranks", "2", "--seconds", "1"]
        status, out, err = run([self.hob, *words], cwd=self.directory, **AS_ROOT)
        self.assertEqual(status, 0, out + err)
        self.assertIn("all the same", out)
        self.assertIn("2 ranks, each its own node over TCP", out)
        self.assertIn("with Hob", (self.directory / "out/demo/demo.html").read_text())

    def test_a_demo_without_a_compiler_says_so(self):
        words = ["demo", "--mpicxx", "/nowhere/mpicxx"]
        status, _, err = run([self.hob, *words], cwd=self.directory)
        self.assertEqual(status, 2)
        self.assertIn("/nowhere/mpicxx: No such file", err)
        self.assertNotIn("Traceback", err)


if __name__ == "__main__":
    unittest.main()
