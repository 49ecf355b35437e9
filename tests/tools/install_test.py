"""An installation in a directory of its own: the command, preloading, linking, find_package."""

import json
import os
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from support import ROOT, install, mpis, run

import fabric_rows
from hob.benches import fabric

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

# It asks for a mode of its own for its window.
ASKING = """#include <mpi.h>
int main(void) {
  int* memory;
  MPI_Info info;
  MPI_Win win;
  MPI_Init(0, 0);
  MPI_Info_create(&info);
  MPI_Info_set(info, "hob_cache", "always");
  MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_free(&win);
  MPI_Info_free(&info);
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
        install(cls.prefix)
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
        self.assertEqual(list(self.prefix.rglob("*.pyc")), [])  # nothing would remove them

    def test_a_program_is_preloaded(self):
        hob = self.prefix / "bin" / "hob"
        status, out, err = run(
            [self.mpi["exec"], "-n", "1", hob, "exec", "--quiet", self.program], **AS_ROOT
        )
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)
        found = json.loads(run([hob, "exec", "--which", self.program])[1])
        self.assertTrue(found["hob"].startswith(str(self.prefix)), found)

    def test_what_the_site_says_holds(self):
        prefix = self.directory / "site"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        (prefix / "etc").mkdir(mode=0o755)
        conf, log = prefix / "etc" / "hob.conf", self.directory / "jobs.log"

        def start(text, *words, **environment):
            conf.write_text(text)
            conf.chmod(0o644)
            out_file = self.directory / "site.json"
            words = ["run", "-n", "2", "--json", out_file, *words, self.program]
            status, out, err = run([prefix / "bin" / "hob", *words], **AS_ROOT, **environment)
            self.assertEqual(status, 0, err)
            report = json.loads(out_file.read_text()) if out_file.exists() else None
            out_file.unlink(missing_ok=True)
            return out, err, report

        lines = f"lock cache = strict\ncache_size = 1M\nlock job_log = {log}\n"
        out, err, report = start(lines, "--cache", "always", HOB_CACHE_SIZE="2M", HOB_JOB_LOG="x")
        self.assertEqual(out.count("hob loaded: 1"), 2)
        settings = report["settings"]
        self.assertEqual(settings["cache"], {"value": "strict", "from": "site"})
        self.assertEqual(settings["cache_size"], {"value": "2M", "from": "environment"})
        self.assertIn(f"hob: cache = always is not used: {conf} locks it at 'strict'", err)
        self.assertEqual(err.count("is not used"), 2, err)
        self.assertRegex(
            log.read_text(),
            rf"^hob=\S+ uid={os.getuid()} host=\S+ program=p ranks=2 nodes=1 mpi=\w+ seconds=[\d.]+ saved_seconds=[\d.]+\n$",
        )
        # Nor does an info key change it.
        asking, out_file = self.directory / "asking", self.directory / "asking.json"
        (self.directory / "asking.c").write_text(ASKING)
        compile_it = [self.mpi["cc"], self.directory / "asking.c", "-o", asking]
        subprocess.run(compile_it, check=True, capture_output=True)
        for text, mode in (("lock cache = strict\n", "strict"), ("cache = strict\n", "always")):
            conf.write_text(text)
            words = ["run", "-n", "2", "--remote", "--json", out_file, asking]
            self.assertEqual(run([prefix / "bin" / "hob", *words], **AS_ROOT)[0], 0)
            (window,) = json.loads(out_file.read_text())["ranks"][0]["windows"]
            self.assertEqual(window["mode"], mode)
        # And `hob doctor` tells it, and that no line can be added for this user.
        conf.write_text("lock cache = strict\njob_log = /nowhere/jobs.log\n")
        status, out, err = run([prefix / "bin" / "hob", "doctor"])
        self.assertEqual(status, 1, err)
        for told in (
            rf"site's file +{conf}\n",
            r"  cache +strict, which users may not change\n",
            r"Change: job_log: let users append to it",
        ):
            self.assertRegex(out, told)
        # Off for all: nothing is loaded, and ghosts are not asked for.
        out, err, report = start("lock off = on\n", "--ghosts", "1", HOB_OFF="off")
        self.assertEqual(out.count("hob loaded: 0"), 2, out)
        self.assertIn(f"hob: without Hob: {conf} turns it off", err)
        self.assertIsNone(report)
        for words in (["run", "--measure"], ["advise"]):
            status, out, err = run([prefix / "bin" / "hob", *words, "-n", "2", self.program])
            self.assertEqual((status, out), (2, ""))
            self.assertIn(f"hob: {conf} turns Hob off here: there is nothing to", err)
        self.assertEqual(run([prefix / "bin" / "hob", "doctor", self.program])[0], 3)
        # Not locked, a user may turn it on again.
        self.assertEqual(start("off = on\n", "--set", "off=off")[0].count("hob loaded: 1"), 2)
        # A library that is loaded by itself obeys, too.
        conf.write_text("off = on\n")
        library = prefix / "lib" / "hob" / f"libhob_{self.mpi['family']}.so"
        start_plain = [self.mpi["exec"], "-n", "1", "env", f"LD_PRELOAD={library}", self.program]
        status, out, err = run(start_plain, **AS_ROOT)
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)
        self.assertNotIn("hob:", err)
        # A file that others may write to says nothing.
        conf.write_text("lock off = on\n")
        conf.chmod(0o666)
        words = ["run", "-n", "1", self.program]
        status, out, err = run([prefix / "bin" / "hob", *words], **AS_ROOT)
        self.assertEqual((status, out), (0, "hob loaded: 1\n"), err)
        self.assertIn("others than its owner may write to it; it is not used", err)

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

    def test_it_measures_the_fabric(self):
        """No source is there: the site's mpicc compiles what is measured."""
        words = ["--quick", "--mpicc", self.mpi["cc"], "--json", "out.json"]
        hob = self.prefix / "bin" / "hob"
        status, out, err = run([hob, "bench", "fabric", *words], cwd=self.directory, **AS_ROOT)
        self.assertEqual(status, 0, out + err)
        result = json.loads((self.directory / "out.json").read_text())
        self.assertIn("Both ranks were on one host", result["sentences"][0])
        self.assertEqual({row["what"] for row in result["rows"]}, set(fabric_rows.FABRIC))
        self.assertIn("shared memory", (self.directory / "fabric.html").read_text())
        status, out, err = run([hob, "bench", "overhead", *words], cwd=self.directory, **AS_ROOT)
        self.assertIn(status, (0, 1), out + err)  # numbers of a loaded machine may miss a limit
        (row,) = json.loads((self.directory / "out.json").read_text())["rows"]
        self.assertEqual(row["ranks"], 2)
        self.assertGreater(row["rank_hob_mib"], 0)

    def test_other_benches_say_what_they_lack(self):
        status, _, err = run([self.prefix / "bin" / "hob", "bench", "hit"])
        self.assertEqual(status, 2)
        self.assertIn("source", err)

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


class Fabric(unittest.TestCase):
    """What `hob bench fabric` says about numbers."""

    def said(self, **changed):
        rows = [
            {"what": what, **dict(zip(("without_us", "hob_us", "ghosts_us"), changed.get(key, us)))}
            for what, (key, us) in fabric_rows.FABRIC.items()
        ]
        return "\n".join(fabric.sentences(rows, {"here": "a", "there": "b"}))

    def test_where_all_gain(self):
        said = self.said()
        self.assertIn("100 times faster", said)
        self.assertIn("programs whose targets compute gain from ghosts", said)
        self.assertIn("add 300 us to a message, with Hob 2 us", said)
        self.assertNotIn("one host", said)

    def test_where_nothing_gains(self):
        said = self.said(again=(1, 1, 1), busy=(16, 16, 20), deep=(13, 13, 13))
        self.assertIn("nothing to gain", said)
        self.assertIn("ghosts gain nothing", said)
        self.assertIn("matching gains little", said)

    def test_without_ghosts_it_says_nothing_of_them(self):
        self.assertNotIn("ghost", self.said(busy=(5000, 5000)))


if __name__ == "__main__":
    unittest.main()
