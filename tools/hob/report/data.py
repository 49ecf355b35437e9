"""The JSON of a run, read leniently: a report of a run that was cut short, of one rank or without
windows is still a report."""

import json
import re
import statistics
from dataclasses import dataclass
from pathlib import Path

from hob.where import HobError

# How the gets of a window ended, in the order in which they are stacked: (name, counters that add
# up to it, what it means). The terms are the paper's.
ACCESS_TYPES = (
    ("full hit", ("hits_full",), "all of it came from the cache"),
    ("pending hit", ("hits_pending",), "joined a get that was already under way"),
    ("partial hit", ("hits_partial",), "the beginning came from the cache, the rest was fetched"),
    ("shared hit", ("shared_hits",), "came from what another rank of the node had fetched"),
    ("direct", ("direct",), "fetched for the first time, and kept"),
    ("conflicting", ("conflicting",), "kept after its index slot was freed: the index is small"),
    ("capacity", ("capacity",), "kept after other data was dropped: the storage is small"),
    ("failing", ("failing",), "fetched and not kept"),
    ("own memory", ("own_rank",), "left to the MPI library: from the process's own memory"),
    (
        "near",
        ("bypassed",),
        "left to the MPI library: the target is as fast as a hit, mostly a rank of the same node",
    ),
    (
        "not cached",
        ("short_lived", "not_reused", "uncacheable"),
        "left to the MPI library: copies were dropped too early, large ones did not come back, or "
        "may not be kept (atomic reads, types, an accelerator's memory)",
    ),
)


# Seconds on each rank: less is no gain to speak of.
WORTH_TELLING = 1e-3


def merge_counts(histograms):
    """The sum of log2 histograms of possibly different lengths."""
    total = []
    for histogram in histograms:
        counts = histogram.get("counts", [])
        total += [0] * (len(counts) - len(total))
        for i, count in enumerate(counts):
            total[i] += count
    while total and total[-1] == 0:
        total.pop()
    return total


def add_counters(groups):
    """The sum of counter groups; what is no number is left out."""
    total = {}
    for group in groups:
        for name, value in (group or {}).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                total[name] = total.get(name, 0) + value
    return total


def access_counts(counters):
    """[count for each of ACCESS_TYPES]. An extended partial hit was counted as direct as well, and a get
    of the own memory as uncacheable."""
    counts = [sum(counters.get(name, 0) for name in names) for _, names, _ in ACCESS_TYPES]
    kinds = [name for name, _, _ in ACCESS_TYPES]
    for kind, twice in (("direct", "extended"), ("not cached", "own_rank")):
        at = kinds.index(kind)
        counts[at] = max(0, counts[at] - counters.get(twice, 0))
    return counts


@dataclass(frozen=True)
class Saved:
    """Seconds that something saved on each rank, by an estimate, and the ends of its range."""

    least: float
    usual: float
    most: float
    by_rank: tuple = ()  # usual

    @staticmethod
    def of(ranks):
        """From [(least, usual, most)] of each rank."""
        count = max(len(ranks), 1)
        least, usual, most = (sum(rank[i] for rank in ranks) / count for i in range(3))
        return Saved(least, usual, most, tuple(rank[1] for rank in ranks))


def _saved_by_rank(rank, part, name):
    """(least, usual, most) in seconds, of the windows or queues of a rank, or of itself."""
    parts = [each.get("counters") for each in rank.get(part) or []] if part else []
    counters = add_counters(parts if part else [rank.get("counters")])
    stem, unit = (name[:-3], "_ns") if name.endswith("_ns") else (name, "")
    usual = counters.get(name, 0)
    least, most = (counters.get(f"{stem}_{end}{unit}", usual) for end in ("least", "most"))
    return least * 1e-9, usual * 1e-9, most * 1e-9


class Window:
    """One window over all ranks that opened it."""

    def __init__(self, number, parts):
        self.number = number
        self.parts = parts  # [(rank, that rank's entry), ...]
        first = parts[0][1]
        self.name = first.get("name") or f"window {number}"
        self.kind = first.get("kind", "")
        self.modes = sorted({part.get("mode", "") for _, part in parts} - {""})
        self.reasons = sorted({part.get("mode_reason", "") for _, part in parts} - {""})
        self.stages = max((part.get("stages", []) for _, part in parts), key=len)
        self.bytes = sum(part.get("bytes", 0) for _, part in parts)
        self.counters = add_counters(part.get("counters") for _, part in parts)

    @property
    def gets(self):
        return self.counters.get("gets", 0)

    def histogram(self, name):
        return merge_counts(part.get("histograms", {}).get(name, {}) for _, part in self.parts)

    def busiest(self, series):
        """(rank, points) of the rank whose series is there and which issued the most gets."""
        with_series = [
            (part.get("counters", {}).get("gets", 0), -rank, part["series"][series])
            for rank, part in self.parts
            if part.get("series", {}).get(series)
        ]
        if not with_series:
            return None
        _, rank, points = max(with_series, key=lambda one: one[:2])
        return -rank, points


class Queue:
    """The two matching queues of one communicator, over all ranks."""

    def __init__(self, name, parts):
        self.name = name
        self.counters = add_counters(part.get("counters") for part in parts)
        self.parts = parts

    def longest(self, name):
        """The greatest value of a counter on any rank."""
        return max((part.get("counters", {}).get(name, 0) for part in self.parts), default=0)

    def histogram(self, name):
        return merge_counts(part.get("histograms", {}).get(name, {}) for part in self.parts)


class Run:
    """One run of a program."""

    def __init__(self, document):
        self.document = document
        self.program = document.get("program") or {}
        self.hob = document.get("hob") or {}
        # MPICH's own text for itself is "MPICH Version:      5.0.2".
        self.mpi = re.sub(r"\s*Version:\s*", " ", str(self.hob.get("mpi", ""))).strip()
        self.settings = document.get("settings") or {}
        self.notes = [str(note) for note in document.get("notes") or []]
        self.ranks = document.get("ranks") or []
        self.rank_count = self.program.get("ranks", len(self.ranks))
        self.seconds = self.program.get("seconds")
        # What the MPI library takes for nodes may be more than machines.
        self.pretended = self.program.get("pretended_nodes", 0)
        self.nodes = max(self.program.get("nodes", 1), self.pretended)
        # Else it had not ended when rank 0 wrote what it alone knew.
        self.complete = self.program.get("complete", True)
        self.counters = add_counters(rank.get("counters") for rank in self.ranks)
        self.memory = [rank.get("memory_bytes", 0) for rank in self.ranks]
        self.cache_memory = [
            add_counters(window.get("counters") for window in rank.get("windows") or []).get(
                "cache_memory", 0
            )
            for rank in self.ranks
        ]
        self.windows = self._windows()
        self.queues = self._queues()
        self.cache = add_counters(window.counters for window in self.windows)
        # What each rank had done by ghosts, and the ghosts, as one rank of each node reports them.
        self.origins = [rank.get("ghost") or {} for rank in self.ranks]
        self.ghosts = [
            Ghost(origin.get("node", 0), rank.get("host", ""), entry)
            for rank, origin in zip(self.ranks, self.origins)
            for entry in origin.get("ghosts") or []
        ]

    def _windows(self):
        parts = {}
        for index, rank in enumerate(self.ranks):
            for window in rank.get("windows") or []:
                number = window.get("id", 0)
                parts.setdefault(number, []).append((rank.get("rank", index), window))
        found = [Window(number, group) for number, group in parts.items()]
        return sorted(found, key=lambda window: (-window.gets, window.number))

    def _queues(self):
        parts = {}
        for rank in self.ranks:
            for queue in rank.get("queues") or []:
                parts.setdefault(queue.get("comm", "?"), []).append(queue)
        return [Queue(name, group) for name, group in parts.items()]

    @property
    def command(self):
        words = self.program.get("command") or []
        return words if isinstance(words, str) else " ".join(words)

    @property
    def drops(self):
        """[(call, times, bytes)]: which calls made the caches forget, those that cost most first."""
        sums = {}
        for window in self.windows:
            for _, part in window.parts:
                for drop in part.get("drops") or []:
                    times, lost = sums.get(drop.get("call", "?"), (0, 0))
                    sums[drop.get("call", "?")] = (
                        times + drop.get("times", 0),
                        lost + drop.get("bytes", 0),
                    )
        return sorted(
            ((call, times, lost) for call, (times, lost) in sums.items()),
            key=lambda row: (-row[2], row[0]),
        )

    @property
    def savings(self):
        """{mechanism: Saved} by Hob's own estimates; nothing where none was made."""
        groups = {
            "cached gets": ("windows", "saved_ns"),
            "batches": ("windows", "batch_saved_ns"),
            "message matching": ("queues", "saved_ns"),
            "overlap": (None, "overlap_saved"),
        }
        found = {}
        for mechanism, (part, name) in groups.items():
            ranks = [_saved_by_rank(rank, part, name) for rank in self.ranks]
            if mechanism == "overlap" and ranks:
                # Ranks wait for each other: what one of them waits less it may wait later.
                ranks = [min(ranks, key=lambda each: each[1])] * len(ranks)
            found[mechanism] = Saved.of(ranks)
        return found

    @property
    def gains(self):
        """[(mechanism, Saved)] of those worth telling, the greatest first."""
        told = [each for each in self.savings.items() if each[1].usual >= WORTH_TELLING]
        return sorted(told, key=lambda each: -each[1].usual)

    @property
    def saved_seconds(self):
        """What a rank saved by gets answered from the cache."""
        return self.savings["cached gets"].usual

    @property
    def match_saved_seconds(self):
        """Likewise, by searches of long queues that Hob did in the library's place."""
        return self.savings["message matching"].usual

    @property
    def times_faster(self):
        """The run against the same without Hob, by these estimates: the rank that gained most would
        have needed so much longer."""
        gained = max(
            (
                sum(each.by_rank[i] for each in self.savings.values())
                for i in range(len(self.ranks))
            ),
            default=0,
        )
        return (self.seconds + gained) / self.seconds if self.seconds else 1.0

    @property
    def late_seconds(self):
        """What a rank waited for targets that did not attend to its operations."""
        return self.cache.get("late_ns", 0) * 1e-9 / max(len(self.ranks), 1)

    @property
    def core_waits_seconds(self):
        """What the main thread of a rank waited for a core that others had."""
        return self.counters.get("core_waits_ns", 0) * 1e-9 / max(len(self.ranks), 1)

    @property
    def short_of_cores(self):
        """Whether waits for targets are likely waits for cores: ranks waited as long for these, or half."""
        return self.core_waits_seconds >= self.late_seconds / 2 > 0

    def full_hosts(self):
        """{host: (ranks, processors)} of hosts that have no processor more than they have ranks; None
        where the run does not say which processors its ranks may use."""
        hosts = {}
        for rank in self.ranks:
            if "cpus" not in rank:
                return None
            ranks, cpus = hosts.setdefault(rank.get("host", ""), ([], set()))
            ranks.append(rank)
            cpus |= processors(rank["cpus"])
        return {
            host: (len(ranks), len(cpus))
            for host, (ranks, cpus) in hosts.items()
            if len(cpus) <= len(ranks)
        }

    @property
    def taken_over(self):
        """Receives that waited in Hob's queues, and messages that it matched."""
        return sum(
            queue.counters.get(name, 0) for queue in self.queues for name in ("in_prq", "dequeued")
        )

    @property
    def off(self):
        """Whether Hob passed every call on: then nothing but the time was written."""
        return self.setting("off") == "on"

    @property
    def near_gets(self):
        """(of the own memory, of targets as near as that)."""
        return self.cache.get("own_rank", 0), self.cache.get("bypassed", 0)

    @property
    def remote_gets(self):
        """Those that may have needed the network."""
        return max(self.cache.get("gets", 0) - sum(self.near_gets), 0)

    @property
    def mostly_batched(self):
        """Whether waits are those for batches: they are long since a target applies many operations."""
        names = ("puts", "accumulates", "atomics", "native_gets")
        return self.cache.get("batched", 0) > sum(self.cache.get(name, 0) for name in names) / 2

    @property
    def operations(self):
        """{kind: count} of the one-sided operations that are no gets."""
        counts = {name: self.cache.get(name, 0) for name in ("puts", "accumulates", "atomics")}
        return {name: count for name, count in counts.items() if count}

    @property
    def served(self):
        """{kind: count} of the one-sided operations that need their target's MPI library."""
        fetched = self.cache.get("native_gets", 0) - sum(self.near_gets)
        return {**self.operations, **({"gets": fetched} if fetched > 0 else {})}

    @property
    def waits_unseen(self):
        """Whether the program waits for these by requests, which Hob does not time."""
        requested = self.cache.get("requested", 0) - self.cache.get("own_rank", 0)
        total, waits = sum(self.served.values()), self.cache.get("waits", 0)
        return "late_ns" not in self.cache or (requested > total / 2 and waits < total / 100)

    @property
    def redirected(self):
        """Operations that ranks gave to ghosts."""
        return sum(origin.get("redirected", 0) for origin in self.origins)

    @property
    def ahead_used_bytes(self):
        """Of the bytes that were fetched ahead, those that were asked for later, at most. They are counted by
        64ths of a block, which may be more than were fetched, or than came from the cache."""
        names = ("ahead_used_bytes", "ahead_bytes", "bytes_from_cache")
        return min(self.cache.get(name, 0) for name in names)

    @property
    def hits(self):
        return sum(
            self.cache.get(name, 0)
            for name in ("hits_full", "hits_pending", "hits_partial", "shared_hits")
        )

    def setting(self, key):
        """What a setting was; None where the report does not say."""
        return (self.settings.get(key) or {}).get("value")

    def changed_settings(self):
        """[(key, value, from)] of settings that are not at their defaults."""
        return [
            (key, entry.get("value"), entry.get("from"))
            for key, entry in self.settings.items()
            if isinstance(entry, dict) and entry.get("from", "default") != "default"
        ]


class Ghost:
    """One ghost, as a rank of its node reports it."""

    def __init__(self, node, host, entry):
        self.node, self.host = node, host
        self.number = entry.get("ghost", 0)
        self.counters = {
            name: value
            for name, value in add_counters([entry]).items()
            if name not in ("ghost", "domain", "application_ranks")
        }
        timeline = entry.get("timeline") or {}
        self.interval = timeline.get("bucket_us", 0) * 1e-6
        self.busy = (
            [min(1.0, busy * 1e-6 / self.interval) for busy in timeline.get("busy_us", [])]
            if self.interval
            else []
        )

    @property
    def busy_share(self):
        lived = self.counters.get("lived_ms", 0)
        return self.counters.get("busy_ms", 0) / lived if lived else 0.0


def load(path):
    """The Run in a file that Hob wrote."""
    try:
        document = json.loads(Path(path).read_text())
    except OSError as error:
        raise HobError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise HobError(f"{path} is no JSON of Hob, nor any other text") from error
    except (ValueError, RecursionError) as error:
        raise HobError(
            f"{path} is no JSON of Hob ({error}); did the run end before it was written?"
        ) from error
    if not isinstance(document, dict) or "hob" not in document:
        raise HobError(f"{path} was not written by Hob (HOB_JSON, or hob run --json)")
    return Run(document)


def processors(text):
    """{0, 1, 2, 3, 8} of "0-3,8"."""
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def mean_of_log2(counts):
    """The mean of a log2 histogram, taking the middle of each class."""
    total = sum(counts)
    if total == 0:
        return 0.0
    middles = [0.0] + [1.5 * 2 ** (k - 1) if k > 1 else 1.0 for k in range(1, len(counts))]
    return sum(count * middle for count, middle in zip(counts, middles)) / total


def spread(values):
    """(least, median, greatest)."""
    return (min(values), statistics.median(values), max(values)) if values else (0, 0, 0)
