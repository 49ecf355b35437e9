"""The graph of the package list: what counts as an edge, and where the list comes from."""

import gzip
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import debian_graph

CONTROL = """Package: zoo
Version: 1
Depends: ant (>= 1.2), bee:any | cat,
 dog [amd64]
Description: names in prose, such as
 ant, are no edges
 Recommends: neither

Package: ant
Pre-Depends: zoo, ant
Conflicts: bee

Package: bee
Suggests: nowhere, ant

Package: cat

Package: dog
"""


class DebianGraph(unittest.TestCase):
    def test_edges_are_relations_both_ends_of_which_are_packages(self):
        order, edges = debian_graph.edges_of(dict(debian_graph.stanzas(CONTROL)))
        self.assertEqual(order, ["ant", "bee", "cat", "dog", "zoo"])
        self.assertEqual(edges, [(0, 1), (0, 4), (1, 4), (2, 4), (3, 4)])

    def test_lists_of_several_archives_are_joined_and_compressed_ones_read(self):
        with tempfile.TemporaryDirectory() as here:
            Path(here, "a_Packages").write_text("Package: a\nDepends: b\n")
            with gzip.open(Path(here, "b_Packages.gz"), "wt") as file:
                file.write("Package: b\n\nPackage: a\nDepends: c\n")
            packages = debian_graph.from_apt_lists(f"{here}/*_Packages*")
        self.assertEqual(packages, {"a": {"b", "c"}, "b": set()})

    def test_a_machine_without_lists_uses_what_is_installed(self):
        with (
            tempfile.TemporaryDirectory() as here,
            mock.patch.object(debian_graph, "from_apt_cache", return_value={}),
        ):
            status = Path(here, "status")
            status.write_text(CONTROL)
            source, packages = debian_graph.packages_of_this_machine(f"{here}/none*", str(status))
            self.assertIn(str(status), source)
            self.assertEqual(len(packages), 5)
            with self.assertRaisesRegex(debian_graph.NoPackages, "no Debian package list"):
                debian_graph.packages_of_this_machine(f"{here}/none*", f"{here}/nothing")


if __name__ == "__main__":
    unittest.main()
