"""What a run showed, in sentences: the verdict, which comes first wherever a run is described, and the
findings behind it."""

from hob.report.data import WORTH_TELLING, mean_of_log2, spread
from hob.report.words import (
    MUCH_FASTER,
    SAVED_BY,
    WORTH_ADVISING,
    counted,
    number,
    quantity,
    saved_amount,
    saved_on_each,
    seconds,
    share,
    size,
    whom,
)

# Share of the gets that hits must reach to be spoken of where nothing was gained.
WORTH_SAYING = 0.05
# Operations in batches, likewise: at 1 us each they would have saved a millisecond.
BATCHED_WORTH_SAYING = 1000


def near_parts(run, amount, own_memory, near_targets):
    """The kinds of gets that needed no network, of those that there were: amount(count) and what they did."""
    kinds = zip(run.near_gets, (own_memory, near_targets))
    return " and ".join(f"{amount(count)} {what}" for count, what in kinds if count)


def near_sentence(run):
    """Where gets went that needed no network; "" where all did."""
    gets, near = run.cache.get("gets", 0), sum(run.near_gets)
    parts = near_parts(
        run,
        (lambda count: "all" if count == gets else quantity(count)),
        "read the process's own memory",
        "read targets that are as near as a cache (ranks of the same node)",
    )
    return f"Of {quantity(gets)} gets, {parts}: these are left to the MPI library." if near else ""


def cache_findings(run):
    """Sentences about the cached gets of a run."""
    counters = run.cache
    gets, remote = counters.get("gets", 0), run.remote_gets
    if not run.windows:
        return ["The program opened no window, so there was nothing to cache."]
    if not gets:
        return ["The program issued no gets, so there was nothing to cache."]
    out = [near] if (near := near_sentence(run)) else []
    if not remote:
        return out
    refused = counters.get("uncacheable", 0) - counters.get("own_rank", 0)
    if refused >= 0.99 * remote:
        return [*out, f"{quantity(remote)} gets were remote, and could not be kept in a cache."]
    out.append(
        f"Of {quantity(remote)} remote gets, {quantity(run.hits)} ({share(run.hits, remote)}) "
        f"were answered by the cache. Of what they asked for, {size(counters.get('bytes_from_cache', 0))} "
        f"came from there, {size(counters.get('bytes_from_network', 0))} over the network."
        if run.hits
        else f"None of {quantity(remote)} remote gets was answered by the cache."
    )
    if run.drops:
        out.append(
            "Copies were dropped where the program may have learned of others' writes: "
            + ", ".join(
                f"{call} ({quantity(times)} times, {size(lost)})"
                for call, times, lost in run.drops[:3]
            )
            + (" and others." if len(run.drops) > 3 else ".")
        )
    if counters.get("ahead_gets", 0):
        out.append(
            f"{quantity(counters['ahead_gets'])} gets fetched blocks, "
            f"{size(counters.get('ahead_bytes', 0))} more than was asked for; "
            f"at most {size(run.ahead_used_bytes)} of that was asked for later, which "
            f"spared {quantity(counters.get('ahead_hits', 0))} trips."
        )
    if counters.get("ahead_changed", 0):
        out.append(
            "Others wrote while the program read, without synchronization: "
            "nothing more was fetched ahead in those windows."
        )
    poor = {
        "capacity and failing": counters.get("capacity", 0) + counters.get("failing", 0),
        "conflicting": counters.get("conflicting", 0),
    }
    if poor["capacity and failing"] > 0.05 * remote:
        out.append(
            f"{share(poor['capacity and failing'], remote)} of the remote gets found the storage full: "
            "a larger cache_size or cache_max would answer more."
        )
    if poor["conflicting"] > 0.05 * remote:
        out.append(
            f"{share(poor['conflicting'], remote)} of the remote gets found the index full: "
            "a larger cache_index would answer more."
        )
    if not any(value > 0.05 * remote for value in poor.values()) and run.hits < 0.3 * remote:
        out.append(
            "Copies were dropped before they were asked for again, so most gets were not kept."
            if counters.get("short_lived", 0) > 0.5 * remote
            else "Most remote gets fetched something for the first time: no cache can answer those."
        )
    return out


def matching_findings(run):
    """Sentences about the queues."""
    out = []
    for queue in run.queues:
        posted, arrived = queue.histogram("prq_depth"), queue.histogram("umq_depth")
        if not sum(posted) + sum(arrived):
            continue
        out.append(
            f"On {queue.name}, up to {quantity(queue.longest('prq_max'))} receives were posted and "
            f"{quantity(queue.longest('umq_max'))} messages waited. Plain lists would have been searched "
            f"through {number(mean_of_log2(posted))} and {number(mean_of_log2(arrived))} entries on average."
        )
        in_prq = queue.counters.get("in_prq", 0)
        if in_prq:
            out.append(
                f"Hob matched {share(in_prq, queue.counters.get('receives', in_prq))} of the "
                f"{quantity(queue.counters.get('receives', in_prq))} receives there itself."
            )
    return out


def ghost_findings(run):
    """Sentences about the ghosts, or what speaks for some."""
    if not run.ghosts:
        late = run.late_seconds
        if late < max(WORTH_TELLING, WORTH_ADVISING * (run.seconds or 0)):
            return []
        waited = f"About {seconds(late)} on each rank was waiting for"
        if run.mostly_batched:
            return [f"{waited} batches of operations, which their targets apply."]
        if run.short_of_cores:
            return [
                f"{waited} targets, and {seconds(run.core_waits_seconds)} for a core: these processes have "
                "fewer cores than they want, and a ghost would be one more."
            ]
        return [
            f"{waited} targets that computed, held a lock, or had no core: ghosts may serve them."
        ]
    total = {
        name: sum(origin.get(name, 0) for origin in run.origins)
        for name in ("redirected", "redirected_bytes", "direct", "windows_declined")
    }
    busy = spread([ghost.busy_share for ghost in run.ghosts])
    count = len(run.ghosts)
    out = [
        f"{count} {'ghost' if count == 1 else 'ghosts'} did {quantity(total['redirected'])} "
        f"operations for others ({size(total['redirected_bytes'])}) and "
        f"{'was' if count == 1 else 'were'} busy {share(busy[1], 1)} of the time; "
        f"{quantity(total['direct'])} operations went straight through shared memory."
    ]
    if total["windows_declined"]:
        out.append("Windows that were not made by MPI_Win_allocate got no ghost.")
    return out


def batch_findings(run):
    """Sentences about small operations that went out together."""
    batched, saved = run.cache.get("batched", 0), run.savings["batches"]
    if not batched:
        return []
    out = (
        f"{quantity(batched)} small operations went out as {quantity(run.cache.get('batches', 0))}"
    )
    if not saved.usual:
        return [f"{out}. What that saved is unknown: no price was measured."]
    return [f"{out}, which saved {saved_on_each(saved)}."]


def overlap_findings(run):
    """Sentences about messages under way while the program computed."""
    helped, saved = run.counters.get("overlap_helped", 0), run.savings["overlap"]
    if not helped:
        return []
    out = (
        f"Messages moved during {quantity(helped)} phases of computing "
        f"({quantity(run.counters.get('overlap_alone', 0))} were not helped)"
    )
    return [out + (f", which saved {saved_on_each(saved)}." if saved.usual else ".")]


def stale_sentence(run):
    """What verify found, or None."""
    stale = run.cache.get("verify_failures", 0)
    if not stale:
        return None
    return (
        f"{quantity(stale)} of {quantity(run.cache.get('verified', 0))} cached gets that were "
        "compared differed from their targets' memory. Results of this run may be wrong."
    )


def receives_left(run):
    """Notes that say why receives were not counted."""
    return [note for note in run.notes if note.startswith("Receives were left")]


def _nothing(run):
    """Why there was nothing to gain, in one sentence."""
    gets, remote = run.cache.get("gets", 0), run.remote_gets
    little = [
        SAVED_BY[name][1] for name, saved in run.savings.items() if 0 < saved.usual < WORTH_TELLING
    ]
    if little:
        return (
            f"It saved less than {seconds(WORTH_TELLING)} on each rank, by {' and '.join(little)}."
        )
    if receives_left(run) and not remote:
        return "It has no remote gets, and receives were left to the MPI library (see the notes)."
    if gets and not remote:
        return "None of its gets was remote: they read the process's own memory, or ranks of the same node."
    if run.hits >= WORTH_SAYING * remote > 0:
        return (
            "Its hits saved too little to show: they were few, or fetching was as cheap, or no "
            "wait for a get was measured."
        )
    if remote:
        return "Few of its remote gets could be answered by a cache, and its queues stayed short."
    if run.operations and run.nodes == 1:
        return f"Its {counted(run.operations)} stay on one node."
    if not any(queue.counters.get("receives", 0) for queue in run.queues):
        return "It has no remote gets, and no receives that Hob counts."
    return "It has no remote gets, and its queues stayed short."


def _untold(run):
    """What Hob did whose saving one run does not show, in a sentence for each."""
    out = []
    unpriced = run.cache.get("unpriced_hits", 0)
    if unpriced >= WORTH_SAYING * run.remote_gets > 0:
        out.append(
            f"The cache answered {quantity(unpriced)} gets. What that saved is unknown: "
            "too few waits were measured."
        )
    batched = run.cache.get("batched", 0)
    if batched >= BATCHED_WORTH_SAYING and not run.savings["batches"].usual:
        out.append(
            f"{quantity(batched)} small operations went out together. What that saved is unknown: "
            "no price was measured."
        )
    served = run.served and any(window.kind in ("allocate", "create") for window in run.windows)
    by_requests = "late_ns" in run.cache and run.waits_unseen
    if served and by_requests and run.nodes > 1 and not run.ghosts:
        out.append(
            f"How long the program waited for its {counted(run.served)} was not measured: it waits by "
            "requests. Ghosts serve them where their targets compute."
        )
    if run.redirected:
        out.append(
            f"Ghosts did {quantity(run.redirected)} operations for ranks that may have computed "
            "meanwhile. One run does not show what that saved."
        )
    return out


def _gained(run):
    """The verdict of a run that gained: by the mechanism that saved most, and then by the others."""
    (first, most), *others = run.gains
    also = [SAVED_BY[name][1] for name, _ in others]
    if run.times_faster >= MUCH_FASTER:
        return (
            f"Hob made this run about {number(run.times_faster)} times faster (estimate), "
            f"{'mostly ' if also else ''}by {SAVED_BY[first][1]}"
            + (f", and by {' and '.join(also)}" if also else "")
            + f". The run took {seconds(run.seconds)}."
        )
    what, by = SAVED_BY[first]
    text = f"Hob saved {whom(most)} {saved_amount(most)} of {what}, by {by}"
    for name, saved in others:
        text += f", and {whom(saved)} {saved_amount(saved)} of {SAVED_BY[name][0]}, by {SAVED_BY[name][1]}"
    return (
        f"{text}; the run took {seconds(run.seconds)}. "
        "These are estimates, from costs measured in this run."
    )


def verdict(run):
    """(kind, sentence): what comes first in everything that is said of a run. Kinds: failed (stale
    bytes), cut (it had not ended), gained, perhaps (there is something to try), nothing."""
    stale = stale_sentence(run)
    if stale:
        return "failed", f"FAILED: {stale}"
    if run.off:
        return "nothing", f"Hob was off in this run, which took {seconds(run.seconds)}."
    if not run.ranks:
        return "cut", "No rank wrote its counters: the program did not reach MPI_Finalize."
    if run.gains:
        return "gained", _gained(run)
    if untold := _untold(run):
        return "perhaps", " ".join(untold)
    late = run.late_seconds
    if (
        late >= max(WORTH_TELLING, WORTH_ADVISING * (run.seconds or 0))
        and not run.mostly_batched
        and not run.short_of_cores
    ):
        return "perhaps", (
            f"Nothing gained yet. Each rank waited about {seconds(late)} of "
            f"{seconds(run.seconds)} for targets that did not attend: a ghost may serve them."
        )
    return "nothing", f"Nothing for Hob to do here. {_nothing(run)}"


def _places(run):
    """For example " on 4 nodes"; nothing where there is one."""
    if run.nodes <= 1:
        return ""
    return f" on {run.nodes} nodes" + (
        f" (pretended, on {run.program.get('nodes', 1)} "
        f"{'machine' if run.program.get('nodes', 1) == 1 else 'machines'})"
        if run.pretended
        else ""
    )


def findings(run):
    """What this run showed, most important first."""
    out = [verdict(run)[1]]
    out.append(
        f"{run.rank_count} {'rank' if run.rank_count == 1 else 'ranks'}{_places(run)} ran for "
        f"{seconds(run.seconds)}" + (f" with {run.mpi}." if run.mpi else ".")
    )
    if not run.ranks:
        return out
    if not run.complete:
        out.append(
            "The run had not ended when this was written: the numbers are those of rank 0 until then."
        )
    parts = {
        "cached gets": cache_findings(run),
        "batches": batch_findings(run),
        "message matching": matching_findings(run),
        "overlap": overlap_findings(run),
    }
    for mechanism, _ in sorted(run.savings.items(), key=lambda each: -each[1].usual):
        out += parts[mechanism]
    out += ghost_findings(run)
    cached = spread(run.cache_memory)
    if cached[2] and run.cache.get("gets", 0):
        out.append(
            f"The caches took {size(cached[1])} of memory on the median rank, "
            f"{size(cached[2])} at most."
        )
    return out
