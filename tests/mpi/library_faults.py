"""Whether a fault that Hob works around is still in the MPI library: runs library_faults.c, without Hob, until one run
hangs, crashes or says FAULT. Status 1 if none does: then the workaround may no longer be needed with this version
(docs/developers/workarounds.md)."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--exec", required=True)
parser.add_argument("--option", action="append", default=[], help="of the launcher")
parser.add_argument("--ranks", type=int, required=True)
parser.add_argument("--env", default="", help="NAME=VALUE NAME=VALUE")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--seconds", type=float, default=15, help="after which a run hangs")
parser.add_argument("program")
parser.add_argument("fault")
args = parser.parse_args()


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(scratch):
    """How one run ended."""
    env = dict(os.environ, **dict(word.split("=", 1) for word in args.env.split()))
    command = [args.exec, "-n", str(args.ranks), *args.option]
    command += [args.program, args.fault, scratch + "/file"]
    hangs, status = False, 0
    with open(scratch + "/out", "w+") as out:
        process = subprocess.Popen(
            command, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(timeout=args.seconds)
        except subprocess.TimeoutExpired:
            # The launcher ends its processes, which may have left its group.
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                pass
            hangs = True
        finally:
            end_group(process)
        out.seek(0)
        text = out.read()
    if "begun" not in text or "no such fault here" in text:
        sys.exit(f"{args.program} {args.fault} did not begin:\n{text}")
    if hangs:
        return "hangs"
    if "FAULT" in text:
        return "says FAULT"
    if status != 0:
        return f"ends with status {status}"
    return "right" if "right" in text else "says nothing"


for number in range(1, args.runs + 1):
    with tempfile.TemporaryDirectory() as scratch:
        how = run(scratch)
    if how != "right":
        print(f"{args.fault}: run {number} {how}")
        sys.exit(0)
print(
    f"{args.fault}: {args.runs} runs were right: see docs/developers/workarounds.md whether it is still needed"
)
sys.exit(1)
