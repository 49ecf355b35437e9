"""The picture of a benchmark that has none of its own: values of its rows as points, one line a row,
and below them how near each limit is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from hob.benchlib import format_value, plot

# Beyond, the names would be a tower: those nearest to being missed are drawn.
MOST_ROWS = MOST_LIMITS = 40
# Where the bar of a limit ends that was missed by more; its number stands beside it.
EDGE = 2.0
MET, MISSED, INK, PALE = "#1a7f5a", "#c0453a", "#1f2933", "#d5dbe3"
MARKERS, DODGE = "osD^vP*Xph<>", 0.6
NAME_WIDTH = 60  # of a line of a limit's name, in characters


@dataclass(frozen=True)
class View:
    """Which of a benchmark's rows and columns one part of its picture shows."""

    title: str
    unit: str  # of all values
    values: dict[str, str]  # column: what the legend calls it
    label: Callable[[dict], str]  # of a row
    where: Callable[[dict], bool] = lambda row: True
    log: bool = True  # where values span more than a factor of ten
    line: float | None = None  # a value to compare with, such as 1 of ratios

    def has(self, row, column):
        """Whether there is something to draw; a logarithmic axis has no place for zero."""
        value = row.get(column)
        return isinstance(value, int | float) and (value > 0 or not self.log)

    def rows(self, rows):
        """Those that it shows: with one of the columns, and chosen."""
        return [
            row
            for row in rows
            if any(self.has(row, column) for column in self.values) and self.where(row)
        ][:MOST_ROWS]


def _search(row):
    return f"{row['queue']}, {row.get('pattern', 'caches cleared')}, depth {row['depth']:,}"


_STRATEGIES = ("list", "lla-2", "lla-8", "lla-64", "source-array", "hash-256", "flat")

# Of the benchmarks that are programs of their own; a module in hob.benches has its VIEWS itself.
PROGRAMS = {
    "cache": (
        View(
            "Cost of cached gets",
            "ns",
            {
                "copy_ns": "memcpy",
                "hit_and_copy_ns": "hit and memcpy",
                "lookup_ns": "lookup",
                "missing_ns": "lookup of what is missing",
            },
            lambda row: f"{row['policy']}, {row['bytes']:,} B",
        ),
        View(
            "Cost of the other accesses",
            "ns",
            {"median_ns": "median", "p99_ns": "p99"},
            lambda row: f"{row['policy']}, {row['access']}, {row['bytes']:,} B",
        ),
        View(
            "Cost of dropping entries",
            "ns",
            {"drop_all_ns": "all", "drop_target_ns": "one target's"},
            lambda row: f"{row['policy']}, {row['dropped_entries']:,} entries",
        ),
        View(
            "Memory by targets in the window",
            "bytes",
            {"memory_bytes": "cache"},
            lambda row: f"{row['targets']:,} targets, {row['targets_used']:,} used",
        ),
    ),
    "match": (
        View(
            "A match at the tail, by strategy",
            "ns",
            {name: name for name in _STRATEGIES},
            _search,
            lambda row: row.get("pattern") == "tail" or "caches" in row,
        ),
        View(
            "Phases of post, sweep, arrive",
            "ns per match",
            {name: name for name in _STRATEGIES},
            lambda row: f"depth {row['depth']:,}",
            lambda row: "phase" in row,
        ),
    ),
    "heat": (
        View(
            "A search with cleared caches",
            "ns",
            {"cold ns": "without heater", "heated ns": "with heater"},
            lambda row: f"{row['strategy']}, depth {row['depth']:,}, every {row['period us']:g} us",
        ),
        View(
            "A phase, heater chosen automatically",
            "us",
            {"phase us without": "without heater", "phase us with": "automatic"},
            lambda row: f"{row['strategy']}, depth {row['depth']:,} ({row['automatic']})",
        ),
    ),
    "stores": (
        View(
            "Was this window stored to? Of each MiB of it",
            "us",
            {
                "begin us/MiB": "begin to watch",
                "ask us/MiB": "ask, nothing stored",
                "ask, stored to, us/MiB": "ask, stored to",
                "read all of it us/MiB": "read all of it, as a fingerprint would",
            },
            lambda row: f"{row['way']}, {row['window MiB']:,} MiB",
        ),
        View(
            "Time between barriers from which on it takes less than 5%",
            "ms",
            {
                "pays from ms, nothing stored": "nothing stored",
                "pays from ms, 1% stored": "1% of the pages stored to",
            },
            lambda row: f"{row['way']}, {row['window MiB']:,} MiB",
        ),
    ),
    "motifs": (
        View(
            "Lengths of queues",
            "entries",
            {
                "posted median": "posted, median",
                "99%": "posted, 99%",
                "longest": "posted, longest",
                "unexpected median": "unexpected, median",
                "99% ": "unexpected, 99%",
                "longest ": "unexpected, longest",
            },
            lambda row: f"{row['motif']}, {row['processes']:,} processes",
        ),
    ),
    "decomposition": (
        View(
            "Mean search depth",
            "entries",
            {
                "paper depth": "paper",
                "any order": "simulated, any order",
                "by thread": "simulated, thread by thread",
                "real threads": "real threads",
            },
            lambda row: f"{row['decomp']}, {row['stencil']}, {row['length']:,} long",
        ),
    ),
}


def views_of(name, module):
    return getattr(module, "VIEWS", None) or PROGRAMS.get(name, ())


def _bound(limit):
    """(whether the value must be at least the bound, the bound). The programs in C++ write limits without
    a direction, which then follows from value and outcome."""
    value, text = limit["value"], str(limit["limit"])
    bound = float(text.lstrip("<>= "))
    if text[0] in "<>":
        return text[0] == ">", bound
    return value != bound and (value > bound) == limit["ok"], bound


def share_of_limit(limit):
    """How much of a limit is used: 1 at the limit, less where it is met, EDGE at most."""
    value, (at_least, bound) = limit["value"], _bound(limit)
    if value == bound:
        return 1.0
    part, whole = (bound, value) if at_least else (value, bound)
    if whole <= 0:
        return 0.0 if limit["ok"] else EDGE
    return min(max(part / whole, 0.0), EDGE)


def _height(labels, series=1):
    """Inches that a panel takes: its title and axis, its rows, and at least the legend."""
    rows = sum(0.07 + max(0.17 * (label.count("\n") + 1), 0.05 * series) for label in labels)
    return 0.75 + max(rows, 0.2 * series)


def _style(axes, title, labels):
    axes.set_title(title, fontsize=11, loc="left")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(color=PALE, linewidth=0.6)


def _draw_rows(axes, view, rows):
    _style(axes, view.title, [view.label(row) for row in rows])
    shown = [row[column] for row in rows for column in view.values if view.has(row, column)]
    for index, (column, name) in enumerate(view.values.items()):
        if not (at := [i for i, row in enumerate(rows) if view.has(row, column)]):
            continue
        # One a little below the other: equal values are all seen.
        below = DODGE * ((index + 0.5) / len(view.values) - 0.5)
        axes.plot(
            [rows[i][column] for i in at],
            [i + below for i in at],
            MARKERS[index % len(MARKERS)],
            label=name,
            markersize=5,
        )
    if view.log and max(shown) > 10 * min(shown):
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    if view.line is not None:
        axes.axvline(view.line, color=INK, linewidth=1)
    axes.set_xlabel(view.unit, fontsize=9)
    if len(view.values) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False, fontsize=8)


def _draw_limits(axes, limits, labels, of):
    title = "Limits" if len(limits) == of else f"Limits: the {len(limits)} of {of} least met"
    _style(axes, title, labels)
    shares = [share_of_limit(limit) for limit in limits]
    axes.barh(
        range(len(limits)),
        shares,
        color=[MET if limit["ok"] else MISSED for limit in limits],
        height=0.6,
    )
    for i, limit in enumerate(limits):
        at_least, bound = _bound(limit)
        said = f"{format_value(limit['value'])} ({'at least' if at_least else 'at most'} {bound:g})"
        axes.annotate(
            said, (EDGE, i), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.axvline(1.0, color=INK, linewidth=1)
    axes.set_xlim(0, EDGE)
    axes.set_xlabel("part of the limit that is used (1: at the limit)", fontsize=9)


def draw(result, views, path):
    """Writes the picture of a benchmark's result; false where there is nothing to draw."""
    panels = [(view, rows) for view in views if (rows := view.rows(result["rows"]))]
    every = result["limits"]
    worst = sorted(range(len(every)), key=lambda i: -share_of_limit(every[i]))[:MOST_LIMITS]
    limits = [every[i] for i in sorted(worst)]
    names = [textwrap.fill(limit["name"], NAME_WIDTH) for limit in limits]
    heights = [
        _height([view.label(row) for row in rows], len(view.values)) for view, rows in panels
    ]
    if limits:
        heights.append(_height(names))
    if not heights:
        return False

    def figure(pyplot):
        whole = pyplot.gcf()
        whole.set_size_inches(10, sum(heights) + 0.5)
        quick = " (quick: numbers mean little)" if result.get("quick") else ""
        whole.suptitle(f"hob bench {result['bench']}{quick}", fontsize=12)
        axes = whole.subplots(len(heights), height_ratios=heights, squeeze=False)[:, 0]
        for one, (view, rows) in zip(axes, panels):
            _draw_rows(one, view, rows)
        if limits:
            _draw_limits(axes[-1], limits, names, len(every))

    plot(path, figure)
    return True
