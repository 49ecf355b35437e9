"""`hob advise`: one run, and what it says about each mechanism."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from hob import run as runner
from hob.measure import measure
from hob.report.advice import advise
from hob.report.data import Saved, load
from hob.report.facts import facts_of, write_json
from hob.report.next_step import PROMISES, as_option, next_step, ranked
from hob.report.sentences import stale_sentence, verdict
from hob.report.words import MUCH_FASTER, number, saved_on_each, seconds
from hob.where import HobError

DESCRIPTION = """Runs a program once with Hob (or reads the JSON of such a run) and says of each mechanism that the
program may have a use for - cached gets, batches, ghosts, message matching, overlap - whether it helps,
with which settings, and about what it saves."""

EPILOG = """examples:
  hob advise -n 4 ./app            one run
  hob advise -n 4 --measure ./app  and hob run --measure, for each advice too
  hob advise --from out.json       no run: what an earlier one wrote (hob run --json)
  hob advise -n 4 --json - ./app   for scripts: the advice as JSON; the program prints on standard error

Savings are estimates: the trips and list entries that a run did not have to pay for, times what one
costs. What a trip costs is measured in the run, unless --get-us says it. What the program as a whole
gains, --measure shows, and `hob run --measure` without advice.

Exit status: 0; 2: no advice, one line says why; 86: --verify found stale bytes."""

# Exit status of a run in which verify found stale bytes (setting verify_action).
STALE = 86


def add_arguments(parser):
    runner.add_arguments(parser)
    parser.usage = (
        "hob advise -n N [options] PROGRAM [ARGUMENTS...]\n       hob advise --from FILE.json"
    )
    parser.add_argument("--from", dest="source", metavar="FILE", help="read this, run nothing")
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


def _places(run):
    """What the nodes of a run are, where they are no nodes."""
    return f" on {run.nodes} pretended nodes" if run.pretended else ""


def text(run, advices, measured=False):
    """All of it for the terminal: the gain comes first, the next step last, unless that is what
    follows (`measured`)."""
    out = [
        verdict(run)[1],
        f"{run.command or 'the program'}: {run.rank_count} rank{'s' * (run.rank_count != 1)}{_places(run)}, {seconds(run.seconds)}",
    ]
    if run.pretended:
        out.append(
            "This was a rehearsal, over a network within one machine: what a network of the real "
            "nodes gains or costs differs."
        )
    out.append("")
    for advice in ranked(advices):
        out.append(f"{advice.mechanism}: {advice.verdict}")
        out += [f"  {reason}" for reason in advice.reasons]
        if sentence := _saves(run, advice):
            out.append(f"  {sentence}")
        if advice.settings:
            out.append("  Try: " + " ".join(map(as_option, advice.settings)))
        out.append("")
    if advices and all(advice.verdict == "no use" for advice in advices):
        out += ["Hob has nothing to offer this program as it ran here.", ""]
    step = None if measured else next_step(run, advices)
    if step:
        out += [f"Next: {step.sentence}", *([f"  {step.command}"] if step.command else [])]
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


def _run_once(args, json_file, output):
    """The Run of the program, which prints on `output`; None where only the command was to be shown."""
    once = type(args)(**vars(args))
    once.json, once.quiet = json_file, True
    command, environment = runner.plan(once)
    if args.dry_run:
        print(shlex.join(command))
        return None
    status = subprocess.run(command, env=environment, check=False, stdout=output).returncode
    if status not in (0, STALE):
        raise HobError(f"the program ended with status {status}: no advice")
    if not Path(json_file).exists():
        raise HobError("the program wrote no report: did it reach MPI_Finalize?")
    return load(json_file)


def _from_file(args):
    run = load(args.source)
    advices = advise(run, args.get_us)
    if args.json:
        write_json(facts_of(run, advices), args.json)
    else:
        print(text(run, advices))
    return STALE if stale_sentence(run) else 0


def main(args):
    if args.source:
        return _from_file(args)
    if runner.is_off(args):
        raise HobError("advice comes from a run with Hob: leave --off (HOB_OFF, --set off) out")
    runner.refuse_where_the_site_turns_it_off(args, "advise")
    for_scripts = args.json == "-"
    with tempfile.TemporaryDirectory(prefix="hob-advise-") as scratch:
        kept = args.json if args.json and not for_scripts else None
        output = sys.stderr if for_scripts else None
        run = _run_once(args, kept or str(Path(scratch) / "run.json"), output)
        if run is None:
            return 0
        advices = advise(run, args.get_us)
        document = facts_of(run, advices)
        if not for_scripts:
            print(text(run, advices, args.measure and not stale_sentence(run)))
            if kept:
                print(f"The details are in {kept} (hob report makes a page of it).")
            sys.stdout.flush()
        stale = stale_sentence(run)
        if args.measure and not stale:
            settings = dict.fromkeys(
                one for advice in advices for one in advice.settings if one not in PROMISES
            )
            told, document["measured"] = measure(args, runner.plan, settings)
            if not for_scripts:
                print(f"\n{told}")
    if for_scripts:
        write_json(document, "-")
    return STALE if stale else 0
