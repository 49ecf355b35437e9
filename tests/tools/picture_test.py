"""hob bench --picture: every benchmark draws, from rows as it writes them."""

import contextlib
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import BIN, BUILD, hob

from hob import bench, benchpicture

APPLICATION = [
    {"mode": "native", "budget_percent": None, "us": 900.0},
    {"mode": "strict", "budget_percent": 100, "us": 950.0},
    {"mode": "auto", "budget_percent": 100, "us": 50.0},
]
# Of each benchmark, one or two rows with the columns that it draws, and words that must be seen.
ROWS = {
    "advise": (
        [{"program": "lcc", "mechanism": "cached gets", "saved": 0.7, "estimated": 0.6}],
        "lcc (cached gets)",
    ),
    "ahead": ([{"program": "order", "native_ns": 9e3, "off_ns": 9.5e3, "hob_ns": 90.0}], "order"),
    "barnes-hut": (APPLICATION, "budget"),
    "batch": (
        [{"kind": "get", "where": "TCP", "targets": 1, "bytes": 8, "n": 64, "gain": 9.0}],
        "operations of 8 bytes before a flush",
    ),
    "binding": (
        [
            {
                "where": "real",
                "pattern": "uneven puts",
                "ghosts": 2,
                "rank": 1.9,
                "segment": 1.5,
                "random": 1.2,
                "operations": 1.1,
                "bytes": 1.0,
            }
        ],
        "uneven puts",
    ),
    "cache": (
        [
            {"policy": "paper", "bytes": 64, "copy_ns": 25.9, "hit_and_copy_ns": 60.0},
            {"policy": "paper", "bytes": 64, "access": "direct", "median_ns": 90.0, "p99_ns": 9e3},
            {"policy": "paper", "dropped_entries": 100, "drop_all_ns": 9.0, "drop_target_ns": 99.0},
            {"targets": 100, "targets_used": 1, "memory_bytes": 9999},
        ],
        "paper, direct, 64 B",
    ),
    "decomposition": (
        [
            {
                "decomp": "8x8",
                "stencil": "5pt",
                "length": 128,
                "paper depth": 32.5,
                "real threads": "",
            }
        ],
        "8x8, 5pt",
    ),
    "exchange": (
        [
            {
                "posted": 1024,
                "completion": "waitany",
                "native_us": 9.0,
                "auto_us": 1.5,
                "always_us": 1.4,
            }
        ],
        "1,024 receives posted, waitany",
    ),
    "stores": (
        [
            {
                "way": "soft-dirty bits",
                "window MiB": 1024,
                "begin us/MiB": 9.0,
                "ask us/MiB": 0.7,
                "ask, stored to, us/MiB": 0.8,
                "read all of it us/MiB": 90.0,
                "pays from ms, nothing stored": 14.0,
                "pays from ms, 1% stored": 99.0,
            }
        ],
        "soft-dirty bits, 1,024 MiB",
    ),
    "cold-queues": (
        [{"depth": 1024, "bytes": 1, "native": 9.0, "list": 3.0, "lla-2": 2.0, "flat": 1.0}],
        "1,024 receives before, 1 B",
    ),
    "fences": (
        [
            {
                "epoch": "fence",
                "operations": 64,
                "native_us": 3e3,
                "thread_us": 2e3,
                "ghost_us": 1.1e3,
            }
        ],
        "fence, 64 operations",
    ),
    "product": (
        [
            {
                "operations": 64,
                "native_slowdown": 1.0,
                "thread_slowdown": 1.1,
                "ghost_slowdown": 1.0,
            }
        ],
        "64 accumulates",
    ),
    "nodes": (
        [
            {
                "network": "ucx",
                "op": "put",
                "nodes": 3,
                "native_us": 9e2,
                "thread_us": 9e2,
                "ghost_us": 5e2,
            }
        ],
        "put, 3 nodes, ucx",
    ),
    "nwchem": (
        [{"task": "tce", "deployment": "ghosts", "seconds": 6.5, "times_faster": 1.1}],
        "tce, ghosts",
    ),
    "fabric": (
        [{"what": "get, again", "without_us": 15.0, "hob_us": 0.2, "ghosts_us": 0.2}],
        "get, again",
    ),
    "overhead": ([{"ranks": 64, "job_s": 3.0, "job_hob_s": 3.3}], "64 ranks"),
    "harm": ([{"program": "gets", "where": "TCP", "bytes": 8, "ratio": 1.01}], "gets, TCP, 8 B"),
    "ghosts-cost": (
        [
            {
                "program": "patches",
                "targets": "wait",
                "cores": "free",
                "network": "tcp",
                "against_hob": 0.9,
                "native_against_hob": 1.0,
            }
        ],
        "patches, targets wait, cores free, tcp",
    ),
    "heat": (
        [
            {
                "strategy": "list",
                "depth": 64,
                "period us": 1e3,
                "cold ns": 999.0,
                "heated ns": 99.0,
            },
            {
                "automatic": "on",
                "strategy": "flat",
                "depth": 64,
                "phase us without": 8.0,
                "phase us with": 7.0,
            },
        ],
        "flat, depth 64 (on)",
    ),
    "hit": (
        [
            {
                "bytes": 8,
                "native_remote_ns": 9e3,
                "native_same_node_ns": 90.0,
                "auto_ns": 60.0,
                "always_ns": 60.0,
                "auto_memcpy_ns": 5.0,
            }
        ],
        "memcpy",
    ),
    "idle-ghost": (
        [{"what": "share", "value": 0.001}, {"what": "put to a sleeper, us", "value": 60.0}],
        "put to a sleeper",
    ),
    "lcc": (APPLICATION, "budget"),
    "map": (
        [
            {
                "op": "get",
                "completion": "flush",
                "order": "random",
                "reuse": "once",
                "depth": 0,
                "threads": "single",
                "place": "tcp",
                "size": 4096,
                "first": 1.1,
                "late": 1.0,
            }
        ],
        "another node, TCP",
    ),
    "match": (
        [
            {"queue": "posted", "pattern": "tail", "depth": 1024, "list": 4e3, "flat": 15.0},
            {"queue": "posted", "caches": "cleared", "depth": 4, "list": 4e3, "flat": 4e3},
            {"phase": "post, sweep, arrive", "depth": 4, "list": 999.0, "flat": 900.0},
            {"scan limit": "posted", "depth": 4, "ns": 9.0},
        ],
        "posted, tail, depth 1,024",
    ),
    "match-mpi": (
        [
            {
                "mpi": "mpich5",
                "setup": "remote",
                "what": "rate",
                "depth": 64,
                "bytes": 4096,
                "native_us": 9.0,
                "always_us": 8.0,
            }
        ],
        "rate, 4,096 B, TCP",
    ),
    "micro": (
        [
            {"kind": "native", "ms": 535.0},
            {"kind": "fixed", "index": 64, "storage": "2M", "ms": 400.0},
            {"kind": "adaptive", "index": 64, "storage": "2M", "ms": 90.0},
        ],
        "adaptive, 2M",
    ),
    "miss": (
        [
            {"bytes": 8, "access": "native", "median_ns": 9e3, "p99_ns": 5e4},
            {"bytes": 8, "access": "direct", "median_ns": 9e3, "p99_ns": 5e4},
        ],
        "direct, p99",
    ),
    "motifs": (
        [
            {
                "motif": "amr",
                "processes": 65536,
                "posted median": 55,
                "99%": 190,
                "longest": 370,
                "longest ": 360,
            },
            {"motif": "amr", "queue": "posted", "length from": 0, "to": 0, "samples": 9},
        ],
        "amr, 65,536 processes",
    ),
    "overlap": (
        [
            {
                "what": "exchange",
                "bytes": 1 << 20,
                "how": "sleep",
                "where": "TCP",
                **{f"{variant}_added_ns": 5e5 for variant in ("native", "library", "hob", "auto")},
            }
        ],
        "exchange 1024 KiB, sleep, TCP",
    ),
    "paper": (
        [{"paper": "ghosts", "figure": "Fig. 3a", "state": "measured"}],
        "figures and tables of the paper",
    ),
    "iterate": (
        [
            {
                "program": "nine tenths the same",
                **{
                    f"{variant}_{which}_us": 900.0
                    for variant in ("native", "off", "hob")
                    for which in ("second", "later")
                },
            }
        ],
        "nine tenths the same",
    ),
    "phases": (
        [
            {
                "program": "barriers",
                "where": "TCP",
                **{
                    f"{variant}_{phase}_ns": 900.0
                    for variant in ("native", "hob")
                    for phase in ("gain", "none", "again")
                },
            }
        ],
        "barriers, TCP",
    ),
    "progress": (
        [
            {
                "op": "get",
                "busy_us": 1000,
                "native_us": 1e3,
                "thread_us": 200.0,
                "ghost_us": 50.0,
            }
        ],
        "get, target computes 1,000 us",
    ),
    "real": (
        [{"program": "lammps", "hob": "default", "plain": 9.0, "with_hob": 8.0, "ratio": 1.1}],
        "lammps, default",
    ),
    "redirect": (
        [
            {
                "where": "two nodes",
                "call": "put",
                "native_us": 17.0,
                "ghost_us": 20.0,
                "with_cache_us": None,
            }
        ],
        "put, two nodes",
    ),
    "reuse": (
        [
            {
                "program": "lcc",
                "repeats_mean": 36.0,
                "repeats_most": 900,
                "paper": 0.5,
                "temporal": 0.4,
                "positional": 0.3,
            }
        ],
        "lcc",
    ),
    "scale": (
        [{"kind": "real ranks", "ranks": 2, "targets_used": 1, "memory_bytes": 9e5}],
        "all targets used",
    ),
    "share": (
        [
            {"sharing": "native", "budget_percent": None, "us": 99.0, "gets_issued": 999},
            {"sharing": "on", "budget_percent": 10, "us": 50.0, "gets_issued": 99},
        ],
        "sharing on, cache of 10%",
    ),
    "weak": (
        [{"program": "lcc", "ranks": 4, "native_us": 900.0, "us": 20.0, "speedup": 45.0}],
        "lcc, 4 ranks",
    ),
}
LIMITS = [
    {"name": "a ratio that is met", "value": 0.5, "limit": "<= 1.05", "ok": True},
    {"name": "a long name " * 9, "value": 1.5, "limit": ">= 3", "ok": False},
    {"name": "of a program", "value": 12, "limit": 15, "ok": True},
]


def drawn(name, rows, limits=()):
    """(the picture as SVG whose texts are texts, or None; what was said)."""
    import matplotlib

    said = io.StringIO()
    result = {"bench": name, "rows": rows, "limits": list(limits)}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "picture.svg")
        with matplotlib.rc_context({"svg.fonttype": "none"}), contextlib.redirect_stderr(said):
            bench._draw(result, bench.modules().get(name), str(path))
        return path.read_text() if path.exists() else None, said.getvalue()


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here")
class Picture(unittest.TestCase):
    def test_every_benchmark_has_one(self):
        listed = hob("bench", "--help")[1].split("benchmarks:\n")[1].split("\n\n")[0]
        names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
        self.assertIn("share", names)
        for name in [name for name in names if name != "all"]:
            with self.subTest(name):
                self.assertIn(name, ROWS)
                rows, word = ROWS[name]
                picture, said = drawn(name, rows, LIMITS)
                self.assertEqual(said, "")
                self.assertIn(word, picture)

    def test_rows_and_limits_are_named(self):
        picture, _ = drawn("redirect", ROWS["redirect"][0], LIMITS)
        for text in ("hob bench redirect", "us, median", "native", "0.5 (at most 1.05)"):
            self.assertIn(text, picture)
        for text in ("1.5 (at least 3)", "12 (at most 15)"):
            self.assertIn(text, picture)
        # Columns without a value are not in the legend.
        self.assertNotIn("ghost and cache", picture)

    def test_of_many_limits_the_least_met(self):
        many = [{**LIMITS[0], "name": f"limit {i}", "value": i / 100} for i in range(90)]
        picture, _ = drawn("redirect", [], many)
        self.assertIn(f"the {benchpicture.MOST_LIMITS} of 90 least met", picture)
        self.assertIn("limit 89", picture)
        self.assertNotIn("limit 40<", picture)

    def test_nothing_measured(self):
        for name in ("hit", "redirect", "match"):
            self.assertEqual(
                drawn(name, []), (None, f"hob: bench {name}: there is nothing to draw\n")
            )

    def test_without_matplotlib(self):
        with (
            mock.patch.dict("sys.modules", {"matplotlib": None}),
            tempfile.TemporaryDirectory() as d,
        ):
            for name in ("hit", "redirect"):
                said = io.StringIO()
                result = {"bench": name, "rows": ROWS[name][0], "limits": []}
                with contextlib.redirect_stderr(said):
                    bench._draw(result, bench.modules()[name], f"{d}/picture.svg")
                self.assertEqual(said.getvalue(), "no picture: matplotlib is not installed\n")
            self.assertEqual(list(Path(d).iterdir()), [])

    @unittest.skipUnless((BIN / "hob-bench-cache").exists(), "built without benchmarks")
    def test_of_a_program(self):
        with tempfile.TemporaryDirectory() as scratch:
            written, picture = Path(scratch, "out.json"), Path(scratch, "out.png")
            words = ["cache", "scale", "--quick", "--json", written, "--picture", picture]
            status, out, err = hob("bench", *words)
            self.assertIn(status, (0, 1), err)
            self.assertIn("targets_used", out)
            self.assertTrue(written.exists())
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))

    @unittest.skipUnless((BIN / "mpich5" / "lcc").exists(), "built without benchmarks for MPICH 5")
    def test_of_jobs(self):
        with tempfile.TemporaryDirectory() as scratch:
            picture = Path(scratch, "out.svg")
            words = ["share", "--quick", "--picture", picture]
            status, _, err = hob("bench", *words, HOB_BUILD_DIR=str(BUILD))
            self.assertIn(status, (0, 1), err)
            self.assertIn("<svg", picture.read_text())


class Limits(unittest.TestCase):
    def test_share_that_is_used(self):
        for value, limit, ok, share in (
            (0.5, "<= 1", True, 0.5),
            (1.5, "<= 1", False, 1.5),
            (9.0, "<= 1", False, benchpicture.EDGE),
            (-3.0, "<= 0.05", True, 0.0),
            (10.0, ">= 5", True, 0.5),
            (4.0, ">= 5", False, 1.25),
            (0.0, ">= 5", False, benchpicture.EDGE),
            (5.0, ">= 5", True, 1.0),
            # As programs write them.
            (10.0, 5.0, True, 0.5),
            (4.0, 5.0, False, 1.25),
            (4.0, 5.0, True, 0.8),
            (0.0, 0.0, True, 1.0),
        ):
            with self.subTest(value=value, limit=limit, ok=ok):
                self.assertEqual(
                    benchpicture.share_of_limit({"value": value, "limit": limit, "ok": ok}), share
                )


class Options(unittest.TestCase):
    def test_refused_before_anything_is_measured(self):
        for words, said in (
            (["micro", "--picture", "x.jpg"], ".svg"),
            (["match", "--picture", "x.jpg"], ".svg"),
            (["micro", "--picture", "no-such-directory/x.png"], "no directory"),
            (["all", "--quick", "--picture=x.png"], "name the benchmark"),
        ):
            with self.subTest(words):
                status, _, err = hob("bench", *words)
                self.assertEqual(status, 2)
                self.assertIn(said, err)

    @unittest.skipUnless((BIN / "hob-bench-match").exists(), "built without benchmarks")
    def test_a_program_explains_it(self):
        status, out, _ = hob("bench", "match", "--help")
        self.assertEqual(status, 0)
        self.assertIn("--strategies", out)
        self.assertIn("--picture FILE", out)


if __name__ == "__main__":
    unittest.main()
