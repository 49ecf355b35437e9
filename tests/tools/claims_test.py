"""What README and docs promise: nothing that was measured otherwise, where Hob loses, and the words that people search for."""

import json
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from support import ROOT, run, write_json

from hob import bench
from hob.mechanisms import MECHANISMS

PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "measurements" not in page.parts),
]
README = (ROOT / "README.md").read_text()
MEASURED = (ROOT / "docs/measured.md").read_text()
HEADER = (ROOT / "include/hob/hob.h").read_text()

# Each was said once, and rows of the same pages said otherwise.
NOT_TRUE = (
    r"hits? (?:costs? |takes? )?tens of nanoseconds",
    r"never slower",
    r"\bno overhead\b",
    r"costs the same at any depth",
)
SEARCHED = (
    "asynchronous progress",
    "I_MPI_ASYNC_PROGRESS",
    "MPIR_CVAR_ASYNC_PROGRESS",
    "MPICH_ASYNC_PROGRESS",
    "tag matching",
    "RMA",
    "ARMCI_NETWORK",
    "MPI-PR",
    "ComEx",
    "Slingshot",
)


def rows_of(title):
    """[[cell, ...], ...] of the table of docs/measured.md below the line of `title`."""
    below = MEASURED.partition(title)[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0]
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]


def microseconds(text):
    number, unit = re.match(r"([0-9.,]+) (ns|us|ms|s)\b", text).groups()
    return float(number.replace(",", "")) * {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}[unit]


class Promises(unittest.TestCase):
    def test_what_is_measured_otherwise_is_not_promised(self):
        for page in PAGES:
            text = " ".join(page.read_text().split())
            for promise in NOT_TRUE:
                with self.subTest(page=page.name, promise=promise):
                    self.assertNotRegex(text, f"(?i){promise}")

    def test_each_row_names_what_repeats_it(self):
        head, _, *rows = rows_of("how it is measured")
        self.assertEqual(head[-1], "command")
        self.assertGreater(len(rows), 10)
        for row in rows:
            command = row[-1].strip("`")
            with self.subTest(row[0]):
                self.assertRegex(command, r"^(?:\./hob bench [\w-]+|make demo)$")
                if command.startswith("./"):
                    self.assertIn(command.split()[-1], {**bench.modules(), **bench.programs()})

    def test_it_says_where_hob_loses(self):
        rows = rows_of("how it is measured")[2:]
        lost = [row[0] for row in rows if microseconds(row[2]) > microseconds(row[1])]
        self.assertGreaterEqual(len(lost), 3, lost)
        for what in lost:
            self.assertIn("nothing to gain", what)
        self.assertIn("Where Hob loses:", MEASURED)
        self.assertIn("that is not free", README.lower())

    def test_numbers_are_those_of_one_file(self):
        script = ROOT / "scripts" / "numbers"
        self.assertEqual(run([script, "--check"]), (0, "", ""))
        self.assertEqual(run([ROOT / "scripts" / "draw-gain", "--check"]), (0, "", ""))
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for name in ("README.md", "docs", "scripts"):
                (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(
                    ROOT / name, copy / name
                )
            source = copy / "docs/measurements/2026-11-headline.json"
            rows = {row["id"]: row for row in json.loads(source.read_text())["rows"]}
            hit = rows["hit"]
            source.write_text(source.read_text().replace(f'"{hit["with"]}"', '"0.25 us"'))
            status, _, err = run([copy / "scripts" / "numbers", "--check"])
            self.assertEqual(status, 1)
            for part in (
                f"README.md does not say 'a get fetched before takes 0.25 us in place of {hit['without']}'",
                "docs/caching.md does not say '0.25 us for 8 bytes",
                "docs/measured.md has another table",
            ):
                self.assertIn(part, err)

    def test_that_file_is_filled_from_runs(self):
        file = "docs/measurements/2026-11-headline.json"
        rows = {row["id"]: row for row in json.loads((ROOT / file).read_text())["rows"]}
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch)
            for name in (file, "scripts/headline"):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
            hit = {"bytes": 8, "native_remote_ns": 20340.0, "auto_ns": 57.3}
            more = {"bytes": 4096, "native_remote_ns": 123456.0, "auto_ns": 1040.0}
            result = {"bench": "hit", "quick": False, "rows": [hit, more]}
            write_json(copy, result, "hit.json")
            write_json(copy, {**result, "quick": True}, "quick.json")
            overlap = {"what": "exchange", "bytes": 8388608, "how": "sleep"}
            overlap |= {"native_start_ns": 1e6, "native_wait_ns": 5e6}
            overlap |= {"hob_start_ns": 30e3, "hob_wait_ns": 20e3}
            accumulate = {
                "what": "accumulate",
                "how": "sleep",
                "native_total_ns": 2e7,
                "hob_total_ns": 1e5,
            }
            write_json(copy, {"bench": "overlap", "rows": [overlap, accumulate]}, "overlap.json")
            demo = copy / "demo"
            demo.mkdir()
            for which, seconds in (("plain", 11.06), ("hob", 0.294)):
                write_json(demo, {"totals": {"phase_seconds": seconds}}, f"rmat.{which}.run.json")
            (copy / "hob.whl").write_bytes(b" " * 6_900_000)
            script = copy / "scripts/headline"
            given = ("hit.json", "overlap.json", "demo", "hob.whl")
            self.assertEqual(run([script, *(copy / name for name in given)]), (0, "", ""))
            filled = json.loads((copy / file).read_text())
            self.assertEqual(run([script, copy / "quick.json"])[0], 1)
        self.assertEqual(filled["wheel_mb"], 7)
        found = {row["id"]: (row["without"], row["with"]) for row in filled["rows"]}
        self.assertEqual(found["hit"], ("20.3 us", "0.06 us"))
        self.assertEqual(found["hit-4k"], ("123 us", "1.04 us"))
        self.assertEqual(found["overlap-exchange"], ("6 ms", "0.05 ms"))
        self.assertEqual(found["overlap-accumulate"], ("20 ms", "0.1 ms"))
        self.assertEqual(found["lcc"], ("11.1 s", "0.29 s"))
        # Not given, not changed.
        self.assertEqual(found["queue"], (rows["queue"]["without"], rows["queue"]["with"]))
        source = (ROOT / "scripts/headline").read_text()
        for row in rows:
            self.assertIn(f'    "{row}": of(', source)

    def test_the_readme_shows_a_run_of_the_tutorial(self):
        tutorial = (ROOT / "docs/tutorial.md").read_text()
        shown = [line for line in README.splitlines() if re.match("    (sum |hob: )", line)]
        self.assertGreater(len(shown), 3)
        for line in shown:
            self.assertIn(line, tutorial)
        for line in re.findall(r"`(sum [\d., ]+ s)`", README):
            self.assertIn(line, tutorial)

    def test_the_readme_is_one_screen_and_has_one_list(self):
        first, _, rest = README.partition("## On a cluster")
        self.assertLess(len(first), 4500)
        self.assertTrue(rest)
        self.assertLess(first.index("hob exec ./app"), 400)
        typed = re.findall(r"(?m)^    (make \w+)", first)
        self.assertEqual(typed[:2], ["make demo", "make test"])
        named = re.findall(r"(?m)^- \*\*\[([^]]+)\]", first)
        self.assertEqual([one.lower() for one in named], [one.name for one in MECHANISMS])

    def test_programs_that_lose_are_counted(self):
        page = (ROOT / "docs/real-programs.md").read_text()
        ratios = [
            float(ratio) for ratio in re.findall(r"^\| `.*?\*\*([0-9.]+)\*\*", page, re.MULTILINE)
        ]
        losing = [ratio for ratio in ratios if ratio <= 0.94]
        words = {
            number: word
            for number, word in enumerate("two three four five six seven eight".split(), 2)
        }
        low, high = round(100 * (1 - max(losing))), round(100 * (1 - min(losing)))
        self.assertIn(
            f"{words[len(losing)]} of {len(ratios)} real programs lose {low} to {high}%", README
        )

    def test_calls_of_the_header_are_there(self):
        named = re.findall(r"\bHOB_[A-Z][a-z]+(?:_[a-z]+)*\b", (ROOT / "docs/api.md").read_text())
        self.assertGreater(len(set(named)), 3)
        for name in set(named):
            self.assertIn(f"{name}(", HEADER)


class Words(unittest.TestCase):
    def test_that_people_search_for_are_on_one_page(self):
        page = (ROOT / "docs/own-switches.md").read_text()
        for word in SEARCHED:
            with self.subTest(word):
                self.assertIn(word, page)
        self.assertRegex(page, "(?i)better")
        self.assertIn("own-switches.md", (ROOT / "docs/index.md").read_text())


if __name__ == "__main__":
    unittest.main()
