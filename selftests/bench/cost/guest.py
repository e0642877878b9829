# SPDX-License-Identifier: GPL-2.0
"""guest.py PROGRAM FOLDER ROUNDS NUMBER:CASE/PROTOCOL...: run them here, in the lab, and print a line of
JSON for each. The plugin leaves what it counted in FOLDER/NUMBER.counts.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cases import CASES, LOOK, OFFLOADS, SHOWN, TRACED  # noqa: E402
from guest import TIMEOUT, Failed, address, end_all, inside, ip, run, start_job, start_senders, tc  # noqa: E402
from table import Job  # noqa: E402


class Pair:
    """Two hosts on one veth pair: only processors count."""

    def __init__(self, case):
        run("ip", "-batch", "-", text="netns add h0\nnetns add h1\n")
        run("ip", "link", "add", "name", "eth0", "netns", "h0", "type", "veth",
            "peer", "name", "eth0", "netns", "h1")
        for i, host in enumerate(("h0", "h1")):
            ip(host, "link set lo up", f"address add {address(i)}/16 dev eth0",
               f"link set eth0 mtu {case.mtu} up")
            if OFFLOADS[case.offload]:
                run(*inside(host, "ethtool", "-K", "eth0", *OFFLOADS[case.offload].split()))
            if case.loss:
                tc(host, f"qdisc add dev eth0 root netem loss {case.loss}% limit 100000")
            if case.rps:
                mask = f"{(1 << case.processors) - 1:x}"
                run(*inside(host, "sh", "-c",
                            f"echo {mask} >/sys/class/net/eth0/queues/rx-0/rps_cpus"))
        run(*inside("h1", "ping", "-qc", "3", "-w", "20", "-i", "0.3", address(0)))

    def remove(self):
        run("ip", "-batch", "-", text="netns del h0\nnetns del h1\n")


def words_of(case, name, protocol, rounds, number):
    """Arguments of dlcpperf for everybody. No content is filled and compared: that costs, too."""
    return [*case.words(protocol), "--no-check", "--senders", str(case.senders),
            "--bytes", str(case.bytes), "--rounds", rounds, "--warmup",
            str(case.warmup), "--scenario", name, "--label", protocol, "--number", number,
            "--addr", address(0)]


class Contention:
    """How often anybody had to wait for a lock of the kernel, on several processors"""

    FOLDER = Path("/sys/kernel/tracing/instances/cost")

    def __init__(self, case):
        self.case = case
        if case.processors:
            self.FOLDER.mkdir()
            (self.FOLDER / "events/lock/contention_begin/enable").write_text("1")

    def add_to(self, result):
        """Waits for a MB, of all rounds"""
        if not self.case.processors:
            return
        stats = "".join(path.read_text() for path in self.FOLDER.glob("per_cpu/cpu*/stats"))
        waits = sum(map(int, re.findall(r"^(?:entries|overrun): (\d+)", stats, re.M)))
        rounds = result["rounds"] + self.case.warmup
        result["waits"] = round(waits * 1e6 / (self.case.bytes * rounds), 2)

    def remove(self):
        if self.case.processors:
            self.FOLDER.rmdir()


class Watcher:
    """Tracepoints that are on, or `dlcp show -w` at both hosts"""

    EVENTS = Path("/sys/kernel/tracing/events/dlcp/enable")
    TOOL = Path(__file__).resolve().parents[3] / "build" / "user" / "dlcp"

    def __init__(self, protocol):
        self.traced, self.tools = protocol.endswith(TRACED), []
        if self.traced:
            self.EVENTS.write_text("1")
        if protocol.endswith(SHOWN):
            # Hundreds of senders would leave it no time
            self.tools = [subprocess.Popen(["nice", "-n", "-20", self.TOOL, "show", "-w", str(LOOK), "-N", host],
                                           stdout=subprocess.DEVNULL) for host in ("h0", "h1")]

    def remove(self):
        if self.traced:
            self.EVENTS.write_text("0")
        for tool in self.tools:
            tool.kill()
            tool.wait()


def dropped():
    """Packets that found the queue of a processor full, since the machine started"""
    rows = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


def measure(program, case, protocol, words):
    """Return: the result."""
    job = Job(0, (1,) * case.senders)
    started = []
    pair = Pair(case)
    before = dropped()
    contention = Contention(case)
    watcher = Watcher(protocol)
    try:
        receiver = start_job(program, words, job, started)
        start_senders(program, words, job, started)
        line = receiver.communicate(timeout=TIMEOUT)[0]
        for process in started:
            if process.wait(timeout=TIMEOUT):
                raise Failed("a sender or the receiver failed")
        result = {**json.loads(line), "dropped": dropped() - before}
        contention.add_to(result)
        return result
    except subprocess.TimeoutExpired:
        raise Failed(f"not over after {TIMEOUT} seconds") from None
    finally:
        watcher.remove()
        end_all(started)
        contention.remove()
        pair.remove()


def main():
    program, folder, rounds, *wanted = sys.argv[1:]
    # Before anybody asks what is where
    run("modprobe", "-a", "veth", "sctp", "sch_netem", "tcp_cubic")
    Path("/proc/sys/kernel/kptr_restrict").write_text("0")
    Path(folder, "kallsyms").write_text(Path("/proc/kallsyms").read_text())
    for word in wanted:
        number, name = word.split(":")
        case, protocol = name.split("/")
        try:
            words = words_of(CASES[case], case, protocol, rounds, number)
            result = measure(program, CASES[case], protocol, words)
        except Failed as error:
            result = {"error": str(error)}
        print(json.dumps({"case": case, "protocol": protocol, "number": int(number), **result}),
              flush=True)


if __name__ == "__main__":
    main()
