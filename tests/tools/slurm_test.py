"""Slurm itself: a controller and two nodes on this machine, started for the test and ended with it.

srun, sbatch and salloc with hob exec and hob run, with ghosts, MPICH and Open MPI; and every line with one of
them that README.md and docs/ tell a user to type. Slurm starts tasks as root only, so it is skipped for others, and where Slurm or munge is not installed or its daemons do not start."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import BIN, ROOT, clean_environment, install, mpis

from lines_test import pages, typed_lines

DAEMONS = ("munged", "slurmctld", "slurmd")
NODES = ("n1", "n2")
LCC = ("--rmat", "8", "8")
# The size of this cluster in place of that of the lines.
SIZES = (
    (r"-N 4\b", "-N 2"),
    (r"--ntasks-per-node=128\b", "--ntasks-per-node=2"),
    (r"--ntasks-per-node=129\b", "--ntasks-per-node=3"),
    (r"-n 512\b", "-n 4"),
    (r"\./app( input)?$", "./app " + " ".join(LCC)),
    (r"^sbatch\b", "sbatch -W -o job.out"),
    (r"^srun (?!-N)", "srun -n 2 "),
)
# How far each library goes without Hob where the two nodes are one machine: family, protocol, nodes, ranks.
# Open MPI makes no windows between such nodes; Open MPI 5 starts no third rank under Slurm 22.05.
LIBRARIES = (("mpich", "pmi2", 2, 4), ("openmpi", "pmix", 1, 2))

CONFIGURATION = """ClusterName=hob
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.sock
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
TmpFS={home}/tmp-%n
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


def program(path):
    """An installed program; the daemons are where only root's PATH looks."""
    return shutil.which(path, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def why_not():
    """Why Slurm cannot be started here; "" if it can."""
    missing = [name for name in (*DAEMONS, "srun", "salloc", "sbatch") if not program(name)]
    if missing:
        return f"not installed: {' '.join(missing)}"
    return "" if os.geteuid() == 0 else "slurmd starts tasks only as root"


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def answer(out):
    """What lcc computed; the same for every number of ranks."""
    found = re.findall(r"(\d+ vertices, \d+ edges), .*(mean [0-9.]+)", out)
    if len(found) != 1:
        raise AssertionError(f"{len(found)} answers in: {out}")
    return found[0]


def hob_run(ranks, *words):
    return [ROOT / "hob", "run", "-n", ranks, *words]


class Cluster:
    """A Slurm of two nodes; both are this machine."""

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="hob-slurm-", ignore_cleanup_errors=True)
        self.home = Path(self.scratch.name)
        self.home.chmod(0o755)
        self.environment = {"SLURM_CONF": str(self.home / "slurm.conf")}
        self.running = []

    def start(self):
        home, host = self.home, socket.gethostname().split(".")[0]
        # Each node has a TmpFS of its own, else their PMIx servers meet in one directory.
        for name in ("state", *(f"{kind}-{node}" for kind in ("tmp", "spool") for node in NODES)):
            (home / name).mkdir()
        control_port, *ports = free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 State=UNKNOWN"
            for node, port in zip(NODES, ports, strict=True)
        ]
        (home / "slurm.conf").write_text(
            CONFIGURATION.format(
                host=host,
                home=home,
                control_port=control_port,
                nodes="\n".join(nodes),
                names=",".join(NODES),
            )
        )
        key = home / "key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"key-file": "key", "socket": "munge.sock", "pid-file": "pid", "seed-file": "seed"}
        self.daemon(
            "munged", "-F", "--force", *(f"--{what}={home / name}" for what, name in files.items())
        )
        self.wait_for((home / "munge.sock").exists, "munged")
        self.daemon("slurmctld", "-D")
        for node in NODES:
            self.daemon("slurmd", "-D", "-N", node)
        self.wait_for(self.both_are_idle, "the nodes")

    def daemon(self, name, *arguments):
        log = (self.home / f"log-{len(self.running)}-{name}").open("w")
        self.running.append(
            subprocess.Popen(
                [program(name), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean_environment(**self.environment),
            )
        )
        log.close()

    def both_are_idle(self):
        _, out, _ = self.run("sinfo", "-h", "-N", "-o", "%T", "-t", "idle")
        return out.split() == ["idle"] * len(NODES)

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(f"{p}:\n{p.read_text()[-2000:]}\n" for p in self.home.glob("log-*"))
                self.stop()
                raise unittest.SkipTest(f"{what} did not start:\n{logs}")
            time.sleep(0.1)

    def run(self, *command, **environment):
        """(status, standard output, standard error); a command that waits for ever is ended."""
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            cwd=self.home,
            env=clean_environment(**self.environment, **environment),
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def stop(self):
        for daemon in reversed(self.running):
            daemon.terminate()
        for daemon in self.running:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.scratch.cleanup()


def setUpModule():
    why = why_not()
    if why:
        raise unittest.SkipTest(why)


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def lcc(self, family):
        """The program, for the build's first MPI library of a family."""
        for name, mpi in mpis().items():
            if mpi["family"] == family and name != "intel":
                return BIN / name / "lcc"
        self.skipTest(f"no library of family {family}")

    def need(self, protocol):
        """Slurm may list a protocol whose library is not installed."""
        status, _, err = self.cluster.run("srun", "-n", 1, f"--mpi={protocol}", "true")
        if status != 0:
            self.skipTest(f"this Slurm cannot use --mpi={protocol}: {err}")

    def good(self, *command, **environment):
        """What a command that must succeed wrote: (standard output, standard error)."""
        status, out, err = self.cluster.run(*command, **environment)
        self.assertEqual(status, 0, f"{command}\n{out}\n{err}")
        return out, err

    def judged(self, file, out, plain, ranks):
        """The job was one, of so many ranks, and its answer right."""
        report = json.loads(Path(file).read_text())
        self.assertEqual(report["program"]["ranks"], ranks)
        self.assertEqual(answer(out), answer(plain))
        return report

    def served_on_both_nodes(self, report):
        self.assertEqual([rank["ghost"]["node"] for rank in report["ranks"]], [0, 0, 1, 1])
        for rank in report["ranks"]:
            self.assertGreater(rank["ghost"]["windows"], 0)
            self.assertGreater(rank["ghost"]["redirected"], 0)

    def test_srun_and_hob_exec(self):
        for family, protocol, nodes, ranks in LIBRARIES:
            with self.subTest(family):
                self.need(protocol)
                lcc = self.lcc(family)
                srun = ["srun", "-N", nodes, "-n", ranks, f"--mpi={protocol}"]
                plain, _ = self.good(*srun, lcc, *LCC)
                file = self.cluster.home / f"{family}.json"
                out, err = self.good(*srun, BIN / "hob-exec", "--json", file, lcc, *LCC)
                self.judged(file, out, plain, ranks)
                self.assertEqual(err.count("remote gets,"), 1, err)

    def test_ghosts_on_both_nodes(self):
        self.need("pmi2")
        lcc = self.lcc("mpich")
        file = self.cluster.home / "ghosts.json"
        plain, _ = self.good("srun", "-N2", "-n", 4, "--mpi=pmi2", lcc, *LCC)
        ghosts = [BIN / "hob-exec", "--ghosts", 1, "--json", file]
        out, _ = self.good("srun", "-N2", "--ntasks-per-node=3", "--mpi=pmi2", *ghosts, lcc, *LCC)
        report = self.judged(file, out, plain, 4)
        self.served_on_both_nodes(report)

    def test_hob_run_in_an_allocation_chooses_the_protocol(self):
        for family, protocol, nodes, ranks in LIBRARIES:
            with self.subTest(family):
                self.need(protocol)
                lcc = self.lcc(family)
                where = ["-N", nodes, "-n", ranks]
                plain, _ = self.good("srun", *where, f"--mpi={protocol}", lcc, *LCC)
                out, _ = self.good("salloc", "-Q", *where, *hob_run(ranks, "--dry-run", lcc))
                self.assertIn(f"srun --mpi={protocol} ", out)
                file = self.cluster.home / f"run-{family}.json"
                command = hob_run(ranks, "--json", file, lcc, *LCC)
                out, _ = self.good("salloc", "-Q", *where, *command)
                self.judged(file, out, plain, ranks)

    def test_hob_run_with_ghosts_in_an_allocation(self):
        self.need("pmi2")
        lcc = self.lcc("mpich")
        plain, _ = self.good("srun", "-N2", "-n", 4, "--mpi=pmi2", lcc, *LCC)
        file = self.cluster.home / "run-ghosts.json"
        command = hob_run(4, "--ghosts", 1, "--json", file, lcc, *LCC)
        out, _ = self.good("salloc", "-Q", "-N2", "--ntasks-per-node=3", *command)
        report = self.judged(file, out, plain, 4)
        self.served_on_both_nodes(report)

    def test_sbatch(self):
        self.need("pmi2")
        lcc = self.lcc("mpich")
        plain, _ = self.good("srun", "-N2", "-n", 4, "--mpi=pmi2", lcc, *LCC)
        home = self.cluster.home
        script = home / "job.sh"
        line = f"srun --mpi=pmi2 {BIN / 'hob-exec'} --json {home}/job.json {lcc} {' '.join(LCC)}"
        script.write_text(f"#!/bin/sh\n{line}\n")
        self.good("sbatch", "-W", "-N2", "-n", 4, "-o", home / "job.out", script)
        self.judged(home / "job.json", (home / "job.out").read_text(), plain, 4)

    def test_lines_of_the_pages(self):
        home = self.cluster.home
        install(home / "hob")
        (home / "job.sh").write_text(f"#!/bin/sh\nsrun --mpi=pmi2 hob exec ./app {' '.join(LCC)}\n")
        path = f"{home}/hob/bin:{os.environ['PATH']}"
        lines = {line for page in pages() for line in typed_lines(page)}
        lines = [line for line in lines if re.match(r"(srun|sbatch|salloc)\b", line)]
        lines = [line for line in lines if "apptainer" not in line]
        self.assertGreater(len(lines), 3)
        for line in sorted(lines):
            self.need("pmix" if "pmix" in line else "pmi2")
            shutil.copy(self.lcc("openmpi" if "pmix" in line else "mpich"), home / "app")
            for pattern, replacement in SIZES:
                line = re.sub(pattern, replacement, line)
            with self.subTest(line):
                out, err = self.good("sh", "-c", line, HOME=str(home), PATH=path)
                if line.startswith("sbatch"):
                    out = err = (home / "job.out").read_text()
                answer(out)
                # One summary. With all ranks on one node, no get is remote.
                counts = [err.count(" remote gets,"), err.count(" gets was remote")]
                self.assertEqual(max(counts), 1, err)
                if "--ghosts" in line:
                    self.assertRegex(out, r"\b4 ranks")

    def test_the_wrong_protocol_is_named(self):
        lcc = self.lcc("mpich")
        exec_lcc = (BIN / "hob-exec", lcc, *LCC)
        _, err = self.good("srun", "-N2", "-n", 4, "--mpi=none", *exec_lcc)
        self.assertEqual(err.count("the launcher started 4 tasks"), 1, err)
        _, err = self.good("srun", "-N1", "-n", 1, "--mpi=none", *exec_lcc)
        self.assertNotIn("the launcher started", err)


if __name__ == "__main__":
    unittest.main()
