"""Runs report_cut_off, which does not reach MPI_Finalize, and looks at what is left: the JSON of rank 0, complete as a file, which
says that the run was not. With --ghosts, that what was written before the end says nothing false of ghosts at the end."""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def run(args, end, ranks=2, rounds=None, **settings):
    """(exit status, the JSON or None, other files)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        hob = {"LD_PRELOAD": args.lib, "HOB_JSON": path, "HOB_REPORT": "silent", **settings}
        launch = [*args.exec.split(";"), "-n", str(ranks)]
        if args.family == "openmpi":
            launch.append("--oversubscribe")
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(
            [
                *launch,
                "env",
                *(f"{key}={value}" for key, value in hob.items()),
                args.program,
                end,
                path,
                *([str(rounds)] if rounds else []),
            ],
            env=os.environ | root,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        report = None
        if os.path.exists(path):
            with open(path) as file:
                report = json.load(file)
        return (
            done.returncode,
            report,
            [name for name in os.listdir(folder) if name != "report.json"],
        )


def check_ghosts(args):
    nodes = {
        "HOB_GHOSTS": "1",
        "MPIR_CVAR_NUM_CLIQUES": "2",
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        "FI_PROVIDER": "tcp",
    }
    status, report, _ = run(args, "finish", 4, **nodes)
    assert status == 0, status
    assert report["program"]["complete"] is True, report["program"]
    ghosts = [ghost for rank in report["ranks"] for ghost in rank["ghost"].get("ghosts", [])]
    assert len(ghosts) == 2, ghosts
    # Ghosts and ranks of two nodes are on one machine.
    assert report["program"]["nodes"] == 1, report["program"]
    assert report["program"]["pretended_nodes"] == 2, report["program"]
    assert all(ghost["operations"] > 0 for ghost in ghosts), ghosts
    assert not [note for note in report["notes"] if "did nothing" in note], report["notes"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("lib", "exec", "family", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--ghosts", action="store_true")
    parser.add_argument("--all-calls", action="store_true")
    args = parser.parse_args()
    if args.ghosts:
        check_ghosts(args)
        return 0
    for end in ("kill", "exit", "abort"):
        status, report, others = run(args, end)
        assert status != 0, end
        assert report is not None, f"{end}: no report"
        assert others == [], (end, others)
        assert report["program"]["complete"] is False, (end, report["program"])
        assert [rank["rank"] for rank in report["ranks"]] == [0], end
        counters = report["ranks"][0]["counters"]
        # Until the file was there, for a kill; all of it where the process itself ends.
        least = 4 if end == "kill" else 400
        print(end, counters["gets"])
        assert counters["gets"] >= least, (end, counters["gets"])
    for call in ("barrier", "allreduce", "sendrecv") if args.all_calls else ():
        status, report, others = run(args, call)
        assert status != 0 and report is not None and others == [], (call, status, others)
        assert report["program"]["complete"] is False, (call, report["program"])
    # What cannot be written is seen at the start, and what is another one's is left alone.
    for setting in ({"HOB_JSON": "/nowhere/x.json"}, {"HOB_TRACE": "/dev/null/x"}):
        status, _, _ = run(args, "finish", **setting)
        assert status == 2, (setting, status)
    with tempfile.TemporaryDirectory() as folder:
        link, victim, other = (os.path.join(folder, name) for name in ("link", "victim", "other"))
        with open(victim, "w") as file:
            file.write("mine")
        os.symlink(victim, link)
        status, _, _ = run(args, "exit", HOB_JSON=link, HOB_JSON_COMMAND="off")
        with open(victim) as file:
            assert file.read() == "mine"
        with open(link) as file:
            assert json.load(file)["program"]["command"] == []
        run(args, "exit", HOB_JSON=other + "-%j-%%", SLURM_JOB_ID="12", SLURM_STEP_ID="3")
        assert os.path.exists(other + "-12.3-%"), os.listdir(folder)
        run(args, "exit", HOB_JSON=other + "-%j-%h", SLURM_JOB_ID="", PBS_JOBID="1/2.host")
        named = [name for name in os.listdir(folder) if name.startswith("other-1_2.host-")]
        assert named and len(named[0]) > len("other-1_2.host-"), os.listdir(folder)
        pipe = os.path.join(folder, "pipe")  # without a reader: nobody waits for one
        os.mkfifo(pipe)
        run(args, "exit", HOB_JSON=pipe)
    # A run that Hob stands aside in tells its time.
    status, report, others = run(args, "finish", rounds=200, HOB_OFF="on")
    assert status == 0 and others == [], (status, others)
    assert report["program"]["complete"] and report["program"]["seconds"] > 0, report["program"]
    assert report["ranks"] == [] and report["settings"]["off"]["value"] == "on", report
    # Now and then is never; at the end of its own it still does.
    for end, written in (("abort", True), ("exit", True)):
        _, report, _ = run(args, end, HOB_JSON_EVERY="0")
        assert (report is not None) == written, end
    return 0


sys.exit(main())
