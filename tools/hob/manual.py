"""`hob man` and `hob completion`: manual pages and shell completion, made from the parsers of the
commands, so that they cannot say anything else."""

import argparse
import importlib
import re
from pathlib import Path

from hob import __version__, bench, cli
from hob.where import HobError, run_binary

DESCRIPTIONS = {
    "man": "Writes the manual pages hob.1 and hob-COMMAND.1 into a directory.",
    "completion": "Prints the completion of hob's commands and options for a shell.",
}
EPILOG = """examples:
  hob man ~/.local/share/man/man1                     then: man hob, man hob-run
  source <(hob completion bash)                       in ~/.bashrc
  hob completion zsh >~/.zfunc/_hob
  hob completion fish >~/.config/fish/completions/hob.fish"""

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser):
    if parser.prog.endswith("man"):
        parser.add_argument("directory", nargs="?", default=".", help="where (default: here)")
    else:
        parser.add_argument("shell", choices=SHELLS)


# Commands whose options are those of a program of Hob's own.
PROGRAMS = {"exec": "hob-exec", "replay": "hob-replay"}


def options_of(name):
    """{option: help} of a command."""
    if name in PROGRAMS:
        return dict.fromkeys(re.findall(r"(?m)^ +(?:-\w,)?(--[\w-]+)", help_of(name)), "")
    _, parser = cli.parser_of(name)
    return {
        option: action.help or ""
        for action in parser.added
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    }


def help_of(name):
    """What `hob NAME --help` says."""
    if name not in PROGRAMS:
        return cli.parser_of(name)[1].format_help()
    text = run_binary(PROGRAMS[name], "--help")
    module = cli.COMMANDS[name][0]
    return text + "\n" + importlib.import_module(module).EPILOG if module else text


def words_of(name):
    """The words that a command takes beside options, where they are known."""
    if name == "bench":
        return [*bench.names(), "all"]
    return list(SHELLS) if name == "completion" else []


def _bash():
    cases = "\n".join(
        f'    {name}) words="{" ".join(options_of(name))}" plain="{" ".join(words_of(name))}" ;;'
        for name in cli.COMMANDS
    )
    return f"""# Completion of hob {__version__} for bash.
_hob() {{
  local words plain current=${{COMP_WORDS[COMP_CWORD]}}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(cli.COMMANDS)} help --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
    help) plain="{" ".join(cli.COMMANDS)}" ;;
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) [ "$COMP_CWORD" = 2 ] && COMPREPLY=($(compgen -W "$plain" -- "$current")) ;;
  esac
}}
complete -o default -F _hob hob
"""


def _quoted(text):
    return text.replace("%%", "%").replace("'", "'\\''")


def _zsh():
    commands = "\n".join(
        f"    '{name}:{_quoted(what)}'" for name, (_, what) in cli.COMMANDS.items()
    )
    cases = "\n".join(
        f"    {name}) compadd -- {' '.join([*words_of(name), *options_of(name)])}; _files ;;"
        for name in cli.COMMANDS
    )
    return f"""#compdef hob
# Completion of hob {__version__} for zsh.
_hob() {{
  local -a commands
  commands=(
{commands}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
    help) _describe command commands ;;
{cases}
  esac
}}
_hob "$@"
"""


def _fish():
    lines = [f"# Completion of hob {__version__} for fish."]
    for name, (_, what) in cli.COMMANDS.items():
        lines.append(f"complete -c hob -n __fish_use_subcommand -a {name} -d '{_quoted(what)}'")
        if words_of(name):
            words = " ".join(words_of(name))
            lines.append(f"complete -c hob -n '__fish_seen_subcommand_from {name}' -a '{words}'")
        for option, text in options_of(name).items():
            long, letter = option.startswith("--"), len(option) == 2
            kind = f"{'-l' if long else '-s' if letter else '-o'} {option.lstrip('-')}"
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines.append(f"complete -c hob {seen} {kind} -d '{_quoted(text)}'")
    return "\n".join(lines) + "\n"


def _roff(text):
    """Text as it stands, for a manual page."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in safe.splitlines())


# Where a part of a help text goes in a page; others keep their names, after these.
SECTIONS = {"usage": "SYNOPSIS", "": "DESCRIPTION", "options": "OPTIONS"}
ORDER = ("SYNOPSIS", "DESCRIPTION", "OPTIONS")


def sections_of(text):
    """{section of a manual page: lines} of a help text, in the order of manual pages."""
    found, section = {name: [] for name in ORDER}, "DESCRIPTION"
    for line in text.splitlines():
        usage = re.match("(?i)usage: (.*)", line)
        title = re.match(r"([A-Za-z][^:`]*):$", line)
        if usage:
            found["SYNOPSIS"].append(usage[1])
            section = "SYNOPSIS"
        elif title:
            name = title[1].lower()
            section = SECTIONS.get(name, "OPTIONS" if _has_options(name) else name.upper())
            found.setdefault(section, [])
            if section == "OPTIONS" and name not in SECTIONS:
                found[section] += ["", line]
        elif line[:1].strip() and section != "DESCRIPTION":
            # Whole sentences after a list belong to none.
            section = "DESCRIPTION"
            found[section] += ["", line]
        else:
            found[section].append(line.strip() if section == "SYNOPSIS" else line)
    examples = found.pop("EXAMPLES", [])
    return {name: _trimmed(lines) for name, lines in {**found, "EXAMPLES": examples}.items()}


def _has_options(title):
    return title.startswith(("positional", "what hob does (as"))


def _trimmed(lines):
    """Without empty lines around them, nor two after each other."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n")).splitlines()


def _page(title, summary, text):
    lines = [
        f'.TH {title.upper()} 1 "" "Hob {__version__}" "Hob"',
        ".SH NAME",
        f"{_roff(title)} \\- {_roff(summary)}",
    ]
    sections = sections_of(text)
    # One table of statuses in all pages: sentences of a command's own stand in its description.
    sections["EXIT STATUS"] = [f"{code:7} {what}" for code, what in cli.STATUSES]
    for section, body in sections.items():
        if body:
            lines += [f".SH {_roff(section)}", ".nf", _roff("\n".join(body)), ".fi"]
    return "\n".join([*lines, ".SH SEE ALSO", ".BR hob (1)", ""])


def pages():
    """{file name: text} of all manual pages."""
    found = {"hob.1": _page("hob", "makes unmodified MPI programs faster", cli.overview())}
    for name, (_, what) in cli.COMMANDS.items():
        found[f"hob-{name}.1"] = _page(f"hob-{name}", what, help_of(name))
    return found


def main(args):
    if args.command_name == "completion":
        print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](), end="")
        return 0
    directory = Path(args.directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in pages().items():
            (directory / name).write_text(text)
    except OSError as error:
        raise HobError(f"cannot write to {directory}: {error.strerror}") from error
    print(directory)
    return 0
