"""hob bench real: what is found, how runs are judged, and the page that is written; no MPI program is started."""

import datetime
import json
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from support import ROOT, run

from hob import bench
from hob.benches import real
from hob.benchlib import SETUPS, BenchError, Result
from hob.real import PROGRAMS
from hob.real.page import MECHANISMS, page
from hob.real.program import Program

CG = Program(
    name="cg",
    origin="somebody/cg at 123",
    what="gets | waits",
    mechanism="cache",
    executable="cg",
    answers=r"norm +[0-9.]+",
    seconds=r"time ([0-9.]+)",
    at_least=3.0,
    reason="first touches",
)
REPORT = {
    "hob": {},
    "program": {"ranks": 1},
    "ranks": [
        {
            "counters": {"gets": 1000, "own_rank": 100, "hits_full": 800, "receives": 7},
            "windows": [
                {
                    "id": 0,
                    "drops": [{"call": "MPI_Barrier", "times": 12, "bytes": 5}],
                    "counters": {},
                }
            ],
        }
    ],
}

BATCHED = {
    "hob": {},
    "program": {"ranks": 1},
    "ranks": [{"counters": {"batched": 512, "batches": 8}, "windows": []}],
}


class Known(unittest.TestCase):
    def test_each_can_be_run_and_judged(self):
        names = [program.name for program in PROGRAMS]
        self.assertEqual(len(names), len(set(names)))
        for program in PROGRAMS:
            with self.subTest(program.name):
                self.assertIn(program.setup, SETUPS)
                self.assertIn(program.mechanism, MECHANISMS)
                for pattern in (program.answers, program.seconds, program.ideal):
                    re.compile(pattern)
                self.assertEqual(bool(program.within), bool(program.ideal))
                # Ghosts are placed by nodes.
                if program.ghosts and program.setup.startswith("namespaces"):
                    self.assertEqual(program.ranks % 2, 0)

    def test_each_has_a_limit_and_what_is_known_of_its_answer(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                self.assertTrue(program.at_least or program.within or program.beside_always)
                self.assertFalse(program.answers and program.checked)
                if program.at_least == 0.97:
                    self.assertTrue(program.reason, "no gain, and no reason")

    def test_there_are_twelve_of_eight_origins(self):
        origins = {
            re.split("[ ,]", program.origin.removeprefix("Debian "))[0] for program in PROGRAMS
        }
        self.assertGreaterEqual(len(PROGRAMS), 12)
        self.assertGreaterEqual(len(origins), 8)

    def test_inputs_are_made(self):
        for program in PROGRAMS:
            for text in program.inputs.values():
                self.assertTrue(callable(text) or text.endswith("\n"), program.name)

    def test_the_mesh_input_has_a_layer_for_each_rank(self):
        (fds,) = [program for program in PROGRAMS if program.name == "fds-256-meshes"]
        ranks = re.findall(r"MPI_PROCESS=(\d)", fds.inputs["meshes.fds"])
        self.assertEqual(len(ranks), 256)
        self.assertEqual(sorted(set(ranks)), [str(rank) for rank in range(fds.ranks)])
        self.assertEqual(ranks, sorted(ranks))


class Found(unittest.TestCase):
    def test_the_one_of_the_mpi_library_first(self):
        with tempfile.TemporaryDirectory() as folder:
            for directory in ("a", "openmpi4/x"):
                path = Path(folder, directory, "cg")
                path.parent.mkdir(parents=True)
                path.write_text("#!/bin/sh\n")
                path.chmod(0o755)
            self.assertEqual(real.find(CG, [folder]), Path(folder, "a/cg"))
            other = replace(CG, mpi="openmpi4")
            self.assertEqual(real.find(other, [folder]), Path(folder, "openmpi4/x/cg"))
            self.assertIsNone(real.find(replace(CG, executable="none-such"), [folder]))


class Runs(unittest.TestCase):
    def measured(self, program, figures, words=(), answer="norm 1.5", fail=()):
        """(fault or None, JSON, page, what was asked of run_mpi): figures of the variants by their mode."""
        asked = []

        def run_mpi(path, arguments, ranks, hob, **more):
            mode = "plain" if hob is None else hob.get("cache", "default")
            asked.append((mode, ranks, {**more, "hob": hob or {}}))
            if mode in fail:
                raise BenchError(f"{mode} did not end\nmore")
            said = answer if isinstance(answer, str) else answer[mode]
            output = f"{said}\ntime {figures[mode]}\nideal 2.0\n"
            return Result([], None if hob is None else REPORT, 9.0, output)

        with tempfile.TemporaryDirectory() as folder:
            written, page = Path(folder, "real.json"), Path(folder, "page.md")
            words = ["--json", str(written), "--page", str(page), *words]
            fault = None
            with (
                mock.patch("hob.benches.real.run_mpi", run_mpi),
                mock.patch("hob.benches.real.find", lambda *_: Path("/bin/true")),
                mock.patch("hob.benches.real.PROGRAMS", [program]),
                mock.patch("sys.stdout"),
                mock.patch("sys.stderr"),
            ):
                try:
                    bench.run_module("real", real, words)
                except bench.HobError as error:
                    fault = str(error)
            result = json.loads(written.read_text()) if written.exists() else None
            return fault, result, page.read_text() if page.exists() else "", asked

    def test_the_ratio_is_held_against_the_limit(self):
        fault, result, page, _ = self.measured(CG, {"plain": 8.0, "default": 2.0})
        self.assertIsNone(fault)
        (row,) = result["rows"]
        self.assertEqual((row["ratio"], row["answers"], row["runs"]), (4.0, "same", 3))
        self.assertTrue(all(limit["ok"] for limit in result["limits"]))
        self.assertIn("**4.00**", page)
        self.assertIn("1,000 gets, 900 of them remote, 800 hits; dropped by MPI_Barrier 12", page)
        self.assertIn("gets \\| waits", page)
        self.assertNotIn("first touches", page)
        _, result, page, _ = self.measured(CG, {"plain": 8.0, "default": 4.0})
        self.assertFalse(result["limits"][0]["ok"])
        self.assertIn(">= 3 MISSED", page)
        self.assertIn("first touches", page)

    def test_a_row_that_is_not_measured_again_stays(self):
        _, _, first, _ = self.measured(CG, {"plain": 8.0, "default": 2.0})
        row = next(line for line in first.splitlines() if line.startswith("| `cg`"))
        self.assertIn(f"| {datetime.date.today().isoformat()} |", row)
        other = replace(CG, name="other")
        results = {"other": {"date": "2020-01-02", "rows": [], "limits": []}}
        with mock.patch("hob.real.page._line", lambda program, result: result["date"]):
            second = page([CG, other], results, {}, {}, first)
            third = page([CG, other], {**results, "cg": results["other"]}, {}, {}, second)
        self.assertIn(row + "\n2020-01-02", second)
        self.assertNotIn("Not measured", second)
        self.assertNotIn(row, third)

    def test_more_is_better_for_rates(self):
        _, result, _, _ = self.measured(replace(CG, rate=True), {"plain": 2.0, "default": 8.0})
        self.assertEqual(result["rows"][0]["ratio"], 4.0)

    def test_another_answer_is_a_fault(self):
        answers = {"plain": "norm 1.5", "default": "norm 1.25"}
        fault, result, page, _ = self.measured(CG, {"plain": 8.0, "default": 2.0}, answer=answers)
        self.assertIn("another answer", fault)
        self.assertEqual(result["rows"][0]["answers"], "DIFFERENT")
        self.assertIn("another answer with Hob (default)", page)

    def test_no_answer_is_a_fault(self):
        fault, _, page, _ = self.measured(CG, {"plain": 8.0, "default": 2.0}, answer="none")
        self.assertIn("none of the programs could be run", fault)
        self.assertIn("no line of its output is an answer", page)

    def test_beside_always_runs_both(self):
        program = replace(CG, at_least=0.0, beside_always=0.97)
        _, result, page, _ = self.measured(program, {"plain": 8.0, "default": 4.0, "always": 2.0})
        self.assertEqual([row["hob"] for row in result["rows"]], ["default", "always"])
        (limit,) = result["limits"]
        self.assertEqual((limit["value"], limit["ok"]), (0.5, False))
        self.assertIn("**2.00**, always 4.00", page)

    def test_without_batches_is_a_run_of_its_own(self):
        program = replace(CG, mechanism="batches", at_least=3.0, unbatched=0.97)
        runs, asked = {"plain": 8.0, "default": 2.0, "off": 8.0}, []

        def run_mpi(path, arguments, ranks, hob, **more):
            batch = (hob or {}).get("batch")
            asked.append(batch)
            figure = runs["plain"] if hob is None else runs[batch or "default"]
            return Result([], None if hob is None else BATCHED, 9.0, f"norm 1.5\ntime {figure}\n")

        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.md")
            with (
                mock.patch("hob.benches.real.run_mpi", run_mpi),
                mock.patch("hob.benches.real.find", lambda *_: Path("/bin/true")),
                mock.patch("hob.benches.real.PROGRAMS", [program]),
                mock.patch("sys.stdout"),
                mock.patch("sys.stderr"),
            ):
                bench.run_module("real", real, ["--page", str(page)])
            text = page.read_text()
        self.assertEqual(asked.count("off"), 4)
        self.assertIn("**4.00**, unbatched 1.00", text)
        self.assertIn("plain / Hob >= 3, plain / unbatched >= 0.97", text)
        self.assertIn("512 small operations went out as 8", text)

    def test_what_prints_no_answer_says_so(self):
        silent = replace(CG, answers="")
        _, result, page, _ = self.measured(silent, {"plain": 8.0, "default": 2.0})
        self.assertEqual(result["rows"][0]["answers"], "prints no answer")
        self.assertIn("| prints no answer |", page)
        verified = {**REPORT, "ranks": [{"counters": {"verified": 30}, "windows": []}]}
        with mock.patch.dict(REPORT, verified):
            _, _, page, asked = self.measured(silent, {"plain": 8.0, "default": 2.0})
        self.assertIn("| prints no answer; 30 hits compared, none differed |", page)
        # In the run that is counted, not in one that is timed; nor of a program that prints its answer.
        shares = [more["hob"].get("verify") for _, _, more in asked]
        self.assertEqual(shares, [None] * 6 + [0.1])
        _, _, _, asked = self.measured(CG, {"plain": 8.0, "default": 2.0})
        self.assertEqual({more["hob"].get("verify") for _, _, more in asked}, {None})
        own = replace(silent, checked="checked by the program")
        _, _, page, _ = self.measured(own, {"plain": 8.0, "default": 2.0})
        self.assertIn("| checked by the program |", page)

    def test_the_ideal_is_the_programs_own(self):
        program = replace(CG, at_least=0.0, ideal="ideal ([0-9.]+)", within=1.08)
        _, result, page, _ = self.measured(program, {"plain": 8.0, "default": 2.1})
        self.assertEqual(result["rows"][0]["over_ideal"], 1.05)
        self.assertTrue(result["limits"][0]["ok"])
        self.assertIn("1.050 of the ideal time", page)

    def test_ghosts_are_started_beside_the_ranks(self):
        program = replace(CG, ghosts=1, setup="namespaces", with_hob={"A": "1"})
        _, _, _, asked = self.measured(program, {"plain": 8.0, "default": 2.0})
        self.assertEqual(
            {(mode, ranks) for mode, ranks, _ in asked}, {("plain", 2), ("default", 4)}
        )
        self.assertTrue(
            all(("A" in more["environment"]) == (mode != "plain") for mode, _, more in asked)
        )

    def test_variables_are_on_the_page(self):
        alike = replace(CG, environment={"A": "1"})
        _, _, page, _ = self.measured(alike, {"plain": 8.0, "default": 2.0})
        self.assertIn("mpich5; `A=1` |", page)
        other = replace(CG, environment={"A": "0", "B": "2"}, with_hob={"A": "1"})
        _, _, page, _ = self.measured(other, {"plain": 8.0, "default": 2.0})
        self.assertIn("mpich5; `B=2`; plainly `A=0`; with Hob `A=1` |", page)

    def test_where_runs_differ_in_variables_another_row_has_them_alike(self):
        names = {program.name for program in PROGRAMS}
        for program in PROGRAMS:
            if program.with_hob:
                self.assertIn(f"{program.name}-alike", names)

    def test_runs_that_a_program_asks_for(self):
        program = replace(CG, repeats=9)
        _, result, _, _ = self.measured(program, {"plain": 8.0, "default": 2.0})
        self.assertEqual(result["rows"][0]["runs"], 9)
        _, result, _, _ = self.measured(program, {"plain": 8.0, "default": 2.0}, ["--quick"])
        self.assertEqual(result["rows"][0]["runs"], 1)

    def test_what_was_measured_earlier_is_on_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = ["--results", folder]
            self.measured(CG, {"plain": 8.0, "default": 2.0}, kept)
            self.assertTrue(Path(folder, "cg.json").exists())
            figures = {"plain": 8.0, "default": 2.0}
            fault, _, page, _ = self.measured(CG, figures, kept, fail=("default",))
            self.assertIn("none of the programs could be run", fault)
            self.assertIn("**4.00**", page)

    def test_what_could_not_be_run_is_named(self):
        _, _, page, _ = self.measured(CG, {"plain": 8.0}, fail=("default",))
        self.assertIn("## Not measured", page)
        self.assertIn("default did not end", page)


class Sources(unittest.TestCase):
    """tests/real/build-programs: it builds the revisions that the pages name."""

    def test_pins_are_the_origins(self):
        text = (ROOT / "tests/real/build-programs").read_text()
        listed = re.findall(
            r"^(\w+) +(\w+) +([\w.-]+/[\w.-]+) +([0-9a-f]{40})$", text, re.MULTILINE
        )
        self.assertGreaterEqual(len(listed), 4)
        for name, mpi, address, commit in listed:
            with self.subTest(name):
                self.assertIn(f"build_{name}()", text)
                found = [p for p in PROGRAMS if address in p.origin]
                self.assertTrue(found, address)
                for each in found:
                    revision = re.search(r" at ([0-9a-f]+)", each.origin)[1]
                    self.assertTrue(commit.startswith(revision), each.origin)
                self.assertIn(mpi, {each.mpi for each in found})

    def test_it_says_what_it_cannot_build(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [ROOT / "tests/real/build-programs", folder, "minife"]
            status, out, _ = run(words, HOB_SOURCES=folder)
            self.assertEqual(status, 1)
            self.assertRegex(out, "minife: (NOT built, see .*log|mpich4 is not here)")
            status, _, err = run([ROOT / "tests/real/build-programs", folder, "nothing"])
            self.assertEqual(status, 2)
            self.assertIn("nothing", err)


if __name__ == "__main__":
    unittest.main()
