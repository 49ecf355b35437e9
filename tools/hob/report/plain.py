"""Bars as SVG text, where there is no matplotlib. The same size and colours as its pictures."""

import math
from html import escape

WIDTH, HEIGHT = 420, 240
TOP, RIGHT, BOTTOM = 12, 8, 52
INK, LINE = "#1f2933", "#d5dbe3"
FONT = 11  # px
LEGEND = 16  # px, of a line of it
GLYPH = 6.6  # px, of a letter on average
TURNED = 22  # px, what the name of the upright axis takes


def _text(x, y, text, anchor="middle", more=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{FONT}" '
        f'fill="{INK}" font-family="sans-serif"{more}>{escape(text)}</text>'
    )


def _rectangle(x, y, width, height, colour, title):
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(height, 0):.1f}" '
        f'fill="{colour}"><title>{escape(title)}</title></rect>'
    )


def ticks_for(largest):
    """Round values from 0 to at least `largest`, at most 5 steps."""
    rough = largest / 4
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(k * unit for k in (1, 2, 2.5, 5, 10) if k * unit >= rough * 0.999)
    return [step * k for k in range(math.ceil(largest / step - 0.001) + 1)]


def stacked(labels, rows, colours, x, y, show=str, names=(), ticks=None):
    """One bar for each label: rows[i][k] is the k-th part of bar i. `names` are the parts' in a legend
    below; `show` writes a value of the axis; `ticks` are those that it shows, the last its end."""
    ticks = ticks or ticks_for(max((sum(row) for row in rows), default=0) or 1)
    largest = ticks[-1]
    met = [k for k in range(len(names)) if any(row[k] for row in rows)]
    lines_of_legend = -(-len(met) // 3)
    height = HEIGHT + LEGEND * lines_of_legend + (LEGEND // 2 if met else 0)
    floor = HEIGHT - BOTTOM
    span = floor - TOP
    left = TURNED + GLYPH * max(len(show(tick)) for tick in ticks) + 5
    parts = []
    for tick in ticks:
        at = floor - span * tick / largest
        parts.append(
            f'<line x1="{left:.1f}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="{LINE}"/>'
        )
        parts.append(_text(left - 5, at + 4, show(tick), "end"))
    slots = max(len(rows), 4)
    step = (WIDTH - RIGHT - left) / slots
    begin = left + step * (slots - len(rows)) / 2
    widest = max((len(label) for label in labels), default=1) * GLYPH + 6
    every = max(1, round(widest / step + 0.5))
    for i, (label, row) in enumerate(zip(labels, rows)):
        low = floor
        for k, value in enumerate(row):
            if not value:
                continue
            size = span * min(value / largest, 1)
            low -= size
            name = f"{label}: {names[k]} {show(value)}" if names else f"{label}: {show(value)}"
            parts.append(
                _rectangle(begin + step * (i + 0.1), low, step * 0.8, size, colours[k], name)
            )
        if i % every == 0:
            parts.append(_text(begin + step * (i + 0.5), floor + 20, label))
    parts.append(_text((left + WIDTH) / 2, HEIGHT - 10, x))
    turned = f' transform="rotate(-90 11 {(TOP + floor) / 2:.0f})"'
    if y:
        parts.append(_text(11, (TOP + floor) / 2, y, more=turned))
    for place, k in enumerate(met):
        at, line = (
            left + (place % 3) * (WIDTH - left) / 3,
            HEIGHT + LEGEND // 2 + LEGEND * (place // 3),
        )
        parts.append(_rectangle(at, line - 8, 9, 9, colours[k], names[k]))
        parts.append(_text(at + 13, line, names[k], "start"))
    said = ", ".join(f"{label} {show(sum(row))}" for label, row in list(zip(labels, rows))[:8])
    about = f"{y or 'share'} by {x}: {said}" + (" and more" if len(rows) > 8 else "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(about)}">' + "".join(parts) + "</svg>"
    )
