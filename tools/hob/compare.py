"""`hob compare`: two runs beside each other."""

from hob.report.data import load
from hob.report.facts import SCHEMA, write_json
from hob.report.sentences import verdict
from hob.report.words import quantity, seconds, size

DESCRIPTION = """Puts two runs beside each other: time, gains, settings and counters that differ.
Counters are sums over ranks. One run each says little about time: `hob run --measure` takes turns."""

EPILOG = """examples:
  hob compare without-ghosts.json with-ghosts.json
  hob compare a.json b.json --all      also counters that are nearly equal
  hob compare a.json b.json --json -   the same for scripts"""

# Counters that differ by a smaller share are left out.
NOTABLE = 0.05


def add_arguments(parser):
    parser.add_argument("first", metavar="A.json", help="what a run wrote with --json")
    parser.add_argument("second", metavar="B.json", help="what another one wrote")
    parser.add_argument("--all", action="store_true", help="every counter that differs at all")
    parser.add_argument(
        "--json", metavar="FILE", help="write the comparison as JSON there (-: print it)"
    )


def _amount(name, value):
    if not isinstance(value, (int, float)):
        return str(value)
    if name == "run time":
        return seconds(value)
    for end, unit in (("_ns", 1e-9), ("_us", 1e-6), ("_ms", 1e-3)):
        if name.endswith(end):
            return seconds(value * unit)
    return size(value) if "bytes" in name or name == "cache_memory" else quantity(value)


def differences(first, second, every=False):
    """[(what, of the first, of the second)], as they are in the JSON of the runs."""
    out = []
    if first.seconds and second.seconds:
        out.append(("run time", first.seconds, second.seconds))
    for what, of in (
        ("ranks", lambda run: str(run.rank_count)),
        ("MPI", lambda run: run.mpi),
        ("Hob", lambda run: run.hob.get("version", "")),
        ("command", lambda run: run.command),
    ):
        if of(first) != of(second):
            out.append((what, of(first), of(second)))
    for key in dict.fromkeys([*first.settings, *second.settings]):
        values = [run.setting(key) for run in (first, second)]
        if values[0] != values[1]:
            out.append((key, *(str(value) for value in values)))
    if first.off or second.off:  # which counted nothing
        return out
    for name in dict.fromkeys([*first.counters, *second.counters]):
        a, b = first.counters.get(name, 0), second.counters.get(name, 0)
        if a != b and (every or abs(a - b) > NOTABLE * max(a, b)):
            out.append((name, a, b))
    return out


def _ratio(first, second):
    numbers = all(isinstance(value, (int, float)) for value in (first, second))
    return second / first if numbers and first and second else None


def main(args):
    first, second = load(args.first), load(args.second)
    found = differences(first, second, args.all)
    if args.json:
        runs = {
            name: {"file": file, "verdict": dict(zip(("kind", "sentence"), verdict(run)))}
            for name, file, run in (("a", args.first, first), ("b", args.second, second))
        }
        rows = [{"what": what, "a": a, "b": b, "b_to_a": _ratio(a, b)} for what, a, b in found]
        write_json({"schema": SCHEMA, **runs, "differences": rows}, args.json)
        return 0
    print(f"A  {args.first}: {verdict(first)[1]}")
    print(f"B  {args.second}: {verdict(second)[1]}")
    rows = [
        (
            what,
            _amount(what, a),
            _amount(what, b),
            f"{ratio:.2f} x" if (ratio := _ratio(a, b)) else "",
        )
        for what, a, b in found
    ]
    table = [("", "A", "B", "B to A"), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    print()
    for row in table:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in (1, 2, 3)]
        print("  ".join(cells).rstrip())
    return 0
