"""What `hob bench fabric` measures on a good day: {row: (short name, (us without, with
Hob, with a ghost))}."""

FABRIC = {
    "get and flush of 8 B, first time": ("first", (15, 15, 15)),
    "get and flush of 8 B, again": ("again", (15, 0.15, 0.15)),
    "get and flush of 4 KiB, first time": ("first4", (16, 16, 16)),
    "get and flush of 4 KiB, again": ("again4", (16, 0.25, 0.25)),
    "get and flush of 64 KiB, first time": ("first64", (40, 42, 42)),
    "get and flush of 64 KiB, again": ("again64", (40, 2, 2)),
    "accumulate to a rank that waits in MPI": ("waits", (16, 16, 20)),
    "accumulate to a rank that computes for 5 ms": ("busy", (5000, 5000, 100)),
    "message there and back, 0 receives posted before": ("flat", (13, 13, 13)),
    "message there and back, 1,024 receives posted before": ("deeper", (40, 14, 14)),
    "message there and back, 8,192 receives posted before": ("deep", (313, 15, 15)),
}
