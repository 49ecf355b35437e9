"""One HTML page about one run: no script, nothing loaded from elsewhere."""

from html import escape

from hob.report import charts
from hob.report.advice import advise
from hob.report.data import ACCESS_TYPES, access_counts, add_counters, spread
from hob.report.next_step import as_option, next_step, ranked
from hob.report.sentences import findings, verdict
from hob.report.words import (
    SAVED_BY,
    brief,
    quantity,
    saved_amount,
    seconds,
    share,
    size,
    whom,
)

MOST_WINDOWS = 6  # with pictures of their own
MOST_ROWS = 256  # of a table of counters
SIZES = ("cache_memory", "ahead_block")  # counters of bytes whose names do not say so
TIMES = {"_ns": 1e-9, "_us": 1e-6, "_ms": 1e-3}

STYLE = """
:root { color-scheme: light; --ink: #1f2933; --soft: #5b6775; --line: #d5dbe3; --paper: #fff;
  --shade: #f5f7f9; --accent: #1a7f5a; --warn: #b7791f; --bad: #b3261e; --bad-paper: #fdecea;
  --bars: #2f6f9f; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--shade); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 24px 64px; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 14px; margin-bottom: 20px; }
h1 { font-size: 24px; line-height: 1.3; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 36px 0 10px; }
h3 { font-size: 16px; margin: 22px 0 6px; overflow-wrap: anywhere; }
h4 { font-size: 14.5px; margin: 18px 0 6px; }
p, li { overflow-wrap: anywhere; }
p { margin: 6px 0; max-width: 76ch; }
code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace; font-size: .92em; }
.bad { color: var(--bad); }
.soft, figcaption { color: var(--soft); font-size: 13.5px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; }
.tile { flex: 1 1 128px; background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 20px; font-weight: 650; line-height: 1.25; }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  padding: 14px 18px; margin: 14px 0; }
.card > h3:first-child { margin-top: 4px; }
.findings { columns: 2 24em; column-gap: 36px; } .findings p, .findings li { break-inside: avoid; } .findings > p { margin: 0 0 8px; }
.verdict { border-left: 6px solid var(--soft); font-size: 16px; }
.verdict.gained { border-left-color: var(--accent); }
.verdict.perhaps, .verdict.cut { border-left-color: var(--warn); }
.verdict.failed { border-color: var(--bad); border-left-color: var(--bad); background: var(--bad-paper);
  color: var(--bad); font-weight: 650; }
/* The last row is filled; four are two and two. */
.figures { display: flex; flex-wrap: wrap; gap: 14px; }
figure { flex: 1 1 345px; margin: 0; background: var(--paper); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; }
.pairs figure { flex-basis: 40%; min-width: 345px; }
figure svg { width: 100%; max-width: 560px; height: auto; display: block; margin: 0 auto; }
figcaption { margin-bottom: 6px; }
figcaption b { color: var(--ink); display: block; font-size: 14.5px; }
.scroll { overflow-x: auto; background: var(--paper); border: 1px solid var(--line);
  border-radius: 8px; margin: 10px 0; }
table { border-collapse: collapse; font-size: 13.5px; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
thead th { border-top: 0; background: var(--shade); font-weight: 600; white-space: normal; }
th:first-child, td:first-child, .text { text-align: left; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 8em; }
.next code { display: block; margin-top: 6px; overflow-wrap: anywhere; }
summary { cursor: pointer; overflow-wrap: anywhere; font-weight: 600; padding: 4px 0; }
@media (max-width: 560px) {
  figure, .pairs figure { flex-basis: 100%; min-width: 0; } main { padding: 16px 12px; } figure { padding: 12px 8px; }
  /* Each row is a list, so that a table of many columns is no wider than a phone. */
  table, tbody, tr, td { display: block; } thead { display: none; }
  tr { padding: 8px 12px; border-top: 1px solid var(--line); } tr:first-child { border-top: 0; }
  td, td.text { display: flex; justify-content: space-between; gap: 16px; padding: 1px 0; border: 0;
    white-space: normal; text-align: right; }
  td::before { content: attr(data-name); color: var(--soft); white-space: nowrap; }
  td.words { display: block; text-align: left; } td.words::before { display: block; }
  td:first-child { font-weight: 600; } td:empty { display: none; }
}
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; --ink: #e6eaef; --soft: #a3adba; --line: #3a434e; --paper: #1d232b;
    --shade: #14191f; --accent: #4fb98d; --warn: #e0a84a; --bad: #ff8f87; --bad-paper: #3a1d1c;
    --bars: #5b9fd0; }
}
@media print { body { background: #fff; } figure, .card { break-inside: avoid; } }
"""


# Which papers the captions mean.
PAPERS = {
    "caching paper": "<i>Transparent Caching for RMA Systems</i> (CLaMPI)",
    "ghosts paper": "<i>Casper: An Asynchronous Progress Model for MPI RMA</i>",
    "matching paper": "<i>Semi-Permanent Cache Occupancy</i>",
}


def _papers(text):
    """Those that a page names."""
    named = [f"{name.capitalize()}: {title}." for name, title in PAPERS.items() if name in text]
    return f'<p class="soft">{" ".join(named)}</p>' if named else ""


# Settings that say where a run wrote, or what it printed at its end: the header leaves them out.
OF_NO_MATTER = ("json", "json_command", "report")


# Of a phone's page, about: longer cells are sentences.
A_LINE = 30


def html_table(head, rows, text_columns=(0,)):
    """A table that a narrow window shows as a list for each row."""

    def cell(tag, i, value):
        kind = ' class="text"' if i in text_columns else ""
        if kind and len(str(value)) > A_LINE:
            kind = ' class="text words"'
        name = f' data-name="{escape(head[i])}"' if tag == "td" and head[i] else ""
        return f"<{tag}{kind}{name}>{escape(str(value))}</{tag}>"

    lines = [
        '<div class="scroll"><table>',
        "<thead><tr>" + "".join(cell("th", i, v) for i, v in enumerate(head)) + "</tr></thead>",
        "<tbody>",
    ]
    lines += [
        "<tr>" + "".join(cell("td", i, v) for i, v in enumerate(row)) + "</tr>" for row in rows
    ]
    return "\n".join([*lines, "</tbody></table></div>"])


def _figure(picture, title, caption):
    if not picture:
        return ""
    if 'role="img"' not in picture:
        picture = picture.replace(
            "<svg", f'<svg role="img" aria-label="{escape(f"{title}. {caption}")}"', 1
        )
    return (
        f"<figure><figcaption><b>{escape(title)}</b>{escape(caption)}</figcaption>\n"
        f"{charts.themed(picture)}</figure>"
    )


def _figures(*figures):
    shown = [figure for figure in figures if figure]
    kind = "figures pairs" if len(shown) in (2, 4) else "figures"
    return f'<div class="{kind}">' + "\n".join(shown) + "</div>" if shown else ""


def _tile(value, what):
    return f'<div class="tile"><b>{escape(value)}</b><span class="soft">{escape(what)}</span></div>'


def _tiles(run):
    tiles = [_tile(seconds(run.seconds), "run time"), _tile(f"{run.rank_count}", "ranks")]
    gets = run.remote_gets
    for mechanism, saved in run.gains:
        what = f"of {SAVED_BY[mechanism][0]} saved on {whom(saved)} (estimate)"
        tiles.append(_tile(saved_amount(saved).removeprefix("about "), what))
    if gets:
        tiles += [
            _tile(quantity(gets), "remote gets"),
            _tile(share(run.hits, gets), "answered by the cache"),
        ]
    if run.hits:
        tiles.append(_tile(size(run.cache.get("bytes_from_cache", 0)), "came from the cache"))
    received = sum(queue.counters.get("receives", 0) for queue in run.queues)
    if received:
        tiles.append(_tile(quantity(received), "receives"))
    if any(run.memory):
        tiles.append(
            _tile(size(spread(run.memory)[1]), "memory of a rank, program included (median)")
        )
    return '<div class="tiles">' + "".join(tiles) + "</div>"


def _verdict(run):
    kind, sentence = verdict(run)
    return f'<div class="card verdict {kind}" role="status">{escape(sentence)}</div>'


def _next(run):
    step = next_step(run)
    if not step:
        return ""
    command = f"<code>{escape(step.command)}</code>" if step.command else ""
    return f'<div class="card next"><b>What to do next.</b> {escape(step.sentence)}{command}</div>'


def _advice(run):
    """What each mechanism does for this program."""
    rows = [
        [
            one.mechanism,
            one.verdict,
            " ".join(one.reasons),
            " ".join(map(as_option, one.settings)),
        ]
        for one in ranked(advise(run))
    ]
    if not rows:
        return ""
    columns = 4 if any(row[3] for row in rows) else 3
    head = ["mechanism", "verdict", "why", "try"]
    return "<h2>Advice</h2>" + html_table(
        head[:columns], [row[:columns] for row in rows], range(columns)
    )


# Sentences that fill two columns; fewer are read in one.
FOR_COLUMNS = 4


def _summary(run):
    lines = [f"<p>{escape(line)}</p>" for line in findings(run)[1:]]
    several = len(lines) + len(run.notes) >= FOR_COLUMNS
    stale = [note for note in run.notes if note.startswith("verify:")]
    if stale:
        lines.append('<p class="bad"><b>Cached bytes that differed</b></p><ul>')
        lines += [f"<li>{escape(note)}</li>" for note in stale]
        lines.append("</ul>")
    aside = [note for note in run.notes if note not in stale]
    if aside:
        lines.append("<p><b>Notes</b></p><ul>")
        lines += [f"<li>{escape(note)}</li>" for note in aside]
        lines.append("</ul>")
    kind = "card findings" if several else "card"
    return f'<div class="{kind}">' + "\n".join(lines) + "</div>"


def _access_table(windows):
    """The shares of those access types that occurred at all."""
    counts = [access_counts(window.counters) for window in windows]
    met = [i for i in range(len(ACCESS_TYPES)) if any(each[i] for each in counts)]
    rows = [
        [
            window.name,
            window.kind,
            ", ".join(window.modes),
            quantity(window.gets),
            *(share(each[i], sum(each)) if each[i] else "" for i in met),
        ]
        for window, each in zip(windows, counts)
    ]
    names = [ACCESS_TYPES[i][0] for i in met]
    return html_table(["window", "kind", "mode", "gets", *names], rows, (0, 1, 2))


def _window(window, several):
    """The pictures of one window."""
    key = f"w{window.number}"
    busiest = window.busiest("occupancy")
    changes = window.busiest("adaptations")
    rank, points = busiest or (0, [])
    recalling, phases = window.busiest("phases") or (0, [])
    own_changes = changes[1] if changes and changes[0] == rank else []
    figures = _figures(
        _figure(
            charts.access_types(
                [(str(r), part.get("counters", {})) for r, part in window.parts], key + "access"
            ),
            "How gets were answered",
            "Share of each rank's gets (caching paper: Figs. 13, 16, 18).",
        ),
        _figure(
            charts.histogram(
                window.histogram("reuse"),
                key + "reuse",
                "times one entry was asked for",
                "entries",
                log=True,
            ),
            "Reuse",
            "How many entries were asked for how often (caching paper: Fig. 2).",
        ),
        _figure(
            charts.cumulative(
                window.histogram("get_size"), key + "size", "size of a get: from this to twice this"
            ),
            "Sizes of gets",
            "Share of gets by size (caching paper: Fig. 3).",
        ),
        _figure(
            charts.occupancy(points, own_changes, key + "occupancy"),
            "Occupancy",
            f"Storage and index in use on rank {rank}, the one with the most gets "
            "(caching paper: Fig. 10).",
        ),
        _figure(
            charts.phases(phases, key + "phases"),
            "Phases",
            f"Places that rank {recalling} read between two calls that drop copies: recalled in time, "
            "fetched by its own gets, and recalled without being read.",
        ),
    )
    out = []
    if several:
        out.append(f"<h3>{escape(brief(window.name))}</h3>")
    details = [f"{size(window.bytes)} over {len(window.parts)} ranks"]
    details += [f"mode {mode}" for mode in window.modes] + window.reasons
    if window.stages:
        details.append(f"operations pass {', '.join(window.stages)}")
    out.append(f'<p class="soft">{escape("; ".join(details))}</p>')
    out.append(figures)
    return "\n".join(out)


def _adaptations(run):
    """How the caches of the windows adapted, on the rank of each with the most gets."""
    out = []
    for window in run.windows[:MOST_WINDOWS]:
        changes = window.busiest("adaptations")
        if not changes:
            continue
        rows = [
            [
                quantity(change.get("get", 0)),
                change.get("what", ""),
                _adapted(change, "from"),
                _adapted(change, "to"),
                change.get("why", ""),
            ]
            for change in changes[1]
        ]
        out.append(
            f"<details><summary>Adaptations of {escape(brief(window.name, 30))} on rank {changes[0]}</summary>"
            + html_table(["after gets", "what", "from", "to", "why"], rows, (1, 4))
            + "</details>"
        )
    return "\n".join(out)


def _amount(name, value):
    """A counter's value in its unit."""
    for end, unit in TIMES.items():
        if name.endswith(end):
            return seconds(value * unit)
    return size(value) if "bytes" in name or name in SIZES else quantity(value)


def _heading(name):
    """A counter's name above its values, which have their units."""
    for end in TIMES:
        name = name.removesuffix(end)
    return name.replace("_", " ")


def _adapted(change, end):
    value = change.get(end, 0)
    return quantity(value) if change.get("what") == "index" else size(value)


def _cache(run):
    if not run.windows:
        return ""
    used = [window for window in run.windows if sum(access_counts(window.counters))]
    if not used:
        return ""
    out = ["<h2>Cached gets</h2>"]
    if len(used) > 1:
        out.append(_access_table(used[:MOST_ROWS]))
    if len(used) > MOST_WINDOWS:
        out.append(
            f'<p class="soft">Pictures of the {MOST_WINDOWS} windows with the most gets, of '
            f"{len(used)}.</p>"
        )
    out += [_window(window, len(used) > 1) for window in used[:MOST_WINDOWS]]
    words = "".join(
        f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, _, text in ACCESS_TYPES
    )
    out.append(f"<details><summary>What the access types mean</summary><ul>{words}</ul></details>")
    return "\n".join(out)


def _matching(run):
    parts = []
    for i, queue in enumerate(run.queues):
        figures = _figures(
            *(
                _figure(
                    charts.histogram(queue.histogram(name), f"q{i}{name}", x, y, log=True),
                    title,
                    caption,
                )
                for name, title, caption, x, y in (
                    (
                        "prq_length",
                        "Posted receives: length",
                        "Length after each change (matching paper: Fig. 1).",
                        "receives in the queue",
                        "changes",
                    ),
                    (
                        "prq_depth",
                        "Posted receives: search depth",
                        "Entries that a plain list would have inspected for each message.",
                        "entries inspected",
                        "searches",
                    ),
                    (
                        "umq_length",
                        "Unexpected messages: length",
                        "Length after each change (matching paper: Fig. 1).",
                        "messages in the queue",
                        "changes",
                    ),
                    (
                        "umq_depth",
                        "Unexpected messages: search depth",
                        "Entries that a plain list would have inspected for each receive.",
                        "entries inspected",
                        "searches",
                    ),
                )
            )
        )
        if figures:
            parts.append(f"<h3>{escape(brief(queue.name))}</h3>{figures}")
    return "<h2>Message matching</h2>" + "\n".join(parts) if parts else ""


def _ghosts(run):
    """What the ghosts did, and what the ranks had done by them."""
    if not run.ghosts:
        return ""
    nodes = len({ghost.node for ghost in run.ghosts})
    alike = len({ghost.host for ghost in run.ghosts}) < nodes

    def label(ghost):
        where = f"node {ghost.node}" if alike or not ghost.host else ghost.host
        return f"{where}.{ghost.number}" if nodes > 1 else str(ghost.number)

    def of(name):
        return [(label(ghost), ghost.counters.get(name, 0)) for ghost in run.ghosts]

    waits = [
        (str(rank.get("rank", i)), origin.get("wait_ms", 0))
        for i, (rank, origin) in enumerate(zip(run.ranks, run.origins))
    ]
    figures = _figures(
        _figure(
            charts.bars(of("operations"), "ghostops", "ghost", "operations"),
            "Operations per ghost",
            "How evenly the binding spread them (ghosts paper: Figs. 6, 7).",
        ),
        _figure(
            charts.bars(of("bytes"), "ghostbytes", "ghost", "bytes"),
            "Bytes per ghost",
            "Moved or combined for other ranks.",
        ),
        _figure(
            charts.timeline(
                [(label(ghost), ghost.interval, ghost.busy) for ghost in run.ghosts], "ghosttime"
            ),
            "When ghosts were busy",
            "Share of each interval spent on operations.",
        ),
        _figure(
            charts.bars(waits, "ghostwait", "rank", "ms"),
            "Time that ranks waited",
            "For their operations to be done by ghosts, and for locks.",
        ),
    )
    names = [name for name, value in add_counters(g.counters for g in run.ghosts).items() if value]
    rows = [
        [
            label(ghost),
            ghost.host,
            share(ghost.busy_share, 1),
            *(_amount(name, ghost.counters.get(name, 0)) for name in names),
        ]
        for ghost in run.ghosts[:MOST_ROWS]
    ]
    head = ["ghost", "host", "share busy", *(_heading(name) for name in names)]
    bindings = " and ".join(
        sorted({origin.get("binding", "?") for origin in run.origins if origin})
    )
    told = f"<p>Which ghost serves what: ghost_binding={escape(bindings)}.</p>"
    return "<h2>Ghosts</h2>" + told + figures + html_table(head, rows, (0, 1))


def _counter_table(title, labels, groups):
    """A table of those counters that are not zero everywhere."""
    names = [name for name, value in add_counters(groups).items() if value]
    if not names:
        return ""
    rows = [
        [*label, *(_amount(name, group.get(name, 0)) for name in names)]
        for label, group in list(zip(labels, groups))[:MOST_ROWS]
    ]
    for text, pick in (("least", 0), ("median", 1), ("greatest", 2)):
        if len(groups) > 2:
            rows.append(
                [
                    text,
                    *[""] * (len(labels[0]) - 1),
                    *(
                        _amount(name, spread([group.get(name, 0) for group in groups])[pick])
                        for name in names
                    ),
                ]
            )
    head = ["rank", "window"][: len(labels[0])] + [_heading(name) for name in names]
    more = (
        f'<p class="soft">The first {MOST_ROWS} of {len(groups)} rows; the JSON has all.</p>'
        if len(groups) > MOST_ROWS
        else ""
    )
    return (
        f"<details><summary>{escape(title)}</summary>{more}"
        + html_table(head, rows, range(len(labels[0])))
        + "</details>"
    )


def _counters(run):
    per_rank = [
        (str(rank.get("rank", i)), rank.get("counters") or {}) for i, rank in enumerate(run.ranks)
    ]
    per_window = [
        ((str(rank), window.name), part.get("counters") or {})
        for window in run.windows
        for rank, part in window.parts
    ]
    per_queue = [
        ((str(i), queue.name), part.get("counters") or {})
        for queue in run.queues
        for i, part in enumerate(queue.parts)
    ]
    tables = [
        _counter_table(
            "Counters of each rank",
            [(label,) for label, _ in per_rank],
            [group for _, group in per_rank],
        ),
        _counter_table("Counters of each rank and window", *map(list, zip(*per_window)))
        if per_window
        else "",
        _counter_table("Counters of each rank and communicator", *map(list, zip(*per_queue)))
        if per_queue
        else "",
    ]
    changed = run.changed_settings()
    text = (
        html_table(["setting", "value", "from"], changed, (0, 1, 2))
        if changed
        else '<p class="soft">Every setting had its default.</p>'
    )
    return "\n".join(["<h2>Settings and counters</h2>", text, *tables])


def content(run):
    """What there is to say about a run, below a heading."""
    parts = [
        _verdict(run),
        _next(run),
        _tiles(run),
        "<h2>In plain words</h2>",
        _summary(run),
        _advice(run),
        _cache(run),
        _matching(run),
        _ghosts(run),
        _counters(run),
        _adaptations(run),
    ]
    parts.append(_papers("".join(parts)))
    lacks = any(window.busiest("occupancy") for window in run.windows) or any(
        ghost.busy for ghost in run.ghosts
    )
    if lacks and not charts.available():
        parts.insert(
            3,
            '<p class="soft">Pictures of occupancy and of when ghosts were busy need matplotlib '
            "(pip install matplotlib). Every number is in the tables below.</p>",
        )
    return "\n".join(part for part in parts if part)


def document(title, body):
    """A whole HTML page."""
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        f"{body}\n</main></body></html>\n"
    )


def page(run):
    """The page about one run."""
    start = str(run.program.get("start", "")).replace("T", " ").replace("Z", " UTC")
    hosts = list(dict.fromkeys(rank.get("host", "") for rank in run.ranks if rank.get("host")))
    threads = str(run.program.get("threads", ""))
    changed = [each for each in run.changed_settings() if each[0] not in OF_NO_MATTER]
    places = f"{run.nodes} pretended nodes" if run.pretended else ""
    facts = [
        f"Hob {run.hob.get('version', '')}".strip(),
        run.mpi,
        start,
        f"job {run.program['job']}" if run.program.get("job") else "",
        ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more hosts" if len(hosts) > 3 else ""),
        places,
        f"threads: {threads}" if threads else "",
        ", ".join(f"{key}={value}" for key, value, _ in changed[:4])
        + (f" and {len(changed) - 4} more settings" if len(changed) > 4 else "")
        if changed
        else "default settings",
    ]
    program, *words = run.command.split(" ")
    if program.startswith("/"):
        program = program.rpartition("/")[-1]
    title = brief(" ".join([program, *words]))
    header = (
        f"<header><h1><code>{escape(title) or 'a run with Hob'}</code></h1>\n"
        f'<span class="soft">{escape(" · ".join(fact for fact in facts if fact))}</span>'
        + (
            f'<p class="soft"><code>{escape(run.command)}</code></p>'
            if title != run.command
            else ""
        )
        + "</header>"
    )
    return document(f"Hob: {title}" if title else "Hob", f"{header}\n{content(run)}")
