"""The cells of `hob bench map`, and its picture, without measuring anything."""

import argparse
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import hob

from hob import mapcells, mappicture
from hob.benchlib import Progress
from hob.benches import map as bench_map


class Cells(unittest.TestCase):
    def test_no_cell_is_there_twice_and_each_has_a_name_of_its_own(self):
        cells = mapcells.cells()
        self.assertEqual(len(cells), len(set(cells)))
        self.assertEqual(len(cells), len({cell.name() for cell in cells}))

    def test_every_size_completion_order_place_reuse_and_thread_level_of_gets_is_there(self):
        gets = [cell for cell in mapcells.cells() if cell.op == "get"]
        for key, values in (
            ("size", mapcells.SIZES),
            ("completion", mapcells.COMPLETIONS),
            ("order", mapcells.ORDERS),
            ("place", mapcells.PLACES),
            ("reuse", mapcells.REUSES),
            ("threads", ("single", "multiple")),
        ):
            self.assertEqual({cell.values()[key] for cell in gets}, set(values))

    def test_the_quick_map_is_a_part_with_every_kind_and_place(self):
        quick = [cell for cell in mapcells.cells() if mapcells.quick(cell)]
        self.assertLess(len(quick), len(mapcells.cells()) / 3)
        self.assertEqual({cell.kind for cell in quick}, {"one-sided", "message", "collective"})
        self.assertEqual({cell.place for cell in quick}, set(mapcells.PLACES))

    def test_only_what_is_asked_for(self):
        status, out, err = hob("bench", "map", "--list", "--only", "op=get,size=8,place=own+tcp")
        self.assertEqual(status, 0, err)
        for line in out.strip().splitlines():
            self.assertRegex(line, r"^get, 8 B, .*(own|tcp)")

    def test_what_there_is_not_is_named_with_what_there_is(self):
        for only, said in (("colour=red", "op"), ("place=moon", "own, tcp"), ("get", "KEY=VALUE")):
            status, _, err = hob("bench", "map", "--only", only)
            self.assertEqual(status, 2)
            self.assertIn(only.partition("=")[2] or only, err)
            self.assertIn(said, err)

    def test_each_kind_has_settings_to_compare_with(self):
        for cell in mapcells.cells():
            self.assertGreaterEqual(len(bench_map._variants(cell, True)), 4)


class Again(unittest.TestCase):
    """A cell beyond a limit is measured again, and what was measured before still counts."""

    def starts_of(self, hob_ns):
        taken = iter(hob_ns)

        def run_mpi(_path, _words, hob, **_):
            ns = 100.0 if hob is None else next(taken)
            line = {"first_ns": ns, "early_ns": ns, "late_ns": ns}
            return mock.Mock(rows=[line])

        cell = mapcells.cells()[0]
        args = argparse.Namespace(mpi="mpich5", settings=False)
        with mock.patch.multiple(bench_map, run_mpi=run_mpi, program=mock.Mock()):
            found = bench_map._measure(cell, args, 2, 0.1, Progress("map", 4))
        return [line["late_ns"] for line in found["hob"]]

    def test_one_within_its_limits_is_measured_once(self):
        self.assertEqual(self.starts_of([100, 102]), [100, 102])

    def test_one_that_the_machine_disturbed_comes_within_them(self):
        self.assertEqual(self.starts_of([150, 100, 100, 100]), [150, 100, 100, 100])

    def test_a_loss_stays_one(self):
        self.assertEqual(self.starts_of([120] * 6), [120] * 6)


class Picture(unittest.TestCase):
    def test_losses_and_gains_have_shades_of_their_own(self):
        self.assertEqual(mappicture.shade(1), 0)
        self.assertEqual(mappicture.shade(2), -1)
        self.assertAlmostEqual(mappicture.shade(0.1), 1)
        self.assertEqual(mappicture.shade(100), -1)

    def test_every_row_is_drawn(self):
        rows = [
            {**cell.values(), "first": 1.2, "late": 0.5}
            for cell in mapcells.cells()
            if cell.op == "get" and cell.completion == "flush"
        ]
        with tempfile.TemporaryDirectory() as where:
            path = Path(where, "map.svg")
            mappicture.draw(rows, path)
            if not path.exists():
                self.skipTest("matplotlib is not installed")
            self.assertIn("<svg", path.read_text())


if __name__ == "__main__":
    unittest.main()
