# SPDX-License-Identifier: GPL-2.0
"""What a network looks like from within while a load lasts: the switch's queue, what it
drops, and how the receiver's link is divided. Scenarios with `steady` of table.py.

The load is one long round (or two loads, of DLCP and of TCP). Looked at is its middle:
what begins and ends has figures of its own. Time moves only while we sleep, so however
long a look takes, it is one instant.
"""

import json
import random
import re
import statistics
import subprocess
import time
from pathlib import Path

FROM, TO = 0.2, 0.9     # of the bytes: what is looked at
STEP = 250e-6           # seconds between two looks at the queue, in the mean
LIMIT = 60              # seconds: something is wrong
TOOL = str(Path(__file__).resolve().parent.parent.parent / "build/user/dlcp")


def output(host, *words):
    return subprocess.run(["ip", "netns", "exec", host, *words], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def port(i):
    """Return: packets in the queue of port i of the switch, bytes and packets that left
    it, packets it dropped."""
    text = output("sw", "tc", "-s", "qdisc", "show", "dev", f"p{i}", "root")
    sent, packets, dropped = map(int, re.search(
        r"Sent (\d+) bytes (\d+) pkt \(dropped (\d+)", text).groups())
    return int(re.search(r"backlog \S+ (\d+)p", text).group(1)), sent, packets, dropped


def dlcp_received():
    """Return: {connection: payload bytes that came} at the receiver."""
    head, *lines = output("h0", TOOL, "show", "-t", "conns").splitlines()
    field = head.split().index("rx_delivered")
    return {line.split()[1]: int(line.split()[field]) for line in lines if " LISTEN " not in line}


def tcp_received():
    text = output("h0", "ss", "-tinH", "state", "established")
    return sum(map(int, re.findall(r"bytes_received:(\d+)", text)))


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(s * s for s in shares))


def wait_until(sent):
    """Until so many bytes have left for the receiver, looking at the queue at random
    times. Return: its lengths."""
    rnd = random.Random(1)
    lengths = []
    end = time.monotonic() + LIMIT
    while True:
        queue, now, *_ = port(0)
        if now >= sent or time.monotonic() > end:
            return lengths
        lengths.append(queue)
        time.sleep(rnd.uniform(0.5, 1.5) * STEP)


def watch(network, rounds):
    """Look at the last round while it lasts. The result goes to network.notes."""
    s = network.scenario
    base = port(0)[1]
    before = (s.warmup + rounds - 1) * s.bytes
    wait_until(base + before + FROM * s.bytes)
    _, _, packets, dropped = port(0)
    received = dlcp_received()
    lengths = wait_until(base + before + TO * s.bytes)
    _, _, packets_end, dropped_end = port(0)
    shares = [n - received[peer] for peer, n in dlcp_received().items()
              if n > received.get(peer, n)]
    dropped, packets = dropped_end - dropped, packets_end - packets
    network.notes = {
        "queue": s.queue,
        "queue_p50": statistics.median(lengths),
        "queue_p99": sorted(lengths)[len(lengths) * 99 // 100],
        "looks": len(lengths),
        "lost_percent": round(100 * dropped / (packets + dropped), 4),
        "jain": round(jain(shares), 4),
    }


def divided(network, program, name, label, args):
    """One flow of DLCP and one of TCP CUBIC from two hosts to one. Return: a line of
    JSON: what each got of what both got."""
    s = network.scenario
    words = [program, "--addr", "10.0.0.1", "--senders", "1", "--bytes", str(s.bytes),
             "--rate", str(s.rate), "--rounds", "1000", "--warmup", "0", "--no-check"]
    flows = [args.split(), "--proto tcp --cc cubic".split()]
    started = []
    try:
        for flow in flows:
            started.append(subprocess.Popen(
                ["ip", "netns", "exec", "h0", *words, *flow, "recv"], text=True,
                stdout=subprocess.PIPE))
            assert started[-1].stdout.readline() == "ready\n"
        for i, flow in enumerate(flows, 1):
            started.append(subprocess.Popen(
                ["ip", "netns", "exec", f"h{i}", *words, *flow, "send"]))
        base = port(0)[1]
        wait_until(base + s.rounds * s.bytes * FROM)
        begin = sum(dlcp_received().values()), tcp_received()
        lengths = wait_until(base + s.rounds * s.bytes)
        dlcp, tcp = sum(dlcp_received().values()) - begin[0], tcp_received() - begin[1]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return json.dumps({"scenario": name, "protocol": label, "notes": {
        "dlcp_percent": round(100 * dlcp / (dlcp + tcp), 1),
        "tcp_percent": round(100 * tcp / (dlcp + tcp), 1),
        "queue": s.queue,
        "queue_p50": statistics.median(lengths),
    }}) + "\n"
