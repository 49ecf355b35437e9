"""The pictures of a report, as SVG text. Without matplotlib there are the bars alone (plain.py)."""

import functools
import io
import math

from hob.report import plain
from hob.report.data import ACCESS_TYPES, access_counts
from hob.report.words import number, size

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.textpath import TextPath
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator, PercentFormatter
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
    "#dfd6c8",
    "#c3b8a6",
    "#9a9fa8",
)
INK, LINE, BLUE = "#1f2933", "#d5dbe3", "#2f6f9f"
# What a page that knows these names may replace, for dark paper.
NAMED = {INK: "ink", LINE: "line", BLUE: "bars"}
MOST_BARS = 64
SHARES = (0, 0.25, 0.5, 0.75, 1)
MOST_ROWS = 24  # of a timeline, with names and of full height
FONT, GAP = 9, 6  # points: of text, and between two labels


def available():
    return matplotlib is not None


def _picture(instead=None):
    """Of a function that draws: what draws `instead` where there is no matplotlib (None: nothing)."""

    def decorate(draw):
        @functools.wraps(draw)
        def wrapped(*arguments, **options):
            if available():
                return draw(*arguments, **options)
            return instead(*arguments, **options) if instead else None

        return wrapped

    return decorate


def themed(picture):
    """The picture with colours that the page around it may choose."""
    for colour, name in NAMED.items():
        picture = picture.replace(colour, f"var(--{name}, {colour})")
    return picture


def _per_cent(value):
    return f"{number(100 * value)}%"


def _grouped_counts(bars):
    """[(label, counts)] of those that have gets, as many neighbouring ranks in one bar as it takes."""
    counts = [(label, access_counts(counters)) for label, counters in bars]
    counts = [(label, row) for label, row in counts if sum(row)]
    if len(counts) > MOST_BARS:
        step = math.ceil(len(counts) / MOST_BARS)
        groups = [counts[i : i + step] for i in range(0, len(counts), step)]
        counts = [
            (group[0][0], [sum(column) for column in zip(*(row for _, row in group))])
            for group in groups
        ]
    return counts


def _plain_access_types(bars, _name):
    counts = _grouped_counts(bars)
    if not counts:
        return None
    rows = [[count / sum(row) for count in row] for _, row in counts]
    names = [kind for kind, _, _ in ACCESS_TYPES]
    labels = [label for label, _ in counts]
    return plain.stacked(labels, rows, COLOURS, "rank", "gets", _per_cent, names, SHARES)


def _plain_histogram(counts, _name, x, y, unit="", colour=BLUE, log=False):
    if not sum(counts):
        return None
    first = next(k for k, count in enumerate(counts) if count)
    shown = range(first, len(counts))
    labels = [_class_label(k, unit) for k in shown]
    if log:  # the height is the logarithm, its names are not
        rows = [[math.log10(counts[k]) + 1 if counts[k] else 0] for k in shown]
        decades = math.ceil(max(row[0] for row in rows) - 0.001)
        step = 1 + decades // 6
        ticks = [step * k for k in range(-(-decades // step) + 1)]
        return plain.stacked(
            labels, rows, [colour], x, y, lambda v: _short(10 ** (v - 1)) if v else "0", ticks=ticks
        )
    return plain.stacked(labels, [[counts[k]] for k in shown], [colour], x, y, _short)


def _plain_cumulative(counts, _name, x, unit="B"):
    total = sum(counts)
    if not total:
        return None
    first = next(k for k, count in enumerate(counts) if count)
    shown = range(first, len(counts))
    labels = [_class_label(k, unit) for k in shown]
    return plain.stacked(labels, [[counts[k] / total] for k in shown], [BLUE], x, "gets", _per_cent)


def _plain_bars(rows, _name, x, y):
    if not any(value for _, value in rows):
        return None
    labels, values = [label for label, _ in rows], [[value] for _, value in rows]
    return plain.stacked(labels, values, [BLUE], x, y, _short)


def _figure(width=4.4, height=2.5):
    """Small, since a page scales it to its width: text of 9 points is still read on a phone."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=INK, labelsize=FONT, length=3)
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


def _name_bars(axes, labels, first=0, part=0.8):
    """Names below bars that begin at `first`, as many as there is room for, where about this part of
    the figure's width is theirs. To lay the figure out for it would take as long as all the rest."""
    start, end = axes.get_xlim()
    room = part * 72 * axes.figure.get_figwidth() / (end - start)
    widest = max(TextPath((0, 0), label, size=FONT).get_extents().width for label in labels)
    every = math.ceil((widest + GAP) / room)
    axes.set_xticks(range(first, first + len(labels), every), labels[::every])


def _room_for_bars(axes, count, least=4):
    """Few bars are not wider than a fourth of the figure, and in its middle."""
    beside = max(0, least - count) / 2
    axes.set_xlim(-0.6 - beside, count - 0.4 + beside)


def _labels(axes, x, y):
    axes.set_xlabel(x, fontsize=FONT, color=INK)
    axes.set_ylabel(y, fontsize=FONT, color=INK)


@_picture(_plain_access_types)
def access_types(bars, name):
    """Stacked shares of access types (caching paper: Figs. 13, 16, 18). bars: [(label, counters)]."""
    counts = _grouped_counts(bars)
    if not counts:
        return None
    figure, axes = _figure()
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
    _room_for_bars(axes, len(counts))
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    _labels(axes, "rank", "gets")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles[::-1],
        labels[::-1],
        loc="outside right upper",
        frameon=False,
        fontsize=FONT,
        labelcolor=INK,
    )
    _name_bars(axes, [label for label, _ in counts], part=0.55)
    return _svg(figure, name)


def _class_label(k, unit):
    """The values that class k of a log2 histogram counts; of sizes the least alone."""
    low = 2 ** (k - 1) if k else 0
    if unit == "B":
        return size(low)
    if k <= 1:
        return str(low)
    if k <= 9:
        return f"{low}–{2 * low - 1}"
    for name, scale in (("G", 2**30), ("M", 2**20), ("k", 2**10)):
        if low >= scale:
            return f"{low // scale}{name}–{2 * low // scale}{name}"
    return f"{low}–1k"


def _name_classes(axes, first, count, unit):
    _name_bars(axes, [_class_label(k, unit) for k in range(first, count)], first)


@_picture(_plain_histogram)
def histogram(counts, name, x, y, unit="", colour=BLUE, log=False):
    """A log2 histogram as bars (caching paper: Figs. 2 and 3; matching paper: Fig. 1)."""
    if not sum(counts):
        return None
    first = next(k for k, count in enumerate(counts) if count)
    shown = range(first, len(counts))
    figure, axes = _figure()
    axes.bar(shown, [counts[k] for k in shown], color=colour, width=0.85)
    axes.set_xlim(first - 0.6, max(len(counts), first + 5) - 0.4)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(0.7, max(12, 1.5 * max(counts)))
        axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    _labels(axes, x, y)
    _name_classes(axes, first, len(counts), unit)
    return _svg(figure, name)


def _short(value, _position=None):
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{number(value / scale)}{unit}"
    return number(value)


@_picture(_plain_cumulative)
def cumulative(counts, name, x, unit="B"):
    """The share of gets up to a size (caching paper: Fig. 3)."""
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
    axes.set_xlim(first - 0.6, max(len(counts), first + 5) - 0.4)
    axes.set_ylim(0, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(frameon=False, fontsize=FONT, labelcolor=INK)
    _labels(axes, x, "")
    _name_classes(axes, first, len(counts), unit)
    return _svg(figure, name)


@_picture()
def occupancy(points, adaptations, name):
    """Storage and index in use over the gets (caching paper: Fig. 10), adaptations as lines."""
    if len(points) < 2:
        return None
    figure, axes = _figure(height=2.8)
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
        label="storage" + ("" if filled else f": at most {size(max(capacities))}"),
    )
    axes.fill_between(gets, [point["used"] for point in points], color=COLOURS[0], alpha=0.12)
    for i, change in enumerate(adaptations):
        axes.axvline(
            change["get"],
            color=COLOURS[6],
            linewidth=1.2,
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
    other.tick_params(colors=INK, labelsize=FONT, length=3)
    shares = [point.get("entries", 0) / max(1, point.get("slots", 1)) for point in points]
    other.plot(gets, shares, color=BLUE, linewidth=1, label="index used (right)")
    other.set_ylim(0, 1.03)
    other.yaxis.set_major_formatter(PercentFormatter(1))
    _labels(axes, "gets so far", "")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=FONT, labelcolor=INK)
    return _svg(figure, name)


@_picture()
def phases(points, name):
    """Places that each phase read, recalled or not; below, those that were recalled and not used."""
    if not points:
        return None
    figure, axes = _figure(height=2.8)
    starts = [point["phase"] for point in points]
    widths = [point["count"] for point in points]
    parts = (
        ("recalled and used", COLOURS[0], 1, lambda p: p["used"]),
        ("not recalled", COLOURS[3], 1, lambda p: p["missed"]),
        ("recalled, not used", COLOURS[7], -1, lambda p: p["recalled"] - p["used"]),
    )
    floors = {1: [0] * len(points), -1: [0] * len(points)}
    for label, colour, sign, places in parts:
        heights = [sign * places(point) / point["count"] for point in points]
        axes.bar(
            starts,
            heights,
            widths,
            floors[sign],
            align="edge",
            color=colour,
            linewidth=0,
            label=label,
        )
        floors[sign] = [floor + height for floor, height in zip(floors[sign], heights)]
    axes.axhline(0, color=LINE, linewidth=1)
    axes.set_xlim(starts[0], starts[-1] + widths[-1])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(abs(value), None)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    _labels(axes, "phases", "places of a phase")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=FONT, labelcolor=INK)
    return _svg(figure, name)


@_picture(_plain_bars)
def bars(rows, name, x, y):
    """Plain bars: [(label, value)]."""
    if not any(value for _, value in rows):
        return None
    figure, axes = _figure()
    axes.bar(range(len(rows)), [value for _, value in rows], color=BLUE, width=0.7)
    _room_for_bars(axes, len(rows))
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    _labels(axes, x, y)
    _name_bars(axes, [label for label, _ in rows])
    return _svg(figure, name)


@_picture()
def timeline(rows, name):
    """How busy each ghost was when. rows: [(label, seconds per interval, [busy share, ...])]."""
    rows = [row for row in rows if any(row[2])]
    if not rows:
        return None
    figure, axes = _figure(height=0.9 + 0.35 * min(len(rows), MOST_ROWS))
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
        cmap=LinearSegmentedColormap.from_list("busy", [f"{COLOURS[0]}00", COLOURS[0]]),
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(0, length * interval, len(rows) - 0.5, -0.5),
    )
    every = math.ceil(len(rows) / MOST_ROWS)
    axes.set_yticks(range(0, len(rows), every), [label for label, _, _ in rows][::every])
    scale = figure.colorbar(picture, ax=axes, format=PercentFormatter(1), shrink=0.9)
    scale.set_label("busy", color=INK)
    scale.ax.tick_params(colors=INK)
    scale.outline.set_edgecolor(LINE)
    _labels(axes, "seconds", "ghost")
    return _svg(figure, name)
