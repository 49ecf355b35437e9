"""A report such as Hob writes, with every part that a page can show."""

import math


def histogram(counts, unit=""):
    return {"unit": unit, "scale": "log2", "counts": counts}


def window(rank, number=0, gets=20000):
    hits = gets * (60 + 5 * rank) // 100
    return {
        "id": number,
        "name": f"adjacency {number}",
        "kind": "create",
        "bytes": 1 << 22,
        "ranks": 4,
        "mode": "auto",
        "mode_reason": "",
        "stages": ["cache", "locks", "batches", "library"],
        "counters": {
            "gets": gets,
            "hits_full": hits,
            "hits_pending": 300,
            "hits_partial": 200,
            "direct": gets - hits - 500 - 900,
            "conflicting": 400,
            "capacity": 350,
            "failing": 150,
            "cache_memory": 5_000_000,
            "native_gets": gets - hits,
            "bytes_from_cache": hits * 700,
            "bytes_from_network": (gets - hits) * 700,
        },
        "histograms": {
            "get_size": histogram(
                [0, 0, 0, 10, 80, 900, 4000, 6000, 5000, 2500, 1000, 300, 40], "B"
            ),
            "reuse": histogram([0, 3000, 900, 400, 210, 90, 40, 11, 2], "gets"),
        },
        "series": {
            "occupancy": [
                {
                    "get": 200 * i,
                    "used": int(4e6 * (1 - math.exp(-i / 15))),
                    "capacity": (1 << 22) * (1 if i < 40 else 2),
                    "entries": 30 * i,
                    "slots": 4096,
                }
                for i in range(100)
            ],
            "adaptations": [
                {
                    "get": 8000,
                    "what": "storage",
                    "from": 1 << 22,
                    "to": 1 << 23,
                    "why": "capacity and failing gets above 5%",
                },
                {
                    "get": 9000,
                    "what": "index",
                    "from": 2048,
                    "to": 4096,
                    "why": "conflicts above 2%",
                },
            ],
            "phases": [
                {
                    "phase": 1 + 2 * i,
                    "count": 2,
                    "recalled": 0 if i == 0 else 2000,
                    "used": 0 if i == 0 else 1800,
                    "missed": 2000 if i == 0 else 200,
                }
                for i in range(20)
            ],
        },
    }


def queue(rank):
    return {
        "comm": "MPI_COMM_WORLD",
        "counters": {"receives": 5000 + rank, "in_prq": 4000, "prq_max": 1024, "umq_max": 6},
        "histograms": {
            "prq_length": histogram([10, 20, 40, 80, 160, 320, 640, 1280, 2000, 1000, 300]),
            "umq_length": histogram([3000, 200, 30, 4]),
            "prq_depth": histogram([0, 100, 120, 150, 200, 400, 900, 1500, 1000, 600, 30]),
            "umq_depth": histogram([0, 2900, 120, 10]),
        },
    }


def report(ranks=4, windows=2, queues=True, ghosts=2):
    out = {
        "hob": {"version": "0.1.0", "abi": "mpich", "mpi": "MPICH 5.0.2"},
        "program": {
            "command": ["./lcc", "--graph", "<packages>.mtx"],
            "ranks": ranks,
            "nodes": ranks,
            "start": "2026-01-01T00:00:00Z",
            "seconds": 12.34,
        },
        "settings": {
            "cache": {"value": "auto", "from": "default"},
            "cache_size": {"value": "4M", "from": "environment"},
        },
        "ranks": [
            {
                "rank": rank,
                "host": "node",
                "memory_bytes": 5_000_000 + rank,
                "counters": {"acquires": 17, "messages_sent": 40 * rank},
                "windows": [window(rank, i, 20000 >> i) for i in range(windows)],
                "queues": [queue(rank)] if queues else [],
            }
            for rank in range(ranks)
        ],
        "notes": ["window 3 is not cached: a get from shared memory is as cheap as a hit"],
    }
    for i, rank in enumerate(out["ranks"] if ghosts else []):
        rank["ghost"] = {
            "node": 0,
            "binding": "rank",
            "windows": 1,
            "windows_declined": 1,
            "direct": 40,
            "direct_bytes": 4000,
            "redirected": 450,
            "redirected_bytes": 9000,
            "wait_ms": 1.5 + i,
        }
    if ghosts and out["ranks"]:
        out["ranks"][0]["ghost"]["ghosts"] = [
            {
                "ghost": i,
                "domain": i,
                "application_ranks": 2,
                "operations": 900 + 80 * i,
                "bytes": 1 << 20,
                "lived_ms": 12000.0,
                "busy_ms": 3000.0 + i,
                "timeline": {
                    # One that lived longer tells in longer intervals.
                    "bucket_us": 100000 << i,
                    "busy_us": [int(1e5 * abs(math.sin(k / (5 + i)))) for k in range(121 >> i)],
                },
            }
            for i in range(ghosts)
        ]
    return out


def poor():
    """Runs that lack things, by what they lack."""
    small = {"windows": 1, "queues": False, "ghosts": 0}
    return {
        "nothing": {"hob": {}},
        "no ranks": {"hob": {"version": "1"}, "program": {"ranks": 4}, "ranks": []},
        "one rank": report(**{**small, "ranks": 1}),
        "no windows": report(**{**small, "windows": 0, "queues": True}),
        "ghosts alone": report(**{**small, "windows": 0, "ghosts": 3}),
        "many ranks": report(**{**small, "ranks": 300}),
    }


def rich():
    """Runs with much of something, with the largest numbers, and with the smallest."""
    path = "/home/someone/a/directory/with/a/long/name"
    long = report(ranks=2, queues=False, ghosts=0)
    long["program"]["command"] = [f"{path}/program", "--input", f"{path}/graph.mtx", "-v", "--all"]
    for rank in long["ranks"]:
        for each in rank["windows"]:
            each["name"] = "the_window_of_the_distributed_adjacency_array_of_the_whole_graph"

    large = report(windows=1, ghosts=1)
    for rank in large["ranks"]:
        rank["ghost"]["wait_ms"] = 1.5e-5
        rank["queues"][0]["counters"].update(prq_max=10**9, receives=999_950_000)
        rank["queues"][0]["histograms"] = {
            "prq_length": histogram([0] * 3 + [1, 2, 5, 3] + [2**k for k in range(24)]),
            "prq_depth": histogram([0] * 11 + [1, 4, 3]),
            "umq_length": histogram([0] * 30 + [7]),
            "umq_depth": histogram([5]),
        }
        part = rank["windows"][0]
        part["histograms"]["reuse"] = histogram([0, 10**12, 10**9, 10**6, 1], "gets")
        part["histograms"]["get_size"] = histogram([10**k for k in range(9)] * 3, "B")
        part["bytes"] = 1023 << 20
        for point in part["series"]["occupancy"]:
            point.update(get=10**10 + 10**7 * point["get"], used=1000, capacity=1 << 40)
        part["series"]["adaptations"] *= 40

    crowd = report(ranks=60, windows=0, queues=False, ghosts=60)
    for ghost in crowd["ranks"][0]["ghost"]["ghosts"]:
        ghost["timeline"] = {"bucket_us": 100000, "busy_us": [50000] * 120}
    return {
        "long names": long,
        "large and small numbers": large,
        "many ghosts": crowd,
    }
