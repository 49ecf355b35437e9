#!/usr/bin/env python3
"""Writes a line for each function that Hob wraps: a call whose output arguments nobody may touch.

    refused_calls.py --interface src/mpi/pmpi/interface --wrappers DIR --out refused_calls.inc

Used by errors_test.cpp.
"""

import argparse
import json
import pathlib
import re

# They begin and end things of the whole process.
LEFT_OUT = """
    Init Init_thread Finalize Abort Session_init Session_finalize Comm_spawn Comm_spawn_multiple
    Pcontrol
    """.split()

HANDLES = {
    "COMMUNICATOR": "comm",
    "WINDOW": "win",
    "REQUEST": "request",
    "DATATYPE": "MPI_INT",
    "OPERATION": "MPI_SUM",
    "INFO": "MPI_INFO_NULL",
}
# Answered by other functions of the library's.
ANSWERED_BY = {"Attr_get": "Comm_get_attr", "Attr_put": "Comm_set_attr"}
ARRAYS = {"DATATYPE": "types", "REQUEST": "requests"}


def argument(declaration, name, kind, direction):
    pointer = "*" in declaration or "[" in declaration
    type_of = re.sub(rf"\b{name}(\[\w*\])*$", "", declaration).strip()
    element = type_of.removesuffix("*").strip() if "[" not in declaration else type_of
    if not pointer:
        if kind in HANDLES:
            return HANDLES[kind]
        return (
            "1" if re.match(r"(int|MPI_Aint|MPI_Count|MPI_Offset)$", type_of) else f"{type_of}{{}}"
        )
    if kind in ("FUNCTION", "POLYFUNCTION"):
        return "nullptr"
    if direction == "out":
        return f"hidden<{element}>()"
    if kind in ARRAYS:
        return ARRAYS[kind]
    if element.endswith("void"):
        return "bytes"
    if kind in HANDLES and direction == "inout":
        return f"copy({HANDLES[kind]})"
    if element.endswith("char"):
        return '"x"'
    return f"ones<{element.removeprefix('const ').strip()}>()"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interface", required=True, type=pathlib.Path)
    parser.add_argument("--wrappers", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    wrapped = set()
    for source in options.wrappers.glob("wrap_*.cpp"):
        wrapped |= set(re.findall(r"^HOB_EXPORT int MPI_(\w+)\(", source.read_text(), re.M))
    lines = []
    for procedure in json.loads((options.interface / "interface.json").read_text()):
        base = procedure["name"].removeprefix("MPI_")
        for suffix, parameters in (("", procedure["parameters"]), ("_c", procedure.get("large"))):
            name = base + suffix
            if parameters is None or name not in wrapped or base in LEFT_OUT:
                continue
            if any(re.search(r"\*\*\*|\]\[|char\* ?\w*\[|char \w+\[", p[0]) for p in parameters):
                continue
            arguments = ", ".join(argument(*p) for p in parameters)
            lines.append(f"REFUSED({name}, {ANSWERED_BY.get(base, base)}, MPI_{name}({arguments}))")
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
