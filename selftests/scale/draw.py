# SPDX-License-Identifier: GPL-2.0
"""
Random networks, jobs and faults, each drawn from its seed. Whatever is drawn, each
message ends, what is missing of it is within its bound, and both ends say the same.
The simulator checks the last two itself, of every message.
"""
import random

# A fault ends after so long, at most: the jobs have time to end after it
LONGEST_US = 200000
# From this seed on a host reboots, too
REBOOTS = 10000001
# From this one on no host does, and there are several rails, rings, another tenant, another
# controller, and hosts without egress scheduling
MIXTURES = 20000001
# From this one on many senders send short bursts to one, each some 2 ms of its link at most
BURSTS = 30000001


def log(rng, low, high):
    """As likely between 1 and 2 as between 10 and 20"""
    return low * (high / low) ** rng.random()


def topology(rng, hosts):
    """Return: its arguments, links that a fault may meet, rate of hosts in Mbit/s"""
    mbps = round(log(rng, 100, 100000))
    kind = rng.choice(("star", "leaf", "leaf", "fat"))
    args = {"topo": kind, "mbps": mbps}
    links = ["h*-", "h0-"]
    if kind == "leaf":
        args |= {"per": rng.choice((4, 8, 16)), "spines": rng.randint(2, 4)}
        args["up_mbps"] = round(mbps * args["per"] / args["spines"] / rng.choice((1, 2, 4)))
        links = ["l*-s0", "l0-s0", "l0>s0", "s0>l0", "l*-s*"]
    elif kind == "fat":
        args["k"] = 4 if hosts <= 16 else 8
        links = ["a0-s0", "l0-a0", "a0>s0", "l*-a*"]
    else:
        links = []
    return args, links, mbps


def fault(rng, links):
    start = round(log(rng, 100, 50000))
    until = start + round(log(rng, 100, LONGEST_US))
    if not links or rng.random() < 0.2:
        return f"fault=straggler:h0:{start}:{until}:{rng.randint(110, 400)}"
    kind = rng.choice(("loss", "dead", "flap", "slow"))
    value = {"loss": round(log(rng, 100, 300000)), "dead": 0,
             "flap": round(log(rng, 200, 20000)), "slow": rng.randint(2, 90)}[kind]
    # Where all ways are dead at once nothing can go on: that fault is short
    where = rng.choice(links)
    if where.endswith("*") and kind in ("dead", "flap"):
        until = min(until, start + 20000)
    return f"fault={kind}:{where}:{start}:{until}:{value}"


def reboot(rng, hosts):
    start = round(log(rng, 100, 50000))
    return f"fault=reboot:h{rng.randrange(hosts)}:{start}:{start + round(log(rng, 100, LONGEST_US))}"


def job(rng, hosts, mbps):
    servers = min(hosts - 2, rng.choice((0, 1, 2, max(1, hosts // 4))))
    workers = rng.randint(2, hosts - servers)
    args = {"workers": workers, "servers": servers, "place": rng.choice(("random", "pack")),
            "loss_ppm": rng.choice((0, 0, 1000, 10000, 50000, 200000)),
            "pull_ppm": rng.choice((0, 10000)), "prio": rng.choice((0, 1)),
            "droppable": rng.choice((0, 0, 50)), "jitter_ns": round(log(rng, 100, 1e6))}
    # Some 20 ms of the busiest link, at most
    most = mbps * 1000 / 8 * 20 / workers
    sizes = [round(log(rng, 1, max(most / 4, 2))) for _ in range(rng.randint(1, 8))]
    args["layers"] = ",".join(map(str, sizes))
    if rng.random() < 0.5:
        args |= {"pull": 1, "dear": 0 if servers else rng.choice((0, 1))}
    if rng.random() < 0.3:
        args["gap_us"] = round(log(rng, 10, 20000))
    return args


def mixture(rng, args):
    """Return: what is said of the jobs, behind all other arguments; @args are changed"""
    args |= {"rails": rng.choice((1, 2, 3)), "order": rng.choice((0, 1)), "cong": rng.choice(("dlcp", "dlcp", "loss"))}
    args["paths"] = max(args["paths"], args["rails"])
    layers = args.pop("layers")
    first = f"job=ps layers={layers}"
    if rng.random() < 0.4:
        first = f"job=ring bytes={sum(map(int, layers.split(',')))}"
        args |= {"servers": 0, "pull": 0, "dear": 0, "prio": 0}
    if rng.random() < 0.5:
        return [first]
    other = rng.choice(("dlcp", "dctcp", "dctcp"))
    args["hosts"] += args["workers"] + args["servers"]
    return [first, f"job=ps proto={other} bytes={round(log(rng, 1, 1e6))} loss_ppm=0"]


def burst(seed):
    rng = random.Random(seed)
    workers, mbps = round(log(rng, 2, 128)), rng.choice((1000, 10000, 25000, 100000))
    queue = round(log(rng, 8, 256))
    args = {"seed": seed, "hosts": workers + 1, "workers": workers, "mbps": mbps, "queue": queue,
            "ecn": rng.choice((0, max(2, queue // 4))), "delay_ns": round(log(rng, 1000, 50000)),
            "bytes": max(200, round(mbps / 8 * log(rng, 300, 2000) / workers)),
            "loss_ppm": rng.choice((0, 0, 50000)), "pull": rng.choice((0, 0, 1)),
            "jitter_ns": rng.choice((1000, 20000, 100000)), "gap_us": rng.choice((0, 100, 2000, 20000)),
            "warm": 20, "steps": 10}
    return " ".join(f"{key}={value}" for key, value in args.items())


def draw(seed):
    """Return: the simulator's arguments"""
    if seed >= BURSTS:
        return burst(seed)
    rng = random.Random(seed)
    hosts = round(log(rng, 4, 64))
    net, links, mbps = topology(rng, hosts)
    queue = round(log(rng, 4, 512))
    args = {"seed": seed, "hosts": hosts} | net | {
        "delay_ns": round(log(rng, 200, 5e6)), "mtu": rng.choice((1500, 9000)), "queue": queue,
        "ecn": rng.choice((0, max(1, queue // 4))), "paths": rng.choice((1, 1, 4, 8, 16)),
        "bands": rng.choice((1, 4)), "spray": rng.choice((0, 0, 0, 1)),
        "grants": rng.choice((0, 1, 1)), "steps": 2, "warm": rng.choice((0, 1)), "stop_ms": 60000}
    if rng.random() < 0.2:
        args["disc"] = rng.choice(("drop", "ndp"))
    args |= job(rng, hosts, mbps)
    faults = [fault(rng, links) for _ in range(rng.choice((0, 1, 1, 2)))]
    jobs = mixture(rng, args) if seed >= MIXTURES else []
    if REBOOTS <= seed < MIXTURES:
        faults.append(reboot(rng, hosts))
    return " ".join([f"{key}={value}" for key, value in args.items()] + faults + jobs)
