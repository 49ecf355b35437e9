"""`hob man` and `hob completion`: manual pages and shell completion, made from the parsers of the
commands, so that they cannot say anything else."""

import argparse
from pathlib import Path

from hob import __version__, cli
from hob.where import HobError, binary

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


def options_of(name):
    """{option: help} of a command."""
    if name == "exec":
        return {f"--{word}": "" for word in _exec_options()}
    _, parser = cli.parser_of(name)
    return {
        option: action.help or ""
        for action in parser.added
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    }


def _exec_options():
    from hob.run import EXEC_OPTIONS

    named = [option.lstrip("-") for option, _, _ in EXEC_OPTIONS]
    return [*named, "set", "ghosts", "json", "which", "help"]


def _bash():
    cases = "\n".join(
        f'    {name}) words="{" ".join(options_of(name))}" ;;' for name in cli.COMMANDS
    )
    return f"""# Completion of hob {__version__} for bash.
_hob() {{
  local words current=${{COMP_WORDS[COMP_CWORD]}}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(cli.COMMANDS)} help --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
    help) words="{" ".join(cli.COMMANDS)}" ;;
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) [ "${{COMP_WORDS[1]}}" = help ] && COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
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
        f"    {name}) compadd -- {' '.join(options_of(name))}; _files ;;" for name in cli.COMMANDS
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


def _page(title, summary, body):
    return "\n".join(
        [
            f'.TH {title.upper()} 1 "" "Hob {__version__}" "Hob"',
            ".SH NAME",
            f"{_roff(title)} \\- {_roff(summary)}",
            ".SH DESCRIPTION",
            ".nf",
            _roff(body),
            ".fi",
            ".SH EXIT STATUS",
            ".nf",
            _roff("\n".join(f"{code:7} {what}" for code, what in cli.STATUSES)),
            ".fi",
            ".SH SEE ALSO",
            ".BR hob (1)",
            "",
        ]
    )


def pages():
    """{file name: text} of all manual pages."""
    found = {"hob.1": _page("hob", "makes unmodified MPI programs faster", cli.overview())}
    for name, (_, what) in cli.COMMANDS.items():
        if name == "exec":
            import subprocess

            done = [binary("hob-exec"), "--help"]
            text = subprocess.run(done, capture_output=True, text=True, check=True).stdout
        else:
            text = cli.parser_of(name)[1].format_help()
        found[f"hob-{name}.1"] = _page(f"hob-{name}", what, text)
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
