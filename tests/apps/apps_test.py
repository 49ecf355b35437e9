"""The programs of apps/, plainly and with Hob: their answers against what this file finds itself."""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Everything is small: on a machine that is busy otherwise, each get may cost time slices.
OPTIONS = argparse.Namespace()

# Between ranks as between nodes, which also spares ranks that outnumber the cores from spinning.
REMOTE = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "MPIR_CVAR_CH4_NETMOD": "ofi"}
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_osc": "^ucx",
}
ENVIRONMENT = {
    "mpich5": REMOTE,
    "abi5": REMOTE,
    "openmpi4": OPEN_MPI,
    "openmpi5": OPEN_MPI,
    # One node: Debian's MPICH 4.0.2, which has UCX only, sometimes hangs in MPI_Finalize over TCP.
    "mpich4": {},
}
# None: without Hob.
MODES = (None, {}, {"HOB_CACHE": "always"}, {"HOB_CACHE": "strict"}, {"HOB_CACHE_SIZE": "4K"})


def run(name, words, ranks, hob=None, status=0):
    """Standard output of a program."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HOB_")}
    environment.update(ENVIRONMENT.get(OPTIONS.mpi, {}))
    command = [OPTIONS.mpiexec, "-n", str(ranks)]
    if OPTIONS.mpi.startswith("openmpi"):
        command.append("--oversubscribe")
    command += ["env"]
    if hob is not None:
        command += [f"{key}={value}" for key, value in {"HOB_REPORT": "silent", **hob}.items()]
        command += [f"LD_PRELOAD={OPTIONS.hob}"]
    command += [str(Path(OPTIONS.programs, name)), *map(str, words)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    if done.returncode != status:
        raise AssertionError(
            f"exit status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def clustering(edges, vertices):
    """['vertex degree links', ...] by looking at all pairs of neighbours."""
    joined = [set() for _ in range(vertices)]
    for a, b in edges:
        if a != b:
            joined[a].add(b)
            joined[b].add(a)
    return [
        f"{v} {len(near)} {sum(b in joined[a] for a, b in itertools.combinations(near, 2))}"
        for v, near in enumerate(joined)
    ]


def random_edges(vertices, count):
    """Edges with loops, repeats and hubs; every vertex has one, as SNAP lists have no others."""
    source = random.Random(5)
    edges = [(v, source.randrange(vertices)) for v in range(vertices)]
    edges += [
        (int(vertices * source.random() ** 3), source.randrange(vertices)) for _ in range(count)
    ]
    return edges + edges[:20]


def modes():
    """On one node the cache leaves gets alone: what its modes do is seen with the other MPIs."""
    return MODES[:2] if OPTIONS.mpi == "mpich4" else MODES


def most(ranks):
    """MPICH 4's ranks spin: more of them than cores take a time slice for every get."""
    return min(ranks, 2) if OPTIONS.mpi == "mpich4" else ranks


class Apps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="hob-apps-")
        self.addCleanup(scratch.cleanup)
        self.here = Path(scratch.name)

    def coefficients(self, words, ranks, hob=None):
        out = self.here / "out"
        run("lcc", [*words, "--check-out", out], ranks, hob)
        return out.read_text().splitlines()

    def test_lcc_finds_what_brute_force_finds(self):
        vertices = 40
        edges = random_edges(vertices, 120)
        snap = self.here / "snap"
        snap.write_text(
            "# vertex 3v + 1\n" + "".join(f"{3 * a + 1}\t{3 * b + 1}\n" for a, b in edges)
        )
        market = self.here / "market"
        market.write_text(
            "%%MatrixMarket matrix coordinate pattern general\n"
            f"{vertices} {vertices} {len(edges)}\n"
            + "".join(f"{a + 1} {b + 1}\n" for a, b in edges)
        )
        right = clustering(edges, vertices)
        for ranks, hob in ((1, None), *((most(3), mode) for mode in modes())):
            with self.subTest(ranks=ranks, hob=hob):
                self.assertEqual(self.coefficients(["--snap", snap], ranks, hob), right)
        self.assertEqual(self.coefficients(["--matrix-market", market], 2), right)
        self.assertEqual(self.coefficients(["--snap", snap, "--mode-user"], 2, {}), right)

    def test_lcc_on_rmat_is_the_same_on_any_number_of_ranks(self):
        words = ["--rmat", 6, 4, "--seed", 3]
        alone = self.coefficients(words, 1)
        self.assertEqual(len(alone), 64)
        for hob in modes():
            with self.subTest(hob=hob):
                self.assertEqual(self.coefficients(words, 2, hob), alone)
        sample = self.coefficients([*words, "--vertices-limit", 10], 2)
        self.assertEqual(len(sample), 20)
        self.assertLess(set(sample), set(alone))

    def test_lcc_counts_its_gets(self):
        figures = self.here / "json"
        run("lcc", ["--rmat", 7, 4, "--json", figures], 2)
        found = json.loads(figures.read_text())
        self.assertEqual((found["ranks"], len(found["rows"])), (2, 2))
        totals = found["totals"]
        self.assertEqual(totals["gets"], sum(row["gets"] for row in found["rows"]))
        # Two gets for each arc that leaves its rank, about half of all.
        self.assertGreater(totals["gets"], 0.5 * totals["arcs"])
        self.assertLess(totals["gets"], 1.5 * totals["arcs"])

    def test_lcc_says_what_is_wrong(self):
        run("lcc", [], 1, status=2)
        run("lcc", ["--rmat", 7, "none"], 1, status=2)

    def test_barnes_hut_moves_bodies_alike_on_any_number_of_ranks(self):
        words = ["--bodies", 40, "--steps", 2, "--leaf", 2]
        right = run("barnes-hut", words, 1).split("checksum")[1]
        # Its windows are written in every step: mode always would be a broken promise.
        legal = [mode for mode in modes() if mode != {"HOB_CACHE": "always"}]
        for ranks, hob in (*((2, mode) for mode in legal), (most(3), None), (most(3), {})):
            with self.subTest(ranks=ranks, hob=hob):
                self.assertEqual(run("barnes-hut", words, ranks, hob).split("checksum")[1], right)
        user = run("barnes-hut", [*words, "--mode-user"], 2, {})
        self.assertEqual(user.split("checksum")[1], right)

    def test_barnes_hut_with_all_cells_opened_is_the_direct_sum(self):
        out = run("barnes-hut", ["--bodies", 40, "--steps", 1, "--theta", 0, "--accuracy", 40], 2)
        self.assertLess(float(out.split("relative error")[1]), 1e-12)

    def test_barnes_hut_makes_few_trips_with_any_room(self):
        if OPTIONS.mpi != "mpich5":
            self.skipTest("counts are the same on any MPI between nodes")
        figures, report = self.here / "json", self.here / "report"
        words = ["--bodies", 2500, "--steps", 1, "--json", figures]
        run("barnes-hut", words, 2)
        footprint = json.loads(figures.read_text())["totals"]["footprint_bytes"]

        def trips(readahead, percent):
            settings = {
                "HOB_READAHEAD": readahead,
                "HOB_CACHE_SIZE": str(footprint * percent // 100),
                "HOB_CACHE_ADAPT": "off",
                "HOB_CACHE_INDEX": "20000",
                "HOB_JSON": str(report),
            }
            run("barnes-hut", words, 2, settings)
            ranks = json.loads(report.read_text())["ranks"]
            return sum(rank["counters"]["native_gets"] for rank in ranks)

        # Nearly all of its gets are hits, so that few trips show what would spare them.
        self.assertLess(trips("auto", 100), trips("off", 100) / 10)
        self.assertLess(trips("auto", 50), trips("off", 50))

    def test_fds_proxy_gets_every_message_right(self):
        for words in (
            [],
            ["--receives", "nonblocking", "--any-source", 30],
            ["--posting", "backward", "--sending", "forward", "--no-barrier"],
        ):
            for hob in (None, {}):
                with self.subTest(words=words, hob=hob):
                    out = run("fds-proxy", ["--depth", 50, "--steps", 2, *words], most(3), hob)
                    self.assertIn("; 0 wrong words", out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--mpi", "--programs", "--mpiexec", "--hob"):
        parser.add_argument(option, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
