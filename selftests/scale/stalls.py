# SPDX-License-Identifier: GPL-2.0
"""
How long a connection stands still when a spine dies, or its way there or back: the time of a
transfer with the fault, less that of the same seed without it.
"""
import concurrent.futures
import json

import run

BASE = ("hosts=2 per=1 topo=leaf spines=4 up_mbps=40000 place=pack queue=680 ecn=0 bytes=2e7 warm=0 steps=1 "
        "dead_ms=3000")
# The server is host 0
FAULTS = {"dead spine": "dead:l*-s0:6000:0", "dead way there": "dead:l1>s0:6000:0",
          "dead way back": "dead:l0>s0:6000:0"}
PATHS = (1, 2, 8, 16)
# Of one link each way, ns: there are four of them in each direction
DELAYS = (1000, 25000)
SEEDS = range(1, 13)


def median(values):
    return sorted(values)[len(values) // 2]


def stall(args):
    """Return: (arguments, us), or None where no packet met the fault"""
    base, fault, seed = args
    broken = run.simulate(f"{base} seed={seed} fault={fault}")
    if broken["unfinished"] or broken["dlcp"]["failed"]:
        raise run.Failed(f"{broken['args']}: a transfer did not end")
    whole = run.simulate(f"{base} seed={seed}")
    return (broken["args"], broken["step_us"]["max"] - whole["step_us"]["max"]) if broken["faults"] else None


def say(stalls, rtt):
    """Round trips, median and most; (the same in milliseconds); transfers that met the fault"""
    if not stalls:
        return "no packet met it"
    us = [us for _, us in stalls]
    trips = [f"{of(us) / rtt:.1f}" for of in (median, max)]
    return (f"{' / '.join(trips)} ({median(us) / 1e3:.2f} / {max(us) / 1e3:.2f}); {len(us)}")


def table(delay, pool, out):
    rtt = 8 * delay / 1e3
    runs = [(f"{BASE} delay_ns={delay} paths={paths}", fault, seed)
            for fault in FAULTS.values() for paths in PATHS for seed in SEEDS]
    done = list(pool.map(stall, runs))
    out.writelines(json.dumps({"arguments": args, "stall_us": round(us, 1)}) + "\n"
                   for args, us in filter(None, done))
    print(f"### A round trip of {rtt:.0f} us\n\n`{BASE} delay_ns={delay}`\n")
    print("| | " + " | ".join(f"{n} path{'s' * (n > 1)}" for n in PATHS) + " |")
    print("| --- |" + " --- |" * len(PATHS))
    cells = iter(done[i:i + len(SEEDS)] for i in range(0, len(done), len(SEEDS)))
    for fault in FAULTS:
        print(f"| {fault} | " + " | ".join(say(list(filter(None, next(cells))), rtt) for _ in PATHS) + " |")
    print()


def figures():
    print(f"## Stalls: a transfer of 20 MB, 10 Gbit/s, of four spines one dies after 6 ms; seeds {SEEDS[0]} to "
          f"{SEEDS[-1]}\n\n{say.__doc__}:\n")
    with concurrent.futures.ThreadPoolExecutor(run.JOBS) as pool, \
            open(run.OUT / "stalls.jsonl", "w") as out:
        for delay in DELAYS:
            table(delay, pool, out)
    print("; ".join(f"{name}: `fault={fault}`" for name, fault in FAULTS.items()) + "\n")
