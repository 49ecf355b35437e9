#!/usr/bin/env python3
"""Writes interface.json: what Hob needs of the MPI standard's machine-readable interface.

Run by a developer when the standard grows, never by a build:

    pip install pympistandard==0.2.0 && python3 src/mpi/pmpi/interface/extract.py

pympistandard keeps the parameter sets private (`_parseset`), hence the pinned version and this
small extract of it in the repository.
"""

import json
import pathlib
import re

import pympistandard


def parameters(prototype, parseset, large):
    """[[C declaration, name, kind, direction], ...] of one prototype."""
    inside = prototype[prototype.index("(") + 1 : prototype.rindex(")")]
    if inside in ("", "void"):
        return []
    by_name = {p["name"]: p for p in parseset["parameters"]}
    rows = []
    for declaration in inside.split(", "):
        name = re.search(r"(\w+)(\[\w*\])*$", declaration).group(1)
        source = by_name[name]
        if source["large_only"] and not large:
            raise ValueError(f"{name} is only in the large-count form")
        rows.append([declaration, name, source["kind"], source["param_direction"]])
    return rows


def main():
    pympistandard.use_api_version("LATEST")
    procedures = []
    for procedure in pympistandard.PROCEDURES.values():
        attributes = procedure._parseset["attributes"]
        if (
            not attributes["c_expressible"]
            or attributes["callback"]
            or attributes["predefined_function"]
        ):
            continue
        prototype = procedure.express.iso_c
        prototype = str(prototype)
        if "ldots" in prototype:
            continue
        head, _ = prototype.split("(", 1)
        returns, name = head.rsplit(" ", 1)
        row = {
            "name": name,
            "returns": returns,
            "parameters": parameters(prototype, procedure._parseset, False),
        }
        if procedure.has_embiggenment():
            row["large"] = parameters(
                str(procedure.express.embiggen.iso_c), procedure._parseset, True
            )
        procedures.append(row)
    procedures.sort(key=lambda row: row["name"])
    target = pathlib.Path(__file__).with_name("interface.json")
    target.write_text("[\n" + ",\n".join(json.dumps(row) for row in procedures) + "\n]\n")
    print(f"{target}: {len(procedures)} procedures")


if __name__ == "__main__":
    main()
