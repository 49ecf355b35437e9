"""What README and docs promise: nothing that was measured otherwise, where Hob loses, and the words that people search for."""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from support import ROOT, run

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
    number, unit = re.match(r"([0-9.,]+) (us|ms|s)\b", text).groups()
    return float(number.replace(",", "")) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


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
            source.write_text(source.read_text().replace('"0.15 us"', '"0.25 us"'))
            status, _, err = run([copy / "scripts" / "numbers", "--check"])
            self.assertEqual(status, 1)
            for part in (
                "README.md does not say 'a get fetched before takes 0.25 us in place of 20.3 us'",
                "docs/caching.md does not say '0.25 us for 8 bytes",
                "docs/measured.md has another table",
            ):
                self.assertIn(part, err)

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
