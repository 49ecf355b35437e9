"""`hob demo`: local clustering coefficients (apps/lcc), plainly and with Hob, on two graphs.

The program knows nothing of Hob. Both runs are the same command in the same environment, but for
LD_PRELOAD (and where Hob writes its counters).
"""

import json
import os
import subprocess
import sys
import threading
import time
from html import escape
from pathlib import Path

from hob import probe
from hob.benchlib import BenchError, mpis, program, run_mpi, table
from hob.report.data import load
from hob.report.page import content, document, html_table
from hob.report.words import quantity, seconds, share
from hob.run import which_mpi
from hob.where import BIN, ROOT, HobError, in_source

DESCRIPTION = """Computes the local clustering coefficients of two graphs with apps/lcc, an MPI program
that was not written for Hob: on 4 ranks, each its own node over TCP, first plainly, then with Hob
preloaded and nothing else changed. Checks that every coefficient is the same, prints the
gain, and writes a page that shows where it came from."""

EPILOG = """examples:
  hob demo
  hob demo --ranks 2 --seconds 5            a short one

The graphs are the dependencies between the packages that this Debian-like machine knows, and an
R-MAT graph. Where all vertices would take the plain program longer than --seconds, every rank
takes an even sample of its vertices, the same in both runs.

From an installation or a wheel, the program is compiled with mpicxx, and --launcher starts it on
nodes of a cluster: without, TCP lies between ranks of this machine."""

RMAT = (14, 16)
SAMPLE = 40  # vertices a rank, to find out how fast the plain program is here


def add_arguments(parser):
    parser.add_argument("--ranks", type=int, default=4, metavar="N", help="(default: 4)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=40,
        metavar="S",
        help="how long the plain program may take on each graph (default: 40)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        default="out/demo",
        help="where the page and the results go (default: out/demo)",
    )
    if not in_source():
        parser.add_argument(
            "--mpicxx", metavar="CXX", help="the MPI compiler wrapper (default: mpicxx)"
        )
        parser.add_argument(
            "--launcher", metavar="CMD", help="as of hob run, e.g. 'mpiexec -ppn 1 -hosts a,b'"
        )


class Ticker:
    """A line on standard error that says what is going on and since when, while it goes on."""

    def __init__(self, what, expected=None):
        self.what, self.expected, self.end = what, expected, threading.Event()
        self.line = sys.stderr.isatty()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        start = time.monotonic()
        while not self.end.wait(0.5):
            text = f"{self.what}: {time.monotonic() - start:.0f} s"
            if self.expected:
                text += f" of about {self.expected:.0f} s"
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()

    def __enter__(self):
        if self.line:
            self.thread.start()
        else:
            print(f"{self.what} ...", file=sys.stderr, flush=True)
        return self

    def __exit__(self, *_):
        self.end.set()
        if self.line:
            self.thread.join()
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Built:
    """lcc as make has compiled it, for MPICH 5, which can make every rank of one machine a node of its own."""

    where = "each its own node over TCP"

    def __init__(self):
        if "mpich5" not in mpis():
            raise HobError(
                "the demo needs MPICH 5, which `make demo` sets up; HOB_DEPS names the directory "
                "where it was set up"
            )

    def run(self, words, ranks, hob, timeout):
        """Hob's report, where it was there."""
        path = program("lcc", "mpich5")
        return run_mpi(path, words, ranks=ranks, hob=hob, report=True, timeout=timeout).report


class Installed:
    """lcc compiled with the site's own wrapper."""

    def __init__(self, args, output):
        wrapper = probe.compiler(args.mpicxx, "mpicxx", "cxx")
        sources = [ROOT / "apps" / "lcc" / name for name in ("main.cpp", "graph.cpp")]
        # The C++ bindings that MPI removed do not compile everywhere.
        flags = ["-std=c++20", "-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX"]
        words = [*flags, f"-I{BIN.parent / 'include'}", *sources]
        options = ["--launcher", args.launcher] if args.launcher else ["--remote"]
        with Ticker(f"compiling the program with {wrapper}"):
            self.program = probe.SiteProgram(output, "lcc", wrapper, words, options)
        self.where, self.environment = "where the launcher put them", {}
        if not args.launcher:
            if which_mpi([str(self.program.program)])["family"] == "openmpi":
                raise HobError(
                    "without --launcher, the demo puts TCP between ranks of this machine, which needs MPICH "
                    "(--mpicxx names its wrapper)"
                )
            self.where, self.environment = Built.where, {"LD_PRELOAD": _polite(wrapper, output)}
        self.report = output / "report.json"

    def run(self, words, ranks, hob, timeout):
        options = ["--off"] if hob is None else ["--json", self.report]
        self.program.start(ranks, map(str, options), words, timeout, self.environment)
        return None if hob is None else json.loads(self.report.read_text())


def _polite(wrapper, output):
    """What gives the core away while it polls: ranks may have to share cores, with Hob and without."""
    library = output / "libpolite.so"
    words = ["-x", "c", "-shared", "-fPIC", ROOT / "bench" / "polite.c", "-ldl"]
    probe.SiteProgram(output, library.name, wrapper, words)
    return str(library)


def run_lcc(lcc, graph, ranks, output, name, hob=None, limit=None, timeout=280):
    """One run: (the program's own figures, Hob's report or None, file of coefficients)."""
    figures, answers = output / f"{name}.run.json", output / f"{name}.coefficients"
    words = [*graph, "--json", figures, "--check-out", answers]
    if limit:
        words += ["--vertices-limit", limit]
    report = lcc.run(words, ranks, hob, timeout)
    return json.loads(figures.read_text()), report, answers


def compare(lcc, title, graph, ranks, budget, output, key):
    """Both runs on one graph: a dictionary of everything worth saying about it."""
    with Ticker(f"{title}: how fast is the plain program here?"):
        probe, _, _ = run_lcc(lcc, graph, ranks, output, f"{key}.probe", limit=SAMPLE)
    per_vertex = probe["totals"]["phase_seconds"] / SAMPLE
    own = probe["vertices"] / ranks
    expected = per_vertex * own
    limit = None
    if expected > budget:
        limit = max(SAMPLE, int(budget / per_vertex))
        expected = per_vertex * limit
    for left_over in output.glob(f"{key}.probe.*"):
        left_over.unlink()

    with Ticker(f"{title}: plainly", expected):
        plain, _, plain_answers = run_lcc(lcc, graph, ranks, output, f"{key}.plain", limit=limit)
    with Ticker(f"{title}: with Hob"):
        with_hob, report, hob_answers = run_lcc(lcc, graph, ranks, output, f"{key}.hob", {}, limit)
    report_file = output / f"{key}.hob.json"
    report_file.write_text(json.dumps(report))

    same = plain_answers.read_bytes() == hob_answers.read_bytes()
    return {
        "title": title,
        "plain": plain["totals"],
        "hob": with_hob["totals"],
        "vertices": plain["vertices"],
        "edges": plain["totals"]["arcs"] // 2,
        "counters": total_counters(report),
        "report": report_file,
        "same": same,
    }


def total_counters(report):
    total = {}
    for rank in report["ranks"]:
        for window in rank.get("windows", []):
            for name, value in window.get("counters", {}).items():
                total[name] = total.get(name, 0) + value
    return total


def row_of(outcome):
    plain, hob, counters = outcome["plain"], outcome["hob"], outcome["counters"]
    gets = counters.get("gets", 0)
    saved = counters.get("hits_full", 0) + counters.get("hits_pending", 0)
    return {
        "graph": outcome["title"],
        "coefficients": quantity(plain["vertices_done"]),
        "plain": seconds(plain["phase_seconds"]),
        "with Hob": seconds(hob["phase_seconds"]),
        "speed-up": f"{plain['phase_seconds'] / hob['phase_seconds']:.1f} x",
        "gets issued": quantity(hob["gets"]),
        "saved": quantity(saved),
        "hit ratio": share(saved, gets) if gets else "0%",
        "answers": "all the same" if outcome["same"] else "DIFFERENT",
    }


def explain(outcome):
    done = outcome["plain"]["vertices_done"]
    text = f"{outcome['title']}: {outcome['vertices']:,} vertices, {outcome['edges']:,.0f} edges"
    if done == outcome["vertices"]:
        return text + "; all coefficients."
    return (
        text + f"; an even sample of {done:,.0f} coefficients, since all would have kept the "
        "plain program busy for too long."
    )


def write_page(outcomes, ranks, where, path):
    rows = [row_of(outcome) for outcome in outcomes]
    parts = [
        "<header><h1>Local clustering coefficients, without Hob and with it</h1>",
        f'<span class="soft">apps/lcc on {ranks} ranks, {where}</span></header>',
        html_table([*rows[0]], [row.values() for row in rows]),
        "<p>Times are those of the phase that fetches adjacency lists and counts, on the slowest "
        "rank. The program and its environment are the same in both runs, but for Hob in LD_PRELOAD. "
        "Where there are more ranks than cores, ranks of both runs give their core away while they "
        "poll.</p>",
    ]
    for outcome in outcomes:
        parts += [f"<p>{escape(explain(outcome))}</p>"]
    for outcome in outcomes:
        parts += [
            f"<h2>{escape(outcome['title'])}: the run with Hob</h2>",
            content(load(outcome["report"])),
        ]
    path.write_text(document("Hob: demo", "\n".join(parts)))


def debian_graph(output):
    """The package graph, or None with a reason printed where this machine has no package list."""
    target = output / "debian.txt"
    maker = ROOT / "apps" / "lcc" / "debian_graph.py"
    with Ticker("making the graph of this machine's package list"):
        done = subprocess.run(
            [sys.executable, str(maker), str(target)], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        print(f"Without the Debian graph: {done.stderr.strip()}\n")
        return None
    return target


def main(args):
    output = Path(args.output).resolve()
    output.mkdir(parents=True, exist_ok=True)
    try:
        lcc = Built() if in_source() else Installed(args, output)
    except BenchError as error:
        raise HobError(str(error)) from error
    graphs = []
    debian = debian_graph(output)
    if debian:
        graphs.append(("Debian packages", ["--snap", debian], "debian"))
    scale, factor = RMAT
    graphs.append((f"R-MAT {scale}/{factor}", ["--rmat", scale, factor], "rmat"))

    # A user's own settings would make the two runs differ in more than they say.
    for name in [name for name in os.environ if name.startswith("HOB_")]:
        if name not in ("HOB_DEPS", "HOB_BUILD_DIR"):
            del os.environ[name]
    try:
        outcomes = [
            compare(lcc, title, graph, args.ranks, args.seconds, output, key)
            for title, graph, key in graphs
        ]
    except BenchError as error:
        raise HobError(str(error)) from error

    print(f"Local clustering coefficients on {args.ranks} ranks, {lcc.where}:\n")
    print(table([row_of(outcome) for outcome in outcomes]) + "\n")
    for outcome in outcomes:
        print(explain(outcome))
    page = output / "demo.html"
    write_page(outcomes, args.ranks, lcc.where, page)
    print(f"\nWhat happened, with pictures: {page}")
    wrong = [outcome["title"] for outcome in outcomes if not outcome["same"]]
    if wrong:
        print(f"hob demo: coefficients differ on {', '.join(wrong)}: see {output}", file=sys.stderr)
        return 1
    return 0
