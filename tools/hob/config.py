"""`hob config`: the settings table, as the library itself has it."""

import json
import textwrap

from hob.mechanisms import heading
from hob.where import HobError, run_binary

DESCRIPTION = """Lists every setting: its default, what is allowed, what it means.

Where a value comes from, later ones winning: the default; the site's file (/etc/hob.conf, or etc/hob.conf
in the prefix), which may lock settings; the file named by HOB_CONFIG, or ./hob.conf (lines `key = value`);
the environment (HOB_ + the key in capitals); for settings of one window, the info keys given to
MPI_Win_create and its kin. ./hob.conf is read only where it, its directory, and the link if it is one,
belong to you or to root; it may neither name files that Hob writes (json, trace) nor promise anything of
the program (cache = always)."""

EPILOG = """examples:
  hob config                         all settings
  hob config cache                   those whose name contains "cache"
  hob config > hob.conf              a file to start from (every line a comment)
  HOB_CACHE=always mpiexec -n 4 hob exec ./app
  mpiexec -n 4 hob exec --set cache=always ./app"""


def add_arguments(parser):
    parser.add_argument("name", nargs="?", default="", help="only settings whose key contains this")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="the table as JSON")
    how.add_argument("--markdown", action="store_true", help="the table as docs/configuration.md")


def settings():
    """The rows of the table: key, type, default, allowed, help, environment."""
    return json.loads(run_binary("hob-exec", "--dump-settings"))


def allowed(row):
    """In words, what may be given."""
    if row["type"].lower() == "choice":
        return row["allowed"].replace("|", ", ")
    if row["type"].lower() == "flag":
        return "on, off"
    kind = {
        "size": "bytes (K, M, G, T)",
        "count": "integer",
        "real": "number",
        "path": "path",
    }.get(row["type"].lower(), "text")
    low, _, high = row["allowed"].partition("..")
    span = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return f"{kind}, {span}" if row["allowed"] else kind


def _wrap(text, width, indent):
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)


def _text(rows):
    out = ["# Every setting with its default. The file ./hob.conf may hold such lines."]
    for row in rows:
        title = heading(row["key"])
        out += ["", f"# {title}", f"# {'-' * len(title)}"] if title else []
        out += [
            "",
            _wrap(row["help"], 96, "# "),
            f"# Allowed: {allowed(row)}. Environment: {row['environment']}",
            f"# {row['key']} = {row['default']}",
        ]
    return "\n".join(out)


def _promises(rows):
    """Every value that promises something, as in a sentence."""
    words = [f"`{row['key']} = {value}`" for row in rows for value in row["promises"]]
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else "".join(words)


def _markdown(rows):
    def cell(text):
        return text.replace("|", "\\|")

    out = [
        "# Configuration",
        "",
        "Made by `hob config --markdown` (or `make docs`) from the one table in "
        "`src/settings/settings.def`.",
        "",
        "Where a value comes from, later ones winning: the default; the [site's file](cluster.md#for-all-users-of-a-site), which "
        "may lock settings; the file named by `HOB_CONFIG`, or `./hob.conf`; the environment; for one window, its info keys.",
        "",
        "`./hob.conf` may have come with the directory. It must belong to the user or to root, and so must the directory and, where it is a symbolic link, the link. It "
        "may not name what Hob writes to (`json`, `trace`), nor promise anything of the program in the user's name: "
        f"{_promises(rows)}. Either ends the program with exit status 2 and a message. The environment, `--set` and a file that `HOB_CONFIG` names may. "
        "A `./hob.conf` that belongs to another user, cannot be read, or has lines of another form and no setting of Hob's is not used, with a warning.",
        "",
        "A value that is not allowed, a key of a file or of `--set` that does not exist, and a `json` or `trace` that cannot be written end the program at `MPI_Init` with "
        "exit status 2 and one message from rank 0. A `HOB_...` variable that is no setting may be a module system's "
        "(`HOB_ROOT`): it is ignored, with a warning that names the setting most like it.",
        "",
    ]
    for row in rows:
        title = heading(row["key"])
        if title:
            out += [
                *([""] if out[-1] else []),
                f"## {title}",
                "",
                "| key | environment | default | allowed | meaning |",
                "| --- | --- | --- | --- | --- |",
            ]
        default = f"`{row['default']}`" if row["default"] else "(none)"
        out.append(
            f"| `{row['key']}` | `{row['environment']}` | {default} | {cell(allowed(row))} "
            f"| {cell(row['help'])} |"
        )
    return "\n".join(out)


def main(args):
    rows = [row for row in settings() if args.name in row["key"]]
    if not rows:
        raise HobError(f"no setting's key contains '{args.name}'; `hob config` lists all")
    if args.json:
        print(json.dumps(rows, indent=1))
    elif args.markdown:
        print(_markdown(rows))
    else:
        print(_text(rows))
