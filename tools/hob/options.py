"""A parser that knows its own options: for parsing where the program's words begin, and for
completion. Nothing but argparse's public interface."""

import argparse
import difflib
import re


class Parser(argparse.ArgumentParser):
    """As ArgumentParser; every option, in groups too, is in `added`."""

    def __init__(self, *args, **keywords):
        self.added = []
        super().__init__(*args, **keywords)

    def error(self, message):
        """As argparse's, with the option that was meant."""
        unknown = re.match("unrecognized arguments: (--[a-z-]+)", message)
        known = [option for action in self.added for option in action.option_strings]
        near = difflib.get_close_matches(unknown[1], known, 1) if unknown else []
        super().error(message + (f" (did you mean {near[0]}?)" if near else ""))

    def add_argument(self, *args, **keywords):
        return self._noted(super().add_argument(*args, **keywords))

    def add_argument_group(self, *args, **keywords):
        return self._noting(super().add_argument_group(*args, **keywords))

    def add_mutually_exclusive_group(self, **keywords):
        return self._noting(super().add_mutually_exclusive_group(**keywords))

    def _noted(self, action):
        self.added.append(action)
        return action

    def _noting(self, group):
        add = group.add_argument
        group.add_argument = lambda *args, **keywords: self._noted(add(*args, **keywords))
        return group


def split(parser, words):
    """(options, program and its arguments): options end where the program begins."""
    valued = {
        option
        for action in parser.added
        if action.nargs is None and action.option_strings
        for option in action.option_strings
    }
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 2 if words[at] in valued else 1
    return words[:at], words[at + 1 :] if words[at : at + 1] == ["--"] else words[at:]


def at_least(least):
    """For argparse: integers from `least` on."""

    def number(text):
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"'{text}' must be an integer >= {least}")
        return value

    return number
