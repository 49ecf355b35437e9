"""Runs programs with ghosts on two real nodes: network namespaces of this machine, joined by a bridge, which
MPICH's launcher takes for two hosts (shared memory inside each, TCP between them). Needs root.

    ghost_netns.py --exec MPIEXEC --library LIBHOB --users 2 --ghosts 1 -- PROGRAM [ARG...] [-- PROGRAM...]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
NODES = 2

parser = argparse.ArgumentParser()
parser.add_argument("--exec")
parser.add_argument("--library")
parser.add_argument("--users", type=int, help="ranks of the program on each node")
parser.add_argument("--ghosts", type=int, help="on each node")
parser.add_argument("programs", nargs=argparse.REMAINDER)
args = parser.parse_args()

number = os.getpid() % 200 + 20
mark = f"hob{os.getpid() % 100000}"
bridge = f"{mark}b"
subnet = f"10.213.{number}"
hosts = [f"{subnet}.{node + 10}" for node in range(NODES)]


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def build():
    ip("link", "add", bridge, "type", "bridge")
    ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
    ip("link", "set", bridge, "up")
    for host in hosts:
        space, inner, outer = f"{mark}-{host}", "eth0", f"{mark}v{host[-2:]}"
        ip("netns", "add", space)
        ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space)
        ip("link", "set", outer, "master", bridge, "up")
        ip("-n", space, "addr", "add", f"{host}/24", "dev", inner)
        ip("-n", space, "link", "set", inner, "up")
        ip("-n", space, "link", "set", "lo", "up")


def tear_down():
    for host in hosts:
        subprocess.run(["ip", "netns", "del", f"{mark}-{host}"], capture_output=True)
        subprocess.run(["ip", "link", "del", f"{mark}v{host[-2:]}"], capture_output=True)
    subprocess.run(["ip", "link", "del", bridge], capture_output=True)


def run(folder, command):
    """What is wrong with it; empty if nothing."""
    report = f"{folder}/report.json"
    settings = {
        "LD_PRELOAD": args.library,
        "HOB_GHOSTS": args.ghosts,
        "HOB_REPORT": "silent",
        "HOB_JSON": report,
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_MAX_SAVED": 1000000,
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": 1,
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": 1,
    }
    launch = [args.exec, "-iface", bridge, "-launcher", "ssh", "-launcher-exec", f"{folder}/enter"]
    on_node = args.users + args.ghosts
    launch += ["-hosts", ",".join(hosts), "-ppn", str(on_node), "-n", str(NODES * on_node)]
    for key, value in settings.items():
        launch += ["-genv", key, str(value)]
    try:
        done = subprocess.run(launch + command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "did not end within 120 s"
    if done.returncode != 0 or "No Errors" not in done.stdout:
        return f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    with open(report) as file:
        ranks = json.load(file)["ranks"]
    nodes = {rank["ghost"]["node"] for rank in ranks}
    redirected = sum(rank["ghost"]["redirected"] for rank in ranks)
    if len(ranks) != NODES * args.users or len(nodes) != NODES:
        return f"{len(ranks)} ranks on {len(nodes)} nodes"
    if redirected == 0 and not command[0].endswith("world"):
        return "no operation was redirected"
    return ""


def main():
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("SKIP: making network namespaces needs root and the program ip")
        return SKIP
    programs, current = [], []
    for word in [*args.programs[1:], "--"]:
        if word == "--":
            programs.append(current)
            current = []
        else:
            current.append(word)
    try:
        try:
            build()
        except subprocess.CalledProcessError as error:
            print(f"SKIP: this system makes no network namespaces: {error.stderr.strip()}")
            return SKIP
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/enter", "w") as file:  # what hydra takes for ssh
                file.write(
                    "#!/bin/sh\n"
                    'while [ "${1#-}" != "$1" ]; do shift; done\n'
                    f'host=$1; shift; exec ip netns exec {mark}-"$host" sh -c "$*"\n'
                )
            os.chmod(f"{folder}/enter", 0o755)
            bad = {" ".join(each): problem for each in programs if (problem := run(folder, each))}
    finally:
        tear_down()
    for program, problem in bad.items():
        print(f"{program}: {problem}")
    return 1 if bad else 0


sys.exit(main())
