# SPDX-License-Identifier: GPL-2.0
"""
Grids of results/scale.md as data, each of one or more tables: a row has one protocol or setting, a
column one network or fault. What the paper shows beside its first figures, and what it does not.
"""

JOBS = "topo=leaf mbps=100000 up_mbps=400000 workers=16 servers=2 pull=1 warm=6 steps=2 queue=128 ecn=32"
HOSTS = f"{JOBS} hosts=144 jobs=8 bytes=2e6"
PROTOCOLS = {
    "DLCP, p = 0": "proto=dlcp",
    "DLCP, p = 1 %": "proto=dlcp loss_ppm=10000",
    "DLCP, p = 10 %": "proto=dlcp loss_ppm=100000",
    "DCTCP, 1 ms": "proto=dctcp rto_us=1000",
    "pFabric": "proto=pfabric",
    "NDP": "proto=ndp",
}
BOUNDS = {name: args for name, args in PROTOCOLS.items() if name.startswith("DLCP")}
# Of one job, packed: 16 servers in one leaf, 16 workers in another
PAIRS = "topo=leaf hosts=64 up_mbps=100000 workers=16 servers=16 place=pack bytes=8e6 steps=2 dead_ms=3000"

# What is simulated for its cost alone
SIZES = (
    "hosts=144 topo=leaf up_mbps=40000 jobs=8 workers=16 servers=2 bytes=8e6 steps=1 warm=0",
    "hosts=1024 per=32 spines=8 topo=leaf mbps=100000 up_mbps=400000 jobs=32 workers=28 servers=4 bytes=4e6 steps=1 "
    "warm=0",
    "hosts=1024 per=32 spines=8 topo=leaf mbps=100000 up_mbps=400000 mtu=9000 jobs=32 workers=32 servers=0 "
    "bytes=125e6 steps=1 warm=0",
    "hosts=4096 per=64 spines=16 topo=leaf mbps=100000 up_mbps=400000 jobs=113 workers=32 servers=4 bytes=1e6 steps=1 "
    "warm=0",
)


def messages(r):
    """Of all messages: mean and 99th percentile in us; the worst step as a multiple of its floor"""
    return f"{r['message_us']['mean']:.0f} / {r['message_us']['p99']:.0f} / {r['step_x']['max']:.2f}"


def steps(r):
    """Steps as multiples of their floor: mean and worst"""
    return f"{r['step_x']['mean']:.2f} / {r['step_x']['max']:.2f}"


def both(r):
    """Mean messages in us; steps as multiples of their floor, mean and worst; seeds 1 to 8"""
    return f"{r['message_us']['mean']:.0f} / {r['step_x']['mean']:.2f} / {r['step_x']['max']:.2f}"


def by_job(r):
    """Mean steps of each job, as multiples of its floor"""
    return " / ".join(f"{x:.2f}" for x in r["job_x"])


# name: heading, arguments that all have, columns, rows, what a cell says, seeds if not the first alone
GRIDS = {
    "hosts": (
        "Gain with the number of hosts: jobs of 16 workers and 2 servers, 100 Gbit/s",
        f"{JOBS} bytes=1e6",
        {"18 hosts": "hosts=18 jobs=1", "144": "hosts=144 jobs=8", "1,024": "hosts=1024 jobs=56"},
        PROTOCOLS, messages),
    "thousands": (
        "4,096 hosts in 64 leaves, 16 spines: 128 jobs of 28 workers and 4 servers, 100 Gbit/s",
        "hosts=4096 per=64 spines=16 topo=leaf mbps=100000 up_mbps=400000 jobs=128 workers=28 servers=4 bytes=2e5 "
        "steps=1 queue=128 ecn=32",
        {"no fault": "", "one spine loses 1 %": "fault=loss:l*-s0:0:0:10000"},
        {name: PROTOCOLS[name] for name in ("DLCP, p = 0", "DLCP, p = 10 %")}, messages),
    "gray": (
        "Gray failure: one of four spines loses packets",
        HOSTS,
        {"none": "", "0.01 %": "fault=loss:l*-s0:0:0:100", "0.1 %": "fault=loss:l*-s0:0:0:1000",
         "1 %": "fault=loss:l*-s0:0:0:10000"},
        PROTOCOLS, messages),
    "rings": (
        "All-reduce by a ring, 4 MB, 10 Gbit/s, and a gray link of one host",
        "job=ring bytes=4e6 steps=2",
        {"8 workers": "hosts=8 workers=8", "32": "hosts=32 workers=32",
         "8, 0.1 %": "hosts=8 workers=8 fault=loss:l*-h0:0:0:1000",
         "32, 0.1 %": "hosts=32 workers=32 fault=loss:l*-h0:0:0:1000",
         "8, 1 %": "hosts=8 workers=8 fault=loss:l*-h0:0:0:10000"},
        {name: args for name, args in PROTOCOLS.items() if name != "pFabric"}, steps),
    "paths": (
        "Faults of a spine, and of a server, with 1 to 16 paths of a connection, 10 Gbit/s, p = 0",
        PAIRS,
        {f"{n} path{'s' * (n > 1)}": f"paths={n}" for n in (1, 2, 4, 8, 16)},
        {"no fault": "", "dead": "fault=dead:l*-s0:3000:0", "dead way there": "fault=dead:s0>l0:3000:0",
         "dead way back": "fault=dead:l0>s0:3000:0", "flaps": "fault=flap:l*-s0:1000:30000:1000",
         "loses 1 %": "fault=loss:l*-s0:0:0:10000", "a quarter of its rate": "fault=slow:l*-s0:0:0:25",
         "reboot of a server": "fault=reboot:h0:9000:11000"},
        steps),
    "cold": (
        "Cold starts: the first step of 16 workers and a server, 250 kB each, 10 Gbit/s, queue of 128",
        "hosts=17 workers=16 bytes=250000 queue=128 ecn=30 warm=0 steps=1",
        {"4 us": "delay_ns=1000", "100 us": "delay_ns=25000", "1 ms": "delay_ns=250000",
         "10 ms": "delay_ns=2500000"},
        {name: PROTOCOLS[name] for name in ("DLCP, p = 0", "DLCP, p = 10 %", "DCTCP, 1 ms", "NDP")}, steps),
    "trim": (
        "Switches that cut packets (as NDP's) beside those that drop: 128 senders to one, 100 kB each",
        "hosts=144 topo=leaf mbps=100000 up_mbps=400000 workers=128 servers=1 bytes=1e5 warm=6 steps=4 ecn=0",
        {f"{n} packets": f"queue={n}" for n in (8, 32, 128)},
        {f"{name}, {disc}": f"{PROTOCOLS[name]} disc={disc[:4].replace('cut', 'ndp')}"
         for name in ("DLCP, p = 0", "DLCP, p = 10 %") for disc in ("drop", "cut")} | {"NDP": "proto=ndp"},
        both, range(1, 9)),
    "tenants": (
        "Two tenants in one fabric: all-reduce by transpose among 16 workers each, uplinks of eight to one",
        "hosts=32 topo=leaf up_mbps=5000 workers=16 servers=0 bytes=4e6 steps=4 queue=128 ecn=30",
        {"DLCP": "job=ps proto=dlcp", "DLCP, p = 5 %": "job=ps proto=dlcp loss_ppm=50000",
         "DCTCP": "job=ps proto=dctcp", "pFabric": "job=ps proto=pfabric", "NDP": "disc=ndp job=ps proto=ndp",
         "like Homa": "job=ps proto=homa"},
        {"DLCP, with": "job=ps proto=dlcp", "DCTCP, with": "job=ps proto=dctcp"}, by_job),
}
