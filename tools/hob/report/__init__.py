"""`hob report`: the JSON of a run as one HTML page."""

import sys
from pathlib import Path

from hob.report.data import load
from hob.report.facts import facts_of, write_json
from hob.report.next_step import next_step
from hob.report.page import page
from hob.report.sentences import findings
from hob.where import HobError

DESCRIPTION = """Makes one HTML page from what a run wrote with --json (HOB_JSON): the gain and what to do
next, how gets were answered and reused, how large they were, how the cache filled and adapted, how
deep the message queues were, what ghosts did. The page loads nothing from elsewhere: it can be mailed or archived."""

EPILOG = """examples:
  hob run -n 4 --json out.json ./app
  hob report out.json                  writes out.html
  hob report out.json -o page.html
  hob report out.json --text           the findings alone, on the terminal
  hob report out.json --json -         the same for scripts: verdict, gains, advice, the next step"""


def add_arguments(parser):
    parser.add_argument("file", metavar="FILE.json", help="what a run wrote")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE.html",
        help="the page (default: beside it; -: standard output)",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--text", action="store_true", help="print the findings, write no page")
    instead.add_argument(
        "--json",
        metavar="FILE",
        help="write the findings as JSON there, and no page (-: print them)",
    )


def made(what, source):
    """What `what` makes of the run in a file."""
    try:
        return what(load(source))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise HobError(f"{source} is not of the form that Hob writes: {error}") from error


def write(source, target):
    """Makes the page `target` from the JSON file `source`."""
    text = made(page, source)
    try:
        Path(target).write_text(text)
    except OSError as error:
        raise HobError(f"cannot write {target}: {error.strerror}") from error


def told(run):
    """The findings, notes and the next step, for the terminal."""
    step = next_step(run)
    last = (
        [f"Next: {step.sentence}", *([f"  {step.command}"] if step.command else [])] if step else []
    )
    return "\n".join([*findings(run), *run.notes, *last])


def main(args):
    if args.text:
        print(made(told, args.file))
    elif args.json:
        write_json(made(facts_of, args.file), args.json)
    elif args.output == "-":
        sys.stdout.write(made(page, args.file))
    else:
        target = args.output or str(Path(args.file).with_suffix(".html"))
        write(args.file, target)
        print(target)
    return 0
