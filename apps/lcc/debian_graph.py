#!/usr/bin/env python3
"""Writes the dependency graph of a Debian-like machine's packages as a SNAP edge list.

An edge joins a package to every package that it names in Depends, Pre-Depends, Recommends,
Suggests or Enhances, alternatives included. The list of packages is taken from the
first source that the machine has:

  1. the package lists of apt (/var/lib/apt/lists/*_Packages, plain, .lz4, .gz or .xz),
  2. `apt-cache dumpavail`,
  3. the installed packages (/var/lib/dpkg/status): a small graph.

The same package lists give the same file: packages are numbered in the order of their names and
edges are sorted. Needs nothing but Python.
"""

import argparse
import glob
import gzip
import lzma
import re
import shutil
import subprocess
import sys

FIELDS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances")
# Below this many packages apt's lists are taken to be absent (a container without `apt-get update`).
FEW = 1000


class NoPackages(Exception):
    """This machine has no list of Debian packages."""


def stanzas(text):
    """Yields (package, [names it refers to]) for every package in a Debian control file."""
    name, names, wanted = None, [], False
    for line in text.split("\n"):
        if not line.strip():
            if name:
                yield name, names
            name, names, wanted = None, [], False
        elif line[0] in " \t":
            if wanted:
                names += split_relations(line)
        else:
            key, _, value = line.partition(":")
            wanted = key in FIELDS
            if key == "Package":
                name = value.strip()
            elif wanted:
                names += split_relations(value)
    if name:
        yield name, names


def split_relations(value):
    """The package names in 'a (>= 1) | b:any, c [amd64]'."""
    return [
        m.group(1)
        for part in re.split(r"[,|]", value)
        if (m := re.match(r"\s*([a-z0-9][a-z0-9+.\-]*)", part))
    ]


def read_list(path):
    """The text of one of apt's package lists, or None where the program to unpack it is missing."""
    if path.endswith(".lz4"):
        if shutil.which("lz4"):
            command = ["lz4", "-dc", path]
        elif shutil.which("/usr/lib/apt/apt-helper"):
            command = ["/usr/lib/apt/apt-helper", "cat-file", path]
        else:
            return None
        done = subprocess.run(command, capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
    opener = gzip.open if path.endswith(".gz") else lzma.open if path.endswith(".xz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        return file.read()


def from_apt_lists(pattern):
    """Packages of all of apt's lists."""
    packages = {}
    for path in sorted(glob.glob(pattern)):
        text = read_list(path)
        for name, names in stanzas(text or ""):
            packages.setdefault(name, set()).update(names)
    return packages


def from_apt_cache():
    """Packages that apt-cache knows."""
    if not shutil.which("apt-cache"):
        return {}
    done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=False)
    packages = {}
    for name, names in stanzas(done.stdout.decode("utf-8", "replace")):
        packages.setdefault(name, set()).update(names)
    return packages


def from_status(path):
    """Installed packages."""
    try:
        text = read_list(path)
    except OSError:
        return {}
    return {name: set(names) for name, names in stanzas(text)}


def packages_of_this_machine(lists="/var/lib/apt/lists/*_Packages*", status="/var/lib/dpkg/status"):
    """(where from, {package: names}); raises NoPackages."""
    for source, read in (
        (f"apt's package lists ({lists})", lambda: from_apt_lists(lists)),
        ("apt-cache dumpavail", from_apt_cache),
    ):
        packages = read()
        if len(packages) >= FEW:
            return source, packages
    packages = from_status(status)
    if packages:
        return f"the installed packages ({status}), since apt has no package lists", packages
    raise NoPackages(
        "no Debian package list on this machine: neither apt's lists, nor apt-cache, "
        f"nor {status}. Use another graph (--rmat, or any SNAP edge list)."
    )


def edges_of(packages):
    """(package names in order, sorted edges between their numbers, without loops or repeats)."""
    order = sorted(packages)
    number = {name: i for i, name in enumerate(order)}
    edges = set()
    for name, names in packages.items():
        a = number[name]
        for other in names:
            b = number.get(other)
            if b is not None and b != a:
                edges.add((min(a, b), max(a, b)))
    return order, sorted(edges)


def write(path):
    """Writes the graph; returns (source, packages, edges)."""
    source, packages = packages_of_this_machine()
    order, edges = edges_of(packages)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Debian package dependencies: {len(order)} packages, {len(edges)} edges\n")
        file.writelines(f"{a} {b}\n" for a, b in edges)
    return source, len(order), len(edges)


def main(argv=None):
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("output", help="the edge list to write")
    path = parser.parse_args(argv).output
    try:
        source, packages, edges = write(path)
    except NoPackages as error:
        sys.exit(f"debian_graph: {error}")
    print(f"{path}: {packages} packages, {edges} edges, from {source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
