"""A program under its launcher with Hob, from the command to the page, as a user does it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import BIN, hob, mpis, run

PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(int c, char** v) {
  MPI_Init(&c, &v);
  int rank, size, *memory, got[8], wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win win;
  MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 64; ++i) memory[i] = 100 * rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  int other = (rank + 1) % size;
  for (int i = 0; i < 100; ++i) {
    MPI_Get(got, 8, MPI_INT, other, i % 8 * 8, 8, MPI_INT, win);
    MPI_Win_flush(other, win);
    for (int k = 0; k < 8; ++k) wrong += got[k] != 100 * other + i % 8 * 8 + k;
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  printf("rank %d: %d wrong\\n", rank, wrong);
  MPI_Finalize();
  return 0;
}
"""

PYTHON_PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
window = MPI.Win.Allocate(64, comm=world)
got = bytearray(8)
world.Barrier()
window.Lock_all()
for i in range(50):
    window.Get(got, (world.rank + 1) % world.size)
    window.Flush_all()
window.Unlock_all()
window.Free()
"""

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RANKS = 2


def total(report, counter):
    return sum(w["counters"][counter] for rank in report["ranks"] for w in rank["windows"])


class EndToEnd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = Path(cls.scratch.name)
        (cls.directory / "p.c").write_text(PROGRAM)
        cls.programs = {}
        for name, mpi in mpis().items():
            cls.programs[name] = cls.directory / name
            subprocess.run([mpi["cc"], cls.directory / "p.c", "-o", cls.programs[name]], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def start(self, name, *options, ranks=RANKS):
        """One run with everything cached; its report."""
        out = self.directory / f"{name}.json"
        status, printed, err = hob(
            "run",
            "-n",
            ranks,
            "--json",
            out,
            "--set",
            "cache_bypass=off",
            *options,
            self.programs[name],
            **AS_ROOT,
        )
        self.assertEqual(status, 0, err)
        for rank in range(ranks):
            self.assertIn(f"rank {rank}: 0 wrong", printed)
        return json.loads(out.read_text()), err

    def test_every_mpi(self):
        for name, mpi in mpis().items():
            with self.subTest(name):
                report, err = self.start(name)
                self.assertIn("hob: ", err)
                self.assertEqual(report["hob"]["abi"], mpi["family"])
                self.assertEqual(report["program"]["ranks"], RANKS)
                self.assertEqual(total(report, "gets"), 100 * RANKS)
                self.assertGreater(total(report, "hits_full"), 50 * RANKS)

    def test_remote_with_ghosts(self):
        report, _ = self.start("mpich5", "--remote", "--ghosts", 1)
        served = [rank["ghost"] for rank in report["ranks"]]
        self.assertEqual(report["program"]["ranks"], RANKS)
        self.assertEqual([each["node"] for each in served], list(range(RANKS)))
        self.assertGreater(sum(each["redirected"] for each in served), 0)

    def test_overlap_stays_off_where_a_node_has_more_ranks_than_processors(self):
        processors = os.sysconf("SC_NPROCESSORS_ONLN")
        if not 2 <= processors <= 8:
            self.skipTest("so many ranks would take long")
        for ranks, more in ((2, False), (processors + 1, True)):
            report, _ = self.start("mpich5", ranks=ranks)
            for rank in report["ranks"]:
                self.assertEqual("more ranks than processors" in rank["overlap"]["reason"], more)

    def test_quiet_prints_nothing(self):
        _, err = self.start(next(iter(mpis())), "--quiet")
        self.assertNotIn("hob:", err)

    def test_report_and_advice_of_it(self):
        name = next(iter(mpis()))
        self.start(name)
        source = self.directory / f"{name}.json"
        status, out, err = hob("report", source)
        self.assertEqual(status, 0, err)
        page = Path(out.strip()).read_text()
        for part in (str(self.programs[name]), "Cached gets", "full hit"):
            self.assertIn(part, page)
        status, out, err = hob("advise", "--from", source)
        self.assertEqual(status, 0, err)
        self.assertIn("of 200 remote gets were answered by the cache", out)

    def test_advise_runs_the_program(self):
        status, out, err = hob("advise", "-n", RANKS, self.programs[next(iter(mpis()))], **AS_ROOT)
        self.assertEqual(status, 0, err)
        for part in ("cached gets: ", "ghosts: ", "message matching: "):
            self.assertIn(part, out)

    def test_a_wrong_setting_is_one_line_and_status_2(self):
        for name, mpi in mpis().items():
            with self.subTest(name):
                status, out, err = run(
                    [mpi["exec"], "-n", RANKS, BIN / "hob-exec", self.programs[name]],
                    HOB_CACHE="sometimes",
                    **AS_ROOT,
                )
                self.assertNotEqual(status, 0)
                self.assertNotIn("wrong", out)
                lines = [line for line in (out + err).splitlines() if line.startswith("hob:")]
                self.assertEqual(len(lines), 1, err)
                for part in ("sometimes", "HOB_CACHE", "auto", "strict"):
                    self.assertIn(part, lines[0])

    def test_python(self):
        try:
            import mpi4py  # noqa: F401
        except ImportError:
            self.skipTest("mpi4py is not installed")
        program = self.directory / "p.py"
        program.write_text(PYTHON_PROGRAM)
        for name in ("mpich5", "openmpi5"):
            if name not in mpis():
                continue
            with self.subTest(name):
                out = self.directory / f"{name}-python.json"
                status, _, err = run(
                    [
                        mpis()[name]["exec"],
                        "-n",
                        RANKS,
                        BIN / "hob-exec",
                        "--json",
                        out,
                        sys.executable,
                        program,
                    ],
                    **AS_ROOT,
                )
                self.assertEqual(status, 0, err)
                report = json.loads(out.read_text())
                self.assertEqual(report["program"]["ranks"], RANKS)
                self.assertEqual(total(report, "gets"), 50 * RANKS)


if __name__ == "__main__":
    unittest.main()
