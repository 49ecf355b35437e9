"""The `hob` command: one module for each sub-command, loaded only when it is used."""

import argparse
import importlib
import sys

from hob.where import HobError

# name: (module, what it does). A module has DESCRIPTION, EPILOG, add_arguments and main(args).
COMMANDS = {
    "run": ("hob.run", "start a program under its MPI's launcher, with Hob"),
    "exec": (None, "inside any launcher: start the program with Hob (one per rank, no Python)"),
    "config": ("hob.config", "every setting with its default and meaning"),
    "report": ("hob.report", "turn the JSON of a run into one HTML page"),
    "advise": ("hob.advise", "run a program once and say what would help it"),
    "replay": ("hob.replay", "recorded gets against cache policies and sizes"),
    "bench": ("hob.bench", "measure what Hob claims, against its limits"),
    "demo": ("hob.demo", "a program never meant for Hob, without it and with it"),
}

INTRODUCTION = """Hob makes unmodified MPI programs faster: it caches remote gets, works for ranks
that are busy, and searches deep message queues. It is loaded in front of the MPI library."""

EXAMPLES = """examples:
  hob run -n 4 ./app                    4 ranks, with Hob
  mpiexec -n 4 hob exec ./app           the same, in a job script that has its own launcher line
  hob run -n 4 --json out.json ./app    and all counters;  hob report out.json  makes a page of them
  hob advise -n 4 ./app                 which of Hob's three mechanisms helps this program

`hob COMMAND --help` explains each command."""


def _overview():
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(["usage: hob COMMAND ...", "", INTRODUCTION, "", *lines, "", EXAMPLES])


def main(words=None):
    words = sys.argv[1:] if words is None else words
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        sys.exit(0 if words else 2)
    name = words[0]
    try:
        if name not in COMMANDS:
            raise HobError(f"'{name}' is no command of hob: {', '.join(COMMANDS)}")
        module_name, what = COMMANDS[name]
        if module_name is None:
            raise HobError("`hob exec` is started through the hob script, not through Python")
        module = importlib.import_module(module_name)
        parser = argparse.ArgumentParser(
            prog=f"hob {name}",
            description=getattr(module, "DESCRIPTION", what),
            epilog=getattr(module, "EPILOG", None),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(parser)
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
