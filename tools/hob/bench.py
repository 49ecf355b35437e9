"""`hob bench`: runs a benchmark, prints its table and its limits, writes them as JSON.

A benchmark is a module in hob.benches (see benchlib.py for what it holds), or a C++ program
build/.../bin/hob-bench-NAME, which takes `--json FILE` and prints its own table. Pictures are
drawn here (benchpicture.py), or by a module's own draw(result, path)."""

import argparse
import importlib
import json
import pkgutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from hob import benches, benchpicture
from hob.benchlib import Bench, BenchError, machine, table
from hob.where import BIN, HobError, in_source, need_source, to_build

DESCRIPTION = """Measures what Hob claims, and says for each claim whether this run held it."""

EPILOG = """examples:
  hob bench hit                             its table, and whether its limits were met
  hob bench miss --quick                    whether it runs; its numbers mean little
  hob bench match-mpi --json depth.json --picture depth.svg

Exit status: 0 if every limit was met, 1 if one was not, 2 if it could not be run to its end.
A benchmark that is interrupted, or fails, still prints and writes what it has measured.
Numbers are medians of runs with and without Hob in turn; ratios within one run are what counts,
since absolute times differ from machine to machine and from day to day."""


def modules():
    """{name as typed: module}."""
    found = {}
    for entry in sorted(pkgutil.iter_modules(benches.__path__), key=lambda one: one.name):
        module = importlib.import_module(f"hob.benches.{entry.name}")
        if hasattr(module, "run"):
            found[getattr(module, "NAME", entry.name)] = module
    return found


def programs():
    """{name: path} of the benchmarks that are C++ programs of their own."""
    return {
        path.name.removeprefix("hob-bench-"): path
        for path in sorted(BIN.glob("hob-bench-*"))
        if path.is_file()
    }


def names():
    """Every benchmark's name, sorted."""
    return sorted({*modules(), *programs()})


def add_arguments(parser):
    known = modules()
    names = [f"  {name:16} {module.HELP}" for name, module in known.items()]
    names += [
        f"  {name:16} see {path.name} --help"
        for name, path in programs().items()
        if name not in known
    ]
    parser.usage = "hob bench NAME [--json FILE] [--picture FILE] [--quick] [NAME's own options]"
    parser.epilog = (
        "benchmarks:\n" + "\n".join(names) + "\n  all              each of them\n\n" + EPILOG
    )
    parser.add_argument("name", help="which one; `hob bench NAME --help` lists its own options")


def _add_outputs(parser):
    parser.add_argument("--json", metavar="FILE", help="write rows and limits there")
    parser.add_argument(
        "--picture",
        metavar="FILE",
        type=_picture_file,
        help="draw the result there (.png or .svg; needs matplotlib)",
    )


def _own_parser(name, module):
    parser = argparse.ArgumentParser(prog=f"hob bench {name}", description=module.HELP)
    _add_outputs(parser)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a smaller run, to see that it works; its numbers mean little",
    )
    module.add_arguments(parser)
    return parser


def _picture_file(text):
    """Checked before anything is measured."""
    if Path(text).suffix.lower() not in (".png", ".svg"):
        raise argparse.ArgumentTypeError(f"'{text}' ends neither in .png nor in .svg")
    if not Path(text).absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory for '{text}'")
    return text


def parse(parser, words):
    if not words or words[0].startswith("-"):
        return parser.parse_args(words or ["--help"]), []
    return parser.parse_args(words[:1]), words[1:]


def verdicts(limits):
    """The limits as lines, those that were missed marked."""
    width = max((len(limit["name"]) for limit in limits), default=0)
    return "\n".join(
        f"{'ok  ' if limit['ok'] else 'MISS'}  {limit['name']:{width}}  {limit['value']:g} "
        f"(limit {limit['limit']})"
        for limit in limits
    )


def run_module(name, module, words):
    """Runs one benchmark module; its full result."""
    args = _own_parser(name, module).parse_args(words)
    bench, early = Bench(), None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        module.run(args, bench)
    except BenchError as error:
        early = HobError(f"bench {name}: {error}")
    except KeyboardInterrupt as interrupt:
        early = interrupt
    if early and not bench.rows:
        raise early
    result = {"bench": name, "machine": machine(), "quick": args.quick, **bench.result()}
    if early:
        result["ended_early"] = str(early) or "interrupted"
    _show(result, module, args)
    if early:
        print(f"hob: bench {name} ended early: this is what it had measured", file=sys.stderr)
        raise early
    return result


def _show(result, module, args):
    """Prints a result, and writes it where the arguments say."""
    print(table(result["rows"]))
    if result["limits"]:
        print("\n" + verdicts(result["limits"]))
    if args.json:
        Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    if args.picture:
        _draw(result, module, args.picture)


def _draw(result, module, path):
    """The picture of a result: the module's own, or the one that all benchmarks have."""
    if result["rows"] and hasattr(module, "draw"):
        module.draw(result, path)
    elif not benchpicture.draw(result, benchpicture.views_of(result["bench"], module), path):
        print(f"hob: bench {result['bench']}: there is nothing to draw", file=sys.stderr)


def run_program(name, path, words):
    """Runs one benchmark program; its result, or {} where it only explained itself."""
    outputs = argparse.ArgumentParser(
        prog=f"hob bench {name}", usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False
    )
    _add_outputs(outputs)
    args, words = outputs.parse_known_args(words)
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as scratch:
        out = Path(args.json or Path(scratch) / "out.json")
        done = subprocess.run([path, *words, "--json", out], check=False)
        if done.returncode not in (0, 1):
            raise HobError(f"{path.name} ended with status {done.returncode}")
        if not out.exists():
            print("\nof hob bench, for each benchmark:\n" + outputs.format_help())
            return {}
        result = {"quick": "--quick" in words, **json.loads(out.read_text()), "bench": name}
        if args.picture:
            _draw(result, None, args.picture)
        return result


def _one(name, words):
    known = modules()
    if name in known:
        return run_module(name, known[name], words)
    if name in programs():
        return run_program(name, programs()[name], words)
    unbuilt = "" if programs() or not in_source() else f"; for more, {to_build('bench-programs')}"
    raise HobError(f"no benchmark '{name}': {', '.join(names())}{unbuilt}")


def _all(words):
    """Every benchmark, one after the other; whether all limits were met."""
    summary, failed = [], False
    known = modules()
    for name in [*known, *(other for other in programs() if other not in known)]:
        if not getattr(known.get(name), "IN_ALL", True):
            continue
        print(f"== {name}", flush=True)
        try:
            limits = _one(name, words).get("limits", [])
        except HobError as error:
            print(f"hob: {error}", file=sys.stderr)
            summary.append({"bench": name, "limits met": "could not be run"})
            failed = True
            continue
        met = sum(limit["ok"] for limit in limits)
        failed = failed or met < len(limits)
        summary.append({"bench": name, "limits met": f"{met} of {len(limits)}"})
        print()
    print(table(summary))
    return 1 if failed else 0


def main(parsed):
    args, words = parsed
    if getattr(modules().get(args.name), "NEEDS_SOURCE", True):
        need_source(f"hob bench {args.name}")
    if args.name == "all":
        for option in ("--json", "--picture"):
            if any(word.split("=")[0] == option for word in words):
                raise HobError(f"{option} writes one benchmark's result: name the benchmark")
        return _all(words)
    return 0 if all(limit["ok"] for limit in _one(args.name, words).get("limits", [])) else 1
