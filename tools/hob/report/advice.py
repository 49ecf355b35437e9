"""What one run says about each mechanism, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass, field

from hob.report.data import ACCESS_TYPES, WORTH_TELLING, Saved, access_counts
from hob.report.sentences import near_parts, receives_left, stale_sentence
from hob.report.words import (
    WORTH_ADVISING,
    counted,
    quantity,
    seconds,
    share,
    size,
)

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
# Gets between two drops, from which on it may be worth it to fetch them at once.
GETS_PER_PHASE = 8
# Verdicts, the most important first. Not measured: it was at work, or may help, and one run does not show it.
ORDER = ("FAILED", "helps", "may help", "in use", "not measured", "no use")


@dataclass
class Advice:
    """What is said about one mechanism."""

    mechanism: str
    verdict: str  # one of ORDER
    reasons: list
    settings: list = field(default_factory=list)  # "key=value" beyond the defaults
    saves: float = 0  # seconds, summed over ranks; 0 where nothing can be estimated
    saved: Saved | None = None  # the same of this run, where it was measured


def _near_gets(run):
    near = run.near_gets[1]
    parts = near_parts(
        run,
        lambda count: share(count, sum(run.near_gets)),
        "read the process's own memory",
        "read targets where fetching is as cheap as a cache (ranks of the same node)",
    )
    return f"None of its gets is remote: {parts}." + (
        " On more nodes this may differ: ask again there, or with --remote, which takes each rank for a "
        "node (MPICH)."
        if run.nodes == 1 and near
        else ""
    )


def _advise_readahead(run, advice):
    """Blocks fetched around misses: what they brought, or why there were none."""
    counters = run.cache
    remote, spared = run.remote_gets, counters.get("ahead_hits", 0)
    if counters.get("ahead_gets", 0):
        more, used = counters.get("ahead_bytes", 0), run.ahead_used_bytes
        advice.reasons.append(
            f"Fetching ahead spared {quantity(spared)} trips ({share(spared, remote)} of the remote gets) "
            f"for {size(more)} more, of which {share(used, more)} was used."
        )
        if counters.get("ahead_changed", 0):
            advice.reasons.append(
                "It ended in windows where others write while the program reads; "
                "readahead=off leaves it out from the start."
            )
    elif run.setting("readahead") == "off" and run.hits < 0.95 * remote:
        advice.settings.append("readahead=auto")
        advice.reasons.append(
            f"{quantity(remote - run.hits)} gets went to the network. Fetching ahead was off: where "
            "gets lie near each other, blocks spare most of these trips (hob replay "
            "--readahead auto shows it, on a trace)."
        )


def _advise_recall(run, advice):
    """Places fetched again in phases that read what earlier ones did: what that brought, or that there may
    be such phases. Whether it is the setting to try."""
    counters = run.cache
    recalled, dropped = counters.get("recalled", 0), counters.get("invalidations", 0)
    missing = run.remote_gets - run.hits
    if recalled:
        advice.reasons.append(
            f"{quantity(recalled)} places were fetched again at the beginning of a phase, of which "
            f"{share(counters.get('recall_used', 0), recalled)} were asked for."
        )
    elif (
        run.setting("recall") == "off"
        and dropped > FEW_DROPS
        and missing > max(GETS_PER_PHASE * dropped, 0.05 * run.remote_gets)
    ):
        advice.settings.append("recall=auto")
        advice.reasons.append(
            f"{quantity(missing)} gets went to the network, about {quantity(round(missing / dropped))} each time "
            "that the cache had been dropped. Where they read the same places each time, recall=auto "
            "fetches these at once (hob replay --recall shows it on a trace)."
        )
        return True
    return False


def _advise_validation(run, advice):
    """Collectives in which processes exchanged which targets were written to, where they cost more than they bring."""
    counters = run.cache
    spent = counters.get("validation_ns", 0) * 1e-9 / max(1, run.rank_count)
    if spent < WORTH_ADVISING * run.seconds:
        return
    kept = counters.get("kept_hits", 0)
    advice.reasons.append(
        f"Telling each other in collectives who wrote took {seconds(spent)} on each rank "
        f"({share(spent, run.seconds)} of the time) and answered {quantity(kept)} gets."
    )
    if kept < 0.01 * run.remote_gets:
        advice.settings.append("cache_validate=off")


def advise_cache(run, get_us=None):
    """Cached gets: from the counters of one run with the default mode."""
    counters = run.cache
    gets, remote = counters.get("gets", 0), run.remote_gets
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
    if not remote:
        return Advice("cached gets", "no use", [_near_gets(run)])
    refused = counters.get("uncacheable", 0) - counters.get("own_rank", 0)
    if refused > 0.95 * remote:
        reason = f"{share(refused, remote)} of the remote gets cannot be kept in a cache (types, atomic reads)."
        return Advice("cached gets", "no use", [reason])
    kinds = dict(zip((name for name, _, _ in ACCESS_TYPES), access_counts(counters)))
    advice = Advice(
        "cached gets",
        "helps",
        [
            f"{share(run.hits, remote)} of {quantity(remote)} remote gets were answered by the cache "
            f"({size(counters.get('bytes_from_cache', 0))})."
            if run.hits
            else f"None of {quantity(remote)} remote gets was answered by the cache."
        ],
    )
    if get_us is None:
        advice.saves, advice.saved = _measured(run, "cached gets")
    else:
        advice.saves = run.hits * get_us * 1e-6
    _advise_readahead(run, advice)
    may_recur = _advise_recall(run, advice)
    _advise_validation(run, advice)
    if kinds["capacity"] + kinds["failing"] > 0.05 * remote:
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
            f"{share(kinds['capacity'] + kinds['failing'], remote)} of the remote gets found "
            "the storage full."
        )
    if kinds["conflicting"] > 0.05 * remote:
        advice.settings.append("cache_index=1048576")
        advice.reasons.append(
            f"{share(kinds['conflicting'], remote)} of the remote gets found the index full."
        )
    dropped = counters.get("invalidations", 0)
    told = get_us is not None or "saved_ns" in counters
    if told and run.hits >= 0.05 * remote and advice.saves < WORTH_TELLING * run.rank_count:
        _judge_unmeasured_hits(run, advice)
    if run.hits < 0.05 * remote:
        advice.verdict = "no use"
        often = dropped > max(FEW_DROPS, DROPS_PER_GET * remote)
        if often and kinds["direct"] + counters.get("short_lived", 0) > 0.5 * remote:
            advice.verdict, advice.saves = "may help", 0
            advice.settings.append("cache=always")
            advice.reasons.append(
                f"The cache was dropped {quantity(dropped)} times"
                + (f", mostly by {run.drops[0][0]}" if run.drops else "")
                + ", since the program may have learned of others' writes. cache=always promises that no process "
                "writes to the windows after the first get: then copies are kept. --verify 1 checks that."
            )
        elif may_recur:
            advice.verdict, advice.saves, advice.settings = "may help", 0, ["recall=auto"]
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
    elif counters.get("requested", 0) > 0.5 * run.remote_gets:
        unseen = "the program waits for requests"
    elif counters.get("bytes_from_cache", 0) > TIMED_BYTES * run.hits:
        unseen = f"gets of more than {size(TIMED_BYTES)} are not timed for this"
    if unseen:
        advice.verdict = "not measured"
        advice.reasons.append(
            f"What they saved was not measured: {unseen}. hob run --measure shows the whole program's gain."
        )
        return
    advice.verdict = "no use"
    advice.saves = 0
    advice.settings.clear()
    advice.reasons.append(
        f"They saved less than {seconds(WORTH_TELLING)} on each rank, of {seconds(run.seconds)}: they were few, "
        "or fetching is nearly as cheap as a hit here."
        + (" On several nodes this may differ: ask again there." if run.nodes == 1 else "")
    )


def _search_seconds(counts):
    """What searching a plain list costs, over a log2 histogram of depths."""
    total = 0.0
    for k, count in enumerate(counts):
        depth = 1.5 * 2 ** (k - 1) if k else 0
        total += count * depth * (LONG_ENTRY_NS if depth > LONG_LIST else ENTRY_NS) * 1e-9
    return total


def _not_taken_over(run, reason, spent):
    """Deep queues that Hob left to the MPI library: its search is as fast, or Hob cannot know."""
    if run.setting("match") == "always" or spent < WORTH_TELLING * run.rank_count:
        reason += " Hob took none over: the MPI library's own search is as fast, or it cannot."
        return Advice("message matching", "no use", [reason])
    reasons = [
        reason,
        "Hob took none over, since it did not see that this would pay. match=always takes over all "
        "receives; only a trial shows it (hob run --measure).",
    ]
    return Advice("message matching", "may help", reasons, ["match=always"], spent)


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
    left = receives_left(run)
    if left and not run.taken_over:
        trial = ["match=always"] if any("match=always" in note for note in left) else []
        return Advice("message matching", "not measured", left, trial)
    if not searches:
        reason = (
            "Hob counted no receives: there are none, or they are within calls that are left to the "
            "MPI library (MPI_Sendrecv, collectives)."
        )
        return Advice("message matching", "no use", [reason])
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
        return _not_taken_over(run, reason, spent)
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
    if not run.served:
        reason = "The program has no one-sided operations to be served."
        if counters.get("gets", 0):
            reason = "No get needed its target's MPI library: none went over the network."
        return Advice("ghosts", "no use", [reason])
    kinds = {window.kind for window in run.windows}
    reasons = [f"{counted(run.served)} need their target's MPI library."]
    if not kinds & {"allocate", "create"}:
        reasons.append(
            "But its windows are shared or dynamic ones, which ghosts leave to the MPI library."
        )
        return Advice("ghosts", "no use", reasons)
    done = run.redirected
    if done:
        reasons.append(
            f"The ghosts of this run did {quantity(done)} of them. One run does not show what "
            "that saved: compare with a run without ghosts (hob run --measure)."
        )
        return Advice("ghosts", "in use", reasons)
    if run.ghosts or run.setting("ghosts") not in (None, "0"):
        direct = sum(origin.get("direct", 0) for origin in run.origins)
        reasons.append(
            "The ghosts of this run did none of them"
            + (
                f": {quantity(direct)} went straight through shared memory."
                if direct
                else " (see the notes)."
            )
        )
        return Advice("ghosts", "no use", reasons)
    if run.waits_unseen:
        reasons.append(
            "Waits for them were not measured (it waits by requests). Where targets compute for long "
            "without calling MPI, a ghost on each node serves them meanwhile. Only a trial shows it: "
            "hob run --measure."
        )
        return Advice("ghosts", "not measured", reasons, ["ghosts=1"])
    if run.mostly_batched:
        reasons.append(
            "Most of them went out in batches, which targets apply when they are in MPI."
        )
        return Advice("ghosts", "no use", reasons)
    if run.late_seconds < WORTH_ADVISING * run.seconds:
        reasons.append("Their targets attended: waits for them took no longer than the network.")
        if run.nodes == 1:
            reasons.append("On several nodes this may differ: ask again there.")
        return Advice("ghosts", "no use", reasons)
    if run.short_of_cores:
        reasons.append(
            f"Waits for them took {seconds(run.late_seconds)} on each rank more than targets that attend take, "
            f"but each rank also waited {seconds(run.core_waits_seconds)} for a core: a ghost would wait for "
            "one, too. Where the processes of a node have a core each, this may differ: ask again there."
        )
        return Advice("ghosts", "no use", reasons)
    reasons.append(
        f"Waits for them took {seconds(run.late_seconds)} on each rank "
        f"({share(run.late_seconds, run.seconds)} of the time) more than targets that attend "
        "take: these computed, held a lock, or had no core. A ghost on each node serves those that "
        "compute. The run as a whole gets shorter only where others wait for the ranks that waited."
    )
    if run.nodes > 1 and run.setting("overlap") in ("off", "auto"):
        reasons.append(
            "overlap=windows serves them with a thread of the rank that computes: it needs no core of its own."
        )
    full = run.full_hosts()
    if full:
        host, (ranks, processors) = next(iter(full.items()))
        reasons.append(
            f"But {host} has no core left for a ghost ({ranks} ranks on {processors} cores"
            + (f", and {len(full) - 1} other hosts likewise" if len(full) > 1 else "")
            + "): it would take time from the ranks. Only a trial shows which is more (hob run --measure)."
        )
        return Advice("ghosts", "may help", reasons, ["ghosts=1"])
    return Advice("ghosts", "may help", reasons, ["ghosts=1"], run.late_seconds * run.rank_count)


def advise_batches(run):
    """Batches of small operations; None where there is nothing to say of them."""
    counters = run.cache
    batched = counters.get("batched", 0)
    if batched:
        saves, saved = _measured(run, "batches")
        reason = f"{quantity(batched)} small operations went out as {quantity(counters.get('batches', 0))}."
        if not saves:
            reason += " What that saved was not measured: hob run --measure shows the whole program's gain."
            return Advice("batches", "not measured", [reason])
        if saves < WORTH_TELLING * run.rank_count:
            reason += f" That saved less than {seconds(WORTH_TELLING)} on each rank."
            return Advice("batches", "no use", [reason])
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
        if not saves:
            return None
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
            "what moving them takes from computing. Only a trial shows which is more (hob run --measure)."
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
    if run.off or not run.ranks:
        return []
    advices = [advise_cache(run, get_us), advise_ghosts(run), advise_matching(run)]
    return advices + [one for one in (advise_batches(run), advise_overlap(run)) if one]
