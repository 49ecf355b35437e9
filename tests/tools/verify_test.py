"""What a first run tells: stale bytes fail it, savings are told with threads too, and the public
CLaMPI's info values are known. On MPICH 5, each rank a node over TCP."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import BIN, ROOT, hob, mpis, run

STALE = 86

# Breaks the promise of cache=always: rank 1 changes what rank 0 reads again.
BROKEN = """#include <mpi.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  int rank;
  long *memory, got = 0, sum = 0;
  MPI_Win win;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 10; i++) memory[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 50; k++) {
    if (rank == 1) {
      memory[3] = k;
      MPI_Win_sync(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Get(&got, 1, MPI_LONG, 1, 3, 1, MPI_LONG, win);
      MPI_Win_flush(1, win);
      sum += got;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(win);
  if (!rank) printf("sum %ld\\n", sum);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
"""

# 2,000 gets of 20 places, with the thread level that mpi4py asks for; then 2,000 more, flushed all at once.
THREADS = """#include <mpi.h>
int main(int c, char** v) {
  int level, rank;
  long *memory, got;
  MPI_Win win;
  MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &level);
  if (level != MPI_THREAD_MULTIPLE) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(8000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 1000; i++) memory[i] = i;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 4000; k++) {
    MPI_Get(&got, 1, MPI_LONG, 1 - rank, k % 20 * 50, 1, MPI_LONG, win);
    if (k < 2000) MPI_Win_flush(1 - rank, win); else MPI_Win_flush_all(win);
    if (got != k % 20 * 50) return 1;
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
"""

# Prints how many of ten gets of one place were hits: in the middle is the public code's call.
CLAMPI = """#define HOB_WEAK
#include <hob/hob.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  int rank;
  long *memory, got;
  MPI_Win win;
  MPI_Info info;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, "CLAMPI_MODE", v[1]);
  MPI_Win_allocate(80, 8, info, MPI_COMM_WORLD, &memory, &win);
  memory[0] = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 10; k++) {
    if (k == 5 && CMPI_Win_invalidate) CMPI_Win_invalidate(win);
    MPI_Get(&got, 1, MPI_LONG, 1 - rank, 0, 1, MPI_LONG, win);
    MPI_Win_flush(1 - rank, win);
    if (got != 1 - rank) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Win_unlock_all(win);
  unsigned long long hits = 0;
  if (HOB_Counter) HOB_Counter("hits_full", &hits);
  if (!rank) printf("hits %llu\\n", hits);
  MPI_Win_free(&win);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
"""


@unittest.skipUnless("mpich5" in mpis(), "MPICH 5 was not set up")
class FirstRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        for name, text in (("broken", BROKEN), ("threads", THREADS), ("clampi", CLAMPI)):
            source = cls.directory / f"{name}.c"
            source.write_text(text)
            words = [mpis()["mpich5"]["cc"], f"-I{ROOT / 'include'}", source]
            subprocess.run([*words, "-o", cls.directory / name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def broken(self, *options, command="run"):
        words = ("-n", 2, "--remote", "--cache", "always", "--verify", 1, *options)
        return hob(command, *words, self.directory / "broken")

    def test_stale_bytes_are_told_and_have_a_status(self):
        file = self.directory / "stale.json"
        status, out, err = self.broken("--quiet", "--json", file)
        self.assertEqual(status, STALE, err)
        self.assertIn("sum ", out)  # what the program printed is there
        self.assertEqual(err.count("verify FAILED"), 1, err)
        self.assertIn("displacement 24", err)
        status, out, _ = hob("advise", "--from", file)
        self.assertEqual(status, STALE)
        self.assertTrue(out.startswith("FAILED: 49 of 49 cached gets"), out)
        self.assertIn("cached gets: FAILED", out)
        self.assertNotIn("helps", out)
        status, _, err = hob("report", file)
        self.assertEqual(status, 0, err)
        page = file.with_suffix(".html").read_text()
        body = page[page.index("</header>") :]
        self.assertLess(body.index("verdict failed"), body.index("tile"))

    def test_summary_says_so_first(self):
        status, _, err = self.broken("--set", "verify_action=report")
        self.assertEqual(status, 0, err)
        lines = [line for line in err.splitlines() if line.startswith("hob: ")]
        self.assertIn("verify FAILED: rank 0 served 8 stale bytes", lines[0])
        self.assertIn("verify FAILED: 49 of 49", lines[1])

    def test_abort_ends_the_job_at_the_first(self):
        status, out, err = self.broken("--set", "verify_action=abort")
        self.assertNotEqual(status, 0)
        self.assertNotIn("sum ", out)
        self.assertEqual(err.count("verify FAILED"), 1, err)

    def test_a_status_of_the_programs_own_stays(self):
        words = ("-n", 2, "--remote", "--verify", 1, self.directory / "threads")
        self.assertEqual(hob("run", *words)[0], 0)

    def test_advise_fails_too(self):
        status, out, err = self.broken(command="advise")
        self.assertEqual(status, STALE, err)
        self.assertIn("FAILED: 49 of 49", out)

    def test_threads_are_measured_as_without(self):
        file = self.directory / "threads.json"
        words = ("-n", 2, "--remote", "--json", file, self.directory / "threads")
        status, out, err = hob("advise", *words)
        self.assertEqual(status, 0, err)
        # From twice as fast on, the advice names the factor; on a loaded machine too few waits may have a price.
        self.assertRegex(
            out,
            r"^(Hob (saved (each|the average) rank (about )?\d|made this run about)|The cache answered [\d,]+ gets\. What that saved is unknown)",
        )
        self.assertRegex(out, "cached gets: (helps|may help|not measured)")
        report = json.loads(file.read_text())
        self.assertEqual(report["program"]["threads"], "multiple")
        for rank in report["ranks"]:
            counters = rank["windows"][0]["counters"]
            self.assertGreater(counters["waits"], 0)
            self.assertGreater(counters["saved_ns"] + counters["unpriced_hits"], 0)

    def test_modes_of_the_public_clampi(self):
        plain = [mpis()["mpich5"]["exec"], "-n", 2, self.directory / "clampi", 1]
        self.assertEqual(run(plain)[:2], (0, "hits 0\n"))
        for mode, hits in (("1", 0), ("2", 8), ("3", 8), ("CLAMPI_ALWAYS_CACHE", 8)):
            with self.subTest(mode):
                words = ("-n", 2, "--set", "cache_bypass=off", "--quiet")
                status, out, err = hob("run", *words, self.directory / "clampi", mode)
                self.assertEqual((status, out), (0, f"hits {hits}\n"), err)

    def test_wrapper_between_launcher_and_hob_exec(self):
        """The MPI library of a program that loads it late is the launcher's, whatever is between."""
        exec_line = f"{BIN / 'hob-exec'} --mpi mpich --which /usr/bin/env; true"
        wrapper = ["sh", "-c", f"sh -c '{exec_line}'; true"]
        status, out, err = run([mpis()["mpich5"]["exec"], "-n", 1, *wrapper])
        self.assertEqual(status, 0, err)
        launcher = Path(mpis()["mpich5"]["exec"]).parent.parent
        self.assertTrue(json.loads(out)["mpi"].startswith(str(launcher)), out)


if __name__ == "__main__":
    unittest.main()
