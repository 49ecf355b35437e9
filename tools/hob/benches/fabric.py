"""A site's own fabric: what Hob can gain on it, on one page. Works from an installation and from a wheel."""

import tempfile
from html import escape
from pathlib import Path

from hob import __version__, probe
from hob.benchlib import BenchError, Progress, alternate, machine, median, size_text
from hob.benchpicture import View
from hob.options import at_least
from hob.report.page import document, html_table
from hob.report.words import number, seconds

NAME = "fabric"
HELP = "what Hob can gain on this site's fabric: one page in a few minutes (--page FILE.html)"
NEEDS_SOURCE = False
IN_ALL = False

VARIANTS = {"without": ["--off"], "hob": [], "ghosts": ["--ghosts", "1"]}
VIEWS = (
    View(
        "Operations on this fabric",
        "us, median",
        {"without_us": "without Hob", "hob_us": "with Hob", "ghosts_us": "with a ghost"},
        lambda row: row["what"],
    ),
)
# A mechanism is worth while from this ratio on.
WORTH = 1.2


def add_arguments(parser):
    parser.add_argument(
        "--page", metavar="FILE.html", default="fabric.html", help="(default: fabric.html)"
    )
    parser.add_argument(
        "--ranks", type=at_least(2), default=2, help="first and last work (default: 2)"
    )
    parser.add_argument("--repeats", type=at_least(1), default=3, help="turns of each (default: 3)")
    probe.add_arguments(parser)


def run(args, bench):
    repeats = 1 if args.quick else args.repeats
    progress = Progress(NAME, len(VARIANTS) * repeats)
    without_ghosts = []
    with tempfile.TemporaryDirectory(prefix="hob-bench-", dir=Path.cwd()) as folder:
        program = probe.Probe(args, folder)

        def one(words):
            try:
                return program.run(args.ranks, *words)[0]
            except BenchError as error:
                if "--ghosts" not in words:
                    raise
                without_ghosts.append(str(error))  # too few places on a node, for one
                return []

        runs = alternate(
            {name: lambda w=words: one(w) for name, words in VARIANTS.items()}, repeats, progress
        )
    progress.done()
    rows = _merge(runs)
    for row in rows:
        bench.row(**row)
    hosts = next((row for row in runs["without"][0] if row["what"] == "hosts"), {})
    bench.also["hosts"] = hosts
    bench.also["sentences"] = sentences(rows, {} if args.remote else hosts)
    if without_ghosts:
        bench.also["sentences"].append(
            f"Not measured with ghosts: {without_ghosts[0].splitlines()[0]}"
        )
    print("\n".join(bench.also["sentences"]) + "\n")
    Path(args.page).write_text(page(rows, bench.also["sentences"], hosts))
    print(f"The page: {args.page}\n")


def _quantities(rows):
    """[(what, seconds)] of one run."""
    for row in rows:
        if row["what"] == "get":
            yield f"get and flush of {size_text(row['size'])}, first time", row["first"]
            yield f"get and flush of {size_text(row['size'])}, again", row["again"]
        elif row["what"] == "accumulate":
            busy = "computes for " + seconds(row["computes"]) if row["computes"] else "waits in MPI"
            yield f"accumulate to a rank that {busy}", row["seconds"]
        elif row["what"] == "message":
            yield f"message there and back, {row['depth']:,} receives posted before", row["seconds"]


def _merge(runs):
    found = {}
    for name, results in runs.items():
        for rows in results:
            for what, spent in _quantities(rows):
                found.setdefault(what, {}).setdefault(name, []).append(1e6 * spent)
    return [
        {"what": what, **{f"{name}_us": median(of[name]) for name in VARIANTS if name in of}}
        for what, of in found.items()
    ]


def sentences(rows, hosts):
    """What the numbers mean, as a list of sentences."""
    by = {row["what"]: row for row in rows}
    said = []
    if hosts.get("here") and hosts.get("here") == hosts.get("there"):
        said.append(
            "Both ranks were on one host: this is its shared memory, not the fabric. --launcher can place "
            "them, --remote puts TCP between them."
        )
    small = by.get("get and flush of 8 B, again")
    if small:
        factor = small["without_us"] / small["hob_us"]
        said.append(
            f"Repeated gets: {number(small['without_us'])} us without Hob, {number(small['hob_us'])} us with it: "
            + (f"{number(factor)} times faster." if factor >= WORTH else "nothing to gain.")
        )
    waits = by.get("accumulate to a rank that waits in MPI")
    busy = next((row for what, row in by.items() if "that computes" in what), None)
    if waits and busy:
        factor = busy["without_us"] / waits["without_us"]
        if factor < 5:
            said.append(
                "Accumulates to a rank that computes: they need no attention here; ghosts gain nothing."
            )
        elif "ghosts_us" in busy:
            said.append(
                f"Accumulates to a rank that computes: {number(busy['without_us'])} us, with a ghost "
                f"{number(busy['ghosts_us'])} us: programs whose targets compute gain from ghosts."
            )
    deep = [row for what, row in by.items() if "receives posted before" in what]
    if len(deep) > 1:
        added = deep[-1]["without_us"] - deep[0]["without_us"]
        left = deep[-1]["hob_us"] - deep[0]["hob_us"]
        if added > max(1.0, 0.5 * deep[0]["without_us"]) and left < added / WORTH:
            said.append(
                f"Deep queues: 8,192 posted receives add {number(added)} us to a message, with Hob {number(max(left, 0))} us."
            )
        else:
            said.append(
                "Deep queues: posted receives add little here, or Hob takes nothing off; matching gains little."
            )
    return said


def page(rows, said, hosts):
    about = machine()
    head = ["operation", "without Hob, us", "with Hob, us", "with a ghost, us"]
    table = [
        [
            row["what"],
            *(
                number(row[key]) if key in row else ""
                for key in ("without_us", "hob_us", "ghosts_us")
            ),
        ]
        for row in rows
    ]
    where = " and ".join(dict.fromkeys(filter(None, (hosts.get("here"), hosts.get("there")))))
    facts = f"Hob {__version__} · {where} · {about['cpu']}, {about['cores']} cores"
    body = [
        f'<header><h1>What Hob can gain on this fabric</h1><span class="soft">{escape(facts)}</span></header>',
        *(f"<p>{escape(sentence)}</p>" for sentence in said),
        "<h2>Measured</h2>",
        html_table(head, table),
        '<p class="soft">Medians of one process on each side, runs in turn. A target that computes makes no call of MPI '
        "meanwhile. The ghost has a core of its own only where the launcher gives it one.</p>",
    ]
    return document("Hob: this fabric", "\n".join(body))
