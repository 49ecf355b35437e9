"""Bars as SVG text, where there is no matplotlib. The same size and colours as its pictures."""

from html import escape

WIDTH, HEIGHT = 420, 240
LEFT, TOP, BOTTOM = 52, 12, 46
INK, LINE = "#1f2933", "#d5dbe3"
FONT = 11  # px
GLYPH = 6.2  # px, of a letter on average


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


def stacked(labels, rows, colours, x, y, show=str, names=(), top=None):
    """One bar for each label: rows[i][k] is the k-th part of bar i. `names` are the parts' in a legend
    below; `show` writes a value of the axis; `top` is where the axis ends (default: the largest)."""
    largest = top or max((sum(row) for row in rows), default=0) or 1
    met = [k for k in range(len(names)) if any(row[k] for row in rows)]
    lines_of_legend = -(-len(met) // 3)
    height = HEIGHT + 16 * lines_of_legend
    floor = HEIGHT - BOTTOM
    span = floor - TOP
    parts = []
    for tick in range(5):
        at = floor - span * tick / 4
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{at:.1f}" y2="{at:.1f}" stroke="{LINE}"/>'
        )
        parts.append(_text(LEFT - 5, at + 4, show(largest * tick / 4), "end"))
    slots = max(len(rows), 4)
    step = (WIDTH - 8 - LEFT) / slots
    begin = LEFT + step * (slots - len(rows)) / 2
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
            parts.append(_text(begin + step * (i + 0.5), floor + 15, label))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 10, x))
    turned = f' transform="rotate(-90 11 {(TOP + floor) / 2:.0f})"'
    if y:
        parts.append(_text(11, (TOP + floor) / 2, y, more=turned))
    for place, k in enumerate(met):
        at, line = LEFT + (place % 3) * 120, HEIGHT + 16 * (place // 3)
        parts.append(_rectangle(at, line - 8, 9, 9, colours[k], names[k]))
        parts.append(_text(at + 13, line, names[k], "start"))
    said = ", ".join(f"{label} {show(sum(row))}" for label, row in list(zip(labels, rows))[:8])
    about = f"{y or 'share'} by {x}: {said}" + (" and more" if len(rows) > 8 else "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(about)}">' + "".join(parts) + "</svg>"
    )
