"""Nodes on one machine: network namespaces joined by a bridge, which MPICH's launcher takes for hosts (shared
memory inside each, TCP between them). Making them needs root."""

import os
import shutil
import subprocess


class NoNamespaces(RuntimeError):
    """They cannot be made here; the message says why."""


class Namespaces:
    """A context: the nodes exist inside it. Its names carry the process id, so that several can stand beside each
    other."""

    def __init__(self, folder, own_cores=False, nodes=2):
        """`folder` keeps the script that the launcher takes for ssh. own_cores: each node has its share of the
        machine's cores, as nodes have, where there is a core for each; else the system places processes on any."""
        number = os.getpid() % 200 + 20
        self.mark = f"hob{os.getpid() % 100000}"
        self.bridge = f"{self.mark}b"
        self.subnet = f"10.213.{number}"
        self.hosts = [f"{self.subnet}.{node + 10}" for node in range(nodes)]
        self.script = f"{folder}/enter"
        cores = sorted(os.sched_getaffinity(0))
        self.cores = {}
        if own_cores and len(cores) >= nodes:
            self.cores = {host: cores[node::nodes] for node, host in enumerate(self.hosts)}

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise NoNamespaces("making network namespaces needs root and the program ip")
        self._remove()  # what a run with this process's number, ended by a signal, has left
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            self._remove()
            raise NoNamespaces(
                f"this system makes no network namespaces: {error.stderr.strip()}"
            ) from error
        with open(self.script, "w") as file:
            file.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n')
            for host, cores in self.cores.items():
                file.write(
                    f'[ "$1" != {host} ] || taskset -p -c {",".join(map(str, cores))} $$ >/dev/null\n'
                )
            file.write(f'host=$1; shift; exec ip netns exec {self.mark}-"$host" sh -c "$*"\n')
        os.chmod(self.script, 0o755)
        return self

    def __exit__(self, *_):
        self._remove()

    def launch(self, ranks):
        """Words for MPICH's mpiexec: `ranks` processes dealt out evenly."""
        words = ["-iface", self.bridge, "-launcher", "ssh", "-launcher-exec", self.script]
        return [*words, "-hosts", ",".join(self.hosts), "-ppn", str(ranks // len(self.hosts))]

    def _make(self):
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.subnet}.1/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")
        for host in self.hosts:
            space, outer = f"{self.mark}-{host}", f"{self.mark}v{host[-2:]}"
            _ip("netns", "add", space)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", outer, "master", self.bridge, "up")
            _ip("-n", space, "addr", "add", f"{host}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")

    def _remove(self):
        for host in self.hosts:
            _ip("netns", "del", f"{self.mark}-{host}", check=False)
            _ip("link", "del", f"{self.mark}v{host[-2:]}", check=False)
        _ip("link", "del", self.bridge, check=False)


def _ip(*words, check=True):
    subprocess.run(["ip", *words], check=check, capture_output=True, text=True)
