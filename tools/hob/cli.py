"""The `hob` command: one module for each sub-command, loaded only when it is used."""

import argparse
import difflib
import importlib
import subprocess
import sys

from hob import __version__
from hob.options import Parser
from hob.where import HobError, binary

# name: (module, what it does). A module has DESCRIPTION, EPILOG, add_arguments and main(args).
COMMANDS = {
    "run": ("hob.run", "start a program under its MPI's launcher, with Hob"),
    "exec": (None, "inside any launcher: start the program with Hob (one per rank, no Python)"),
    "config": ("hob.config", "every setting with its default and meaning"),
    "report": ("hob.report", "turn the JSON of a run into one HTML page"),
    "advise": ("hob.advise", "run a program once and say what would help it"),
    "compare": ("hob.compare", "two runs beside each other, from their JSON"),
    "doctor": ("hob.doctor", "look at this machine as a support engineer would"),
    "replay": ("hob.replay", "recorded gets against cache policies and sizes"),
    "bench": ("hob.bench", "measure what Hob claims, against its limits"),
    "demo": ("hob.demo", "a program never meant for Hob, without it and with it"),
    "completion": ("hob.manual", "a shell's completion of hob's words, to be sourced"),
    "man": ("hob.manual", "write the manual pages, one for each command"),
}

# What an exit status means, for every command and every rank (docs/troubleshooting.md).
STATUSES = (
    ("0", "done"),
    ("1", "hob bench: a limit was missed; hob doctor: something should be changed"),
    ("2", "a wrong option, setting, file or state: one line says which"),
    ("86", "verify found stale bytes (setting verify_action)"),
    ("126", "hob exec: the program is there and cannot be started"),
    ("127", "hob exec: there is no such program"),
    ("130", "interrupted"),
    ("others", "of the program, of its launcher, or 128 and the number of a signal"),
)

INTRODUCTION = """Hob makes unmodified MPI programs faster: it caches remote gets, works for ranks
that are busy, and searches deep message queues. It is loaded in front of the MPI library."""

EXAMPLES = """examples:
  hob run -n 4 ./app                    4 ranks, with Hob
  mpiexec -n 4 hob exec ./app           the same, in a job script that has its own launcher line
  hob run -n 4 --json out.json ./app    and all counters;  hob report out.json  makes a page of them
  hob advise -n 4 ./app                 which of Hob's three mechanisms helps this program

`hob help COMMAND` explains each command, `hob --version` says which Hob this is."""


def overview():
    """What `hob --help` says."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(["usage: hob COMMAND ...", "", INTRODUCTION, "", *lines, "", EXAMPLES])


def statuses():
    """The table of exit statuses, for the terminal."""
    return "\n".join(["exit status:", *(f"  {code:7} {what}" for code, what in STATUSES)])


def parser_of(name):
    """(module, parser) of a command; (None, None) of `exec`, which is no Python."""
    module_name, what = COMMANDS[name]
    if module_name is None:
        return None, None
    module = importlib.import_module(module_name)
    descriptions = getattr(module, "DESCRIPTIONS", {})
    parser = Parser(
        prog=f"hob {name}",
        description=descriptions.get(name, getattr(module, "DESCRIPTION", what)),
        epilog=getattr(module, "EPILOG", None),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command_name=name)
    module.add_arguments(parser)
    return module, parser


def _check(name):
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise HobError(f"'{name}' is no command of hob{hint}: {', '.join(COMMANDS)}")


def main(words=None):
    words = sys.argv[1:] if words is None else words
    if words and words[0] in ("-V", "--version", "version"):
        print(f"hob {__version__}")
        sys.exit(0)
    try:
        if words[:1] == ["help"] and words[1:] not in ([], ["help"]):
            _check(words[1])
            # Each benchmark has options of its own.
            more = words[2:3] if words[1] == "bench" else []
            words = [words[1], *more, "--help"]
        if not words or words[0] in ("-h", "--help", "help"):
            print(overview())
            print("\n" + statuses())
            sys.exit(0 if words else 2)
        name = words[0]
        _check(name)
        if name == "exec":  # only `hob help exec` comes here
            sys.exit(subprocess.run([binary("hob-exec"), *words[1:]], check=False).returncode)
        module, parser = parser_of(name)
        if hasattr(module, "parse"):
            arguments = module.parse(parser, words[1:])
        else:
            arguments = parser.parse_args(words[1:])
        sys.exit(module.main(arguments) or 0)
    except HobError as error:
        print(f"hob: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has left (`hob config | head`): nothing to say, and nobody to.
        sys.stderr.close()
        sys.exit(141)
