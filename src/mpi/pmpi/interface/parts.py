"""What the parts of src/mpi add to the wrappers: each in wrapped.py of its own folder, which nothing else names.

Such a file adds the rows of the calls that it hooks to plan.CALLS, and may define

  HEADERS                        what the wrappers include for what it puts into them
  thin(procedure)                whether a call without a row has a wrapper for this part
  elsewhere(call)                C++ conditions under which a call takes the long way
  at_rest(call)                  what has to hold besides where the call is the library's alone, which a wrapper asks
                                 first: C++ conditions; None if this is not known so soon
  again(call)                    C++ that makes a call the library's which is like the one before it
  helpers(call)                  C++ of the functions that again() needs
  around(call)                   C++ before and after Hob's own part of a call: two lists
  learned(call, outputs, noted)  C++ that notes what the process may have learned, in place of `noted`; None: nothing
                                 special
  among_threads(call, acquire, is_at_rest)
                                 C++ that has the library alone serve a call in a program with several threads, where it
                                 may; `acquire`, C++, notes what it showed; `is_at_rest`: threads_at_rest() holds
                                 (wrapper.hpp). None: not this part's call
  noted(call)                    C++ that serves a call likewise, and notes something
  definition(...)                the wrapper around all this; of one part (progress/wrapped.py)

A call is a calls.Call. Parts are asked in the order of the names of their folders; what comes after a call is in the
opposite order.
"""

import importlib.util
import pathlib

FOLDER = pathlib.Path(__file__).parents[2]


def load(path):
    name = path.parent.relative_to(FOLDER).as_posix()
    spec = importlib.util.spec_from_file_location(f"{name}/wrapped", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PARTS = [load(path) for path in sorted(FOLDER.rglob("wrapped.py"))]
HEADERS = [header for part in PARTS for header in getattr(part, "HEADERS", "").split()]


def answers(point, *arguments):
    """Of each part that has something at this point."""
    return [getattr(part, point)(*arguments) for part in PARTS if hasattr(part, point)]


def lines(point, *arguments):
    return [line for answer in answers(point, *arguments) for line in answer]


def first(point, *arguments):
    """The first answer that is not None."""
    return next((each for each in answers(point, *arguments) if each is not None), None)
