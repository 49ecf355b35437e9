#!/usr/bin/env python3
"""tests/seeded_faults.py: headers of patches, which tests judge, the copy, what is said."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).parent
sys.path.insert(0, str(TESTS))
import seeded_faults as sf  # noqa: E402

PATCH = """A lock is given back before its
puts are complete.

Kind: mend
Mend: 1a2b3c4 Locks wait for their puts
Found-by: unit.glue, mpi.mpich5.rma_locks

diff --git a/src/one.cpp b/src/one.cpp
index 1..2 100644
--- a/src/one.cpp
+++ b/src/one.cpp
@@ -1,3 +1,3 @@
 first
-second
+other
 third
"""


def fault(name="mend-01-x", **changes):
    text = PATCH
    for old, new in changes.get("replace", []):
        assert old in text
        text = text.replace(old, new)
    return sf.Fault(name, text)


def result(name, what=sf.NOTICED, by=("unit.a",), seconds=12.3):
    by = list(by) if what == sf.NOTICED else []
    return {"name": name, "result": what, "noticed_by": by, "seconds": seconds}


class Patches(unittest.TestCase):
    def test_a_header_is_read(self):
        one = fault()
        self.assertEqual(one.sentence, "A lock is given back before its puts are complete.")
        self.assertEqual((one.kind, one.mend[:7]), ("mend", "1a2b3c4"))
        self.assertEqual(one.found_by, ["unit.glue", "mpi.mpich5.rma_locks"])
        self.assertEqual(one.files, ["src/one.cpp"])
        self.assertEqual(list(one.problems({"unit.glue", "mpi.mpich5.rma_locks"})), [])

    def test_what_is_missing_is_said(self):
        def said(*replace, name="mend-01-x", tests=None):
            return " ".join(fault(name, replace=replace).problems(tests))

        self.assertIn("sentence", said(("complete.", "complete")))
        self.assertIn("Kind", said(("Kind: mend", "Kind: other")))
        self.assertIn("Mend is for", said(("Mend: 1a2b3c4 Locks wait for their puts\n", "")))
        self.assertIn("Mend is for", said(("Kind: mend", "Kind: careless"), name="careless-1"))
        self.assertIn("name", said(name="careless-01-x"))
        self.assertIn("Found-by", said(("Found-by: unit.glue, mpi.mpich5.rma_locks\n", "")))
        others = {"unit.glue", "mpi.mpich5.rma_corners"}
        self.assertIn("no test mpi.mpich5.rma_locks", said(tests=others))
        self.assertIn("no test unit.glue", said(tests=set()))
        # A machine without that MPI library.
        self.assertEqual(said(tests={"unit.glue", "mpi.mpich4.rma_locks"}), "")
        self.assertEqual(said(("unit.glue, mpi.mpich5.rma_locks", "build"), tests=set()), "")

    def test_what_is_no_patch_is_an_error(self):
        for text in (
            "Nothing.\n",
            PATCH.replace("Kind:", "Sort:"),
            PATCH.replace("Mend:", "Kind:"),
            PATCH[: PATCH.index("diff")],
        ):
            with self.assertRaises(ValueError):
                sf.Fault("mend-01-x", text)

    def test_some_are_picked_by_pattern_or_beginning(self):
        names = ["careless-01-a", "careless-02-b", "mend-01-c"]
        faults = [fault(name) for name in names]

        def picked(*patterns):
            return [one.name for one in sf.pick(faults, patterns)]

        self.assertEqual(picked(), names)
        self.assertEqual(picked("mend-*", "careless-02"), names[1:])
        self.assertEqual(picked("tests/seeded_faults/mend-01-c.patch"), names[2:])
        with self.assertRaises(sf.Problem):
            picked("mend-02")

    def test_those_of_the_same_file_follow_each_other(self):
        other = [("a/src/one.cpp b/src/one.cpp", "a/src/two.cpp b/src/two.cpp")]
        faults = [fault("a"), fault("b", replace=other), fault("c")]
        self.assertEqual([one.name for one in sf.in_order(faults)], ["a", "c", "b"])


class Tests(unittest.TestCase):
    SHOWN = {
        "tests": [
            {
                "name": "unit.gets_plan_test",
                "properties": [{"name": "LABELS", "value": ["unit"]}],
            },
            {
                "name": "unit.harness",
                "command": ["python3", "harness_test.py"],
                "properties": [{"name": "LABELS", "value": ["unit", "long"]}],
            },
            {
                "name": "unit.glue",
                "properties": [{"name": "LABELS", "value": ["unit", "quick"]}],
            },
            {
                "name": "unit.seeded_faults_check",
                "properties": [{"name": "LABELS", "value": ["unit", "quick"]}],
            },
            {
                "name": "mpi.mpich5.rma_corners_tcp",
                "command": ["python3", "run_compare.py", "--mpi", "mpich5", "--lib"]
                + ["/b/lib/libhob_mpich.so:/b/bin/mpich5/libstand_in.so"]
                + ["--", "/b/bin/mpich5/rma_corners"],
                "properties": [{"name": "LABELS", "value": ["mpi"]}],
            },
            {
                "name": "mpi.abi5.ghost_rma_1",
                "command": ["python3", "ghost_run.py", "--family", "abi", "--library", "/b/lib"]
                + ["--", "/b/bin/abi5/ghost_rma"],
                "properties": [{"name": "LABELS", "value": ["mpi", "quick"]}],
            },
        ]
    }

    def setUp(self):
        self.tests = sf.read_tests(json.dumps(self.SHOWN))

    def test_a_tier_is_a_label(self):
        quick = ["unit.gets_plan_test", "unit.glue", "mpi.abi5.ghost_rma_1"]
        self.assertEqual(sf.of_tier(self.tests, "quick"), quick)
        self.assertEqual(len(sf.of_tier(self.tests, "full")), 5)

    def test_targets_come_from_the_build_or_the_command(self):
        def targets(name, known=()):
            return sf.targets_of(self.tests[name], dict(known))

        self.assertEqual(targets("unit.glue", {"unit.glue": ["x", "y"]}), ["x", "y"])
        self.assertEqual(targets("unit.glue"), ["glue_test"])
        self.assertEqual(targets("unit.gets_plan_test"), ["gets_plan_test"])
        self.assertEqual(targets("unit.harness"), [])
        self.assertEqual(
            targets("mpi.mpich5.rma_corners_tcp"),
            [
                "hob_mpich",
                "mpi-program-mpich5-libstand_in.so",
                "mpi-program-mpich5-rma_corners",
            ],
        )
        self.assertEqual(targets("mpi.abi5.ghost_rma_1"), ["hob_abi", "mpi-program-abi5-ghost_rma"])

    def test_an_expression_means_its_names_alone(self):
        self.assertEqual(sf.expression(["unit.a", "fuzz.b-c"]), "^(unit\\.a|fuzz\\.b-c)$")

    def test_what_was_skipped_has_not_run(self):
        text = """<testsuite>
<testcase name="a" status="run"/><testcase name="b" status="fail"/>
<testcase name="c" status="notrun"/><testcase name="d" status="disabled"/></testsuite>"""
        self.assertEqual(sf.read_junit(text), {"a": True, "b": False})


class StandIn:
    """In place of a Bench: which tests fail with a fault, which without, what does not build."""

    def __init__(self, tests, fails=(), unhealthy=(), broken=()):
        self.tests, self.known = tests, {name: [name] for name in tests}
        self.fails, self.unhealthy, self.broken = set(fails), set(unhealthy), set(broken)
        self.healthy, self.ran, self.copy = {}, [], self
        self.before, self.log = {}, "log.txt"

    def seed(self, one):
        self.before = {one: ""}

    def make_for(self, names):
        return "error" if self.broken & set(names) else ""

    def make(self, targets):
        return "error" if self.broken and "quick-tests" in targets else ""

    def ctest(self, *words):
        """Knows the expressions of this file's tests, whose names have no special characters."""
        words = list(words)

        def names(option):
            return words[words.index(option) + 1].strip("^()$").replace("\\", "").split("|")

        if "-R" in words:
            chosen = names("-R")
        else:
            unit = words[words.index("^unit$") - 1] == "-L"
            chosen = [
                test.name
                for test in self.tests.values()
                if sf.is_quick(test.labels)
                and ("unit" in test.labels) == unit
                and test.name not in names("-E")
            ]
        self.ran += chosen
        return {name: name not in self.fails | self.unhealthy for name in chosen}

    def without_fault(self, names):
        self.before = {}
        self.healthy |= {name: name not in self.unhealthy for name in names}
        return {name: self.healthy[name] for name in names}


class Judging(unittest.TestCase):
    def bench(self, **what):
        names = {"unit.a": "unit", "unit.glue": "unit", "mpi.b": "mpi", "mpi.c": "mpi"}
        tests = {name: sf.Test(name, [label, "quick"], []) for name, label in names.items()}
        tests["mpi.mpich5.rma_locks"] = sf.Test("mpi.mpich5.rma_locks", ["mpi"], [])
        return StandIn(tests, **what)

    def judge(self, bench, run_all=False, replace=()):
        return sf.Judge(bench, "quick", run_all).judge(fault(replace=replace))

    def prepare(self, bench, run_all):
        with contextlib.redirect_stdout(io.StringIO()):
            sf.Judge(bench, "quick", run_all).prepare([fault()])

    def test_the_named_tests_of_the_tier_come_first(self):
        bench = self.bench(fails=["unit.glue", "unit.a"])
        self.assertEqual(self.judge(bench), (sf.NOTICED, ["unit.glue"]))
        self.assertEqual(bench.ran, ["unit.glue"])

    def test_the_rest_runs_only_if_none_of_these_notices(self):
        bench = self.bench(fails=["mpi.b"])
        self.assertEqual(self.judge(bench), (sf.NOTICED, ["mpi.b"]))
        self.assertEqual(bench.ran[:2], ["unit.glue", "unit.a"])
        self.assertNotIn("mpi.mpich5.rma_locks", bench.ran)

    def test_nobody_notices(self):
        self.assertEqual(self.judge(self.bench()), (sf.UNNOTICED, []))
        self.assertEqual(self.judge(self.bench(), run_all=True), (sf.UNNOTICED, []))

    def test_a_test_that_fails_without_a_fault_does_not_count(self):
        bench = self.bench(unhealthy=["mpi.b"])
        self.assertEqual(self.judge(bench), (sf.UNNOTICED, []))
        bench = self.bench(unhealthy=["mpi.b"], fails=["mpi.c"])
        self.assertEqual(self.judge(bench), (sf.NOTICED, ["mpi.c"]))
        with self.assertRaises(sf.Problem):
            self.prepare(self.bench(unhealthy=["unit.glue"]), False)

    def test_all_that_notice_are_named(self):
        bench = self.bench(fails=["mpi.b", "unit.a", "mpi.mpich5.rma_locks"], unhealthy=["mpi.c"])
        self.prepare(bench, True)
        self.assertEqual(self.judge(bench, run_all=True), (sf.NOTICED, ["unit.a", "mpi.b"]))

    def test_what_does_not_build_is_an_error_of_its_own(self):
        bench = self.bench(broken=["unit.glue"])
        self.assertEqual(self.judge(bench), (sf.NO_BUILD, []))
        build = [("unit.glue, mpi.mpich5.rma_locks", "build")]
        self.assertEqual(self.judge(bench, replace=build), (sf.NOTICED, ["build"]))


class Words(unittest.TestCase):
    def test_progress_says_what_is_left(self):
        self.assertEqual(sf.progress(7, 40, 250), "[ 7 of 40, 4:10 so far, about 20 min left]")
        self.assertEqual(sf.progress(40, 40, 3605), "[40 of 40, 60:05 so far]")

    def test_a_result_in_words(self):
        self.assertEqual(sf.told(result("x")), "noticed by unit.a (12 s)")
        self.assertEqual(sf.told(result("x", sf.UNNOTICED)), "not noticed (12 s)")

    def test_the_table_and_the_closing_lines(self):
        results = [result("mend-1"), result("careless-1", sf.NO_BUILD)]
        self.assertEqual(
            list(sf.table(results)),
            ["mend-1         12 s  unit.a", "careless-1     12 s  DOES NOT BUILD"],
        )
        self.assertEqual(
            list(sf.closing(results, "quick")),
            [
                "does not build: careless-1",
                "1 of 2 noticed by the quick tier",
                "1 passed, 1 failed",
            ],
        )


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = pathlib.Path(self.folder.name, "source")
        (self.source / "src").mkdir(parents=True)
        self.one = self.source / "src/one.cpp"
        self.one.write_text("first\nsecond\nthird\n")
        (self.source / "other").write_text("other\n")
        (self.source / "link").symlink_to("other")
        (self.source / ".gitignore").write_text("/build/\n")
        subprocess.run(["git", "init", "-q"], cwd=self.source, check=True)
        self.copy = sf.Copy(self.source / "build/tree", self.source)
        self.copy.put_right()
        self.there = self.copy.folder / "src/one.cpp"

    def test_a_fault_is_put_in_and_taken_out(self):
        self.copy.seed(fault())
        self.assertEqual(self.there.read_text(), "first\nother\nthird\n")
        self.copy.take_out()
        self.assertEqual(self.there.read_text(), self.one.read_text())
        self.assertEqual(self.one.read_text(), "first\nsecond\nthird\n")

    def test_the_copy_is_put_right_and_keeps_times(self):
        before = (self.copy.folder / "other").stat().st_mtime_ns
        digest = self.copy.digest
        self.copy.seed(fault())
        (self.copy.folder / "more").write_text("left by an interrupted run")
        again = sf.Copy(self.copy.folder, self.source)
        again.put_right()
        self.assertEqual(self.there.read_text(), self.one.read_text())
        self.assertFalse((self.copy.folder / "more").exists())
        self.assertTrue((self.copy.folder / "link").is_symlink())
        self.assertEqual((self.copy.folder / "other").stat().st_mtime_ns, before)
        self.assertEqual(again.digest, digest)
        self.one.write_text("new\n")
        again.put_right()
        self.assertNotEqual(again.digest, digest)

    def test_what_does_not_apply_is_said(self):
        self.assertEqual(sf.does_not_apply(fault(), self.source), "")
        self.one.write_text("else\n")
        self.assertIn("src/one.cpp", sf.does_not_apply(fault(), self.source))

    def test_an_interrupted_run_goes_on(self):
        path = pathlib.Path(self.folder.name, "out/results.json")
        first, second = fault("mend-1"), fault("mend-2")
        for one in (first, second):
            results = sf.Results(path, "quick", False, "tree")
            results.take_up([first, second])
            results.add({**result(one.name), "patch": one.digest})
        changed = fault("mend-2", replace=[("+other", "+changed")])

        def kept(tier, tree, *faults):
            results = sf.Results(path, tier, False, tree)
            with contextlib.redirect_stdout(io.StringIO()):
                results.take_up(faults)
            return [r["name"] for r in results.faults]

        self.assertEqual(kept("quick", "tree", first, second), ["mend-1", "mend-2"])
        self.assertEqual(kept("quick", "tree", first, changed), ["mend-1"])
        self.assertEqual(kept("quick", "tree2", first), [])
        # A run of some keeps what is known of others.
        results = sf.Results(path, "quick", False, "tree")
        results.take_up([changed])
        results.add({**result("mend-2"), "patch": changed.digest})
        self.assertEqual(kept("quick", "tree", first, changed), ["mend-1", "mend-2"])
        self.assertEqual(kept("full", "tree", first), [])


if __name__ == "__main__":
    unittest.main()
