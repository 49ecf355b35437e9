"""The page about other people's programs, in Markdown: docs/real-programs.md."""

HEAD = """# Other people's programs

What Hob gains, or costs, in programs that others wrote, unmodified, with default settings but for the number of
ghosts; *unbatched* is with `HOB_BATCH=off`. Written by

    hob bench real --programs DIR --results DIR --page docs/real-programs.md

Rows of programs that were not run again stay as they were; *measured* says when each was. `hob bench real --list` says where each
program comes from, and which of them are here. `tests/real/build-programs DIR` builds some of them from their pinned sources.

Each is run plainly and with Hob, in turn; *ratio* is the median of plain time over time with Hob (or of the rates), as the program
itself reports it, else of the whole job. The answers that it prints must be the same in every run; of one that prints none, the
exit status is compared, and a tenth of the cache's hits with their targets' memory. *Limit* is what `hob bench real` holds the ratio against. Set-ups: *remote* is every rank a
node of its own, over TCP; *node* is one node; *namespaces* are two nodes made of network namespaces. Measured on {cpu}, {cores}
cores, with other work in the background at a lower priority: ratios count, times do not, and what needs every core of the machine,
as ghosts and rates of messages do here, comes out too low.
"""

MECHANISMS = {
    "cache": "## Programs that fetch",
    "batches": "## Programs that update single elements",
    "matching": "## Programs with many receives posted",
    "ghosts": "## Programs whose targets compute",
    "none": "## Programs with nothing to gain",
}

COLUMNS = (
    "program",
    "what it does",
    "where",
    "ratio",
    "limit",
    "counters",
    "answers",
    "measured",
    "why no more",
)


def page(programs, results, failed, machine, before=""):
    """programs: all that are known; results: {name: {"rows", "limits", "date"}}; failed: {name: why};
    before: the page as it was, whose rows of programs without a result stay."""
    earlier = {name: row for name, row in _rows_of(before).items() if name not in results}
    parts = [HEAD.format(cpu=machine.get("cpu", "?"), cores=machine.get("cores", "?"))]
    for mechanism, title in MECHANISMS.items():
        rows = [
            _line(program, results[program.name])
            if program.name in results
            else earlier[program.name]
            for program in programs
            if program.mechanism == mechanism
            and (program.name in results or program.name in earlier)
        ]
        if rows:
            parts.append(
                "\n".join([title, "", _cells(COLUMNS), _cells(["---"] * len(COLUMNS)), *rows])
            )
    shown = {*results, *earlier}
    parts.append(_origins([one for one in programs if one.name in shown]))
    absent = [one for one in programs if one.name not in shown]
    if absent:
        parts.append(
            "## Not measured\n\n"
            + "\n".join(
                f"- `{one.name}` ({one.origin}): {_first_line(one.fails or failed.get(one.name, 'not here, or not run to its end'))}"
                for one in absent
            )
        )
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows_of(text):
    """{program: its row} of a page."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: line for line in lines}


def _line(program, result):
    rows = {row["hob"]: row for row in result["rows"]}
    row = rows.get("default") or next(iter(rows.values()))
    ratio = f"**{row['ratio']:.2f}**"
    if "always" in rows and row["hob"] != "always":
        ratio += f", always {rows['always']['ratio']:.2f}"
    if "unbatched" in rows and row["hob"] != "unbatched":
        ratio += f", unbatched {rows['unbatched']['ratio']:.2f}"
    if row.get("over_ideal"):
        ratio += f"; {row['over_ideal']:.3f} of the ideal time"
    missed = any(not limit["ok"] for limit in result["limits"])
    return _cells(
        [
            f"`{program.name}`",
            program.what,
            f"{program.setup}, {program.ranks} ranks{_ghosts(program)}, {program.mpi}{_environment(program)}",
            ratio,
            _limits(result["limits"]),
            _counters(program, row),
            row["answers"],
            result["date"],
            program.reason if missed or row["ratio"] < 2 else "",
        ]
    )


def _ghosts(program):
    return f" and {program.ghosts} ghost for each node" if program.ghosts else ""


def _environment(program):
    """The variables that it is run with, and those that are others with Hob."""
    words = {
        "": {k: v for k, v in program.environment.items() if k not in program.with_hob},
        "plainly ": {k: v for k, v in program.environment.items() if k in program.with_hob},
        "with Hob ": program.with_hob,
    }
    parts = [f"{when}`{name}={value}`" for when, of in words.items() for name, value in of.items()]
    return "".join(f"; {part}" for part in parts)


def _limits(limits):
    return ", ".join(
        f"{limit['name'].partition(': ')[2]} {limit['limit']}{'' if limit['ok'] else ' MISSED'}"
        for limit in limits
    )


def _counters(program, row):
    """Those that say what the mechanism did."""
    value = lambda name: row.get(name) or 0
    if program.mechanism == "batches" and value("batched"):
        return f"{row['batched']:,} small operations went out as {row['batches']:,}"
    if program.mechanism == "batches" and not value("gets"):
        return "no gets, nothing batched"
    if program.mechanism == "matching":
        return f"{value('receives'):,} receives, {value('receives_in_prq'):,} in Hob's queues"
    if program.mechanism == "ghosts":
        return f"{value('ghost_redirected'):,} operations by ghosts, {value('ghost_direct'):,} in shared memory"
    if not value("gets"):
        return f"{value('receives'):,} receives, {value('receives_in_prq'):,} in Hob's queues"
    remote = value("gets") - value("own_rank")
    text = f"{value('gets'):,} gets, {remote:,} of them remote, {value('hits_full'):,} hits"
    return text + (f"; dropped by {row['dropped_by']}" if row.get("dropped_by") else "")


def _origins(programs):
    by_origin = {}
    for program in programs:
        by_origin.setdefault(program.origin, []).append(f"`{program.name}`")
    lines = [f"- {origin}: {', '.join(names)}" for origin, names in by_origin.items()]
    return "\n".join(["## Where they come from", "", *lines])


def _first_line(text):
    return text.strip().splitlines()[0] if text.strip() else "no reason given"


def _cells(words):
    return "| " + " | ".join(str(word).replace("|", "\\|") for word in words) + " |"
