"""One program as it is run and judged."""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Program:
    name: str
    origin: str  # public source and revision, or the Debian package
    what: str  # what it asks of MPI, in a few words
    mechanism: str  # cache, batches, matching, ghosts, or none where there is nothing to gain
    executable: str  # looked for under --programs, then on the PATH
    arguments: tuple = ()
    mpi: str = "mpich5"
    setup: str = "remote"
    ranks: int = 2
    environment: dict = field(default_factory=dict)
    with_hob: dict = field(default_factory=dict)  # environment that is another with Hob
    inputs: dict = field(default_factory=dict)  # name: content of files it reads, or what makes it
    answers: str = ""  # lines that match must be the same in every run; empty: exit status alone
    checked: str = ""  # how far its answer is known where it prints none: what its row says then
    answer_files: str = ""  # a file (pattern) in which answers are, beside stdout
    seconds: str = ""  # the first group is the time that the program reports; empty: the whole job
    rate: bool = False  # the figure is a rate: more is better
    figures: str = ""  # a file (pattern) in which the program writes its times, in place of stdout
    settings: dict = field(default_factory=dict)  # Hob's settings beyond the defaults
    ghosts: int = 0  # more processes for each node
    repeats: int = 0  # runs of each variant, at least
    at_least: float = 0.0  # ratio plain / Hob that must be reached; 0: only shown
    ideal: str = ""  # the first group is the time that cannot be beaten, as the program says
    within: float = 0.0  # times the ideal that it may take with Hob
    beside_always: float = 0.0  # of what `always` gains, what the defaults must reach
    unbatched: float = 0.0  # ratio plain / Hob with batch=off that must be reached; 0: not run so
    overlap: float = 0.0  # ratio plain / Hob with overlap=on and no ghosts that must be reached
    overlap_within: float = 0.0  # times the ideal that it may take so
    reason: str = ""  # why it gains no more, as its profile says
    fails: str = ""  # how it ends without Hob, where that is not well: it is not run then

    def answer(self, output):
        """What must be the same with Hob as without."""
        if not self.answers:
            return []
        found = re.findall(self.answers, output, re.MULTILINE)
        return [" ".join(one.split()) for one in found]

    def figure(self, output):
        """The time (or rate) that the program itself reports, or None. The median of several."""
        return self._median(self.seconds, output)

    def best(self, output):
        """The time that cannot be beaten, or None."""
        return self._median(self.ideal, output)

    @staticmethod
    def _median(pattern, output):
        if not pattern:
            return None
        found = sorted(float(one) for one in re.findall(pattern, output, re.MULTILINE))
        return found[len(found) // 2] if found else None
