"""`hob report`: the JSON of a run as one HTML page."""

from pathlib import Path

from hob.report.data import load
from hob.report.page import page
from hob.report.words import findings
from hob.where import HobError

DESCRIPTION = """Makes one HTML page from what a run wrote with --json (HOB_JSON): how gets were answered,
what was reused, how large gets were, how the cache filled and adapted, how deep the message queues
were, what ghosts did. The page loads nothing from elsewhere: it can be mailed or archived."""

EPILOG = """examples:
  hob run -n 4 --json out.json ./app
  hob report out.json                  writes out.html
  hob report out.json -o page.html
  hob report out.json --text           the findings alone, on the terminal"""


def add_arguments(parser):
    parser.add_argument("file", metavar="FILE.json", help="what a run wrote")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="the page (default: beside it)")
    parser.add_argument("--text", action="store_true", help="print the findings, write no page")


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


def main(args):
    if args.text:
        print(made(lambda run: "\n".join([*findings(run), *run.notes]), args.file))
        return 0
    target = args.output or str(Path(args.file).with_suffix(".html"))
    write(args.file, target)
    print(target)
    return 0
