"""What sites install Hob with: the module files, Debian's package, the RPM, and the recipes of EasyBuild and conda,
each with its own tool where that is to be had, else read with a stand-in."""

import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from support import BUILD, ROOT, install, run

PACKAGING = ROOT / "packaging"
LMOD = next(iter(sorted(Path("/usr/share/lmod").glob("*/libexec/lmod"))), None)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Module systems may set these for their own use; Hob warns about them and must not meet them from us.
SETTINGS = r"(?:setenv|set-env|export)\W+HOB_"


class Address(unittest.TestCase):
    def test_is_in_one_place(self):
        address = (PACKAGING / "address").read_text().strip()
        said = [path for path in ROOT.glob("*.md")] + [*(ROOT / "docs").glob("*.md")]
        readme = (ROOT / "README.md").read_text()
        if address == "none":
            self.assertIn("Hob has no public address yet", readme)
        else:
            self.assertIn(address, readme)
        for path in said:
            if path.name not in ("README.md", "CHANGELOG.md"):
                self.assertNotIn("no public address", path.read_text(), path)
        for path in ("spack/packages/hob/package.py", "../cmake/HobInstall.cmake"):
            self.assertRegex((PACKAGING / path).read_text(), "packaging.*address")


@unittest.skipUnless(shutil.which("ssh-keygen"), "no ssh-keygen here")
class Checksums(unittest.TestCase):
    def test_are_signed_and_verified(self):
        script = ROOT / "scripts" / "checksums"
        with tempfile.TemporaryDirectory() as scratch:
            here = Path(scratch)
            dist = here / "dist"
            dist.mkdir()
            for name in ("key", "other"):
                words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", here / name]
                self.assertEqual(run(words)[0], 0)
                signers = "hob " + (here / f"{name}.pub").read_text()
                (here / f"{name}.signers").write_text(signers)
            self.assertEqual(run([script, dist, here / "key"])[0], 2)
            (dist / "a wheel.whl").write_text("1")
            (dist / "b.deb").write_text("2")
            self.assertEqual(run([script, dist, here / "key"])[::2], (0, ""))
            self.assertEqual(len((dist / "SHA256SUMS").read_text().splitlines()), 2)

            def check(signers="key"):
                return run([script, "--check", dist, here / f"{signers}.signers"])[::2]

            self.assertEqual(check(), (0, ""))
            self.assertIn("is of no key", check("other")[1])
            # Not one whose name is a part of another's, nor in a folder, nor a link.
            (dist / "folder").mkdir()
            for name in ("c", "a wheel", "folder/c", "link", "SHA256SUMS.old"):
                path = dist / name
                if name == "link":
                    path.symlink_to("b.deb")
                else:
                    path.write_text("3")
                self.assertEqual(check(), (1, f"checksums: {name} is not in SHA256SUMS\n"))
                path.unlink()
            (dist / "b.deb").write_text("4")
            self.assertEqual(check()[0], 1)
            sums = dist / "SHA256SUMS"
            sums.write_text(sums.read_text().replace("0", "1"))
            self.assertIn("is of no key", check()[1])
            self.assertEqual(run([script, dist])[0], 2)


class Installed(unittest.TestCase):
    """What `cmake --install` leaves."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        first = Path(cls.scratch.name, "first")
        install(first)
        # Moved after it was installed, as images and shared file systems do.
        cls.prefix = first.rename(Path(cls.scratch.name, "moved"))

    def loaded(self, module_path, name):
        """The variables that Lmod sets for a module."""
        status, out, err = run(
            [LMOD, "bash", "load", name], MODULEPATH=str(module_path), MANPATH="", LMOD_PAGER="none"
        )
        self.assertEqual(status, 0, err)
        return dict(re.findall(r"^(\w+)=(.*);$", out, re.MULTILINE))

    def check(self, variables):
        for name, part in (
            ("PATH", "bin"),
            ("MANPATH", "share/man"),
            ("PKG_CONFIG_PATH", "lib/pkgconfig"),
            ("CMAKE_PREFIX_PATH", ""),
        ):
            want = str(self.prefix / part)
            self.assertIn(want, variables[name].strip('"').split(":"), name)
            self.assertTrue(Path(want).is_dir(), want)
        self.assertFalse([name for name in variables if name.startswith("HOB_")])

    @unittest.skipUnless(LMOD, "no Lmod here")
    def test_lmod_loads_its_module(self):
        self.check(self.loaded(self.prefix / "share/modulefiles", f"hob/{VERSION}"))

    @unittest.skipUnless(LMOD, "no Lmod here")
    def test_the_tcl_module_does_the_same(self):
        # Lmod takes the other one where both lie side by side.
        (self.prefix / f"share/modulefiles/hob/{VERSION}.lua").unlink()
        self.check(self.loaded(self.prefix / "share/modulefiles", f"hob/{VERSION}"))

    def test_manual_pages_and_completion_are_there(self):
        from hob.cli import COMMANDS

        pages = {page.name for page in (self.prefix / "share/man/man1").iterdir()}
        self.assertEqual(pages, {"hob.1", *(f"hob-{name}.1" for name in COMMANDS)})
        for file in (
            "share/bash-completion/completions/hob",
            "share/zsh/site-functions/_hob",
            "share/fish/vendor_completions.d/hob.fish",
        ):
            self.assertIn("advise", (self.prefix / file).read_text(), file)

    def test_modules_set_no_settings(self):
        for file in (PACKAGING / "modules").iterdir():
            self.assertNotRegex(file.read_text(), SETTINGS)


class System(unittest.TestCase):
    """The packages of distributions, by CPack."""

    def packed(self, generator, scratch, pattern, *more):
        done = subprocess.run(
            [shutil.which("cpack"), "-G", generator, "-B", scratch, *more],
            cwd=BUILD,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (package,) = Path(scratch).glob(pattern)
        return package

    def check(self, needs, root):
        # It finds the program's MPI library when it starts, and brings none.
        self.assertNotRegex(needs, r"(?i)(mpich|openmpi|libmpi)")
        hob = Path(root, "usr/bin/hob")
        self.assertEqual(run([hob, "--version"])[:2], (0, f"hob {VERSION}\n"))
        self.assertEqual(run([hob, "config", "--json"])[0], 0)

    @unittest.skipUnless(
        shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "no dpkg here"
    )
    def test_debian_s_works_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory() as scratch:
            quick = ("-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
            package = self.packed("DEB", scratch, "*.deb", *quick)
            fields = run(["dpkg-deb", "-f", package])[1]
            self.assertIn(f"Version: {VERSION}", fields)
            self.assertIn("python3 (>= 3.9)", fields)
            subprocess.run(["dpkg-deb", "-x", package, f"{scratch}/root"], check=True)
            self.check(re.search("^Depends: .*", fields, re.MULTILINE)[0], f"{scratch}/root")

    @unittest.skipUnless(shutil.which("rpmbuild") and shutil.which("rpm2cpio"), "no rpmbuild here")
    def test_the_rpm_works_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory() as scratch:
            quick = ("-D", "CPACK_RPM_COMPRESSION_TYPE=gzip")
            package = self.packed("RPM", scratch, "*.rpm", *quick)
            self.assertIn(f"hob-mpi-{VERSION}", run(["rpm", "-qp", package])[1])
            needs = run(["rpm", "-qp", "--requires", package])[1]
            self.assertIn("python3 >= 3.9 or", needs)
            self.assertIn("python311", needs)  # SLES 15, whose python3 is 3.6
            root = Path(scratch, "root")
            root.mkdir()
            unpack = f"rpm2cpio '{package}' | cpio --quiet -id"
            subprocess.run(["sh", "-c", unpack], cwd=root, check=True)
            self.check(needs, root)


class Recipes(unittest.TestCase):
    def variables(self, text):
        """CMake variables that a recipe sets are ones that CMake knows."""
        known = (ROOT / "CMakeLists.txt").read_text()
        named = re.findall(r"-D(HOB_\w+)=", text)
        self.assertIn("HOB_MPICC", named)
        for name in named:
            self.assertRegex(known, rf"(option|set)\({name} ")

    def test_easybuild(self):
        (recipe,) = (PACKAGING / "easybuild").glob("*.eb")
        fields = {}
        exec(compile(recipe.read_text(), recipe.name, "exec"), fields)  # what EasyBuild does
        toolchain = "-".join(fields["toolchain"][key] for key in ("name", "version"))
        self.assertEqual(recipe.stem, f"hob-{VERSION}-{toolchain}")
        self.assertEqual(fields["version"], VERSION)
        self.variables(fields["configopts"])
        for file in fields["sanity_check_paths"]["files"]:
            self.assertRegex(file, r"^(bin/hob|include/hob|lib/hob)")
        names = {name.lower() for name, _ in fields["builddependencies"] + fields["dependencies"]}
        self.assertLessEqual({"cmake", "cli11", "fmt", "nlohmann_json", "boost", "hwloc"}, names)
        if shutil.which("eb"):  # with its own tool: each dependency has an easyconfig
            words = ["eb", recipe, "--dry-run", "--robot", "--modules-tool=Lmod"]
            words.append("--allow-use-as-root-and-accept-consequences")
            status, out, err = run(words)
            self.assertEqual(status, 0, out + err)
            self.assertIn(f"hob/{VERSION}-{toolchain}", out)

    def test_conda(self):
        text = (PACKAGING / "conda/meta.yaml").read_text()
        self.assertIn(f'version = "{VERSION}"', text)
        self.assertTrue((PACKAGING / "conda/../../CMakeLists.txt").resolve().exists())
        self.variables(text)
        for name in ("cli11", "fmt", "nlohmann_json", "libboost-headers", "libhwloc"):
            self.assertIn(f"- {name} >=", text)


if __name__ == "__main__":
    unittest.main()
