"""The figures and tables of the three papers, theirs beside what this machine gives, as one page."""

import json
import re
import subprocess
from html import escape
from pathlib import Path

from hob.benchlib import BenchError, Progress, plot
from hob.paperfigures import ANOTHER, FIGURES, MEASURED, NOT_HERE, PAPERS, STATES
from hob.report.page import document
from hob.where import COMMAND

NAME = "paper"
HELP = "every figure and table of the three papers that one machine can carry, theirs beside ours, as one page"
IN_ALL = False  # it runs the others itself


def add_arguments(parser):
    parser.add_argument(
        "--out",
        default="out/paper",
        metavar="DIR",
        help="for the page, paper.html, and for the results of each benchmark (default: out/paper)",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="results that are in DIR are used, and not measured again: after an interruption",
    )


def _result(words, args, out):
    """The result of one benchmark, run now or kept; raises BenchError where there is none."""
    name, *more = words.split()
    path = out / f"{name}.json"
    if not (args.keep and path.exists()):
        path.unlink(missing_ok=True)
        with open(out / f"{name}.txt", "w") as log:
            subprocess.run(
                [COMMAND, "bench", name, *more, "--json", path]
                + (["--quick"] if args.quick else []),
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as fault:
        text = out / f"{name}.txt"
        said = text.read_text().strip().splitlines() if text.exists() else []
        raise BenchError(f"hob bench {name}: {said[-1] if said else fault}") from fault


def _ours(figure, results, faults):
    """(whether there is a result, what this machine gives or why it does not, in words)."""
    if figure.bench not in results:
        return False, figure.why or faults[figure.bench]
    try:
        return True, figure.ours(results[figure.bench]["rows"])
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
        return (
            False,
            figure.why or f"`hob bench {figure.bench}` ended before it had measured this.",
        )


def run(args, bench):
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(figure.bench for figure in FIGURES if figure.bench))
    # Where a figure says why there may be no result, that is no failure.
    optional = {figure.bench for figure in FIGURES if figure.why}
    progress, results, faults = Progress(NAME, len(names)), {}, {}
    machine = {}
    for name in names:
        try:
            results[name] = _result(name, args, out)
            machine |= results[name].get("machine", {})
        except BenchError as fault:
            if name not in optional:
                faults[name] = str(fault)
        progress.tick(name)
    progress.done()
    shown = []
    for figure in FIGURES:
        has_result, ours = _ours(figure, results, faults)
        state = figure.state(has_result)
        question = figure.question if state == ANOTHER else ""
        command = f"hob bench {figure.bench}" if figure.bench else ""
        bench.row(
            paper=figure.paper,
            figure=figure.name,
            what=figure.what,
            state=state,
            command=command,
        )
        shown.append(
            {**bench.rows[-1], "theirs": figure.theirs, "question": question, "ours": ours}
        )
    bench.also["figures"] = shown
    page = out / "paper.html"
    page.write_text(_page(shown, machine, args.quick))
    print(f"the page, with what the papers show: {page}\n")
    if faults:
        raise BenchError("; ".join(faults.values()))


def _words(text):
    """As HTML, with what is between backquotes as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def draw(result, path):
    """How many of each paper's figures are in which state; the page says which."""

    def figure(pyplot):
        left = [0] * len(PAPERS)
        for state in STATES:
            counts = [
                sum(row["paper"] == paper and row["state"] == state for row in result["rows"])
                for paper in PAPERS
            ]
            bars = pyplot.barh(list(PAPERS), counts, left=left, label=state)
            pyplot.bar_label(bars, [count or "" for count in counts], label_type="center")
            left = [sum(pair) for pair in zip(left, counts)]
        pyplot.xlabel("figures and tables of the paper")
        pyplot.figlegend(loc="outside lower center", ncols=3)
        pyplot.title("Three papers, and this machine")

    plot(path, figure)


def _tally(rows):
    counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
    return (
        f"<p>Of {len(rows)} figures and tables, {counts[MEASURED]} are measured here, {counts[ANOTHER]} are answered by "
        f"another question, which is named, and {counts[NOT_HERE]} are not here, with the reason.</p>"
    )


def _page(rows, machine, quick):
    parts = [
        "<header><h1>Three papers, and this machine</h1>",
        f'<span class="soft">{escape(machine.get("cpu", ""))}, {machine.get("cores", "?")} cores</span></header>',
        "<p>Theirs were measured on Cray and InfiniBand machines of up to thousands of cores, ours on one "
        "machine, where <i>remote</i> is TCP: ratios can be compared, times cannot.</p>",
        _tally(rows),
    ]
    if quick:
        parts.append(
            "<p><b>Measured with --quick</b>, to see that it works: its numbers mean little.</p>"
        )
    for paper, title in PAPERS.items():
        parts.append(f"<h2>{escape(title)}</h2>")
        for row in (row for row in rows if row["paper"] == paper):
            question = row.get("question")
            parts += [
                '<div class="card">',
                f"<h3>{escape(row['figure'])}: {escape(row['what'])}</h3>",
                f"<p><b>Theirs:</b> {_words(row['theirs'])}</p>",
                f"<p><b>Another question:</b> {_words(question)}</p>" if question else "",
                f"<p><b>{'Not here' if row['state'] == NOT_HERE else 'Ours'}:</b> {_words(row['ours'])}</p>",
                f"<p class='soft'><code>{escape(row['command'])}</code></p>"
                if row["command"]
                else "",
                "</div>",
            ]
    return document("Hob: the papers", "\n".join(part for part in parts if part))
