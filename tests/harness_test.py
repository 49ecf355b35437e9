#!/usr/bin/env python3
"""The runners of the tests themselves: what fails, fails; what may run twice, and how it is counted."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TESTS = pathlib.Path(__file__).parent
sys.path.insert(0, str(TESTS))
import drawn  # noqa: E402
import run_compare  # noqa: E402
import run_ctest  # noqa: E402
import second_try  # noqa: E402

# Appends a line to the file, says the text, and fails the first `bad` times.
PROGRAM = """
import pathlib, sys
runs, text, bad = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
count = len(runs.read_text().splitlines()) if runs.exists() else 0
runs.write_text("run\\n" * (count + 1))
print(text)
sys.exit(count < bad)
"""


class SecondTry(unittest.TestCase):
    def run_program(self, text, bad):
        """(status, how often it ran, output)"""
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder, "runs")
            words = [sys.executable, "-c", PROGRAM, str(runs), text, str(bad)]
            done = subprocess.run(
                [sys.executable, str(TESTS / "second_try.py"), "--", *words],
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, len(runs.read_text().splitlines()), done.stdout

    def test_a_failure_is_a_failure(self):
        self.assertEqual(self.run_program("FAILED rank 1: 2 instead of 42", 1)[:2], (1, 1))

    def test_a_missed_deadline_is_tried_again_once_and_said(self):
        status, runs, output = self.run_program("ALERT: fence timeout fired", 1)
        self.assertEqual((status, runs), (0, 2))
        self.assertIn("second try: the launcher missed its deadline: ALERT", output)
        self.assertEqual(self.run_program("ALERT: fence timeout fired", 2)[:2], (1, 2))

    def test_a_success_is_not_repeated(self):
        self.assertEqual(self.run_program("ALERT: fence timeout fired", 0)[:2], (0, 1))

    def test_a_signal_is_a_failure(self):
        done = subprocess.run(
            [sys.executable, str(TESTS / "second_try.py"), "--", "sh", "-c", "kill -SEGV $$"]
        )
        self.assertNotEqual(done.returncode, 0)

    def test_what_launchers_say(self):
        for said in (
            "[host:12] PMIX ERROR: PMIX_ERR_TIMEOUT in file client/pmix_client.c at line 1",
            "PMIX ERROR: UNREACHABLE in file ptl_base_fns.c at line 12",
            "PMIx_Init failed for the following reason:\n\n  UNREACHABLE",
            "PMIx_Init failed for the following reason:\n\n  PMIX_ERR_TIMEOUT",
            "A request has timed out and will therefore fail:\n  Operation:  LOOKUP: x.c:345",
        ):
            self.assertIsNotNone(second_try.missed_deadline(said), said)
        for said in (
            "hob: rank 3 left without MPI_Finalize",
            "timeout 60",
            "PMIX ERROR: BAD-PARAM",
            "PMIX ERROR: UNREACHABLE in file x.c at line 12\nrank 1 exited on signal 11 (Segmentation fault)",
            "PMIx_Init failed for the following reason:\n\n  UNREACHABLE\nrank 1 exited on signal 11",
        ):
            self.assertIsNone(second_try.missed_deadline(said), said)

    def test_they_are_counted_by_test(self):
        log = (
            "3/9 Testing: mpi.a\n3/9 Test: mpi.a\nok\n"
            "4/9 Test: mpi.b\nsecond try: the launcher missed its deadline: ALERT\n"
        )
        self.assertEqual(
            run_ctest.second_tries(log), [("mpi.b", "the launcher missed its deadline: ALERT")]
        )


class Drawn(unittest.TestCase):
    def test_seed_and_number_are_drawn(self):
        words = "rma_fuzz --seed 11 --programs 60 --without nocheck".split()
        self.assertEqual(drawn.drawn(words, {}), words)
        asked = {"TESTS_SEED": "1000", "TESTS_SHARE": "0.3", "TESTS_WITHOUT": "pscw"}
        self.assertEqual(
            drawn.drawn(words, asked),
            "rma_fuzz --seed 1011 --programs 18 --without nocheck,pscw".split(),
        )

    def test_at_least_one_program_and_a_seed_where_there_was_none(self):
        words = "p2p_fuzz --programs 2 --without truncate".split()
        asked = {"TESTS_SEED": "5", "TESTS_SHARE": "0.1", "TESTS_WITHOUT": "pscw"}
        self.assertEqual(
            drawn.drawn(words, asked), "p2p_fuzz --programs 1 --without truncate --seed 5".split()
        )


class Tiers(unittest.TestCase):
    """What run_tier.py makes of the lines of ctest, with a stand-in for ctest."""

    def run_tests(self, lines, status=0):
        """(exit status, output) of a tier of one stage where ctest prints these lines."""
        with tempfile.TemporaryDirectory() as folder:
            stand_in = pathlib.Path(folder, "ctest")
            shown = "\n".join(lines)
            stand_in.write_text(
                '#!/bin/sh\ncase "$*" in *show-only*) echo \'{"tests": []}\'; exit;; esac\n'
                f"cat <<'END'\n{shown}\nEND\nexit {status}\n"
            )
            stand_in.chmod(0o755)
            program = (
                f"import sys; sys.path.insert(0, {str(TESTS)!r}); import pathlib, run_tier\n"
                f"run_tier.BUILD = pathlib.Path({folder!r})\n"
                "tier = run_tier.Tier('quick', 1)\n"
                "try:\n    tier.tests('stage', run_tier.BUILD)\n"
                "except run_tier.Failed as failure:\n    sys.exit(tier.close(str(failure)))\n"
                "sys.exit(tier.close())"
            )
            done = subprocess.run(
                [sys.executable, "-B", "-c", program],
                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr

    PASSED = "1/2 Test #3: mpi.a ......................   Passed    1.31 sec"

    def test_what_passes_and_what_is_skipped_is_counted(self):
        status, said = self.run_tests([self.PASSED, "2/2 Test #9: mpi.b ....***Skipped   0.11 sec"])
        self.assertEqual(status, 0, said)
        self.assertIn("1 passed, 0 failed, 1 skipped", said)
        self.assertIn("skipped (1): mpi.b", said)

    def test_what_fails_is_named_and_fails(self):
        for verdict in ("***Failed", "***Timeout", "***Exception: SegFault", "***Not Run"):
            status, said = self.run_tests(
                [self.PASSED, f"2/2 Test #9: mpi.b .....{verdict}  0.11 sec"], status=8
            )
            self.assertEqual(status, 1, said)
            self.assertIn("FAILED: mpi.b", said)
            self.assertIn("1 passed, 1 failed, 0 skipped", said)

    def test_nothing_that_ran_is_no_success(self):
        self.assertEqual(self.run_tests([])[0], 1)
        status, said = self.run_tests(["1/1 Test #9: mpi.b ....***Skipped   0.11 sec"])
        self.assertEqual(status, 1, said)
        self.assertIn("no test ran", said)

    def test_a_ctest_that_ends_badly_is_no_success(self):
        self.assertEqual(self.run_tests([self.PASSED], status=3)[0], 1)


class Setup(unittest.TestCase):
    """scripts/setup's way to call apt, with a stand-in for apt-get."""

    def install(self, fails, message, wait=60):
        """(status, output, calls) where the stand-in fails that often with that message."""
        text = (TESTS.parent / "scripts/setup").read_text()
        function = text[text.index("apt_wait=") : text.index("apt_lists_fresh=no")]
        with tempfile.TemporaryDirectory() as folder:
            calls = pathlib.Path(folder, "calls")
            stand_in = pathlib.Path(folder, "apt-get")
            stand_in.write_text(
                f"#!/bin/sh\necho call >>{calls}\n"
                f"[ $(wc -l <{calls}) -gt {fails} ] && exit 0\necho '{message}' >&2\nexit 100\n"
            )
            stand_in.chmod(0o755)
            done = subprocess.run(
                [
                    "sh",
                    "-euc",
                    f"say() {{ echo $*; }}; sleep() {{ :; }}; log={folder}/log\n{function}apt x",
                ],
                env={
                    **os.environ,
                    "PATH": f"{folder}:{os.environ['PATH']}",
                    "HOB_APT_WAIT": str(wait),
                },
                capture_output=True,
                text=True,
                check=False,
            )
            return done.returncode, done.stdout + done.stderr, len(calls.read_text().splitlines())

    def test_it_waits_for_a_locked_apt(self):
        status, said, calls = self.install(3, "E: Could not get lock /var/lib/dpkg/lock-frontend.")
        self.assertEqual((status, calls), (0, 4), said)
        self.assertEqual(said.count("another package manager is at work"), 1)

    def test_it_does_not_wait_for_ever_nor_for_what_does_not_end(self):
        status, said, calls = self.install(9, "E: Could not get lock x", wait=0)
        self.assertEqual((status, calls), (1, 1), said)
        status, said, calls = self.install(9, "E: Unable to locate package x")
        self.assertEqual((status, calls), (1, 1))
        self.assertIn("Unable to locate", said)

    def test_libraries_that_are_missing_are_named(self):
        there = "".join(f"set(HOB_MPI_{name}_FAMILY x)\n" for name in run_ctest.KNOWN)
        self.assertEqual(run_ctest.untested(there), [])
        self.assertEqual(run_ctest.untested(there.replace("mpich4", "x")), ["mpich4"])


class Compare(unittest.TestCase):
    """A stand-in for mpiexec runs the program once; Hob is there if LD_PRELOAD is among the words."""

    LAUNCHER = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
while words[0] == "-genv":
    os.environ[words[1] if words[1] != "LD_PRELOAD" else "WITH_HOB"] = words[2]
    words = words[3:]
os.execvp(words[2], words[2:])
"""

    def compare(self, plainly, with_hob, *more, remote="no"):
        with tempfile.TemporaryDirectory() as folder:
            launcher = pathlib.Path(folder, "mpiexec")
            launcher.write_text(self.LAUNCHER)
            launcher.chmod(0o755)
            program = f'if [ -n "$WITH_HOB" ]; then {with_hob}; else {plainly}; fi'
            return subprocess.run(
                [
                    sys.executable,
                    str(TESTS / "run_compare.py"),
                    "--mpi",
                    "mpich5",
                    "--exec",
                    str(launcher),
                ]
                + ["--lib", "libhob", "--settings", "auto", "--remote", remote, *more]
                + ["--", "sh", "-c", program],
                capture_output=True,
                text=True,
                check=False,
            ).returncode

    def test_the_same_output_is_good(self):
        self.assertEqual(self.compare("echo 1", "echo 1"), 0)

    def test_another_output_or_status_is_not(self):
        self.assertEqual(self.compare("echo 1", "echo 2"), 1)
        self.assertEqual(self.compare("echo 1", "echo 1; exit 3"), 1)

    def test_one_setting_over_two_nodes_is_compared_too(self):
        self.assertEqual(self.compare("echo 1", "echo 2", remote="nodes"), 1)

    def test_which_ranks_share_a_node_is_the_tests_to_say(self):
        with mock.patch.dict(os.environ, MPIR_CVAR_NOLOCAL="1", MPIR_CVAR_NUM_CLIQUES="7"):
            self.assertEqual(
                self.compare(
                    "echo -2", "echo $MPIR_CVAR_NOLOCAL-$MPIR_CVAR_NUM_CLIQUES", remote="nodes"
                ),
                0,
            )
            self.assertEqual(
                self.compare(
                    "echo 1-", "echo $MPIR_CVAR_NOLOCAL-$MPIR_CVAR_NUM_CLIQUES", remote="tcp"
                ),
                0,
            )

    def test_a_program_that_fails_is_to_fail_as_it_should(self):
        self.assertEqual(self.compare("exit 5", "exit 5", "--status", "5"), 0)
        self.assertEqual(self.compare("exit 5", "kill -SEGV $$", "--status", "5"), 1)
        self.assertEqual(self.compare("exit 5", "exit 0", "--status", "5"), 1)
        self.assertEqual(self.compare("exit 6", "exit 5", "--status", "5"), 1)

    def twice(self, first, then, *more):
        """The result with what does `first` once and `then` ever after, plainly and with Hob."""
        with tempfile.TemporaryDirectory() as folder:
            ran = pathlib.Path(folder, "ran")
            changing = f"if [ -e {ran} ]; then {then}; else : >{ran}; {first}; fi"
            plainly = self.compare(changing, then, *more)
            ran.unlink()
            return plainly, self.compare(then, changing, *more)

    def test_only_what_is_compared_with_may_fail_once(self):
        self.assertEqual(self.twice("sleep 60", "echo 1", "--timeout", "1"), (0, 1))
        self.assertEqual(self.twice("exit 5", "echo 1"), (0, 1))
        self.assertEqual(self.compare("sleep 60", "echo 1", "--timeout", "1"), 1)
        self.assertEqual(self.compare("exit 5", "echo 1"), 1)

    def test_a_launcher_that_kills_may_lose_the_status_once(self):
        self.assertEqual(self.twice("exit 9", "exit 5", "--status", "5"), (0, 0))
        self.assertEqual(self.twice("exit 6", "exit 5", "--status", "5"), (0, 1))
        self.assertEqual(self.twice("exit 9", "echo 1"), (0, 1))
        self.assertEqual(self.compare("exit 5", "exit 9", "--status", "5"), 1)

    def test_a_program_that_may_not_run_is_skipped(self):
        self.assertEqual(self.compare("echo SKIP: none", "exit 1"), run_compare.SKIP)


if __name__ == "__main__":
    unittest.main()
