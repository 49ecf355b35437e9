"""`hob replay`: recorded gets against policies and sizes. The work is done by the C++ program
hob-replay, which takes the arguments as they are."""

import os
import sys

from hob.where import binary

DESCRIPTION = "Replays recorded gets (HOB_TRACE=DIR) against cache policies and sizes."

EPILOG = """examples:
  hob run -n 4 --trace gets ./app
  hob replay gets                           each policy at several budgets
  hob replay gets --policy default,lru --size 4M,10%"""


def add_arguments(parser):
    parser.add_argument("arguments", nargs="*", help="see hob-replay --help")


def parse(_parser, words):
    return words


def main(words):
    path = str(binary("hob-replay"))
    sys.stdout.flush()
    os.execv(path, ["hob replay", *words])
