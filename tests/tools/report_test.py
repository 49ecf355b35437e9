"""hob report: the page of a full run, and of runs that lack almost everything."""

import json
import re
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import sample
from support import hob, write_json

from hob.report import charts
from hob.report.data import Run, access_counts, load, merge_counts
from hob.report.page import page
from hob.report.sentences import findings
from hob.report.words import brief, number, quantity, seconds, share, size
from hob.where import HobError

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Checker(HTMLParser):
    """Every tag closed, and nothing fetched from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.tags, self.ids = [], [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and not str(value).startswith(("#", "data:")):
                self.faults.append(f"{tag} fetches {value}"[:100])
            if name == "id":
                self.ids.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def checked(text):
    checker = Checker()
    checker.feed(text)
    if checker.faults or checker.open:
        raise AssertionError(f"{checker.faults[:5]} {checker.open[:5]}")
    return checker


class Page(unittest.TestCase):
    def test_of_a_full_run(self):
        text = page(Run(sample.report()))
        tags = checked(text).tags
        self.assertNotIn("script", tags)
        for part in (
            "./lcc --graph &lt;packages&gt;.mtx",
            "Cached gets",
            "Message matching",
            "Ghosts",
            "ghost_binding=rank",
            "MPICH 5.0.2",
            "adjacency 0",
            "Adaptations",
            "cache_size",
            "a get from shared memory is as cheap as a hit",
            "conflicting",
        ):
            self.assertIn(part, text)
        if charts.available():
            # Two windows with five pictures, four of the queues, four of the ghosts.
            self.assertEqual(tags["figure"], 18)

    def test_ids_of_pictures_do_not_clash(self):
        if not charts.available():
            self.skipTest("need matplotlib")
        text = page(Run(sample.report()))
        clips = re.findall(r'<clipPath id="([^"]+)"', text)
        self.assertTrue(clips)
        self.assertEqual(len(clips), len(set(clips)))

    def test_is_the_same_each_time(self):
        document = sample.report(windows=1, queues=False)
        self.assertEqual(page(Run(document)), page(Run(document)))

    def test_a_long_command_is_no_title(self):
        document = sample.rich()["long names"]
        text = page(Run(document))
        self.assertIn(
            f"<h1><code>{brief('program --input ' + document['program']['command'][2])}", text
        )
        self.assertIn(" ".join(document["program"]["command"]), text)

    def test_of_runs_that_lack_things(self):
        for name, document in sample.poor().items():
            with self.subTest(name):
                checked(page(Run(document)))

    def test_draws_the_busiest_of_many_windows(self):
        document = sample.report(ranks=1, windows=9, queues=False, ghosts=0)
        with mock.patch("hob.report.page.MOST_WINDOWS", 1):
            text = page(Run(document))
        self.assertIn("of 9", text)
        self.assertEqual(checked(text).tags.get("figure", 0), 5 if charts.available() else 0)

    def test_of_a_window_without_gets(self):
        document = sample.report(windows=1)
        for rank in document["ranks"]:
            rank["windows"][0]["counters"] = {}
            rank["windows"][0]["histograms"] = {}
            rank["windows"][0]["series"] = {}
        text = page(Run(document))
        checked(text)
        self.assertIn("issued no gets", text)

    def test_without_matplotlib_says_so(self):
        kept, charts.matplotlib = charts.matplotlib, None
        self.addCleanup(setattr, charts, "matplotlib", kept)
        document = sample.report()
        text = page(Run(document))
        checked(text)
        self.assertIn("need matplotlib", text)
        self.assertIn("adjacency 0", text)


class Command(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def test_writes_the_page_beside_the_json(self):
        source = write_json(self.scratch.name, sample.report())
        status, out, err = hob("report", source)
        self.assertEqual(status, 0, err)
        target = source.with_suffix(".html")
        self.assertEqual(out.strip(), str(target))
        checked(target.read_text())

    def test_prints_for_scripts_and_writes_no_file(self):
        source = write_json(self.scratch.name, sample.report())
        status, out, err = hob("report", source, "--json", "-", cwd=self.scratch.name)
        self.assertEqual(status, 0, err)
        document = json.loads(out)
        self.assertEqual(document["verdict"]["kind"], "perhaps")
        self.assertEqual(document["program"]["ranks"], 4)
        self.assertTrue(document["next"]["command"].startswith("hob run -n 4"))
        status, out, err = hob("report", source, "-o", "-", cwd=self.scratch.name)
        self.assertEqual(status, 0, err)
        checked(out)
        self.assertEqual([each.name for each in Path(self.scratch.name).iterdir()], ["run.json"])
        status, _, err = hob("report", source, "--json", "found.json", cwd=self.scratch.name)
        self.assertEqual(status, 0, err)
        found = json.loads(Path(self.scratch.name, "found.json").read_text())
        self.assertEqual(found, document)

    def test_text_ends_in_what_to_do_next(self):
        status, out, err = hob("report", write_json(self.scratch.name, sample.report()), "--text")
        self.assertEqual(status, 0, err)
        self.assertTrue(out.splitlines()[-2].startswith("Next: "), out)
        self.assertIn("hob run -n 4", out.splitlines()[-1])

    def test_refuses_what_is_nested_too_deeply(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "deep.json")
            path.write_text('{"hob": ' + "[" * 200_000 + "]" * 200_000 + "}")
            for command in (["report", path], ["advise", "--from", path]):
                with self.subTest(command[0]):
                    status, _, err = hob(*command)
                    self.assertEqual(status, 2, err)
                    self.assertEqual(len(err.splitlines()), 1, err)
                    self.assertIn("deep.json", err)

    def test_refuses_what_is_no_report(self):
        broken = Path(self.scratch.name) / "broken.json"
        broken.write_text('{"hob": {')
        other = write_json(self.scratch.name, {"a": 1}, "other.json")
        torn = write_json(self.scratch.name, {"hob": {}, "ranks": 3}, "torn.json")
        program = Path(self.scratch.name) / "program"
        program.write_bytes(b"\x7fELF\xd8")
        for path, part in (
            (broken, "no JSON"),
            (program, "no JSON of Hob, nor any other text\n"),
            (other, "not written by Hob"),
            (torn, "not of the form that Hob writes"),
            (Path(self.scratch.name) / "none.json", "cannot read"),
        ):
            with self.subTest(path.name):
                status, _, err = hob("report", path)
                self.assertEqual(status, 2)
                self.assertIn(part, err)
                self.assertIn(path.name, err)


class Numbers(unittest.TestCase):
    def test_histograms_of_different_lengths_add_up(self):
        self.assertEqual(
            merge_counts([{"counts": [1, 2]}, {"counts": [1, 0, 3, 0]}, {}]), [2, 2, 3]
        )

    def test_access_types_add_up_to_the_gets(self):
        counters = sample.window(0)["counters"]
        self.assertEqual(sum(access_counts(counters)), counters["gets"])

    def test_extended_partial_hits_count_once(self):
        counts = access_counts({"hits_partial": 5, "direct": 7, "extended": 5})
        self.assertEqual(sum(counts), 7)

    def test_words(self):
        self.assertEqual(size(1536), "1.5 KiB")
        self.assertEqual(quantity(1234567), "1.23 million")
        self.assertEqual(share(9999, 10000), "more than 99.9%")
        self.assertEqual(share(1, 100000), "less than 0.1%")
        self.assertEqual(share(1, 0), "0%")

    def test_findings_name_what_limits(self):
        document = sample.report(ranks=1, windows=1)
        document["ranks"][0]["windows"][0]["counters"].update(capacity=9000, direct=0)
        self.assertIn("cache_size", " ".join(findings(Run(document))))

    def test_findings_tell_of_fetching_ahead(self):
        document = sample.report(ranks=1, windows=1)
        self.assertNotIn("blocks", " ".join(findings(Run(document))))
        document["ranks"][0]["windows"][0]["counters"].update(
            ahead_gets=10,
            ahead_bytes=40960,
            ahead_used_bytes=20480,
            ahead_hits=300,
            bytes_from_cache=30000,
        )
        text = " ".join(findings(Run(document)))
        for part in ("10 gets fetched blocks, 40 KiB more", "20 KiB of that", "spared 300 trips"):
            self.assertIn(part, text)

    def test_numbers_need_no_exponent(self):
        self.assertEqual(
            [number(value) for value in (0, 1093.7, 999.6, 12.5, 9.996, 0.00012345, 1e9, -1500.4)],
            ["0", "1,090", "1,000", "12.5", "10", "0.000123", "1,000,000,000", "-1,500"],
        )
        self.assertEqual(size(1020 << 10), "1,020 KiB")
        self.assertEqual(quantity(999_950_000), "1,000 million")
        self.assertEqual(quantity(999.7), "1,000")
        self.assertEqual(seconds(1e-8), "0.00001 ms")

    def test_times_need_no_exponent(self):
        texts = [seconds(value) for value in (0.005, 0.9999, 119, 6450, 3600 * 12345)]
        self.assertEqual(texts, ["5 ms", "1 s", "119 s", "108 min", "12,345 h"])

    def test_the_page_tells_block_sizes_over_time(self):
        document = sample.report(ranks=1, windows=1)
        document["ranks"][0]["windows"][0]["series"]["adaptations"].append(
            {"get": 9500, "what": "readahead", "from": 0, "to": 4096, "why": "trips and bytes"}
        )
        text = page(Run(document))
        checked(text)
        self.assertRegex(text, "readahead.*0 B.*4 KiB.*trips and bytes")

    def test_a_run_that_was_cut_off_says_so(self):
        whole = sample.report(ranks=2)
        document = {**whole, "program": {**whole["program"], "complete": False}}
        document["ranks"] = document["ranks"][:1]
        del document["program"]["nodes"]
        document["ranks"][0]["windows"][0]["counters"]["saved_ns"] = 4_000_000_000
        run = Run(document)
        told = " ".join(findings(run))
        self.assertIn("had not ended", told)
        self.assertIn("2 ranks ran for", told)
        self.assertNotIn("had not ended", " ".join(findings(Run(whole))))
        # What one rank saved is not shared out among those that told nothing.
        self.assertEqual(run.saved_seconds, 4.0)
        checked(page(run))

    def test_findings_tell_of_ghosts(self):
        text = " ".join(findings(Run(sample.report(ghosts=2))))
        for part in ("2 ghosts did 1,800 operations", "25% of the time", "got no ghost"):
            self.assertIn(part, text)
        self.assertNotIn("ghost", " ".join(findings(Run(sample.report(ghosts=0)))))

    def test_load_returns_what_was_written(self):
        with tempfile.TemporaryDirectory() as scratch:
            run = load(write_json(scratch, json.loads(json.dumps(sample.report()))))
            self.assertEqual(run.rank_count, 4)
            self.assertEqual(run.cache["gets"], 4 * 30000)
            with self.assertRaises(HobError):
                load(Path(scratch) / "none")


if __name__ == "__main__":
    unittest.main()
