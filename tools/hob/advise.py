"""`hob advise`: one run, and what it says about each mechanism."""

import shlex
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hob import run as runner
from hob import turns
from hob.report.data import ACCESS_TYPES, Saved, access_counts, load
from hob.report.words import (
    MUCH_FASTER,
    WORTH_ADVISING,
    WORTH_TELLING,
    number,
    quantity,
    saved_on_each,
    seconds,
    share,
    size,
    stale_sentence,
    verdict,
)
from hob.where import HobError

DESCRIPTION = """Runs a program once with Hob (or reads the JSON of such a run) and says for each of its
mechanisms - cached gets, ghosts, message matching, and overlap where messages wait - whether it helps
this program, with which settings, and about what it saves."""

EPILOG = """examples:
  hob advise -n 4 ./app            one run
  hob advise -n 4 --measure ./app  and runs without Hob, with it, and with each advice, in turns
  hob advise --from out.json       no run: what an earlier one wrote (hob run --json)

Savings are estimates: the trips and list entries that a run did not have to pay for, times what one
costs. What a trip costs is measured in the run, unless --get-us says it. Only --measure tells what
the program as a whole gains, and whether that is more than its runs differ by themselves.

Exit status: 0; 2: no advice, one line says why; 86: --verify found stale bytes."""

# Searching one entry of a plain list in the MPI library, ns: short lists sit in the caches, long
# ones do not (measured on MPICH and Open MPI, docs/developers/measuring.md).
ENTRY_NS, LONG_ENTRY_NS, LONG_LIST = 3.4, 9.0, 8192
# Operations before a wait from which batches may pay.
MANY = 32
# Mean depth from which taking over pays (docs/developers/measuring.md).
DEEP = 32
# Gets up to this many bytes are what trips are measured by (src/pay/price.hpp).
TIMED_BYTES = 1024
# The cache was dropped often where it was more often than this, and once for so many gets.
FEW_DROPS, DROPS_PER_GET = 10, 0.01
# Exit status of a run in which verify found stale bytes (setting verify_action).
STALE = 86


@dataclass
class Advice:
    """What is said about one mechanism."""

    mechanism: str
    verdict: str  # helps, no use, may help, in use, FAILED
    reasons: list
    settings: list = field(default_factory=list)  # "key=value" beyond the defaults
    saves: float = 0  # seconds, summed over ranks; 0 where nothing can be estimated
    saved: Saved | None = None  # the same of this run, where it was measured


def add_arguments(parser):
    runner.add_arguments(parser)
    parser.usage = (
        "hob advise -n N [options] PROGRAM [ARGUMENTS...]\n       hob advise --from FILE.json"
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="read this, run nothing")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="also run without Hob and with the advice, in turns, and compare their times",
    )
    parser.add_argument(
        "--turns",
        type=runner.at_least(1),
        default=5,
        metavar="N",
        help="how often --measure runs each (default: 5)",
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


def _advise_validation(run, advice):
    """Collectives in which processes told each other who wrote, where they cost more than they bring."""
    counters = run.cache
    spent = counters.get("validation_ns", 0) * 1e-9 / max(1, run.rank_count)
    if spent < WORTH_ADVISING * run.seconds:
        return
    kept = counters.get("kept_hits", 0)
    advice.reasons.append(
        f"Telling each other in collectives who wrote took {seconds(spent)} on each rank "
        f"({share(spent, run.seconds)} of the time) and answered {quantity(kept)} gets."
    )
    if kept < 0.01 * counters["gets"]:
        advice.settings.append("cache_validate=off")


def advise_cache(run, get_us=None):
    """Cached gets: from the counters of one run with the default mode."""
    counters = run.cache
    gets = counters.get("gets", 0)
    if not gets:
        return Advice("cached gets", "no use", ["The program issues no MPI gets."])
    if stale := stale_sentence(run):
        mode = run.setting("cache")
        return Advice(
            "cached gets",
            "FAILED",
            [
                stale,
                f"The promise of cache={mode} does not hold for this program: leave it out."
                if mode in ("always", "user")
                else "No legal MPI program may see this: please report it.",
            ],
        )
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
        advice.saves, advice.saved = _measured(run, "cached gets")
    else:
        advice.saves = run.hits * get_us * 1e-6
    _advise_readahead(run, advice)
    _advise_validation(run, advice)
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
    told = get_us is not None or "saved_ns" in counters
    if told and run.hits >= 0.05 * gets and advice.saves < WORTH_TELLING * run.rank_count:
        _judge_unmeasured_hits(run, advice)
    if run.hits < 0.05 * gets:
        advice.verdict = "no use"
        often = dropped > max(FEW_DROPS, DROPS_PER_GET * gets)
        if often and kinds["direct"] + counters.get("short_lived", 0) > 0.5 * gets:
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


def _measured(run, mechanism):
    """(seconds of all ranks, Saved) that the run says it saved."""
    saved = run.savings[mechanism]
    return saved.usual * run.rank_count, saved


def _judge_unmeasured_hits(run, advice):
    """Hits whose saving was not seen: there was none, or no wait was measured."""
    counters = run.cache
    unseen = None
    if counters.get("unpriced_hits", 0) > 0.5 * run.hits:
        unseen = "too few waits for gets"
    elif counters.get("requested", 0) > 0.5 * counters["gets"]:
        unseen = "the program waits for requests"
    elif counters.get("bytes_from_cache", 0) > TIMED_BYTES * run.hits:
        unseen = f"gets of more than {size(TIMED_BYTES)} are not timed for this"
    if unseen:
        advice.verdict = "may help"
        advice.reasons.append(f"What they saved was not measured: {unseen}. --measure tells.")
        return
    advice.verdict = "no use"
    advice.saves = 0
    advice.settings.clear()
    advice.reasons.append(
        f"They saved less than {seconds(WORTH_TELLING)} on each rank, of {seconds(run.seconds)}: they were few, "
        "or fetching is nearly as cheap as a hit here."
        + (
            " On several nodes this may differ: ask again there."
            if run.program.get("nodes", 1) == 1
            else ""
        )
    )


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
    left = [note for note in run.notes if note.startswith("Receives were left")]
    if not searches or (left and not run.taken_over):
        return Advice("message matching", "no use", left or ["The program receives no messages."])
    reason = (
        f"{share(deep, searches)} of {quantity(searches)} searches would go deeper than {DEEP} "
        "entries in a plain list."
    )
    if deep < 0.01 * searches:
        return Advice("message matching", "no use", [reason, "Short queues are best left to MPI."])
    if not run.taken_over:
        if run.setting("match") == "never":
            reasons = [reason, "match=never left them all to the MPI library."]
            return Advice("message matching", "may help", reasons, ["match=auto"])
        reason += " Hob took none over: this MPI library's own search is as fast, or it cannot."
        return Advice("message matching", "no use", [reason])
    measured, saved = _measured(run, "message matching")
    if 0 < measured < WORTH_TELLING * run.rank_count:
        reason += f" Searching them costs less than {seconds(WORTH_TELLING)} on each rank."
        return Advice("message matching", "no use", [reason])
    return Advice(
        "message matching",
        "helps",
        [reason, "Taken over by itself where it is deep."],
        [],
        measured or spent,
        saved if measured else None,
    )


def advise_ghosts(run):
    """Ghosts: from the operations that need their target's attention."""
    counters = run.cache
    served = {name: counters.get(name, 0) for name in ("puts", "accumulates", "atomics")}
    near = counters.get("bypassed", 0) + counters.get("own_rank", 0)
    fetched = counters.get("native_gets", 0) - near
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
    done = sum(origin.get("redirected", 0) for origin in run.origins)
    if run.ghosts or done or run.setting("ghosts") not in (None, "0"):
        reasons.append(
            f"{quantity(done)} of them were done by the ghosts of this run. What that saved cannot be told "
            "from one run: compare with a run without ghosts (--measure)."
        )
        return Advice("ghosts", "in use" if done else "no use", reasons)
    unseen = counters.get("requested", 0) - counters.get("own_rank", 0)
    if "late_ns" not in counters or (unseen > total / 2 and counters.get("waits", 0) < total / 100):
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
        "take: these computed, held a lock, or had no core. A ghost on each node serves those that "
        "compute. The run as a whole gets shorter only where others wait for the ranks that waited."
    )
    if run.program.get("nodes", 1) > 1 and run.setting("overlap") == "off":
        reasons.append(
            "overlap=auto serves them with a thread of the rank that computes: it needs no core of its own."
        )
    full = run.full_hosts()
    if full:
        host, (ranks, processors) = next(iter(full.items()))
        reasons.append(
            f"But {host} has no core left for a ghost ({ranks} ranks on {processors} cores"
            + (f", and {len(full) - 1} other hosts likewise" if len(full) > 1 else "")
            + "): it would take time from the ranks. Only a trial tells (--measure)."
        )
        return Advice("ghosts", "may help", reasons, ["ghosts=1"])
    return Advice("ghosts", "may help", reasons, ["ghosts=1"], run.late_seconds * run.rank_count)


def advise_batches(run):
    """Batches of small operations; None where there is nothing to say of them."""
    counters = run.cache
    batched = counters.get("batched", 0)
    if batched:
        saves, saved = _measured(run, "batches")
        reason = (
            f"{quantity(batched)} small operations went out as {quantity(counters['batches'])}."
        )
        return Advice("batches", "helps", [reason], [], saves, saved)
    issued = sum(counters.get(name, 0) for name in ("puts", "accumulates", "atomics"))
    issued += counters.get("native_gets", 0) - counters.get("bypassed", 0)
    issued -= counters.get("requested", 0)
    waits = counters.get("waits", 0)
    if run.setting("batch") != "off" or not waits or issued < MANY * waits:
        return None
    return Advice(
        "batches",
        "may help",
        [
            f"{quantity(issued / waits)} operations were issued before each wait. If they are small "
            "and go to other nodes, they may go out as few."
        ],
        ["batch=auto"],
    )


def _own_thread(run):
    """The MPI library's own switch for the same; "" where it has none that is known."""
    if "Intel" in run.mpi:
        return "I_MPI_ASYNC_PROGRESS=1"
    return "MPIR_CVAR_ASYNC_PROGRESS=1" if "MPICH" in run.mpi else ""


def advise_overlap(run):
    """Nonblocking messages while the program computes; None where there is nothing to say of them."""
    counters = run.counters
    if counters.get("overlap_helped", 0):
        saves, saved = _measured(run, "overlap")
        reason = f"{quantity(counters['overlap_helped'])} phases of computing were helped."
        return Advice("overlap", "helps", [reason], [], saves, saved)
    computed, waited = (
        counters.get(f"overlap_alone_{name}", 0) * 1e-9 for name in ("outside", "waited")
    )
    if not run.seconds or waited < WORTH_ADVISING * run.seconds * run.rank_count:
        return None
    # The rank that waits least is late for the others: it waits for what is transferred, they for it, too.
    least = min(
        rank["counters"].get("overlap_alone_within", 0) * 1e-9
        for rank in run.ranks
        if (rank.get("counters") or {}).get("overlap_alone")
    )
    advice = Advice(
        "overlap",
        "may help",
        [
            f"Nonblocking messages made no progress during {seconds(computed / run.rank_count)} of computing "
            f"on each rank: {seconds(waited / run.rank_count)} of waiting."
        ],
        ["overlap=auto"],
        least * run.rank_count,
    )
    own, idle = _own_thread(run), counters.get("overlap_alone_unused", 0) * 1e-9
    crowded = run.full_hosts() != {} and idle < 0.5 * computed
    if crowded:
        advice.saves = 0
        advice.reasons.append(
            "But no core is free to move them while it computes: what is then hidden is seldom more than "
            "what moving them takes from computing. Only a trial tells (--measure)."
        )
    elif own:
        advice.reasons.append(
            f"Or the MPI library's own thread: {own}. It spins: better where each rank has a core to spare."
        )
    if least < 0.5 * waited / run.rank_count:
        advice.reasons.append("Most of it was waiting for ranks that came late, which stays.")
    return advice


def advise(run, get_us=None):
    """The Advice for each mechanism that there is something to say of, from one Run."""
    advices = [advise_cache(run, get_us), advise_ghosts(run), advise_matching(run)]
    return advices + [one for one in (advise_batches(run), advise_overlap(run)) if one]


def text(run, advices):
    """All of it for the terminal: what was gained comes first."""
    out = [
        verdict(run)[1],
        f"{run.command or 'the program'}: {run.rank_count} ranks, {seconds(run.seconds)}",
        "",
    ]
    for advice in advices:
        out.append(f"{advice.mechanism}: {advice.verdict}")
        out += [f"  {reason}" for reason in advice.reasons]
        if sentence := _saves(run, advice):
            out.append(f"  {sentence}")
        if advice.settings:
            out.append("  Try: " + " ".join(map(_as_option, advice.settings)))
        out.append("")
    if all(advice.verdict == "no use" for advice in advices):
        out.append("Hob has nothing to offer this program as it ran here.")
    return "\n".join(out).rstrip()


def _saves(run, advice):
    """What a mechanism saves, as a sentence; "" where nothing is known."""
    verb = {"helps": "Saves", "may help": "May save up to"}.get(advice.verdict)
    if not advice.saves or not run.rank_count or not verb:
        return ""
    if advice.verdict == "may help":
        return f"{verb} {seconds(advice.saves / run.rank_count)} on each rank, of {seconds(run.seconds)}."
    each = advice.saves / run.rank_count
    saved = advice.saved or Saved(each, each, each)
    most = max(saved.by_rank, default=each)
    if most >= (MUCH_FASTER - 1) * run.seconds:
        return f"About {number((run.seconds + most) / run.seconds)} times faster (estimate)."
    return f"{verb} {saved_on_each(saved)}, of {seconds(run.seconds)}."


def _as_option(setting):
    return f"--ghosts {setting[7:]}" if setting.startswith("ghosts=") else f"--set {setting}"


def _measure(args, advices):
    """Times the program without Hob, with it and with each piece of advice, in turns."""
    trials = {"without Hob": {"off": True, "ghosts": 0}, "with Hob": {}}
    for setting in dict.fromkeys(one for advice in advices for one in advice.settings):
        changes = {"set": [*args.set, setting]}
        if setting.startswith("ghosts="):
            changes = {"ghosts": int(setting[7:])}
        trials[f"with {_as_option(setting)}"] = changes
    plans = {}
    for name, changes in trials.items():
        quiet = {"quiet": True, "json": None, "verify": None, **changes}
        plans[name] = runner.plan(type(args)(**{**vars(args), **quiet}))
    times = turns.take({name: turns.runner(*plan) for name, plan in plans.items()}, args.turns)
    head = f"Measured in {args.turns} turns, start and end of the job included (median, range):"
    return "\n".join(["", head, *turns.table(times, "without Hob")])


def _watching(args):
    """For the run that advice comes from: what costs a little and is measured for advice alone."""
    return type(args)(**{**vars(args), "set": ["overlap_watch=on", *args.set]})


def main(args):
    if args.source:
        run = load(args.source)
        print(text(run, advise(run, args.get_us)))
        return STALE if stale_sentence(run) else 0
    if runner.is_off(args):
        raise HobError("advice comes from a run with Hob: leave --off (HOB_OFF, --set off) out")
    with tempfile.TemporaryDirectory(prefix="hob-advise-") as scratch:
        wanted = args.json
        args.json = wanted or str(Path(scratch) / "run.json")
        args.quiet = True
        command, environment = runner.plan(_watching(args))
        if args.dry_run:
            print(shlex.join(command))
            return 0
        status = subprocess.run(command, env=environment, check=False).returncode
        if status not in (0, STALE):
            raise HobError(f"the program ended with status {status}: no advice")
        if not Path(args.json).exists():
            raise HobError("the program wrote no report: did it reach MPI_Finalize?")
        run = load(args.json)
    advices = advise(run, args.get_us)
    print(text(run, advices))
    if wanted:
        print(f"The details are in {wanted} (hob report makes a page of it).")
    if stale_sentence(run):
        return STALE
    if args.measure:
        print(_measure(args, advices))
    return 0
