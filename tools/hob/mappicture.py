"""The picture of `hob bench map`: a table for each kind of call, in which colour says whether Hob gains or loses."""

from __future__ import annotations

import math

from hob.benchlib import plot, size_text

# Colours end at these factors; the number in a cell says the rest.
LOSS, GAIN = 2.0, 10.0
WIDTH_OF_COLUMN, HEIGHT_OF_LINE = 0.62, 0.22  # inches
DARK = 0.6  # of a shade: text on it is white
PARTS = (("first", "first thousand operations"), ("late", "last half"))


def _line(row):
    """What is the same in all sizes of a row of the picture."""
    words = [row["op"], row["completion"], row["order"] if row["op"] == "get" else "", row["reuse"]]
    words += [f"depth {row['depth']:,}"] if row["depth"] else []
    words += ["many threads"] if row["threads"] == "multiple" else []
    return ", ".join(word for word in words if word)


def _tables(rows):
    """{place: {line: {size: row}}}, in the order of the rows."""
    out = {}
    for row in rows:
        out.setdefault(row["place"], {}).setdefault(_line(row), {})[row["size"]] = row
    return out


def shade(ratio):
    """-1 for the largest loss that has a colour of its own, 0 for none, 1 for the largest gain."""
    if ratio >= 1:
        return -min(1.0, math.log(ratio) / math.log(LOSS))
    return min(1.0, -math.log(ratio) / math.log(GAIN))


def _label(ratio):
    """Times as fast as plainly."""
    speed = 1 / ratio
    return f"{speed:.0f}" if speed >= 10 else f"{speed:.2f}" if speed < 2 else f"{speed:.1f}"


def draw(rows, path):
    tables = _tables(rows)
    sizes = sorted({row["size"] for row in rows})
    names = {"own": "own rank", "node": "the same node", "tcp": "another node, TCP"}
    lengths = [len(lines) for lines in tables.values()]

    def figure(pyplot):
        whole = pyplot.gcf()
        # One below the other: beside each other they are wider than a page, and its numbers too small to read.
        whole.set_size_inches(
            3.0 + 2 * len(sizes) * WIDTH_OF_COLUMN,
            0.6 + sum(0.8 + length * HEIGHT_OF_LINE for length in lengths),
        )
        axes = whole.subplots(len(tables), 1, squeeze=False, height_ratios=lengths)
        for axis, (place, lines) in zip(axes[:, 0], tables.items()):
            _table(axis, lines, sizes)
            axis.set_title(f"Target on {names[place]}" if place != "own" else "Target: own rank")
        whole.suptitle(
            "Speed with Hob, plain = 1: blue is a gain, red a loss, white neither.\n"
            "Left of the line: the first thousand operations; right of it: the last half.",
            fontsize=9,
        )

    plot(path, figure)


def _table(axis, lines, sizes):
    columns = [(part, size) for part, _ in PARTS for size in sizes]
    colours = [
        [shade(row[part]) if (row := by_size.get(size)) else math.nan for part, size in columns]
        for by_size in lines.values()
    ]
    axis.imshow(colours, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    axis.set_xticks(range(len(columns)), [size_text(size) for _, size in columns], fontsize=7)
    axis.set_yticks(range(len(lines)), list(lines), fontsize=7)
    axis.axvline(len(sizes) - 0.5, color="black")
    for down, by_size in enumerate(lines.values()):
        for right, (part, size) in enumerate(columns):
            if size in by_size:
                ratio = by_size[size][part]
                axis.text(
                    right,
                    down,
                    _label(ratio),
                    ha="center",
                    va="center",
                    fontsize=6,
                    color="white" if abs(shade(ratio)) > DARK else "black",
                )
