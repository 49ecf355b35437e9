"""Runs the program under Hob with a heater and checks what the report says about it.

A heater runs where a processor that shares a cache is left over, and else says why not: with one
rank more than processors there never is one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile


def run(args, heat, ranks, together=False, **settings):
    """together: all ranks on one processor, so that another one is left over for the heaters."""
    path = os.path.join(tempfile.mkdtemp(), "report.json")
    hob = {"LD_PRELOAD": args.lib, "HOB_HEAT": heat, "HOB_JSON": path, "HOB_MATCH": "always"}
    hob |= {"HOB_REPORT": "silent", "HOB_CACHE_BYPASS": "off"} | settings
    launch = [*args.exec.split(";"), "-n", str(ranks)]
    if args.family == "openmpi":
        launch.append("--oversubscribe")
    if together:
        launch += ["--bind-to", "none"] if args.family == "openmpi" else []
        launch = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *launch]
    command = [*launch, "env", *(f"{key}={value}" for key, value in hob.items()), args.program]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        command, env=os.environ | root, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 phases of 3000 messages: right" in done.stdout, done.stdout
    with open(path) as file:
        report = json.load(file)
    return report, [rank.get("heat") for rank in report["ranks"]]


def check_off(args):
    report, heats = run(args, "off", 1)
    assert heats == [None], heats
    assert not any("heater" in note for note in report.get("notes", [])), report["notes"]


def check_on(args):
    # Two ranks: messages to oneself are left to the library.
    report, [heat, _] = run(args, "on", 2, together=True, HOB_HEAT_PERIOD_US="200")
    print("on:", heat["reason"])
    assert any(heat["reason"] in note for note in report["notes"]), report["notes"]
    if not heat["on"]:
        assert heat["reason"].startswith("no heater: "), heat
        return
    assert heat["cpu"] >= 0 and heat["cache_level"] >= 1, heat
    assert heat["passes"] > 0 and heat["regions"] > 0, heat
    # The slots of 3,000 receives alone; every pass touches each line of what is registered.
    assert heat["region_bytes"] >= 3000 * 32, heat
    assert heat["lines"] >= 3000 * 32 // 64, heat


def check_auto(args):
    _, [heat] = run(args, "auto", 1)
    print("auto:", heat["reason"])
    assert heat["reason"], heat
    if heat["cpu"] >= 0:
        assert heat["cold_ns"] > 0 and heat["heated_ns"] > 0 and heat["computing"] > 0, heat
        gains = heat["cold_ns"] >= 1.1 * heat["heated_ns"] and heat["computing"] <= 1.03
        assert heat["on"] == gains, heat


def check_full(args):
    _, heats = run(args, "auto", len(os.sched_getaffinity(0)))
    for heat in heats:
        print("full:", heat["reason"])
        # Ranks that are not bound may happen to meet on a processor while they look around.
        assert heat["on"] or heat["reason"].startswith(("no heater: ", "heater off, ")), heat


def main():
    parser = argparse.ArgumentParser()
    for name in ("lib", "exec", "family", "program"):
        parser.add_argument("--" + name, required=True)
    args = parser.parse_args()
    check_off(args)
    check_on(args)
    check_auto(args)
    if len(os.sched_getaffinity(0)) <= 4:
        check_full(args)
    return 0


sys.exit(main())
