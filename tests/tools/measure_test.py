"""hob run --measure: what is started in turns, and what is said of it."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import BIN, hob

from hob import measure, run
from hob.options import Parser
from hob.where import HobError


def arguments(*words):
    parser = Parser()
    run.add_arguments(parser)
    return run.parse(parser, [*words, "./app"])


def started(*words, settings=()):
    """{name of a trial: what `hob exec` is told in it}."""
    args = arguments(*words)
    plans = measure.plans(
        args, lambda args: (run.exec_arguments(args)[1:], args.n), "t.json", settings
    )
    return {
        name: [word for word in told if word not in ("--json", "--quiet") and "t.json" not in word]
        for name, (told, _) in plans.items()
    }


class Trials(unittest.TestCase):
    def test_are_without_hob_and_with_it(self):
        self.assertEqual(started("-n", "2"), {"without Hob": ["--set", "off=on"], "with Hob": []})

    def test_of_options_are_beside_hob_as_it_is(self):
        told = started("--ghosts", "1", "--set", "heat=on", "--cache", "strict")
        self.assertEqual(
            told,
            {
                "without Hob": ["--set", "off=on"],
                "with Hob": [],
                "with --set heat=on --ghosts 1 --cache strict": [
                    *("--set", "heat=on", "--ghosts", "1", "--cache", "strict")
                ],
            },
        )

    def test_of_advice_are_beside_the_options(self):
        told = started("--set", "heat=on", settings=("match=always", "ghosts=1"))
        self.assertEqual(
            told["with --set heat=on --set match=always"],
            ["--set", "heat=on", "--set", "match=always"],
        )
        self.assertEqual(
            told["with --set heat=on --ghosts 1"], ["--set", "heat=on", "--ghosts", "1"]
        )

    def test_neither_check_nor_record(self):
        told = started("--verify", "1", "--trace", "/tmp/t", "--mpi", "mpich")
        self.assertEqual(told["with Hob"], ["--mpi", "mpich"])

    def test_have_the_same_number_of_ranks_of_the_program(self):
        args = arguments("-n", "2")
        args.program = ["mpiexec", "-n", "4", "./app"]
        self.assertEqual([*measure.trials(args, ["ghosts=1"])], ["without Hob", "with Hob"])
        args.ghosts = 1
        with self.assertRaisesRegex(HobError, "different numbers of processes"):
            measure.plans(args, run.plan, "t.json")


class Notes(unittest.TestCase):
    def test_useless_options_are_said(self):
        for words, said in (
            (("--measure", "--verify", "1"), "no effect with --measure"),
            (("--measure", "--trace", "d"), "no effect with --measure"),
            (("--turns", "9"), "no effect without --measure"),
        ):
            notes = run.notes(arguments(*words))
            self.assertEqual(len(notes), 1, words)
            self.assertIn(said, notes[0])
        self.assertEqual(run.notes(arguments("--measure", "--turns", "9")), [])

    def test_an_interpreter_without_a_script_waits_for_the_terminal(self):
        args = arguments("-n", "2")
        for program, terminal, said in (
            (["python3"], True, 1),
            (["/usr/bin/python3.12"], True, 1),
            (["./app", "python3"], True, 0),
            (["python3"], False, 0),
            (["python3", "app.py"], True, 0),
        ):
            args.program = program
            with mock.patch("sys.stdin.isatty", return_value=terminal):
                notes = run.notes(args)
            self.assertEqual(["SCRIPT" in note for note in notes], [True] * said, program)


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = BIN / "mpich5" / "fds-proxy"
        if not cls.program.exists():
            raise unittest.SkipTest("MPICH 5 was not set up")

    def test_compares_the_programs_own_time(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "measured.json"
            words = ("run", "-n", 2, "--measure", "--turns", 1, "--json", file, self.program)
            status, out, err = hob(*words, "--depth", 8, "--steps", 1)
            self.assertEqual(status, 0, err)
            measured = json.loads(file.read_text())
        lines = out.splitlines()
        self.assertEqual(
            lines[0], "Measured in 1 turn, from MPI_Init to MPI_Finalize (median, range):"
        )
        self.assertEqual(lines[-1], f"Measured: {measured['verdict']}")
        self.assertEqual(len(lines), 4, out)  # nothing of the program's own
        self.assertIn("hob: turn 1 of 1: 2 runs", err)
        self.assertEqual(
            [trial["name"] for trial in measured["trials"]], ["without Hob", "with Hob"]
        )

    def test_a_failed_run_is_said(self):
        with tempfile.TemporaryDirectory() as scratch:
            script = Path(scratch) / "fails"
            script.write_text("#!/bin/sh\nexit 3\n")
            script.chmod(0o755)
            words = ("--mpi", "mpich", "--measure", "--turns", 1, script)
            status, out, _ = hob("run", *words)
        self.assertEqual(status, 2)
        self.assertIn("Measured: A run without Hob failed", out)

    def test_dry_run_shows_each_trial(self):
        status, out, err = hob("run", "--measure", "--ghosts", 1, "--dry-run", self.program)
        self.assertEqual(status, 0, err)
        self.assertEqual(
            [line.split("  ")[0] for line in out.splitlines()],
            ["without Hob", "with Hob", "with --ghosts 1"],
        )

    def test_needs_hob(self):
        status, _, err = hob("run", "--measure", "--off", self.program)
        self.assertEqual(status, 2)
        self.assertIn("leave --off", err)


if __name__ == "__main__":
    unittest.main()
