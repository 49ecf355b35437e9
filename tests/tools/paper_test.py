"""hob bench paper: the page of the papers' figures, from results that are there, that lack rows, and that fail."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (finds the package)

from hob import bench
from hob.benches import nwchem, paper
from hob.benchlib import BenchError, Result
from hob.paperfigures import FIGURES, PAPERS

HIT = {
    "machine": {"cpu": "a <CPU>", "cores": 2},
    "rows": [
        {
            "bytes": bytes_,
            "native_remote_ns": 20000.0,
            "native_same_node_ns": 150.0,
            "auto_memcpy_ns": 5.0,
            "auto_ns": 100.0,
            "auto_speedup": 200.0,
        }
        for bytes_ in (8, 4096)
    ],
}


class Figures(unittest.TestCase):
    def test_each_names_a_benchmark_or_a_reason(self):
        known = {*bench.modules(), "decomposition", "motifs", "match", "heat"}
        for figure in FIGURES:
            with self.subTest(figure.name):
                self.assertIn(figure.paper, PAPERS)
                self.assertTrue(figure.bench or figure.why)
                self.assertEqual(bool(figure.bench), figure.ours is not None)
                if figure.bench:
                    self.assertIn(figure.bench.split()[0], known)

    def test_a_result_for_another_question_is_no_measurement(self):
        """What the figure does not ask is named, and each row is one figure."""
        by = {(figure.paper, figure.name): figure for figure in FIGURES}
        for name in (
            *(("caching", f"Fig. {number}") for number in (12, 13, 14, 15, 17, 18)),
            *(("ghosts", f"Fig. {number}") for number in ("5a", "5b", "5c", 8)),
            ("ghosts", "Table I"),
            *(("matching", f"Fig. {number}") for number in (6, 7, 10)),
        ):
            with self.subTest(name):
                self.assertEqual(by[name].state(True), "another question")
                self.assertEqual(by[name].state(False), "not here")
        for name in (("caching", "Fig. 1"), ("ghosts", "Fig. 4b"), ("ghosts", "Fig. 4c")):
            self.assertEqual(by[name].state(True), "measured")
        for figure in FIGURES:
            self.assertNotRegex(figure.name, "Figs|and|to ")

    def test_names_are_unique(self):
        names = [(figure.paper, figure.name) for figure in FIGURES]
        self.assertEqual(len(names), len(set(names)))


class Page(unittest.TestCase):
    def made(self, results):
        """(status or fault, the JSON, the page) with these results of benchmarks; all others fail."""

        def result(name, args, out):
            if name not in results:
                raise BenchError(f"hob bench {name}: no <such> MPI")
            return results[name]

        with tempfile.TemporaryDirectory() as folder:
            out, written = Path(folder, "page"), Path(folder, "paper.json")
            words = ["--out", str(out), "--json", str(written)]
            with (
                mock.patch("hob.benches.paper._result", result),
                mock.patch("sys.stdout"),
                mock.patch("sys.stderr"),
                self.assertRaises(bench.HobError),
            ):
                bench.run_module("paper", paper, words)
            return json.loads(written.read_text()), (out / "paper.html").read_text()

    def test_results_and_faults_are_told(self):
        # The programs that are no modules tell of the machine in their own words.
        match = {"machine": {"cpu": "a <CPU>", "processors": 2}, "rows": []}
        written, page = self.made({"hit": HIT, "micro": {"rows": []}, "match": match})
        by_name = {row["figure"]: row for row in written["figures"] if row["paper"] == "caching"}
        self.assertEqual(by_name["Fig. 1"]["state"], "measured")
        self.assertIn("20.0 us remote", by_name["Fig. 1"]["ours"])
        self.assertIn("4,096 B: 200 x", by_name["Fig. 7, hits"]["ours"])
        self.assertEqual(by_name["Fig. 9"]["state"], "not here")
        self.assertIn("ended before", by_name["Fig. 9"]["ours"])
        self.assertIn("no <such> MPI", by_name["Fig. 15"]["ours"])
        self.assertIn("no &lt;such&gt; MPI", page)
        self.assertIn("a &lt;CPU&gt;, 2 cores", page)
        nwchem = next(row for row in written["figures"] if row["what"] == "NWChem")
        self.assertEqual((nwchem["state"], nwchem["question"]), ("not here", ""))
        self.assertEqual(page.count("<h3>"), len(FIGURES))
        self.assertIn("not installed", nwchem["ours"])
        for row in written["figures"]:
            self.assertIn(row["figure"], page)

    def test_what_need_not_be_there_is_no_failure(self):
        optional = [figure for figure in FIGURES if figure.bench and figure.why]
        needed = next(figure for figure in FIGURES if figure.bench == "hit")
        self.assertTrue(optional)

        def result(name, args, out):
            if name != "hit":
                raise BenchError("not here")
            return HIT

        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch("hob.benches.paper.FIGURES", (needed, *optional)),
            mock.patch("hob.benches.paper._result", result),
            mock.patch("sys.stdout"),
            mock.patch("sys.stderr"),
        ):
            bench.run_module("paper", paper, ["--out", folder])

    def test_words_of_the_smaller_benchmarks(self):
        rows = {
            "reuse": [
                {
                    "program": name,
                    "gets": 1000,
                    "distinct": 10,
                    "repeats_mean": 100.0,
                    "repeats_most": 350,
                    "bytes_mean": 64.0,
                    "bytes_most": 256,
                    "in_a_block": 0.82,
                    "paper": 0.5,
                    "temporal": 0.4,
                    "positional": 0.3,
                }
                for name in ("barnes-hut", "lcc")
            ]
            + [
                {
                    "program": "lcc",
                    "score": score,
                    "index": 256,
                    "hits": hits,
                    "occupied": 0.91,
                    "visited": 24.2,
                    "visited_empty": 0.3,
                }
                for score, hits in (("paper", 0.5), ("temporal", 0.4), ("positional", 0.3))
            ],
            "cold-queues": [
                {"depth": 1024, "bytes": 1, "native": 9.0, "list": 3.0, "lla-2": 2.0, "flat": 1.0}
            ],
            "weak": [
                {
                    "program": name,
                    "ranks": 2,
                    "native_us": native,
                    "us": 10.0,
                    "speedup": native / 10.0,
                    "trips": 0.01,
                    "full": 0.9,
                    "direct": 0.07,
                    "capacity": 0.02,
                    "failing": 0.01,
                }
                for name, native in (("lcc", 500.0), ("barnes-hut", 700.0))
            ],
            "product": [
                {
                    "operations": 64,
                    "busy_us": 10000,
                    **{f"{name}_slowdown": 1.0 for name in ("native", "ghost")},
                    "thread_slowdown": 1.05,
                    **{f"{name}_interrupts": 3.0 for name in ("native", "thread", "ghost")},
                }
            ],
            "nodes": [
                {
                    "network": network,
                    "op": op,
                    "nodes": 2,
                    "busy_us": 100,
                    "native_us": us,
                    "thread_us": 450.0,
                    "ghost_us": 200.0,
                }
                for network, op, us in (
                    ("libfabric", "accumulate", 400.0),
                    ("libfabric", "put", 300.0),
                    ("ucx", "accumulate", 500.0),
                )
            ],
            "fences": [
                {
                    "epoch": "post-start-complete-wait",
                    "operations": 64,
                    "busy_us": 1000,
                    "native_us": 3000.0,
                    "thread_us": 2000.0,
                    "ghost_us": 1100.0,
                }
            ],
            "exchange": [
                {
                    "posted": 1024,
                    "completion": "waitall",
                    "native_us": 9.5,
                    "auto_us": 1.5,
                    "always_us": 1.4,
                }
            ],
            "nwchem": [
                {
                    "task": "tce",
                    "deployment": name,
                    "computing_cores": 2,
                    "ghosts": ghosts,
                    "threads": 0,
                    "seconds": seconds,
                    "iteration_s": 0.5,
                    "triples_s": 1.25,
                    "times_faster": 12.0 / seconds,
                }
                for name, ghosts, seconds in (("native", 0, 12.0), ("ghosts", 2, 8.0))
            ]
            + [
                {
                    "task": "tce",
                    "deployment": "threads",
                    "computing_cores": 2,
                    "ghosts": 0,
                    "threads": 2,
                }
            ],
        }
        said = {
            f"{figure.paper} {figure.name}": figure.ours(rows[figure.bench.split()[0]])
            for figure in FIGURES
            if figure.bench.split()[:1] and figure.bench.split()[0] in rows
        }
        self.assertIn("100 times each, 350 at most", said["caching Fig. 2"])
        self.assertIn("82", said["caching Fig. 3"])
        self.assertIn("lcc: 91% with the full score", said["caching Fig. 10"])
        self.assertIn("lcc with 256 slots: hits 50", said["caching Fig. 11"])
        self.assertIn(
            "24 slots visited for a victim, 30% of them empty, 9% of", said["caching Fig. 11"]
        )
        self.assertIn("behind 1,024, 2: 1.50 x", said["matching Fig. 5"])
        self.assertIn("2 ranks: 500 us natively", said["caching Fig. 17"])
        self.assertIn("2 ranks: 700 us natively", said["caching Fig. 14"])
        self.assertIn("90% hits", said["caching Fig. 18"])
        self.assertIn("post-start-complete-wait, 64: 3,000 natively", said["ghosts Fig. 4b"])
        self.assertIn("64: 1.000, 1.050, 1.000 (3, 3, 3 int", said["ghosts Fig. 4c"])
        self.assertIn("2 nodes: 400 natively", said["ghosts Fig. 5a"])
        self.assertIn("200 with a ghost (1.50 x)", said["ghosts Fig. 5b"])
        self.assertIn("2 nodes: 500 natively", said["ghosts Fig. 5c"])
        self.assertIn(
            "tce, ghosts: 8.0 (a CCSD iteration 0.50, (T) 1.25), 1.50 x", said["ghosts Fig. 8"]
        )
        self.assertIn("tce, threads: not at its end", said["ghosts Fig. 8"])
        self.assertIn("ghosts: 2 compute, 2 ghosts, 0 threads", said["ghosts Table I"])
        self.assertIn("1,024 posted: 9.5 us", said["matching Fig. 10"])

    def test_all_leaves_it_out(self):
        with (
            mock.patch("hob.bench.modules", return_value={"paper": paper}),
            mock.patch("hob.bench.programs", return_value={}),
            mock.patch("hob.bench._one") as one,
            mock.patch("sys.stdout"),
        ):
            bench._all([])
        one.assert_not_called()


NWCHEM = """ CCSD iterations
 Iter          Residuum       Correlation     Cpu    Wall
    1   0.1611312250569  -0.4120161483415     0.9     0.8
    2   0.0355554836886  -0.4177982161370     0.7     0.6
    3   0.0035554836886  -0.4177982161370     0.7     0.6
 CCSD total energy / hartree       =      -152.437855456349
 CCSD(T)  correction energy / hartree  =        -0.00846
 CCSD(T) total energy / hartree       =      -152.446315456349
 Cpu & wall time / sec            2.4            2.5
"""


class NWChem(unittest.TestCase):
    def measured(self, energy):
        """The rows, or the fault, where runs with ghosts say this energy."""
        asked, done = [], bench.Bench()

        def run_mpi(path, words, ranks, hob, nodes, environment, **more):
            asked.append((ranks, nodes, bool(hob), environment))
            if "MPIR_CVAR_ASYNC_PROGRESS" in environment and ranks == 2:
                raise BenchError("took more than 120 s")
            text = NWCHEM.replace("152.446315456349", energy) if hob else NWCHEM
            return Result([], None, 4.0 if hob else 8.0, text)

        with (
            mock.patch("hob.benches.nwchem.run_mpi", run_mpi),
            mock.patch("hob.benches.nwchem.TASKS", {"tce": nwchem.TASKS["tce"]}),
            mock.patch("shutil.which", lambda name: name),
        ):
            nwchem.run(mock.Mock(quick=False, repeats=1), done)
        return done.rows, asked

    def test_parts_and_deployments(self):
        rows, asked = self.measured("152.446315456349")
        by = {row["deployment"]: row for row in rows}
        self.assertEqual(by["ghosts"]["times_faster"], 2.0)
        self.assertEqual((by["native"]["iteration_s"], by["native"]["triples_s"]), (0.6, 2.5))
        self.assertEqual(by["threads, dedicated"]["computing_cores"], 1)
        self.assertNotIn("seconds", by["threads, oversubscribed"])
        self.assertEqual(
            [of[:3] for of in asked], [(2, 2, False), (4, 2, True), (2, 2, False), (1, 1, False)]
        )
        # All with the same memory.
        self.assertEqual({of[3]["ARMCI_USE_WIN_ALLOCATE"] for of in asked}, {"1"})

    def test_other_energies_are_a_fault(self):
        with self.assertRaisesRegex(BenchError, "other energies"):
            self.measured("152.446315999999")


class Results(unittest.TestCase):
    def test_what_is_kept_is_not_measured_again(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "hit.json").write_text(json.dumps(HIT))
            args = mock.Mock(keep=True, quick=False)
            with mock.patch("subprocess.run") as run:
                self.assertEqual(paper._result("hit", args, Path(folder)), HIT)
            run.assert_not_called()

    def test_a_failure_tells_what_was_said(self):
        with tempfile.TemporaryDirectory() as folder:

            def run(command, stdout, **_):
                stdout.write("some\nhob: it failed\n")

            args = mock.Mock(keep=False, quick=False)
            with (
                mock.patch("subprocess.run", run),
                self.assertRaisesRegex(BenchError, "hob bench hit: hob: it failed"),
            ):
                paper._result("hit", args, Path(folder))


if __name__ == "__main__":
    unittest.main()
