"""Numbers and findings as a person would say them."""

import math

from hob.report.data import mean_of_log2, spread

# Share of the time that waiting for computing targets takes before ghosts are advised.
WORTH_ADVISING = 0.02
# Seconds on each rank: less is no gain to speak of.
WORTH_TELLING = 1e-3
# A saving that is as long as the run, or longer, is told as so many times faster.
MUCH_FASTER = 2.0
# What was saved, and by what.
SAVED_BY = {
    "cached gets": ("waiting", "gets that the cache answered"),
    "batches": ("communication", "small operations that went out together"),
    "message matching": ("searching long queues", "messages that Hob matched"),
    "overlap": ("waiting", "messages that moved while the program computed"),
}
# Share of the gets that hits must reach to be spoken of where nothing was gained.
WORTH_SAYING = 0.05


def number(value):
    """Three digits that count, and never an exponent: 1093.7 -> '1,090', 0.00012345 -> '0.000123'."""
    if not value:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(value)))
    text = f"{round(value, decimals):,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def brief(text, most=54):
    """For a title: the beginning, where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quantity(value):
    """1234567 -> '1.23 million'."""
    for unit, scale in (("billion", 1e9), ("million", 1e6)):
        if abs(value) >= scale:
            return f"{number(value / scale)} {unit}"
    if isinstance(value, float) and abs(value) < 1000:
        return number(value)
    return f"{value:,.0f}"


def size(value):
    """1536 -> '1.5 KiB'."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= scale:
            return f"{number(value / scale)} {unit}"
    return f"{value:.0f} B"


def seconds(value):
    if value is None:
        return "unknown"
    if value >= 7200:
        return f"{value / 3600:,.0f} h"
    if value >= 120:
        return f"{number(value / 60)} min"
    return f"{number(value)} s" if value >= 0.9995 else f"{number(value * 1e3)} ms"


# As src/report/saved.cpp has it.
CLOSE, NOTHING, MORE = 1.5, 0.1, 1.5


def saved_amount(saved):
    """'about 148 ms', '310 to 620 ms', 'up to 2 ms', 'at least 3 ms' of a Saved."""
    if saved.most < saved.usual:
        return f"at least {seconds(saved.usual)}"
    if saved.most <= CLOSE * saved.least or saved.most <= 0:
        return f"about {seconds(saved.usual)}"
    if saved.least < NOTHING * saved.most:
        return f"up to {seconds(saved.most)}"
    low, high = seconds(saved.least), seconds(saved.most)
    unit = low.rpartition(" ")[2]
    return f"{low.rpartition(' ')[0] if high.endswith(' ' + unit) else low} to {high}"


def saved_on_each(saved):
    """'about 148 ms on each rank (rank 0 gained most: about 296 ms)'."""
    text = f"{saved_amount(saved)} on each rank"
    most = max(saved.by_rank, default=0)
    if most > MORE * saved.usual:
        text += f" (rank {saved.by_rank.index(most)} gained most: about {seconds(most)})"
    return text


def share(part, whole):
    """As per cent; the ends only where they are exact."""
    if not whole:
        return "0%"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "less than 0.1%"
    if 99.9 < percent < 100:
        return "more than 99.9%"
    return f"{number(percent)}%"


def cache_findings(run):
    """Sentences about the cached gets of a run."""
    counters = run.cache
    gets = counters.get("gets", 0)
    if not run.windows:
        return ["The program opened no window, so there was nothing to cache."]
    alone = counters.get("bypassed", 0) + counters.get("uncacheable", 0)
    if gets and alone >= 0.99 * gets:
        return [
            f"The program issued {quantity(gets)} gets. They went straight to the MPI library: "
            "fetching was as cheap as a copy from a cache, or a copy was not allowed."
        ]
    if not gets:
        return ["The program's windows saw no remote gets, so there was nothing to cache."]
    out = []
    out += [
        f"Of {quantity(run.remote_gets)} remote gets, {quantity(run.hits)} ({share(run.hits, run.remote_gets)}) "
        f"were answered by the cache; {size(counters.get('bytes_from_cache', 0))} did not cross "
        f"the network, {size(counters.get('bytes_from_network', 0))} did."
    ]
    if run.drops:
        out.append(
            "What was cached was dropped where the program may have learned of others' writes: "
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
            f"{size(counters.get('ahead_used_bytes', 0))} of that was asked for later, which "
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
    if poor["capacity and failing"] > 0.05 * gets:
        out.append(
            f"{share(poor['capacity and failing'], gets)} of the gets found the storage full: "
            "a larger cache_size or cache_max would answer more."
        )
    if poor["conflicting"] > 0.05 * gets:
        out.append(
            f"{share(poor['conflicting'], gets)} of the gets found the index full: "
            "a larger cache_index would answer more."
        )
    if not any(value > 0.05 * gets for value in poor.values()) and run.hits < 0.3 * gets:
        out.append("Most gets fetched something for the first time: no cache can answer those.")
    return out


def matching_findings(run):
    """Sentences about the queues."""
    out = []
    for queue in run.queues:
        posted, arrived = queue.histogram("prq_depth"), queue.histogram("umq_depth")
        if not sum(posted) + sum(arrived):
            continue
        out.append(
            f"On {queue.name}, a plain list would have been searched through "
            f"{number(mean_of_log2(posted))} posted receives for a message and "
            f"{number(mean_of_log2(arrived))} waiting messages for a receive on average; the queues "
            f"grew to {quantity(queue.longest('prq_max'))} and "
            f"{quantity(queue.longest('umq_max'))} entries."
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
        if run.late_seconds < max(1e-3, WORTH_ADVISING * (run.seconds or 0)):
            return []
        return [
            f"About {seconds(run.late_seconds)} on each rank was waiting for targets that computed, "
            "held a lock, or had no core: ghosts may serve them (hob run --ghosts 1)."
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


def stale_sentence(run):
    """What verify found, or None."""
    stale = run.cache.get("verify_failures", 0)
    if not stale:
        return None
    return (
        f"{quantity(stale)} of {quantity(run.cache.get('verified', 0))} cached gets that were "
        "compared differed from their targets' memory. Results of this run may be wrong."
    )


def _nothing(run):
    """Why there was nothing to gain, in one sentence."""
    gets = run.cache.get("gets", 0)
    alone = run.cache.get("bypassed", 0) + run.cache.get("uncacheable", 0)
    if any(note.startswith("Receives were left") for note in run.notes) and not gets:
        return "It has no remote gets, and receives were left to the MPI library (see the notes)."
    if not gets and not any(queue.counters.get("receives", 0) for queue in run.queues):
        return "The program made no remote gets and received no messages that Hob counts."
    if gets and alone >= 0.95 * gets:
        return "Its gets go where fetching is as cheap as a copy out of a cache."
    if run.hits >= WORTH_SAYING * gets > 0:
        return (
            "Its hits saved less than can be told: they were few, or fetching was as cheap, or no "
            "wait for a get was measured."
        )
    if gets:
        return "Few of its gets could be answered by a cache, and its queues stayed short."
    return "It has no remote gets, and its queues stayed short."


def verdict(run):
    """(kind, sentence): what comes first in everything that is said of a run. Kinds: failed (stale
    bytes), cut (it had not ended), gained, perhaps (there is something to try), nothing."""
    stale = stale_sentence(run)
    if stale:
        return "failed", f"FAILED: {stale}"
    if not run.ranks:
        return "cut", "No rank wrote its counters: the program did not reach MPI_Finalize."
    gains = {
        SAVED_BY[mechanism]: saved
        for mechanism, saved in run.savings.items()
        if saved.usual >= WORTH_TELLING
    }
    if gains and run.times_faster >= MUCH_FASTER:
        return "gained", (
            f"Hob made this run about {number(run.times_faster)} times faster (estimate), by "
            f"{' and '.join(by for _, by in gains)}. The run took {seconds(run.seconds)}."
        )
    if gains:
        what = " and ".join(
            f"{saved_amount(saved)} of {what}, by {by}" for (what, by), saved in gains.items()
        )
        return "gained", (
            f"Hob saved each rank {what}; the run took {seconds(run.seconds)}. "
            "These are estimates, from costs measured in this run."
        )
    if run.cache.get("unpriced_hits", 0) >= WORTH_SAYING * run.cache.get("gets", 0) > 0:
        return "perhaps", (
            f"What {quantity(run.cache['unpriced_hits'])} gets that the cache answered saved cannot be told: "
            "too few waits were measured. Compare with a run without Hob (hob advise --measure)."
        )
    done = sum(origin.get("redirected", 0) for origin in run.origins)
    if done:
        return "perhaps", (
            f"Ghosts did {quantity(done)} operations for ranks that may have computed meanwhile. "
            "What that saved cannot be told from one run: compare with a run without ghosts "
            "(hob advise --measure)."
        )
    if run.late_seconds >= max(WORTH_TELLING, WORTH_ADVISING * (run.seconds or 0)):
        return "perhaps", (
            f"Nothing gained yet. Each rank waited about {seconds(run.late_seconds)} of "
            f"{seconds(run.seconds)} for targets that did not attend: a ghost may serve them "
            "(hob run --ghosts 1)."
        )
    return "nothing", f"Nothing for Hob to do here. {_nothing(run)}"


def findings(run):
    """What this run showed, most important first."""
    out = [verdict(run)[1]]
    out.append(
        f"{run.rank_count} {'rank' if run.rank_count == 1 else 'ranks'}"
        + (f" on {run.program['nodes']} nodes" if run.program.get("nodes", 1) > 1 else "")
        + f" ran for {seconds(run.seconds)}"
        + (f" with {run.mpi}." if run.mpi else ".")
    )
    if not run.ranks:
        return out
    if not run.complete:
        out.append(
            "The run had not ended when this was written: the numbers are those of rank 0 until then."
        )
    out += cache_findings(run) + ghost_findings(run) + matching_findings(run)
    cached = spread(run.cache_memory)
    if cached[2]:
        out.append(
            f"The caches took {size(cached[1])} of memory on the median rank, "
            f"{size(cached[2])} at most."
        )
    return out
