"""The one thing to try after a run, with the command that checks it."""

import shlex
from dataclasses import dataclass

from hob.report.advice import ORDER, advise
from hob.report.sentences import stale_sentence
from hob.report.words import seconds

# Settings that promise something of the program, in which a run cannot see whether that is true.
PROMISES = ("cache=always",)
# Settings that say where a run writes, or belong to one kind of run.
NOT_REPEATED = ("json", "json_command", "report", "ghosts", "off", "trace")


@dataclass
class Step:
    sentence: str
    command: str = ""


def ranked(advices):
    """The most important verdict first; of one verdict, the greatest saving."""
    return sorted(advices, key=lambda one: (ORDER.index(one.verdict), -one.saves))


def as_option(setting):
    """As it is typed after `hob run`."""
    return f"--ghosts {setting[7:]}" if setting.startswith("ghosts=") else f"--set {setting}"


def _again(run, command, *more):
    """A command of hob for the same program, at the same places and with the same settings."""
    words = ["hob", command, "-n", str(run.rank_count)]
    if run.pretended and run.pretended == run.rank_count:
        words.append("--remote")
    elif run.nodes > 1 and not run.pretended:
        words += ["--nodes", str(run.nodes)]
    if run.setting("ghosts") not in (None, "0"):
        words += ["--ghosts", str(run.setting("ghosts"))]
    for key, value, _ in run.changed_settings():
        if key not in NOT_REPEATED:
            words += ["--set", f"{key}={value}"]
    program = run.program.get("command") or ["./app"]
    return shlex.join([*words, *more, *([program] if isinstance(program, str) else program)])


def next_step(run, advices=None):
    """The Step after a run; None where there is none."""
    if stale_sentence(run):
        mode = run.setting("cache")
        if mode in ("always", "user"):
            return Step(f"Leave cache={mode} out: its promise does not hold for this program.")
        return Step("Set cache=off, and report this: no legal MPI program may see it.")
    if run.off:
        return None
    if not run.ranks:
        program = (run.command or "./app").split(" ")[0]
        return Step("Look whether Hob can work for this program:", f"hob doctor {program}")
    advices = ranked(advise(run) if advices is None else advices)
    at_work = any(
        one.verdict in ("helps", "in use")
        or (one.verdict == "not measured" and one.mechanism != "message matching")
        for one in advices
    )
    trials = [one for one in advices if one.settings]
    safe = [one for one in trials if not set(one.settings) & set(PROMISES)]
    best = max(safe, key=lambda one: one.saves, default=None)
    # Where something is at work already, what may gain nothing is not the first thing to try.
    if best and (best.saves or best.verdict != "may help" or not at_work):
        gain = (
            f", which may save up to {seconds(best.saves / run.rank_count)} on each rank"
            if best.saves and best.verdict == "may help" and run.rank_count
            else ""
        )
        return Step(
            f"Try {' '.join(map(as_option, best.settings))}{gain}. This compares it with runs without "
            "Hob and with Hob, in turns:",
            _again(run, "run", *" ".join(map(as_option, best.settings)).split(), "--measure"),
        )
    if at_work:
        return Step(
            "Check what the program as a whole gains. This runs it without Hob and with it, in turns:",
            _again(run, "run", "--measure"),
        )
    if trials:
        (promise, *_), *_ = (one.settings for one in trials)
        return Step(
            f"If no process writes to the windows after the first get, try {promise}, which keeps copies. This "
            "fetches each hit again, and says whether one differs:",
            _again(run, "run", *as_option(promise).split(), "--verify", "1"),
        )
    if run.nodes == 1 and (run.near_gets[1] or run.operations) and not run.remote_gets:
        return Step(
            "Ask again on several nodes. With MPICH, this takes each rank for a node, on one machine:",
            _again(run, "advise", "--remote"),
        )
    return Step("Nothing to try: run this program without Hob.")
