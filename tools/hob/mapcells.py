"""The cells of `hob bench map`: which calls, sizes, orders, completions, places and thread levels there are, and how
each is measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

SIZES = (8, 512, 4096, 65536, 1 << 20)
ORDERS = ("order", "random")
REUSES = ("never", "sometimes", "always")
COMPLETIONS = ("flush", "burst", "request", "fence", "pscw", "lock")
PLACES = ("own", "node", "tcp")
# Of these, completing an epoch drops copies: what is used again within one epoch is the same as always.
EPOCHS = ("fence", "pscw", "lock")
MESSAGES = (
    "pingpong",
    "sendrecv",
    "exchange",
    "persistent",
    "stream",
    "wildcard",
    "polled",
    "probe",
)
COLLECTIVES = ("barrier", "bcast", "allreduce", "alltoall", "iallreduce", "ialltoall")
DEPTHS = (64, 1024, 4096)

# A guess at what one operation takes, from which its number follows; the measured times do not depend on it.
# Nanoseconds for an operation of each completion, and bytes a nanosecond.
LATENCY = {
    "node": {"flush": 150, "burst": 120, "request": 200, "fence": 400, "pscw": 400, "lock": 400},
    "tcp": {
        "flush": 9000,
        "burst": 2500,
        "request": 9000,
        "fence": 4000,
        "pscw": 6000,
        "lock": 25000,
    },
}
MESSAGE_LATENCY = {"node": 800, "tcp": 10000}
RATE = {"node": 6.0, "tcp": 1.0}
FEWEST, MOST = 256, 400_000


@dataclass(frozen=True)
class Cell:
    """One combination; words that mean nothing for its operation are empty."""

    kind: str  # one-sided | message | collective
    op: str
    size: int  # bytes
    place: str  # of the target: own | node | tcp
    completion: str = ""
    order: str = ""
    reuse: str = ""
    threads: str = "single"
    depth: int = 0

    def name(self):
        words = [self.op, f"{self.size} B", self.completion, self.order, self.reuse, self.place]
        words += [f"depth {self.depth}"] if self.depth else []
        words += [] if self.threads == "single" else ["many threads"]
        return ", ".join(word for word in words if word)

    def setup(self):
        """The set-up of benchlib in which it is measured."""
        return "node" if self.place == "node" else "remote"

    def program(self):
        return "map_rma" if self.kind == "one-sided" else "map_messages"

    def count(self, seconds):
        """How many operations take about `seconds`."""
        network = "tcp" if self.place == "tcp" else "node"
        if self.kind == "one-sided":
            latency = LATENCY[network][self.completion]
        else:
            latency = MESSAGE_LATENCY[network] * (1 + self.depth / 1000)
        guess = seconds * 1e9 / (latency + self.size / RATE[network])
        return int(min(MOST, max(FEWEST, guess)))

    def words(self, seconds):
        """The arguments of its program."""
        out = [f"op={self.op}", f"size={self.size}", f"threads={self.threads}"]
        out += [f"count={self.count(seconds)}"]
        if self.completion:
            out.append(f"completion={self.completion}")
        if self.kind == "one-sided":
            out += [f"order={self.order}", f"reuse={self.reuse}"]
            out.append(f"target={0 if self.place == 'own' else 1}")
        if self.depth:
            out.append(f"depth={self.depth}")
        return out

    def values(self):
        return asdict(self)


KEYS = tuple(field.name for field in fields(Cell))


def _one_sided() -> Iterator[Cell]:
    for place in PLACES:
        for completion in COMPLETIONS:
            reuses = ("never", "always") if completion in EPOCHS else REUSES
            for size in SIZES:
                for order in ORDERS:
                    for reuse in reuses:
                        yield Cell("one-sided", "get", size, place, completion, order, reuse)
                yield Cell("one-sided", "put", size, place, completion, "order", "never")
                yield Cell("one-sided", "accumulate", size, place, completion, "order", "always")
            if completion != "request":
                yield Cell("one-sided", "fetch_and_op", 8, place, completion, "order", "always")
        for completion in ("flush", "request"):
            for size in (8, 4096):
                for reuse in ("never", "always"):
                    yield Cell(
                        "one-sided", "get", size, place, completion, "random", reuse, "multiple"
                    )
                yield Cell(
                    "one-sided", "put", size, place, completion, "order", "never", "multiple"
                )


def _messages() -> Iterator[Cell]:
    for place in PLACES[1:]:
        for size in SIZES:
            for op in MESSAGES:
                ways = ("wait", "test", "waitall", "waitsome")
                for way in ways if op in ("exchange", "persistent") else ("",):
                    yield Cell("message", op, size, place, way)
        for depth in DEPTHS:
            yield Cell("message", "deep", 8, place, depth=depth)
            yield Cell("message", "shuffled", 8, place, depth=depth)
        for op in ("pingpong", "exchange", "stream"):
            yield Cell(
                "message", op, 8, place, "waitall" if op == "exchange" else "", threads="multiple"
            )


def _collectives() -> Iterator[Cell]:
    for place in PLACES[1:]:
        for op in COLLECTIVES:
            for size in (8,) if op == "barrier" else SIZES:
                yield Cell("collective", op, size, place)


def cells():
    """All of them."""
    return [*_one_sided(), *_messages(), *_collectives()]


def quick(cell):
    """Whether a cell belongs to the quick map: a coarse sample of every kind."""
    if cell.kind == "one-sided":
        # Where half of the copies are used, and a copy takes much of what a get does.
        if (cell.completion, cell.reuse) == ("burst", "sometimes"):
            return (cell.op, cell.place, cell.size, cell.order) == ("get", "tcp", 65536, "random")
        return (
            cell.size in (8, 4096, 65536)
            and cell.completion in ("flush", "request", "fence")
            and cell.order in ("random", "order")[: 1 if cell.op == "get" else 2]
            and cell.reuse != "sometimes"
            and (cell.threads == "single" or cell.completion == "flush")
        )
    if cell.kind == "message":
        return cell.size in (8, 65536) and cell.completion in ("", "waitall")
    return cell.size in (8, 65536) and cell.op in ("barrier", "allreduce", "iallreduce")


# Settings that could be better than the default, by kind; each is one more variant of a cell.
SETTINGS = {
    "one-sided": (
        {"cache": "off"},
        {"readahead": "off"},
        {"batch": "off"},
        {"cache_stores": "none"},
    ),
    "message": ({"match": "never"}, {"match": "always"}, {"overlap": "auto"}, {"overlap": "off"}),
    "collective": ({"overlap": "auto"}, {"overlap": "off"}),
}


def chosen(only, candidates):
    """Those that `only` names: {key: set of allowed values as text}."""
    return [
        cell
        for cell in candidates
        if all(str(cell.values()[key]) in allowed for key, allowed in only.items())
    ]
