"""What Hob does, in one list: its order and names are those of README, `hob --help`, `hob config` and the settings table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mechanism:
    """One of the things that Hob does for a program."""

    name: str
    key: str  # the setting that turns it on and off; the first of its group in the table
    by_default: bool
    what: str


MECHANISMS = (
    Mechanism("cached gets", "cache", True, "repeated remote gets come from a copy in the process"),
    Mechanism("batches", "batch", True, "many small one-sided operations go out as few"),
    Mechanism("ghosts", "ghosts", False, "processes set aside serve ranks that compute"),
    Mechanism("message matching", "match", True, "deep message queues are searched quickly"),
    Mechanism("heating", "heat", False, "a thread keeps queues and indexes in a shared CPU cache"),
    Mechanism("overlap", "overlap", True, "messages go on while the program computes"),
)


def lines():
    """The list for the terminal, with the setting of each."""
    width = max(len(one.name) for one in MECHANISMS)
    return [
        f"  {one.name:{width}}  {one.what} ({one.key}{'' if one.by_default else ', off by default'})"
        for one in MECHANISMS
    ]


def heading(key):
    """The heading above the setting `key` in a list of all settings; "" where none begins there."""
    if key == "off":
        return "General"
    return next((one.name.capitalize() for one in MECHANISMS if one.key == key), "")
