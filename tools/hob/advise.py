"""`hob advise`: one run, and what it says about the three mechanisms."""

import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from hob import run as runner
from hob.report.data import ACCESS_TYPES, access_counts, load
from hob.report.words import WORTH_ADVISING, quantity, seconds, share, size
from hob.where import HobError

DESCRIPTION = """Runs a program once with Hob (or reads the JSON of such a run) and says for each of the
three mechanisms - cached gets, ghosts, message matching - whether it helps this program, with which
settings, and about what it saves."""

EPILOG = """examples:
  hob advise -n 4 ./app            one run
  hob advise -n 4 --measure ./app  and a run with each piece of advice, and one without Hob, timed
  hob advise --from out.json       no run: what an earlier one wrote (hob run --json)

Savings are estimates: the trips and list entries that a run did not have to pay for, times what one
costs. What a trip costs is measured in the run, unless --get-us says it. Only --measure tells what
the program as a whole gains."""

# Searching one entry of a plain list in the MPI library, ns: short lists sit in the caches, long
# ones do not (measured on MPICH and Open MPI, docs/developers/measuring.md).
ENTRY_NS, LONG_ENTRY_NS, LONG_LIST = 3.4, 9.0, 8192
# Mean depth from which taking over pays (docs/developers/measuring.md).
DEEP = 32


@dataclass
class Advice:
    """What is said about one mechanism."""

    mechanism: str
    verdict: str  # helps, no use, may help
    reasons: list
    settings: list = field(default_factory=list)  # "key=value" beyond the defaults
    saves: float = 0  # seconds, summed over ranks; 0 where nothing can be estimated


def add_arguments(parser):
    runner.add_arguments(parser)
    parser.usage = (
        "hob advise -n N [options] PROGRAM [ARGUMENTS...]\n       hob advise --from FILE.json"
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="read this, run nothing")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="also run without Hob and with the advice, and time them",
    )
    parser.add_argument(
        "--get-us",
        type=float,
        metavar="US",
        help="what a small remote get costs here, microseconds (default: as measured in the run)",
    )


def parse(parser, words):
    if any(word.split("=")[0] == "--from" for word in words):
        return parser.parse_args(words)
    return runner.parse(parser, words)


def _advise_readahead(run, advice):
    """Blocks fetched around misses: what they brought, or why there were none."""
    counters = run.cache
    gets, spared = counters["gets"], counters.get("ahead_hits", 0)
    if counters.get("ahead_gets", 0):
        used, more = counters.get("ahead_used_bytes", 0), counters.get("ahead_bytes", 0)
        advice.reasons.append(
            f"Fetching ahead spared {quantity(spared)} trips ({share(spared, gets)} of the gets) "
            f"for {size(more)} more, of which {share(used, more)} was used."
        )
        if counters.get("ahead_changed", 0):
            advice.reasons.append(
                "It ended in windows where others write while the program reads; "
                "readahead=off leaves it out from the start."
            )
    elif run.setting("readahead") == "off" and run.hits < 0.95 * gets:
        advice.settings.append("readahead=auto")
        advice.reasons.append(
            f"{quantity(gets - run.hits)} gets went to the network. Fetching ahead was off: where "
            "gets lie near each other, blocks spare most of these trips (hob replay "
            "--readahead auto tells, on a trace)."
        )


def advise_cache(run, get_us=None):
    """Cached gets: from the counters of one run with the default mode."""
    counters = run.cache
    gets = counters.get("gets", 0)
    if not gets:
        return Advice("cached gets", "no use", ["The program issues no MPI gets."])
    alone = counters.get("bypassed", 0) + counters.get("uncacheable", 0)
    if alone > 0.95 * gets:
        return Advice(
            "cached gets",
            "no use",
            [
                f"{share(alone, gets)} of the gets go where fetching is as cheap as a cache (same node, own "
                "memory). On more nodes this may differ: ask again there."
            ],
        )
    kinds = dict(zip((name for name, _, _ in ACCESS_TYPES), access_counts(counters)))
    advice = Advice(
        "cached gets",
        "helps",
        [
            f"{share(run.hits, gets)} of {quantity(gets)} gets were answered by the cache, "
            f"{size(counters.get('bytes_from_cache', 0))} stayed off the network."
        ],
    )
    if get_us is None:
        advice.saves = run.saved_seconds * run.rank_count
    else:
        advice.saves = run.hits * get_us * 1e-6
    _advise_readahead(run, advice)
    if kinds["capacity"] + kinds["failing"] > 0.05 * gets:
        largest = max(
            (
                point.get("capacity", 0)
                for window in run.windows
                for _, points in [window.busiest("occupancy") or (0, [])]
                for point in points[-1:]
            ),
            default=0,
        )
        larger = size(4 * largest).replace(" ", "").replace("iB", "") if largest else "1G"
        advice.settings.append(f"cache_max={larger}")
        advice.reasons.append(
            f"{share(kinds['capacity'] + kinds['failing'], gets)} of the gets found "
            "the storage full."
        )
    if kinds["conflicting"] > 0.05 * gets:
        advice.settings.append("cache_index=1048576")
        advice.reasons.append(
            f"{share(kinds['conflicting'], gets)} of the gets found the index full."
        )
    dropped = counters.get("invalidations", 0)
    if run.hits < 0.05 * gets:
        advice.verdict = "no use"
        if dropped and kinds["direct"] + counters.get("short_lived", 0) > 0.5 * gets:
            advice.verdict, advice.saves = "may help", 0
            advice.settings.append("cache=always")
            advice.reasons.append(
                f"The cache was dropped {quantity(dropped)} times"
                + (f", mostly by {run.drops[0][0]}" if run.drops else "")
                + ", since the program may have learned of others' writes. If nobody writes to the windows after the first get, say so; "
                "--verify 0.1 checks it."
            )
        else:
            advice.reasons.append("Nearly every get asks for something new.")
            advice.settings.clear()
    return advice


def _search_seconds(counts):
    """What searching a plain list costs, over a log2 histogram of depths."""
    total = 0.0
    for k, count in enumerate(counts):
        depth = 1.5 * 2 ** (k - 1) if k else 0
        total += count * depth * (LONG_ENTRY_NS if depth > LONG_LIST else ENTRY_NS) * 1e-9
    return total


def advise_matching(run):
    """Message matching: from the depths that a plain list would have been searched through."""
    searches = deep = 0
    spent = 0.0
    for queue in run.queues:
        for name in ("prq_depth", "umq_depth"):
            counts = queue.histogram(name)
            searches += sum(counts)
            deep += sum(counts[DEEP.bit_length() :])
            spent += _search_seconds(counts)
    if not searches:
        left = [note for note in run.notes if note.startswith("Receives were left")]
        return Advice("message matching", "no use", left or ["The program receives no messages."])
    reason = (
        f"{share(deep, searches)} of {quantity(searches)} searches would go deeper than {DEEP} "
        "entries in a plain list."
    )
    if deep < 0.01 * searches:
        return Advice("message matching", "no use", [reason, "Short queues are best left to MPI."])
    measured = run.match_saved_seconds * run.rank_count
    return Advice(
        "message matching",
        "helps",
        [reason, "Taken over by itself where it is deep."],
        [],
        measured or spent,
    )


def advise_ghosts(run):
    """Ghosts: from the operations that need their target's attention."""
    counters = run.cache
    served = {name: counters.get(name, 0) for name in ("puts", "accumulates", "atomics")}
    fetched = counters.get("native_gets", 0) - counters.get("bypassed", 0)
    total = sum(served.values()) + max(0, fetched)
    if not total:
        return Advice("ghosts", "no use", ["The program has no one-sided operations to be served."])
    what = ", ".join(f"{quantity(count)} {name}" for name, count in served.items() if count)
    kinds = {window.kind for window in run.windows}
    reasons = [
        f"{quantity(total)} operations need their target's MPI library"
        + (f" ({what})." if what else " (gets).")
    ]
    if not kinds & {"allocate", "create"}:
        reasons.append(
            "But its windows are shared or dynamic ones, which ghosts leave to the MPI library."
        )
        return Advice("ghosts", "no use", reasons)
    if "late_ns" not in counters or counters.get("requested", 0) > total / 2:
        reasons.append(
            "Waits for them were not measured (it waits by requests). Where targets compute for long "
            "without calling MPI, a ghost on each node serves them meanwhile. Only a trial tells: "
            "--measure."
        )
        return Advice("ghosts", "may help", reasons, ["ghosts=1"])
    if run.late_seconds < WORTH_ADVISING * run.seconds:
        reasons.append("Their targets attended: waits for them took no longer than the network.")
        if run.program.get("nodes", 1) == 1:
            reasons.append("On several nodes this may differ: ask again there.")
        return Advice("ghosts", "no use", reasons)
    reasons.append(
        f"Waits for them took {seconds(run.late_seconds)} on each rank "
        f"({share(run.late_seconds, run.seconds)} of the time) more than targets that attend "
        "take: these computed, or held a lock. A ghost on each node serves them meanwhile."
    )
    return Advice("ghosts", "may help", reasons, ["ghosts=1"], run.late_seconds * run.rank_count)


def advise(run, get_us=None):
    """The Advice for each mechanism, from one Run."""
    return [advise_cache(run, get_us), advise_ghosts(run), advise_matching(run)]


def text(run, advices):
    """All of it for the terminal."""
    out = [f"{run.command or 'the program'}: {run.rank_count} ranks, {seconds(run.seconds)}", ""]
    for advice in advices:
        out.append(f"{advice.mechanism}: {advice.verdict}")
        out += [f"  {reason}" for reason in advice.reasons]
        verb = {"helps": "Saves", "may help": "May save"}.get(advice.verdict)
        if advice.saves and run.rank_count and verb:
            out.append(f"  {verb} about {seconds(advice.saves / run.rank_count)} on each rank.")
        if advice.settings:
            out.append(
                "  Try: "
                + " ".join(
                    f"--set {setting}"
                    if not setting.startswith("ghosts=")
                    else f"--ghosts {setting[7:]}"
                    for setting in advice.settings
                )
            )
        out.append("")
    if all(advice.verdict == "no use" for advice in advices):
        out.append("Hob has nothing to offer this program as it ran here.")
    return "\n".join(out).rstrip()


def _timed(args, **changes):
    """One run; its seconds, or None where it failed."""
    trial = type(args)(**{**vars(args), **changes})
    command, environment = runner.plan(trial)
    start = time.monotonic()
    status = subprocess.run(
        command, env=environment, check=False, stdout=subprocess.DEVNULL
    ).returncode
    return time.monotonic() - start if status == 0 else None


def _measure(args, advices):
    """Times the program without Hob, with its defaults and with each piece of advice."""
    trials = [("without Hob", {"off": True}), ("with Hob", {"quiet": True})]
    for advice in advices:
        for setting in advice.settings:
            changes = {"quiet": True, "set": [*args.set, setting]}
            if setting.startswith("ghosts="):
                changes = {"quiet": True, "ghosts": int(setting[7:])}
            trials.append((f"with {setting}", changes))
    lines, plain = ["", "Measured, start and end of the job included:"], None
    for name, changes in trials:
        took = _timed(args, **changes)
        if plain is None:
            plain = took
        gain = f"  {plain / took:.2f} x" if took and plain and name != "without Hob" else ""
        lines.append(f"  {name:24} {seconds(took) if took else 'failed'}{gain}")
    return "\n".join(lines)


def main(args):
    if args.source:
        run = load(args.source)
        print(text(run, advise(run, args.get_us)))
        return 0
    with tempfile.TemporaryDirectory(prefix="hob-advise-") as scratch:
        args.json = str(Path(scratch) / "run.json")
        args.quiet = True
        command, environment = runner.plan(args)
        status = subprocess.run(command, env=environment, check=False).returncode
        if status != 0:
            raise HobError(f"the program ended with status {status}: no advice")
        if not Path(args.json).exists():
            raise HobError("the program wrote no report: did it reach MPI_Finalize?")
        run = load(args.json)
    args.json = None
    advices = advise(run, args.get_us)
    print(text(run, advices))
    if args.measure:
        print(_measure(args, advices))
    return 0
