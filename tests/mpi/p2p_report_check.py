"""Runs p2p_counts under Hob and compares the receives in its report with those of the program; or
p2p_flood, of which the report says how many messages waited if they were very many.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

# As in p2p_counts.c.
EXCHANGES, PING_PONGS, WAITING, AMONG_WAITING, DEEP = 3000, 5000, 40, 20000, 3000
WORLD = EXCHANGES + PING_PONGS + WAITING + AMONG_WAITING + DEEP
# Beyond so many, the report mentions the messages of a flood.
MENTIONED = 100_000
# So many receives in short queues are watched on the slowest machine.
LEAST_WATCHED = 32

# Bytes of a message of p2p_flood's, and so many bytes that may be dequeued in one run.
MESSAGE, QUOTA = 4, 100_000


def run(args, match, words=(), **settings):
    path = os.path.join(tempfile.mkdtemp(), "report.json")
    hob = {"LD_PRELOAD": args.lib, "HOB_MATCH": match, "HOB_JSON": path, "HOB_REPORT": "silent"}
    hob |= {f"HOB_{key}": value for key, value in settings.items()}
    launch = [*args.exec.split(";"), "-n", "2"]
    if args.family == "openmpi":
        launch.append("--oversubscribe")
    command = [*launch, "env", *(f"{key}={value}" for key, value in hob.items())]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        [*command, args.program, *words],
        env=os.environ | root,
        capture_output=True,
        text=True,
        timeout=450,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with open(path) as file:
        return json.load(file)


def check_counts(args):
    for match in ("auto", "always", "never"):
        report = run(args, match)
        for rank in report["ranks"]:
            queues = {queue["comm"]: queue["counters"] for queue in rank["queues"]}
            world, other = queues["MPI_COMM_WORLD"], queues["communicator 1"]
            print(match, world, other)
            assert world["receives"] == WORLD, world
            assert other["receives"] == EXCHANGES, other
            # The length of the queue is known, whoever was watched.
            assert abs(world["prq_max"] - DEEP) <= DEEP / 5, world
            # Blocking ones cost nothing to look at; of others in short queues, few are.
            if match == "always":
                # Blocking receives with nothing else posted may be left to the library.
                assert world["watched"] == world["in_prq"] + world["native"], world
                assert world["in_prq"] + world["immediate"] + world["native"] == WORLD, world
                assert world["native"] <= PING_PONGS, world
                continue
            # How many depends on the time; some of the first ones always are.
            looked_at = world["watched"] - PING_PONGS - world["in_prq"]
            assert LEAST_WATCHED <= looked_at, world
            assert LEAST_WATCHED <= other["watched"] <= EXCHANGES // 2, other
            # The deep queue was noticed although nobody looked.
            assert (world["in_prq"] > DEEP // 2) == (match == "auto"), world


def check_flood(args):
    for messages in (MENTIONED + 20_000, MENTIONED // 2):
        report = run(args, "always", [str(messages), "8000", "1"])
        told = [note for note in report["notes"] if "unexpected messages were in the UMQ" in note]
        print(messages, told)
        assert len(told) == (messages > MENTIONED), report["notes"]
        if told:
            held = int(told[0].split()[2])
            assert MENTIONED < held <= messages + 1, told
    # Beyond a quota, messages stay with the library.
    report = run(args, "always", ["40000", "8000", "1"], MATCH_UNEXPECTED=str(QUOTA))
    held = [q["counters"]["umq_max"] for rank in report["ranks"] for q in rank.get("queues", [])]
    print("with a quota:", held)
    assert max(held) == QUOTA // MESSAGE, held


def main():
    parser = argparse.ArgumentParser()
    for name in ("lib", "exec", "family", "program"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    if os.path.basename(args.program) == "p2p_flood":
        check_flood(args)
    else:
        check_counts(args)
    return 0


sys.exit(main())
