"""The page of a run: its verdict first, what its header says, pictures for those without matplotlib."""

import re
import unittest
from unittest import mock
from xml.etree import ElementTree

import sample
from support import ROOT  # noqa: F401  the path of hob

from hob.report import charts, plain
from hob.report.page import page
from hob.report.data import ACCESS_TYPES, Run, access_counts
from hob.report.sentences import findings, verdict
from hob.report.words import saved_on_each


def run_of(**counters):
    document = sample.report(ranks=2, windows=1, queues=False, ghosts=0)
    for rank in document["ranks"]:
        rank["windows"][0]["counters"] = counters
    return Run(document)


class Words(unittest.TestCase):
    """Pages whose pictures do not matter: the quick ones."""

    def setUp(self):
        quick = mock.patch.object(charts, "available", lambda: False)
        quick.start()
        self.addCleanup(quick.stop)


class Verdict(Words):
    def test_is_one_for_every_run(self):
        for want, counters in (
            ("failed", {"gets": 9, "hits_full": 9, "verified": 9, "verify_failures": 4}),
            ("gained", {"gets": 9000, "hits_full": 8000, "saved_ns": 5_000_000_000}),
            ("perhaps", {"accumulates": 100, "late_ns": 5_000_000_000}),
            ("nothing", {"gets": 1000, "bypassed": 1000}),
            ("nothing", {"gets": 1000, "direct": 1000}),
            ("nothing", {}),
        ):
            run = run_of(**counters)
            kind, sentence = verdict(run)
            self.assertEqual(kind, want, sentence)
            self.assertEqual(findings(run)[0], sentence)
            text = page(run)
            body = text[text.index("</header>") :]
            self.assertLess(body.index(f'class="card verdict {kind}"'), body.index("tile"))

    def test_names_what_was_gained_before_what_might_be(self):
        run = run_of(gets=9000, hits_full=8000, saved_ns=13_600_000_000, late_ns=98_600_000)
        self.assertIn("about 2.1 times faster (estimate)", findings(run)[0])
        self.assertNotIn("13.6", findings(run)[0])
        run = run_of(gets=9000, hits_full=8000, saved_ns=3_600_000_000, late_ns=98_600_000)
        self.assertIn("saved each rank about 3.6 s of waiting", findings(run)[0])

    def test_names_the_greatest_gain_first(self):
        run = run_of(gets=9000, hits_full=8000, saved_ns=5e8, batched=9000, batch_saved_ns=3e9)
        sentence = verdict(run)[1]
        self.assertIn("3 s of communication, by small operations", sentence)
        self.assertLess(sentence.index("small operations"), sentence.index("the cache answered"))
        run = run_of(gets=9000, hits_full=8000, saved_ns=5e9, batched=9000, batch_saved_ns=9e10)
        self.assertIn("mostly by small operations", verdict(run)[1])

    def test_batches_are_told_before_ghosts_are_advised(self):
        run = run_of(puts=60_000, batched=40_000, batches=90, late_ns=5_000_000_000)
        kind, sentence = verdict(run)
        self.assertEqual(kind, "perhaps")
        self.assertIn("80,000 small operations went out together. What that saved is", sentence)
        said = " ".join(findings(run))
        self.assertIn("80,000 small operations went out as 180", said)
        self.assertNotIn("ghost", said)

    def test_findings_tell_of_overlap(self):
        document = sample.report(ranks=2, windows=0, queues=False, ghosts=0)
        for rank in document["ranks"]:
            rank["counters"].update(overlap_helped=50, overlap_alone=4, overlap_saved=2e9)
        said = " ".join(findings(Run(document)))
        self.assertIn("moved during 100 phases of computing (8 were not helped), which saved", said)

    def test_overlap_saved_what_each_rank_saved(self):
        document = sample.report(ranks=2, windows=0, queues=False, ghosts=0)
        for rank, saved in zip(document["ranks"], (2e9, 1e9)):
            rank["counters"].update(overlap_helped=50, overlap_alone=4, overlap_saved=saved)
        self.assertIn("saved each rank about 1 s of waiting", findings(Run(document))[0])
        document["ranks"][1]["counters"]["overlap_saved"] = 0
        self.assertEqual(Run(document).gains, [])

    def test_a_run_without_hob_says_so(self):
        document = {**sample.report(), "ranks": []}
        document["settings"] = {"off": {"value": "on", "from": "environment"}}
        kind, sentence = verdict(Run(document))
        self.assertEqual(
            (kind, sentence), ("nothing", "Hob was off in this run, which took 12.3 s.")
        )
        page(Run(document))

    def test_bytes_from_the_cache_are_not_said_to_have_spared_the_network(self):
        run = run_of(
            gets=4000,
            hits_full=3000,
            bytes_from_cache=24_000,
            bytes_from_network=8000,
            ahead_gets=500,
            ahead_bytes=12_000_000,
            ahead_used_bytes=10_000_000,
            ahead_hits=1000,
        )
        said = " ".join(findings(run))
        self.assertIn("Of what they asked for, 46.9 KiB came from there, 15.6 KiB over the", said)
        self.assertIn(
            "22.9 MiB more than was asked for; at most 46.9 KiB of that was asked for later", said
        )
        self.assertNotIn("not cross the network", said)
        self.assertNotIn("not sent over", page(run))

    def test_operations_on_one_node_are_named(self):
        run = run_of(puts=30, accumulates=5)
        run.nodes = 1
        self.assertIn("Its 60 puts and 10 accumulates stay on one node.", verdict(run)[1])

    def test_no_hit_is_said_in_words(self):
        run = run_of(gets=2000, native_gets=2000, direct=500, short_lived=1500, invalidations=500)
        said = " ".join(findings(run))
        self.assertIn("None of 4,000 remote gets was answered by the cache.", said)
        self.assertIn("Copies were dropped before they were asked for again", said)
        self.assertNotIn("for the first time", said)

    def test_waits_by_requests_are_not_nothing(self):
        kind, sentence = verdict(run_of(puts=500, requested=500, waits=0, late_ns=0))
        self.assertEqual(kind, "perhaps")
        self.assertIn("How long the program waited for its 1,000 puts was not measured", sentence)

    def test_waits_for_cores_are_no_reason_for_ghosts(self):
        run = run_of(accumulates=90, waits=90, late_ns=8e9)
        self.assertEqual(verdict(run)[0], "perhaps")
        for rank in run.ranks:
            rank["counters"]["core_waits_ns"] = 5e9
        run = Run(run.document)
        self.assertEqual(verdict(run)[0], "nothing")
        self.assertIn("waiting for targets, and 5 s for a core", " ".join(findings(run)))
        self.assertNotIn("ghosts may", " ".join(findings(run)))

    def test_gets_that_were_not_remote_are_told(self):
        sentence = verdict(run_of(gets=40, own_rank=20, uncacheable=20, bypassed=20))[1]
        self.assertIn("None of its gets was remote", sentence)

    def test_tells_a_range_and_the_rank_that_gained_most(self):
        run = run_of(saved_ns=4e8, saved_least_ns=3e8, saved_most_ns=6e8)
        self.assertEqual(saved_on_each(run.savings["cached gets"]), "300 to 600 ms on each rank")
        window = run.ranks[0]["windows"][0]
        window["counters"] = {name: 10 * value for name, value in window["counters"].items()}
        said = saved_on_each(run.savings["cached gets"])
        self.assertEqual(said, "1.65 to 3.3 s on the average rank")  # no one number beside a range
        self.assertIn("saved the average rank 1.65 to 3.3 s", findings(run)[0])
        for part in (each["windows"][0]["counters"] for each in run.ranks):
            part.update(saved_least_ns=part["saved_ns"], saved_most_ns=part["saved_ns"])
        said = saved_on_each(run.savings["cached gets"])
        self.assertEqual(said, "about 2.2 s on the average rank (4 s on rank 0)")

    def test_a_bound_has_no_estimate_of_one_rank_beside_it(self):
        run = run_of(saved_ns=2e6, saved_least_ns=0, saved_most_ns=9e6)
        run.ranks[1]["windows"][0]["counters"] = {}
        said = saved_on_each(run.savings["cached gets"])
        self.assertEqual(said, "up to 4.5 ms on the average rank")

    def test_says_where_too_few_waits_were_measured(self):
        kind, sentence = verdict(run_of(gets=9000, hits_full=8000, unpriced_hits=8000))
        self.assertEqual(kind, "perhaps")
        self.assertIn("too few waits were measured", sentence)

    def test_stale_bytes_are_not_beside_what_stepped_aside(self):
        run = run_of(gets=9, verified=9, verify_failures=1)
        run.notes = ["verify: rank 0 served 8 stale bytes", "window 0 runs in mode strict"]
        text = page(run)
        aside = text[text.index("<b>Notes</b>") :]
        self.assertNotIn("stale bytes", aside[: aside.index("</ul>")])


class Header(Words):
    def test_says_where_and_how(self):
        document = sample.report(ranks=2)
        document["program"].update(job="4711", threads="multiple")
        text = page(Run(document))
        header = text[text.index("<header>") : text.index("</header>")]
        for part in ("job 4711", "node", "threads: multiple", "cache_size=4M", "MPICH 5.0.2"):
            self.assertIn(part, header)

    def test_ghosts_are_named_by_their_hosts(self):
        document = sample.report(ranks=2, queues=False)
        document["ranks"][1]["ghost"]["node"] = 1
        document["ranks"][1]["host"] = "n2"
        document["ranks"][1]["ghost"]["ghosts"] = document["ranks"][0]["ghost"]["ghosts"]
        self.assertIn("n2.0", page(Run(document)))


class Order(Words):
    def body(self, document):
        text = page(Run(document))
        return text[text.index("</header>") :]

    def test_what_to_do_next_comes_after_the_verdict(self):
        body = self.body(sample.report())
        places = [
            body.index(part)
            for part in (
                "card verdict",
                "What to do next",
                "<code>hob run -n 4 --nodes 4",
                '"tiles"',
                "<h2>Advice</h2>",
                "<h2>Cached gets</h2>",
                "Adaptations of adjacency 0",
                "<i>Transparent Caching",
            )
        ]
        self.assertEqual(places, sorted(places))

    def test_sentences_are_read_from_the_left_on_a_phone_and_in_columns_on_a_desk(self):
        body = self.body(sample.report())
        self.assertIn('<td class="text words" data-name="why">', body)
        self.assertIn('<td class="text" data-name="verdict">', body)
        self.assertIn('<div class="card findings">', body)
        self.assertNotIn(
            '"card findings"', self.body(sample.report(windows=0, ghosts=0, queues=False))
        )

    def test_a_window_says_what_its_operations_pass(self):
        self.assertIn("operations pass cache, locks, batches, library", self.body(sample.report()))

    def test_captions_name_their_paper(self):
        body = self.body(sample.report())
        self.assertIn("(caching paper: Figs. 13, 16, 18)", body)
        self.assertNotIn("(paper", body)
        for part in ("Caching paper: ", "Ghosts paper: ", "Matching paper: "):
            self.assertIn(part, body)

    def test_has_nothing_of_what_the_run_had_not(self):
        kept, charts.matplotlib = charts.matplotlib, None
        self.addCleanup(setattr, charts, "matplotlib", kept)
        document = sample.report(ranks=2, windows=1, queues=False, ghosts=0)
        document["settings"] = {"json": {"value": "a.json", "from": "environment"}}
        for rank in document["ranks"]:
            rank["windows"][0].update(counters={"accumulates": 9}, histograms={}, series={})
        text = page(Run(document))
        for part in (
            "Caching paper",
            "Matching paper",
            "matplotlib",
            "<h2>Cached gets",
            "json=a.json",
        ):
            self.assertNotIn(part, text)
        self.assertIn("default settings", text)

    def test_gets_that_were_left_alone_say_why(self):
        document = sample.report(ranks=2, windows=1, queues=False, ghosts=0)
        for rank in document["ranks"]:
            rank["windows"][0]["counters"] = {
                "gets": 100,
                "own_rank": 50,
                "uncacheable": 60,
                "bypassed": 40,
            }
        body = self.body(document)
        for part in ("own memory", "near", "not cached"):
            self.assertIn(part, body)
        kinds = dict(
            zip(
                [kind for kind, _, _ in ACCESS_TYPES],
                access_counts(document["ranks"][0]["windows"][0]["counters"]),
            )
        )
        self.assertEqual((kinds["own memory"], kinds["near"], kinds["not cached"]), (50, 40, 10))

    def test_ghosts_of_nodes_that_are_one_machine_have_names(self):
        document = sample.report(ranks=2, queues=False)
        document["ranks"][1]["ghost"]["node"] = 1
        document["ranks"][1]["ghost"]["ghosts"] = document["ranks"][0]["ghost"]["ghosts"]
        document["program"].update(nodes=1, pretended_nodes=2)
        body = page(Run(document))
        for part in ("node 0.0", "node 1.0", "2 pretended nodes"):
            self.assertIn(part, body)


class Pictures(unittest.TestCase):
    def pages(self):
        with mock.patch.object(charts, "available", lambda: False):
            return [
                page(Run(sample.report())),
                *(page(Run(each)) for each in [*sample.rich().values(), *sample.poor().values()]),
            ]

    def test_are_there_without_matplotlib(self):
        texts = self.pages()
        self.assertGreaterEqual(texts[0].count("<figure>"), 8)
        for text in texts:
            for svg in re.findall(r"<svg.*?</svg>", text, re.S):
                root = ElementTree.fromstring(svg)
                self.assertEqual(root.get("role"), "img")
                self.assertTrue(root.get("aria-label"))
                for each in root.iter("{http://www.w3.org/2000/svg}rect"):
                    self.assertLessEqual(
                        float(each.get("x")) + float(each.get("width")), plain.WIDTH
                    )
                    self.assertGreaterEqual(float(each.get("y")), 0)
            self.assertNotIn("NaN", text)

    def test_heights_are_the_values(self):
        root = ElementTree.fromstring(
            plain.stacked(
                ["a", "b"], [[1, 1], [4, 0]], ["#111111", "#222222"], "x", "y", str, ("p", "q")
            )
        )
        bars = [
            e
            for e in root.iter("{http://www.w3.org/2000/svg}rect")
            if ":" not in (e.text or "") and e[0].text[0] in "ab"
        ]
        heights = [float(bar.get("height")) for bar in bars]
        self.assertAlmostEqual(heights[2] / heights[0], 4, places=1)
        self.assertEqual(heights[0], heights[1])

    def test_text_and_lines_take_the_pages_colours(self):
        for text in (page(Run(sample.report())), self.pages()[0]):
            pictures = " ".join(re.findall(r"<svg.*?</svg>", text, re.S))
            for colour in (charts.INK, charts.LINE, charts.BLUE):
                self.assertIn(f", {colour})", pictures)
                self.assertEqual(pictures.count(colour), pictures.count(f", {colour})"))
            # No text is left in the black that pictures have by default.
            for label in re.findall(r"<g id=.text_\d+.>.*?</g>", pictures, re.S):
                self.assertIn("var(--ink", label)

    @unittest.skipUnless(charts.available(), "no matplotlib here")
    def test_have_alternative_text(self):
        text = page(Run(sample.report()))
        self.assertEqual(text.count("<svg"), text.count('role="img" aria-label="'))
        self.assertIn("prefers-color-scheme: dark", text)


if __name__ == "__main__":
    unittest.main()
