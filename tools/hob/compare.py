"""`hob compare`: two runs beside each other."""

from hob.report.data import load
from hob.report.words import quantity, seconds, size, verdict

DESCRIPTION = """Puts two runs beside each other: time, what was gained, settings and counters that differ.
Counters are sums over ranks. One run each says little about time: `hob advise --measure` takes turns."""

EPILOG = """examples:
  hob compare without-ghosts.json with-ghosts.json
  hob compare a.json b.json --all      also counters that are nearly equal"""

# Counters that differ by a smaller share are left out.
NOTABLE = 0.05


def add_arguments(parser):
    parser.add_argument("first", metavar="A.json", help="what a run wrote with --json")
    parser.add_argument("second", metavar="B.json", help="what another one wrote")
    parser.add_argument("--all", action="store_true", help="every counter that differs at all")


def _amount(name, value):
    for end, unit in (("_ns", 1e-9), ("_us", 1e-6), ("_ms", 1e-3)):
        if name.endswith(end):
            return seconds(value * unit)
    return size(value) if "bytes" in name or name == "cache_memory" else quantity(value)


def _ratio(first, second):
    return f"{second / first:.2f} x" if first and second else ""


def rows(first, second, every=False):
    """[(what, of the first, of the second, ratio)]"""
    out = []
    if first.seconds and second.seconds:
        out.append(
            (
                "run time",
                seconds(first.seconds),
                seconds(second.seconds),
                _ratio(first.seconds, second.seconds),
            )
        )
    for what, of in (
        ("ranks", lambda run: run.rank_count),
        ("MPI", lambda run: run.mpi),
        ("Hob", lambda run: run.hob.get("version", "")),
        ("command", lambda run: run.command),
    ):
        if of(first) != of(second):
            out.append((what, str(of(first)), str(of(second)), ""))
    keys = dict.fromkeys([*first.settings, *second.settings])
    for key in keys:
        values = [run.setting(key) for run in (first, second)]
        if values[0] != values[1]:
            out.append((key, *(str(value) for value in values), ""))
    names = dict.fromkeys([*first.counters, *second.counters])
    for name in names:
        a, b = first.counters.get(name, 0), second.counters.get(name, 0)
        if a != b and (every or abs(a - b) > NOTABLE * max(a, b)):
            out.append((name, _amount(name, a), _amount(name, b), _ratio(a, b)))
    return out


def main(args):
    first, second = load(args.first), load(args.second)
    print(f"A  {args.first}: {verdict(first)[1]}")
    print(f"B  {args.second}: {verdict(second)[1]}")
    table = [("", "A", "B", "B to A"), *rows(first, second, args.all)]
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    print()
    for row in table:
        cells = [row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in (1, 2, 3)]
        print("  ".join(cells).rstrip())
    return 0
