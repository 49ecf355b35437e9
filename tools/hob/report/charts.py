"""The pictures of a report, as SVG text. Without matplotlib there are none, and the page says so."""

import functools
import io
import math

from hob.report.data import ACCESS_TYPES, access_counts
from hob.report.words import size

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MultipleLocator, PercentFormatter
except ImportError:
    matplotlib = None

# Hits in greens, misses from pale to dark, failures in reds: the same in every picture.
COLOURS = (
    "#1a7f5a",
    "#5fb88f",
    "#b5dcc8",
    "#7fb3d5",
    "#c9d3e0",
    "#f0c36d",
    "#e08e45",
    "#c0453a",
    "#9a9fa8",
)
INK, LINE, BLUE = "#1f2933", "#d5dbe3", "#2f6f9f"
MOST_BARS = 64


def available():
    return matplotlib is not None


def _picture(draw):
    """A function that draws, and that gives no picture where there is no matplotlib."""

    @functools.wraps(draw)
    def wrapped(*arguments, **options):
        return draw(*arguments, **options) if available() else None

    return wrapped


def _figure(width=5.6, height=2.7):
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=INK, labelsize=9, length=3)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=LINE, linewidth=0.6)
    return figure, axes


def _svg(figure, name):
    """The figure as one <svg> element whose ids are its own and the same in every run."""
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(out, format="svg", metadata=nothing, transparent=True)
    text = out.getvalue()
    return text[text.index("<svg") :]


def _labels(axes, x, y):
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)


@_picture
def access_types(bars, name):
    """Stacked shares of access types (paper: Figs. 13, 16, 18). bars: [(label, counters)]."""
    counts = [(label, access_counts(counters)) for label, counters in bars]
    counts = [(label, row) for label, row in counts if sum(row)]
    if not counts:
        return None
    if len(counts) > MOST_BARS:  # as many neighbouring ranks in one bar as it takes
        step = math.ceil(len(counts) / MOST_BARS)
        groups = [counts[i : i + step] for i in range(0, len(counts), step)]
        counts = [
            (group[0][0], [sum(column) for column in zip(*(row for _, row in group))])
            for group in groups
        ]
    figure, axes = _figure(height=2.7)
    bottom = [0.0] * len(counts)
    for kind, colour in zip(range(len(ACCESS_TYPES)), COLOURS):
        heights = [row[kind] / sum(row) for _, row in counts]
        if any(heights):
            axes.bar(
                range(len(counts)),
                heights,
                bottom=bottom,
                color=colour,
                width=0.8,
                label=ACCESS_TYPES[kind][0],
            )
        bottom = [low + height for low, height in zip(bottom, heights)]
    every = math.ceil(len(counts) / 16)
    axes.set_xticks(range(0, len(counts), every), [label for label, _ in counts][::every])
    axes.set_xlim(-0.6, max(len(counts), 4) - 0.4)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    _labels(axes, "rank", "gets")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right upper", frameon=False, fontsize=9)
    return _svg(figure, name)


def _class_label(k, unit):
    """The values that class k of a log2 histogram counts."""
    if k <= 1:
        return str(k) + (" B" if unit == "B" else "")
    low, high = 2 ** (k - 1), 2**k - 1
    if unit == "B":
        return size(low)
    return f"{low}" if low == high else f"{low}-{high}" if high < 1000 else f"≥{low}"


@_picture
def histogram(counts, name, x, y, unit="", colour=BLUE, log=False):
    """A log2 histogram as bars (paper: Figs. 2 and 3, matching: Fig. 1)."""
    if not sum(counts):
        return None
    first = next(k for k, count in enumerate(counts) if count)
    shown = range(first, len(counts))
    figure, axes = _figure()
    axes.bar(shown, [counts[k] for k in shown], color=colour, width=0.85)
    every = math.ceil(len(shown) / 12)
    ticks = list(shown)[::every]
    axes.set_xticks(ticks, [_class_label(k, unit) for k in ticks])
    axes.set_xlim(first - 0.6, max(len(counts), first + 5) - 0.4)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    _labels(axes, x, y)
    return _svg(figure, name)


def _short(value, _position=None):
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:g}"


@_picture
def cumulative(counts, name, x, unit="B"):
    """The share of gets up to a size (paper: Fig. 3)."""
    total = sum(counts)
    if not total:
        return None
    figure, axes = _figure()
    sums, running = [], 0
    for count in counts:
        running += count
        sums.append(running / total)
    first = next(k for k, count in enumerate(counts) if count)
    shown = list(range(first, len(counts)))
    axes.bar(
        shown, [counts[k] / total for k in shown], color=BLUE, width=0.85, label="share of gets"
    )
    axes.plot(
        shown,
        [sums[k] for k in shown],
        color=COLOURS[6],
        marker="o",
        markersize=3,
        label="of this size or less",
    )
    every = math.ceil(len(shown) / 12)
    axes.set_xticks(shown[::every], [_class_label(k, unit) for k in shown[::every]])
    axes.set_xlim(first - 0.6, max(len(counts), first + 5) - 0.4)
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(frameon=False, fontsize=9)
    _labels(axes, x, "")
    return _svg(figure, name)


@_picture
def occupancy(points, adaptations, name):
    """Storage and index in use over the gets (paper: Fig. 10), adaptations as lines."""
    if len(points) < 2:
        return None
    figure, axes = _figure()
    gets = [point["get"] for point in points]
    axes.plot(gets, [point["used"] for point in points], color=COLOURS[0], label="storage used")
    used = max(point["used"] for point in points)
    capacities = [point["capacity"] for point in points]
    # A cache that never filled would be a line on the floor: then its size is only said.
    filled = used > 0.1 * max(capacities)
    axes.plot(
        gets,
        capacities if filled else [math.nan] * len(gets),
        color=COLOURS[0],
        linestyle="--",
        linewidth=1,
        label="|S_w|" + ("" if filled else f", at most {size(max(capacities))}"),
    )
    axes.fill_between(gets, [point["used"] for point in points], color=COLOURS[0], alpha=0.12)
    for i, change in enumerate(adaptations):
        axes.axvline(
            change["get"],
            color=COLOURS[6],
            linewidth=0.8,
            linestyle=":",
            label="adaptation" if i == 0 else None,
        )
    most = max(used, *capacities) if filled else max(used, 1)
    axes.set_ylim(0, 1.05 * most)
    # Steps that are whole powers of two, so that the labels are round.
    axes.yaxis.set_major_locator(MultipleLocator(2 ** math.ceil(math.log2(max(most, 8) / 6))))
    axes.set_xlim(0, gets[-1])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    other = axes.twinx()
    other.spines[["top", "left", "bottom"]].set_visible(False)
    other.spines["right"].set_color(LINE)
    other.tick_params(colors=INK, labelsize=9, length=3)
    shares = [point.get("entries", 0) / max(1, point.get("slots", 1)) for point in points]
    other.plot(gets, shares, color=BLUE, linewidth=1, label="index in use, %")
    other.set_ylim(0, 1.03)
    other.yaxis.set_major_formatter(PercentFormatter(1))
    _labels(axes, "gets so far", "")
    figure.legend(
        loc="outside lower center", ncols=4, frameon=False, fontsize=8.5, columnspacing=1.2
    )
    return _svg(figure, name)


@_picture
def bars(rows, name, x, y):
    """Plain bars: [(label, value)]."""
    if not any(value for _, value in rows):
        return None
    figure, axes = _figure()
    axes.bar(range(len(rows)), [value for _, value in rows], color=BLUE, width=0.7)
    every = math.ceil(len(rows) / 16)
    axes.set_xticks(range(0, len(rows), every), [label for label, _ in rows][::every])
    axes.set_xlim(-0.6, max(len(rows), 4) - 0.4)
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    _labels(axes, x, y)
    return _svg(figure, name)


@_picture
def timeline(rows, name):
    """How busy each ghost was when. rows: [(label, seconds per interval, [busy share, ...])]."""
    rows = [row for row in rows if any(row[2])]
    if not rows:
        return None
    figure, axes = _figure(height=0.9 + 0.35 * min(len(rows), 24))
    axes.grid(visible=False)
    # Ghosts that lived longer have longer intervals: all in the longest, which are multiples.
    interval = max(each for _, each, _ in rows)
    shades = []
    for _, each, shares in rows:
        several = max(round(interval / each), 1)
        parts = [shares[at : at + several] for at in range(0, len(shares), several)]
        shades.append([sum(part) / several for part in parts])
    length = max(
        max((i for i, share in enumerate(shares) if share), default=0) + 1 for shares in shades
    )
    shades = [[*shares, *[0.0] * length] for shares in shades]
    picture = axes.imshow(
        [shares[:length] for shares in shades],
        aspect="auto",
        cmap="Greens",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(0, length * interval, len(rows) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    figure.colorbar(picture, ax=axes, format=PercentFormatter(1), shrink=0.9, label="busy")
    _labels(axes, "seconds", "ghost")
    return _svg(figure, name)
