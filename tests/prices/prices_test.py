#!/usr/bin/env python3
"""step_counter on a library of a known number of instructions, and whether prices.py fails where it should.

prices_test.py step_counter counted_program libcounted.so
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import prices  # noqa: E402

COUNTER, PROGRAM, LIBRARY = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])

# Starts one rank; prices.py gives it the words `-n 2` and the command.
LAUNCHER = '#!/bin/sh\nshift 2\nexec "$@"\n'
KNOWN = {
    "plain": 202,
    "twice": 404,
    "calls": 4,
    "ends in call": 1,
    "called back": 4,
    "string": 3,
    "signal": 4,
    "clock": 5,
}


class Counted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.samples, visits = pathlib.Path(folder, "samples"), pathlib.Path(folder, "visits")
            words = [COUNTER, "--preload", LIBRARY, "--out", cls.samples, "--where", visits]
            done = subprocess.run(
                [*words, "--", PROGRAM], capture_output=True, text=True, check=True
            )
            cls.said = done.stdout
            cls.prices = prices.read(cls.samples)
            cls.rows = [line.split("\t") for line in cls.samples.read_text().splitlines()]
            cls.visits = visits.read_text()

    def test_instructions_are_counted(self):
        for name, known in KNOWN.items():
            # Twice with the stand-in at full speed, once with all of it stepped.
            counted = [int(row[1]) for row in self.rows if row[0] == name]
            self.assertEqual(counted, [known] * 3, name)

    def test_calls_of_the_library_are_counted_and_its_instructions_are_not(self):
        calls = {name: price.calls for name, price in self.prices.items()}
        self.assertEqual((calls["plain"], calls["calls"], calls["ends in call"]), (0, 1, 1))
        self.assertGreater(self.prices["calls"].library, 100)

    def test_what_the_library_calls_is_counted_apart(self):
        back = [(int(row[4]), int(row[5])) for row in self.rows if row[0] == "called back"]
        self.assertEqual(back, [(3, 3 * KNOWN["plain"])] * 3)
        self.assertEqual(self.prices["called back"].calls, 1)
        self.assertEqual(self.prices[prices.CALLED_BACK].median, KNOWN["plain"])

    def test_libc_counts_where_it_is_called(self):
        price = self.prices["copies"]
        self.assertGreater(price.elsewhere, 0)
        self.assertEqual(price.median, 4 + price.elsewhere)

    def test_the_clock_does_not_show_the_steps(self):
        self.assertIn("one clock", self.said)

    def test_signals_arrive(self):
        self.assertIn("3 alarms", self.said)

    def test_visits_add_up(self):
        visits = [line.split("\t") for line in self.visits.splitlines()]
        self.assertEqual(sum(int(row[2]) for row in visits if row[0] == "plain"), 3 * 202)

    def test_the_status_is_the_programs(self):
        for words, status in (([], 0), (["fails"], 1)):
            done = subprocess.run([COUNTER, "--", PROGRAM, *words], capture_output=True)
            self.assertEqual(done.returncode, status)


class Judged(unittest.TestCase):
    def judge(self, change, *words):
        """(status, output) of prices.py with a table that fits, but for what `change` does to it."""
        ceilings = {name: {"median": 10000, "mean": 10000, "calls": 9} for name in KNOWN}
        ceilings["copies"] = ceilings[prices.CALLED_BACK] = ceilings["plain"]
        ceilings = {name: dict(row) for name, row in ceilings.items()}
        change(ceilings)
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder, "mpiexec")
            launcher.write_text(LAUNCHER)
            launcher.chmod(0o755)
            table = pathlib.Path(folder, "ceilings.json")
            table.write_text(json.dumps({"compiler": "any", "ceilings": {"stand-in": ceilings}}))
            command = [sys.executable, "-B", HERE / "prices.py", "--mpi", "stand-in", *words]
            command += ["--exec", launcher, "--lib", LIBRARY, "--counter", COUNTER]
            command += ["--program", PROGRAM, "--table", table]
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, check=False
            )
            return done.returncode, done.stdout + done.stderr

    def test_what_is_below_its_ceilings_is_good(self):
        status, said = self.judge(lambda table: table["plain"].update(median=202, mean=202))
        self.assertEqual(status, 0, said)

    def test_one_instruction_too_many_fails_and_says_where(self):
        status, said = self.judge(lambda table: table["plain"].update(median=201))
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED plain: 202 instructions, ceiling 201", said)
        self.assertIn("counted_plain", said)

    def test_the_mean_and_the_calls_of_the_library_have_ceilings(self):
        status, said = self.judge(lambda table: table["plain"].update(mean=201))
        self.assertEqual(status, 1, said)
        status, said = self.judge(lambda table: table["calls"].update(calls=0))
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED calls: 1 calls of the library, ceiling 0", said)

    def test_nothing_is_left_out(self):
        status, said = self.judge(lambda table: table.update(more=table["plain"]))
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED more: is in the table, but was not counted", said)
        status, said = self.judge(lambda table: table.pop("twice"))
        self.assertEqual(status, 1, said)
        self.assertIn("FAILED twice: has no ceiling", said)

    def test_a_table_that_is_written_fits(self):
        status, said = self.judge(lambda table: table["plain"].update(why="a reason"), "--write")
        self.assertEqual(status, 0, said)
        table = json.loads("{" + said + "}")["stand-in"]
        self.assertEqual(
            table["plain"], {"median": 213, "mean": 213, "calls": 0, "why": "a reason"}
        )
        self.assertEqual(table["calls"]["median"], KNOWN["calls"] + prices.LEAST)
        self.assertEqual(self.judge(lambda ceilings: ceilings.update(table))[0], 0)

    def test_what_is_done_every_eighth_time_shows_in_the_mean(self):
        often = prices.Price([20] * 56 + [100] * 8, None)
        rare = prices.Price([20] * 57 + [100] * 7, None)
        self.assertEqual((often.median, rare.median, rare.mean), (20, 20, 20))
        self.assertGreater(often.mean, 20)


if __name__ == "__main__":
    if subprocess.run([COUNTER, "--probe"]).returncode == prices.SKIP:
        sys.exit(prices.SKIP)
    unittest.main(argv=sys.argv[:1])
