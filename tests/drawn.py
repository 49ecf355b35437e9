#!/usr/bin/env python3
"""Runs a command with other seeds and fewer programs, if asked to: for random programs in the quick tier.

    TESTS_SEED=N       is added to the number behind --seed (where there is none, --seed N is appended)
    TESTS_SHARE=0.25   that part of the number behind --programs, at least 1
    TESTS_WITHOUT=NAME  is added to what rma_fuzz leaves out (--without)

tests/run_tier.py sets them, the first by the date. Without them the command runs as it is written.
"""

import os
import shlex
import sys


def drawn(words, environment):
    """The words of a command that takes --seed and --programs, with the seed and the number drawn."""
    words = list(words)
    if seed := int(environment.get("TESTS_SEED", 0)):
        if "--seed" in words:
            place = words.index("--seed") + 1
            words[place] = str(int(words[place]) + seed)
        else:
            words += ["--seed", str(seed)]
    share = float(environment.get("TESTS_SHARE", 1))
    if share != 1 and "--programs" in words:
        place = words.index("--programs") + 1
        words[place] = str(max(1, round(int(words[place]) * share)))
    without = environment.get("TESTS_WITHOUT")
    if without and any(word.endswith("rma_fuzz") for word in words) and "--without" in words:
        words[words.index("--without") + 1] += f",{without}"
    return words


def main(words):
    command = drawn(words, os.environ)
    if command != words:
        print("drawn:", shlex.join(command), flush=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[2:] if sys.argv[1:2] == ["--"] else sys.argv[1:])
