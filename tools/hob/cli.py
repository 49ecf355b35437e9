"""The `hob` command: one module for each sub-command, loaded only when it is used."""

import argparse
import difflib
import importlib
import os
import shlex
import shutil
import subprocess
import sys

from hob import __version__, mechanisms
from hob.launchline import is_launcher
from hob.options import Parser
from hob.where import HobError, binary

# name: (module, what it does). A module has DESCRIPTION, EPILOG, add_arguments and main(args).
COMMANDS = {
    "run": ("hob.run", "start a program under its MPI's launcher, with Hob"),
    "exec": (None, "between a launcher and the program: starts it with Hob, without Python"),
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
    ("3", "hob doctor: Hob has nothing to do for this program"),
    ("86", "verify found stale bytes (setting verify_action)"),
    ("126", "hob exec: the program is there and cannot be started"),
    ("127", "hob exec: there is no such program"),
    ("130", "interrupted"),
    ("others", "of the program, of its launcher, or 128 and the number of a signal"),
)

INTRODUCTION = "Hob makes unmodified MPI programs faster. It is loaded in front of the MPI library."

OPTIONS = """options:
  -h, --help     this text
  -v, --version  which Hob this is"""

EXAMPLES = """examples:
  hob run -n 4 ./app                    4 ranks, with Hob
  mpiexec -n 4 hob exec ./app           the same, in a job script that has its own launcher line
  hob run -n 4 --json out.json ./app    and all counters;  hob report out.json  makes a page of them
  hob run mpiexec -n 4 ./app            the same for a whole launch line
  hob run -n 4 --measure ./app          is it faster? without Hob and with it, in turns
  hob advise -n 4 ./app                 which of these helps this program

`hob help COMMAND` explains each command."""


def overview():
    """What `hob --help` says."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items()]
    does = ["what it does (setting):", *mechanisms.lines()]
    return "\n".join(
        [
            "usage: hob COMMAND ...",
            "",
            INTRODUCTION,
            "",
            *lines,
            "",
            *does,
            "",
            OPTIONS,
            "",
            EXAMPLES,
        ]
    )


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


def _check(words):
    """Raises where the first word is no command."""
    name = words[0]
    if name in COMMANDS:
        return
    if os.sep in name or is_launcher(name):
        raise HobError(_for_a_program(words))
    near = difflib.get_close_matches(name, COMMANDS, 1)
    if near:
        raise HobError(
            f"'{name}' is no command of hob (did you mean '{near[0]}'?): {', '.join(COMMANDS)}"
        )
    if os.path.exists(name) or shutil.which(name):
        raise HobError(_for_a_program(words))
    raise HobError(f"'{name}' is no command of hob: {', '.join(COMMANDS)}")


def _for_a_program(words):
    """What to type instead of `hob PROGRAM ...`."""
    program = shlex.join(words)
    if is_launcher(words[0]):
        return f"'{words[0]}' is no command of hob; to start the line with Hob: hob run {program}"
    return (
        f"'{words[0]}' is no command of hob; to start it with Hob: hob run -n 4 {program}, "
        f"or in a job script mpiexec -n 4 hob exec {program}"
    )


def main(words=None):
    words = sys.argv[1:] if words is None else words
    if words and words[0] in ("-V", "-v", "--version", "version"):
        print(f"hob {__version__}")
        sys.exit(0)
    try:
        if words[:1] == ["help"] and words[1:] not in ([], ["help"]):
            _check(words[1:2])
            # Each benchmark has options of its own.
            more = words[2:3] if words[1] == "bench" else []
            words = [words[1], *more, "--help"]
        if not words or words[0] in ("-h", "--help", "help"):
            print(overview())
            print("\n" + statuses())
            sys.exit(0 if words else 2)
        name = words[0]
        _check(words)
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
        # The reader of our output has left (`hob config | head`): nothing is left to print.
        sys.stderr.close()
        sys.exit(141)
