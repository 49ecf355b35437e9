"""hob advise: what it concludes from counters."""

import json
import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import sample
from support import BIN, ROOT, hob, write_json

from advice.twenty import PROGRAMS
from hob.advise import text
from hob import turns
from hob.report.advice import advise
from hob.report.facts import facts_of
from hob.report.next_step import Step, next_step, ranked
from hob.report.data import Run
from hob.report.sentences import findings


def with_counters(queues=False, kind="create", **counters):
    """A run of one window with these counters."""
    document = sample.report(ranks=2, windows=1, queues=queues, ghosts=0)
    for rank in document["ranks"]:
        rank["windows"][0].update(counters=counters, kind=kind)
    return Run(document)


class Cache(unittest.TestCase):
    def of(self, **counters):
        return advise(with_counters(**counters))[0]

    def test_helps_where_gets_repeat(self):
        advice = self.of(gets=1000, hits_full=900, direct=100)
        self.assertEqual((advice.verdict, advice.settings), ("helps", []))
        self.assertEqual(advice.saves, 0)  # no trip was measured
        run = with_counters(gets=1000, hits_full=900, direct=100)
        self.assertAlmostEqual(advise(run, get_us=2000.0)[0].saves, 2 * 900 * 2e-3)
        self.assertEqual(advise(run, get_us=0.1)[0].verdict, "no use")

    def test_saves_what_the_run_measured(self):
        advice = self.of(gets=1000, hits_full=900, direct=100, saved_ns=5_000_000)
        self.assertAlmostEqual(advice.saves, 2 * 5e-3)

    def test_names_the_call_that_dropped_the_cache(self):
        run = with_counters(gets=1000, direct=1000, invalidations=20)
        for rank in run.document["ranks"]:
            rank["windows"][0]["drops"] = [
                {"call": "MPI_Win_lock", "times": 2, "bytes": 64},
                {"call": "MPI_Barrier", "times": 18, "bytes": 4096},
            ]
        run = Run(run.document)
        self.assertEqual(run.drops, [("MPI_Barrier", 36, 8192), ("MPI_Win_lock", 4, 128)])
        self.assertIn("40 times, mostly by MPI_Barrier,", " ".join(advise(run)[0].reasons))

    def test_says_what_fetching_ahead_brought(self):
        advice = self.of(
            gets=1000,
            hits_full=990,
            ahead_gets=8,
            ahead_hits=700,
            ahead_bytes=8192,
            ahead_used_bytes=6144,
            bytes_from_cache=8000,
        )
        text = " ".join(advice.reasons)
        for part in ("spared 1,400 trips (70% of the remote gets)", "16 KiB more", "75% was used"):
            self.assertIn(part, text)
        self.assertNotIn("readahead=off", text)

    def test_no_more_is_used_than_was_fetched(self):
        fetched = {"gets": 1000, "hits_full": 990, "ahead_gets": 8, "ahead_bytes": 8000}
        advice = self.of(**fetched, ahead_used_bytes=8192, bytes_from_cache=9000)
        self.assertIn("of which 100% was used", " ".join(advice.reasons))
        # Nor more than was asked for.
        advice = self.of(**fetched, ahead_used_bytes=8192, bytes_from_cache=800)
        self.assertIn("of which 10% was used", " ".join(advice.reasons))

    def test_shares_are_those_of_remote_gets(self):
        counters = {"gets": 2000, "own_rank": 900, "bypassed": 100, "hits_full": 990, "direct": 10}
        advice = self.of(**counters, uncacheable=900)
        self.assertEqual(advice.verdict, "helps")
        self.assertIn("99% of 2,000 remote gets", advice.reasons[0])
        said = " ".join(findings(with_counters(**counters, uncacheable=900)))
        self.assertIn("1,800 read the process's own memory and 200 read targets", said)
        self.assertIn("Of 2,000 remote gets, 1,980 (99%) were answered", said)

    def test_says_which_gets_were_not_remote(self):
        counters = {"gets": 1000, "own_rank": 500, "uncacheable": 500, "bypassed": 500}
        run = with_counters(**counters)
        run.nodes = 1
        advice = advise(run)[0]
        self.assertEqual(advice.verdict, "no use")
        for part in ("50% read the process's own memory", "50% read targets", "--remote"):
            self.assertIn(part, advice.reasons[0])
        run.nodes = 2
        self.assertNotIn("--remote", advise(run)[0].reasons[0])

    def test_says_where_others_write(self):
        advice = self.of(gets=1000, hits_full=500, ahead_gets=8, ahead_bytes=64, ahead_changed=1)
        self.assertIn("readahead=off", " ".join(advice.reasons))

    def test_asks_for_fetching_ahead_where_it_was_off(self):
        run = with_counters(gets=1000, hits_full=500, direct=500)
        run.settings["readahead"] = {"value": "off", "from": "environment"}
        self.assertIn("readahead=auto", advise(run)[0].settings)
        run.settings["readahead"] = {"value": "auto", "from": "default"}
        self.assertNotIn("readahead=auto", advise(run)[0].settings)

    def test_names_recall_where_phases_may_recur(self):
        run = with_counters(gets=10_000, hits_full=100, direct=9_900, invalidations=20)
        run.settings["recall"] = {"value": "off", "from": "environment"}
        advice = advise(run)[0]
        self.assertEqual((advice.verdict, advice.settings), ("may help", ["recall=auto"]))
        self.assertIn("about 495 each time", " ".join(advice.reasons))
        run = with_counters(gets=10_000, hits_full=9_900, direct=100, invalidations=20)
        run.settings["recall"] = {"value": "off", "from": "environment"}
        self.assertNotIn("recall=auto", advise(run)[0].settings)
        run = with_counters(gets=10_000, hits_full=9_000, direct=100, recalled=400, recall_used=300)
        self.assertIn("800 places were fetched again", " ".join(advise(run)[0].reasons))

    def test_says_what_validation_costs(self):
        for kept, settings in ((0, ["cache_validate=off"]), (400, [])):
            run = with_counters(gets=1000, hits_full=500, validation_ns=10**9, kept_hits=kept)
            run.seconds = 4.0
            advice = advise(run)[0]
            self.assertIn("1 s on each rank (25% of the time)", " ".join(advice.reasons))
            self.assertEqual(advice.settings, settings)

    def test_asks_for_room_where_it_is_short(self):
        advice = self.of(gets=1000, hits_full=500, capacity=300, conflicting=200)
        self.assertEqual(
            [setting.split("=")[0] for setting in advice.settings], ["cache_max", "cache_index"]
        )

    def test_is_no_use_without_gets_without_reuse_and_on_one_node(self):
        self.assertEqual(self.of(puts=10).verdict, "no use")
        self.assertEqual(self.of(gets=1000, direct=1000).verdict, "no use")
        self.assertEqual(self.of(gets=1000, bypassed=1000).verdict, "no use")

    def test_suggests_a_promise_where_acquires_empty_the_cache(self):
        advice = self.of(gets=1000, direct=1000, invalidations=500)
        self.assertEqual((advice.verdict, advice.settings), ("may help", ["cache=always"]))


class Batches(unittest.TestCase):
    def of(self, batch="off", **counters):
        run = with_counters(**counters)
        run.settings["batch"] = {"value": batch, "from": "default"}
        return [advice for advice in advise(run) if advice.mechanism == "batches"]

    def test_may_help_where_many_operations_come_before_a_wait(self):
        (advice,) = self.of(puts=1000, waits=10)
        self.assertEqual((advice.verdict, advice.settings), ("may help", ["batch=auto"]))

    def test_are_not_spoken_of_otherwise(self):
        self.assertEqual(self.of(puts=100, waits=10), [])
        self.assertEqual(self.of(puts=1000, waits=0), [])
        self.assertEqual(self.of(puts=1000, requested=1000, waits=10), [])
        self.assertEqual(self.of(batch="auto", puts=1000, waits=10), [])

    def test_say_what_they_did(self):
        (advice,) = self.of(batch="auto", puts=1000, batched=900, batches=9, batch_saved_ns=2e9)
        self.assertEqual((advice.verdict, advice.saves), ("helps", 4))

    def test_without_a_price_are_not_measured(self):
        (advice,) = self.of(batch="auto", puts=1000, batched=900, batches=9)
        self.assertEqual((advice.verdict, advice.saves), ("not measured", 0))
        (advice,) = self.of(batch="auto", puts=1000, batched=900, batches=9, batch_saved_ns=1e5)
        self.assertEqual(advice.verdict, "no use")

    def test_are_waited_for_without_ghosts(self):
        counters = {"puts": 1000, "batches": 9, "waits": 100, "late_ns": 800_000_000}
        for batched, verdict in ((900, "no use"), (100, "may help")):
            run = with_counters(kind="allocate", batched=batched, **counters)
            run.seconds = 4.0
            self.assertEqual(advise(run)[1].verdict, verdict)
            self.assertEqual("ghosts" in " ".join(findings(run)), verdict == "may help")


class Ghosts(unittest.TestCase):
    def test_are_not_judged_where_waits_were_not_measured(self):
        advice = advise(with_counters(kind="allocate", accumulates=100))[1]
        self.assertEqual((advice.verdict, advice.settings), ("not measured", ["ghosts=1"]))

    def test_may_save_what_was_waited_for_computing_targets(self):
        counters = {"accumulates": 100, "waits": 100, "late_waits": 50, "late_ns": 800_000_000}
        run = with_counters(kind="allocate", **counters)
        run.seconds = 4.0
        advice = advise(run)[1]
        self.assertEqual((advice.verdict, advice.settings), ("may help", ["ghosts=1"]))
        self.assertAlmostEqual(advice.saves, 2 * 0.8)
        self.assertIn("800 ms on each rank (20% of the time)", " ".join(advice.reasons))
        self.assertIn("May save up to 800 ms on each rank, of 4 s.", text(run, [advice]))
        self.assertIn("waiting for targets that computed", " ".join(findings(run)))

    def test_is_no_use_where_targets_attended(self):
        for late in (0, 10_000_000):
            run = with_counters(kind="allocate", accumulates=100, waits=100, late_ns=late)
            run.seconds = 4.0
            self.assertEqual(advise(run)[1].verdict, "no use")
            self.assertNotIn("computed", " ".join(findings(run)))

    def test_waits_by_requests_were_not_measured(self):
        run = with_counters(kind="allocate", puts=100, requested=100, waits=0, late_ns=0)
        advice = advise(run)[1]
        self.assertEqual((advice.verdict, advice.saves), ("not measured", 0))

    def test_is_no_use_for_gets_of_the_own_rank(self):
        counters = {"gets": 100, "native_gets": 100, "uncacheable": 100, "own_rank": 100}
        run = with_counters(kind="allocate", requested=100, waits=0, late_ns=0, **counters)
        self.assertEqual(advise(run)[1].verdict, "no use")

    def test_is_no_use_where_waits_for_requests_were_short(self):
        counters = {"gets": 100, "native_gets": 100, "requested": 100}
        run = with_counters(kind="allocate", waits=100, late_ns=0, **counters)
        run.seconds = 4.0
        self.assertEqual(advise(run)[1].verdict, "no use")

    def test_cannot_serve_other_windows(self):
        for kind in ("shared", "dynamic"):
            advice = advise(with_counters(kind=kind, accumulates=100))[1]
            self.assertEqual(advice.verdict, "no use")
            self.assertIn("shared or dynamic", " ".join(advice.reasons))

    def test_serve_created_windows(self):
        advice = advise(with_counters(kind="create", accumulates=100))[1]
        self.assertEqual((advice.verdict, advice.settings), ("not measured", ["ghosts=1"]))

    def test_that_were_there_are_not_advised_again(self):
        document = sample.report(ranks=2, windows=1, queues=False, ghosts=1)
        for rank in document["ranks"]:
            rank["windows"][0].update(counters={"accumulates": 100}, kind="allocate")
        advice = advise(Run(document))[1]
        self.assertEqual((advice.verdict, advice.settings), ("in use", []))

    def test_that_did_nothing_say_so(self):
        document = sample.report(ranks=2, windows=1, queues=False, ghosts=1)
        for rank in document["ranks"]:
            rank["windows"][0].update(counters={"accumulates": 100}, kind="allocate")
            rank["ghost"].update(redirected=0, direct=60)
        advice = advise(Run(document))[1]
        self.assertEqual(advice.verdict, "no use")
        self.assertIn("did none of them: 120 went straight", " ".join(advice.reasons))
        self.assertNotIn("0 ", advice.reasons[1].replace("120 ", ""))

    def test_that_would_share_a_core_promise_nothing(self):
        counters = {"accumulates": 100, "waits": 100, "late_waits": 50, "late_ns": 800_000_000}
        for cpus, saves in (("0-1", 0), ("0-3", 2 * 0.8)):
            run = with_counters(kind="allocate", **counters)
            run.seconds = 4.0
            for rank in run.ranks:
                rank["cpus"] = cpus
            advice = advise(run)[1]
            self.assertAlmostEqual(advice.saves, saves)
            told = "no core left for a ghost (2 ranks on 2 cores)" in " ".join(advice.reasons)
            self.assertEqual(told, saves == 0)

    def test_would_wait_for_a_core_where_ranks_do(self):
        counters = {"accumulates": 100, "waits": 100, "late_waits": 50, "late_ns": 800_000_000}
        for waited, verdict in ((0.3, "may help"), (0.5, "no use")):
            run = with_counters(kind="allocate", **counters)
            run.counters["core_waits_ns"] = 2 * waited * 1e9
            run.seconds = 4.0
            self.assertEqual(advise(run)[1].verdict, verdict)
        self.assertIn("waited 500 ms for a core", " ".join(advise(run)[1].reasons))

    def test_have_nothing_to_serve(self):
        self.assertEqual(advise(with_counters(kind="allocate"))[1].verdict, "no use")
        near = advise(with_counters(kind="allocate", gets=9, native_gets=9, bypassed=9))[1]
        self.assertEqual(near.verdict, "no use")
        self.assertIn("none went over the network", near.reasons[0])


class Overlap(unittest.TestCase):
    def of(self, *ranks, mpi="MPICH Version: 5.0.2", cpus="0-7"):
        """The advice on a run of 10 s whose ranks had these (outside, unused, waited, within), s."""
        document = sample.report(ranks=len(ranks), windows=1, queues=False, ghosts=0)
        document["hob"]["mpi"] = mpi
        document["program"]["seconds"] = 10.0
        names = ("outside", "unused", "waited", "within")
        for rank, times in zip(document["ranks"], ranks):
            rank["cpus"] = cpus
            rank["counters"] = {
                f"overlap_alone_{name}": int(1e9 * time) for name, time in zip(names, times)
            }
            rank["counters"]["overlap_alone"] = 100
        return [one for one in advise(Run(document)) if one.mechanism == "overlap"]

    def test_names_what_made_no_progress(self):
        (advice,) = self.of((3.1, 0, 0.9, 0.9), (3.1, 0, 0.9, 0.9))
        self.assertEqual((advice.verdict, advice.settings), ("may help", ["overlap=auto"]))
        self.assertAlmostEqual(advice.saves, 2 * 0.9)
        said = " ".join(advice.reasons)
        self.assertIn("no progress during 3.1 s of computing on each rank: 900 ms of waiting", said)
        self.assertIn("MPIR_CVAR_ASYNC_PROGRESS=1", said)
        (advice,) = self.of((3, 0, 1, 1), (3, 0, 1, 1), mpi="Open MPI v5.0.11")
        self.assertNotIn("own thread", " ".join(advice.reasons))

    def test_promises_nothing_where_no_core_is_free(self):
        (advice,) = self.of((3, 0, 1, 1), (3, 0, 1, 1), cpus="0-1")
        self.assertEqual(advice.saves, 0)
        self.assertIn("no core is free", " ".join(advice.reasons))
        (advice,) = self.of((3, 2.9, 1, 1), (3, 2.9, 1, 1), cpus="0-1")
        self.assertAlmostEqual(advice.saves, 2)

    def test_promises_what_the_last_rank_waited(self):
        (advice,) = self.of((3, 0, 2, 2), (5, 0, 0.1, 0.1))
        self.assertAlmostEqual(advice.saves, 2 * 0.1)
        self.assertIn("came late", " ".join(advice.reasons))

    def test_is_silent_where_nothing_waited(self):
        self.assertEqual(self.of((3, 0, 0.01, 0.01), (3, 0, 0.01, 0.01)), [])

    def test_waits_are_measured_in_the_run_that_advice_comes_from(self):
        program = BIN / "mpich5" / "overlap_computing"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        with tempfile.TemporaryDirectory() as scratch:
            file = f"{scratch}/run.json"
            status, out, err = hob(
                "advise", "-n", 2, "--json", file, "--set", "overlap=watch", program, "watched"
            )
            self.assertEqual(status, 0, err)
            with open(file) as written:
                ranks = [rank["counters"] for rank in json.load(written)["ranks"]]
        self.assertIn("overlap: may help", out)
        self.assertEqual([rank["overlap_alone"] for rank in ranks], [3, 3])
        self.assertEqual([rank.get("overlap_polls", 0) for rank in ranks], [0, 0])
        self.assertGreater(ranks[0]["overlap_alone_waited"], 150_000_000)
        self.assertGreater(ranks[1]["overlap_alone_outside"], 300_000_000)


class Matching(unittest.TestCase):
    def test_saves_what_the_run_measured(self):
        run = with_counters(queues=True)
        for queue in run.queues:
            for part in queue.parts:
                share = 3_000_000_000 / len(run.queues) / len(queue.parts)
                part["counters"]["saved_ns"] = share
        self.assertAlmostEqual(advise(run)[2].saves, 3.0, places=6)
        self.assertIn("of searching long queues", findings(run)[0])

    def test_helps_where_queues_are_deep(self):
        advice = advise(with_counters(queues=True))[2]
        self.assertEqual(advice.verdict, "helps")
        self.assertGreater(advice.saves, 0)

    def test_is_no_use_where_they_are_short(self):
        run = with_counters(queues=True)
        for queue in run.queues:
            for part in queue.parts:
                for name in ("prq_depth", "umq_depth"):
                    part["histograms"][name]["counts"] = [0, 5000, 100]
        self.assertEqual(advise(run)[2].verdict, "no use")

    def test_says_where_receives_were_not_counted(self):
        run = with_counters(gets=1)
        self.assertIn("counted no receives", " ".join(advise(run)[2].reasons))
        run.notes = ["Receives were left to the MPI library, for a reason."]
        advice = advise(run)[2]
        self.assertEqual((advice.verdict, advice.reasons), ("not measured", run.notes))
        self.assertEqual(advice.settings, [])
        run.notes = ["Receives were left to the MPI library (match=always takes them over)."]
        self.assertEqual(advise(run)[2].settings, ["match=always"])

    def test_tries_all_receives_where_depth_costs_and_none_was_taken_over(self):
        run = with_counters(queues=True)
        for queue in run.queues:
            for part in queue.parts:
                part["histograms"]["prq_depth"]["counts"] = [0] * 12 + [5000]
            queue.counters.update(in_prq=0, dequeued=0)
        for word, verdict, settings in (
            ("auto", "may help", ["match=always"]),
            ("always", "no use", []),
            ("never", "may help", ["match=auto"]),
        ):
            run.settings["match"] = {"value": word, "from": "environment"}
            advice = advise(run)[2]
            self.assertEqual((advice.verdict, advice.settings), (verdict, settings))

    def test_over_libfabric_receives_are_counted_however_many_messages_its_provider_keeps(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        words = ("-n", 2, "--remote", program, "--depth", 64, "--steps", 1)
        for kept in ("1000000", "64"):
            with self.subTest(kept), unittest.mock.patch.dict(os.environ, FI_TCP_MAX_SAVED=kept):
                status, out, err = hob("advise", *words)
                self.assertEqual(status, 0, err)
                self.assertNotIn("Receives were left to the MPI library", out)
                self.assertNotIn("counted no receives", out)


class NextStep(unittest.TestCase):
    def of(self, run):
        return next_step(run) or Step("")

    def test_is_one_for_every_run(self):
        for counters, part, command in (
            ({"gets": 9, "verified": 9, "verify_failures": 1}, "cache=off", ""),
            ({"gets": 9000, "hits_full": 8000, "saved_ns": 5e9}, "Check what", "--measure"),
            ({"puts": 5000, "waits": 9, "late_ns": 9e9}, "Try --ghosts 1, which may", "--measure"),
            ({"puts": 9000, "waits": 9, "late_ns": 0, "batched": 8000}, "Check what", "--measure"),
            ({"gets": 9000, "bypassed": 9000}, "on several nodes", "--remote"),
            ({"accumulates": 9000, "waits": 9, "late_ns": 0}, "on several nodes", "--remote"),
            ({"gets": 900, "direct": 900, "invalidations": 90}, "If no process", "--verify 1"),
            ({}, "without Hob", ""),
        ):
            run = with_counters(**counters)
            run.nodes = 1
            step = self.of(run)
            self.assertIn(part, step.sentence, counters)
            self.assertIn(command, step.command)
            self.assertEqual(bool(command), bool(step.command))

    def test_has_the_command_that_checks_it(self):
        document = sample.report(ranks=2, windows=1, ghosts=0)
        document["program"].update(nodes=1, pretended_nodes=2, command=["./app", "a b"])
        step = self.of(Run(document))
        self.assertEqual(
            step.command,
            "hob run -n 2 --remote --set cache_size=4M --ghosts 1 --measure ./app 'a b'",
        )
        document["program"].update(nodes=2, pretended_nodes=0)
        self.assertIn("-n 2 --nodes 2 --set", self.of(Run(document)).command)

    def test_what_may_gain_nothing_comes_after_what_is_at_work(self):
        gains = {"gets": 9000, "hits_full": 8000, "native_gets": 1000, "waits": 9, "late_ns": 9e9}
        run = with_counters(**gains, saved_ns=5e9)
        self.assertIn("Try --ghosts 1", self.of(run).sentence)
        for rank in run.ranks:
            rank["cpus"] = "0-1"  # no core for a ghost
        self.assertIn("Check what", self.of(run).sentence)

    def test_a_promise_is_not_tried_without_a_check(self):
        dropped = {"gets": 900, "native_gets": 900, "direct": 900, "invalidations": 90}
        run = with_counters(**dropped, waits=9, late_ns=9e9)
        self.assertIn("Try --ghosts 1", self.of(run).sentence)
        run = with_counters(**dropped, waits=9, late_ns=0)
        command = self.of(run).command
        self.assertIn("--set cache=always --verify 1", command)
        self.assertNotIn("--measure", command)

    def test_has_what_is_to_be_tried_in_its_command(self):
        command = self.of(with_counters(puts=5000, waits=9, late_ns=9e9)).command
        self.assertTrue(command.startswith("hob run -n 2 "), command)
        self.assertIn("--ghosts 1 --measure ", command)

    def test_tells_a_rehearsal(self):
        document = sample.report(ranks=2, windows=1, ghosts=0)
        document["program"].update(nodes=1, pretended_nodes=2)
        run = Run(document)
        said = text(run, advise(run))
        self.assertIn("2 ranks on 2 pretended nodes", said)
        self.assertIn("rehearsal", said)
        self.assertIn("2 ranks on 2 nodes (pretended, on 1 machine)", " ".join(findings(run)))

    def test_advice_is_in_the_order_of_what_it_saved(self):
        run = with_counters(
            queues=True, gets=9000, hits_full=8000, saved_ns=5e8, batched=9, batch_saved_ns=3e9
        )
        told = [one.mechanism for one in ranked(advise(run))]
        self.assertEqual(told[:2], ["batches", "cached gets"])
        self.assertIn("batches", facts_of(run)["gains"][0]["mechanism"])


class Twenty(unittest.TestCase):
    def test_programs_whose_advice_is_known(self):
        records = json.loads((ROOT / "tests/tools/advice/twenty.json").read_text())
        self.assertGreaterEqual(len(PROGRAMS), 20)
        for name, _, _, right in PROGRAMS:
            with self.subTest(name):
                run = Run(records[name])
                said = {advice.mechanism: advice for advice in advise(run)}
                for mechanism, verdicts in right.items():
                    self.assertIn(said[mechanism].verdict, verdicts, said[mechanism].reasons)
                if any(advice.settings for advice in said.values()):
                    self.assertIn("Try: ", text(run, said.values()))


class Turns(unittest.TestCase):
    def test_tell_a_difference_from_noise(self):
        plain = [1.0, 1.1, 0.9, 1.0, 1.05]
        self.assertEqual(turns.judge(plain, [0.5, 0.5, 0.6, 0.5, 0.5])[0], "faster")
        self.assertEqual(turns.judge(plain, [1.5, 1.6, 1.4, 1.5, 1.5])[0], "slower")
        self.assertEqual(turns.judge(plain, [0.95, 1.4, 0.75, 1.0, 1.1])[0], "noise")
        self.assertEqual(turns.judge([1.0] * 5, [0.99] * 5)[0], "noise")
        self.assertEqual(turns.judge([1.0, 1.0], [0.5, 0.5])[0], "noise")
        self.assertEqual(turns.judge(plain, [1.0, None, 1.0, 1.0, 1.0]), ("failed", None))

    def test_each_trial_goes_first_in_turn(self):
        order = []
        trials = {name: lambda name=name: order.append(name) or 1.0 for name in "abc"}
        times = turns.take(trials, 3)
        self.assertEqual("".join(order), "abccbaabc")
        self.assertEqual(times, {name: [1.0] * 3 for name in "abc"})

    def test_end_in_one_sentence(self):
        plain, fast, faster, slow = [1.0] * 3, [0.5] * 3, [0.25] * 3, [2.0] * 3
        for times, said in (
            ({"with Hob": fast}, "2 times as fast with Hob."),
            ({"with Hob": slow}, "Slower with Hob: 2 times the time. Run it without Hob."),
            ({"with Hob": plain}, "No difference beyond noise with Hob."),
            (
                {"with Hob": fast, "with --ghosts 1": faster},
                "4 times as fast with --ghosts 1; 2 times with Hob alone.",
            ),
            ({"with Hob": fast, "with --ghosts 1": slow}, "2 times as fast with Hob."),
            (
                {"with Hob": [None] * 3, "with --ghosts 1": fast},
                "2 times as fast with --ghosts 1; with Hob it failed.",
            ),
            ({"with Hob": [None] * 3}, "A run with Hob failed."),
        ):
            sentence = turns.verdict({"without Hob": plain, **times}, "without Hob", "with Hob")
            self.assertTrue(sentence.startswith(said), sentence)
        times = {"without Hob": plain[:1], "with Hob": fast[:1]}
        self.assertIn("Too few", turns.verdict(times, "without Hob", "with Hob"))

    def test_compare_the_programs_own_time_where_each_run_tells_it(self):
        whole = {"a": [(1.0, 3.0), (None, None)], "b": [(2.0, 3.0)]}
        self.assertEqual(turns.comparable(whole), ({"a": [1.0, None], "b": [2.0]}, True))
        torn = {"a": [(1.0, 3.0)], "b": [(None, 4.0)]}
        self.assertEqual(turns.comparable(torn), ({"a": [3.0], "b": [4.0]}, False))

    def test_a_run_tells_its_own_time(self):
        with tempfile.TemporaryDirectory() as scratch:
            file = f"{scratch}/turn.json"
            write = f"""echo '{{"program": {{"seconds": 0.25, "complete": %s}}}}' > {file}"""
            for complete, own in (("true", 0.25), ("false", None)):
                told = turns.runner(["sh", "-c", write % complete], None, file)()
                self.assertEqual(told[0], own)
                self.assertGreater(told[1], 0)
            # What an earlier run wrote is not told again.
            self.assertIsNone(turns.runner(["true"], None, file)()[0])
            self.assertEqual(turns.runner(["false"], None, file)(), (None, None))

    def test_table_says_when_it_is_noise(self):
        times = {"without": [1.05, 0.79, 1.2], "with": [1.0, 1.0, 1.0], "other": [0.1, 0.1, 0.1]}
        lines = turns.table(times, "without")
        self.assertIn("no difference beyond noise (0.79 to 1.2", lines[1])
        self.assertIn("10.50 x", lines[2])
        self.assertNotIn("noise", lines[2])


class Command(unittest.TestCase):
    def test_options_that_need_a_run_with_hob_say_so(self):
        with tempfile.TemporaryDirectory() as scratch:
            ran = f"{scratch}/ran"
            for words in (("--off",), ("--set", "off=on")):
                status, _, err = hob("advise", *words, "--launcher", "env", "touch", ran)
                self.assertEqual(status, 2)
                self.assertIn("advice comes from a run with Hob", err)
            self.assertFalse(os.path.exists(ran))

    def test_dry_run_runs_nothing(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        status, out, err = hob("advise", "-n", 3, "--dry-run", program)
        self.assertEqual(status, 0, err)
        self.assertIn("-n 3", out)
        self.assertEqual(len(out.splitlines()), 1, out)

    def test_ghosts_are_beside_the_ranks_of_the_program(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        for words, more in (
            (("--ghosts", 1), {}),
            (("--set", "ghosts=1"), {}),
            ((), {"HOB_GHOSTS": "1"}),
        ):
            status, out, err = hob("run", "-np", 2, *words, "--dry-run", program, **more)
            self.assertEqual(status, 0, err)
            self.assertIn("-n 3", out)
            self.assertIn("--ghosts 1", out)

    def test_reads_a_report(self):
        with tempfile.TemporaryDirectory() as scratch:
            status, out, err = hob("advise", "--from", write_json(scratch, sample.report()))
            self.assertEqual(status, 0, err)
            for part in ("cached gets: helps", "message matching: helps", "ghosts: ", "Next: "):
                self.assertIn(part, out)
            status, out, err = hob(
                "advise", "--json", "-", "--from", write_json(scratch, sample.report())
            )
        self.assertEqual(status, 0, err)
        document = json.loads(out)
        said = {one["mechanism"]: one["verdict"] for one in document["advice"]}
        self.assertEqual((said["cached gets"], said["ghosts"]), ("helps", "in use"))
        self.assertIn("--measure", document["next"]["command"])

    def test_gets_that_were_not_remote_are_told_with_a_rehearsal(self):
        program = BIN / "mpich5" / "lcc"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        for more, said in (((), True), (("--remote",), False)):
            status, _, err = hob("run", "-n", 2, *more, program, "--rmat", 8, 8)
            self.assertEqual(status, 0, err)
            self.assertEqual("gets was remote (with MPICH, hob run --remote" in err, said, err)
            self.assertEqual(" remote gets, " in err, not said, err)

    def test_measures_the_programs_own_time(self):
        program = BIN / "mpich5" / "fds-proxy"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        words = ("advise", "-n", 2, "--measure", "--turns", 1, "--json", "-", program)
        status, out, err = hob(*words, "--depth", 8, "--steps", 1)
        self.assertEqual(status, 0, err)
        self.assertIn("turn 1 of 1", err)
        measured = json.loads(out)["measured"]
        self.assertEqual((measured["times"], measured["turns"]), ("program", 1))
        names = [trial["name"] for trial in measured["trials"]]
        self.assertEqual(names[:2], ["without Hob", "with Hob"])
        self.assertIn("Too few turns", measured["verdict"])

    def test_sees_who_waits_for_a_rank_that_computes(self):
        program = BIN / "mpich5" / "task-counter"
        if not program.exists():
            self.skipTest("MPICH 5 was not set up")
        with tempfile.TemporaryDirectory() as scratch:
            file = f"{scratch}/run.json"
            words = ("-n", 2, "--remote", "--json", file, program, 100, 5000)
            # Now and then the ranks take turns so well that nobody waits.
            for _ in range(8):
                status, out, err = hob("run", *words)
                self.assertEqual(status, 0, err)
                self.assertIn('"tasks": 100', out)
                times = json.loads(out.splitlines()[-1])
                if times["seconds"] > 1.2 * times["ideal_seconds"]:
                    break
            # Other people's jobs may take the cores of both.
            self.assertRegex(err, "was waiting for targets(?: that computed|, and .* for a core)")
            document = json.loads(Path(file).read_text())
            for rank in document["ranks"]:
                rank["counters"]["core_waits_ns"] = 0
            Path(file).write_text(json.dumps(document))
            status, out, err = hob("advise", "--from", file)
        self.assertEqual(status, 0, err)
        self.assertIn("ghosts: may help", out)
        self.assertIn("--ghosts 1", out)

    def test_needs_a_program(self):
        status, _, err = hob("advise", "-n", "2")
        self.assertEqual(status, 2)
        self.assertIn("no program", err)


if __name__ == "__main__":
    unittest.main()
