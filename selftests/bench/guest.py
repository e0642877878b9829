# SPDX-License-Identifier: GPL-2.0
"""guest.py PROGRAM SCENARIO ROUNDS PROTOCOL...: run one scenario here, in the lab,
and print one line of JSON for each protocol.

Hosts are network namespaces h0 (the receiver), h1, h2, ...; the switch is
a namespace with a bridge, and its queues are qdiscs on its ports. README.md
tells why everything is as it is.
"""

import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

import steady
from table import PROTOCOLS, SCENARIOS

TOPO = Path(__file__).resolve().parent.parent / "vm" / "topo.sh"
TIMEOUT = 600           # seconds of virtual time for one protocol
FRAME = 1514            # of those of ../eval, which have one MTU

# Segments must be packets: with any of these on, a queue of packets is a
# queue of 64 KB pieces. The last two are not part of "gso".
OFFLOADS = ("tso", "gso", "gro", "tx-udp-segmentation", "tx-sctp-segmentation")

SYSCTLS = {
    "net.ipv4.tcp_ecn": 1,                  # asked for; only DCTCP's switch marks
    "net.ipv4.tcp_no_metrics_save": 1,      # connections must not inherit
    "net.ipv6.conf.all.disable_ipv6": 1,    # no chatter
}


def run(*words, text=None):
    done = subprocess.run(words, input=text, text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}\n{text or ''}")
    return done.stdout


def ip(host, *lines):
    run("ip", "-n", host, "-batch", "-", text="\n".join(lines) + "\n")


def tc(host, *lines):
    run("tc", "-n", host, "-batch", "-", text="\n".join(lines) + "\n")


def inside(host, *words):
    return ["ip", "netns", "exec", host, *words]


def address(i, net=0):
    return f"10.0.{net}.{i + 1}"


def allow_memory():
    """A whole model stands in send buffers: no protocol shall find its limit."""
    for path in ("net/dlcp/mem", "net/ipv4/tcp_mem"):
        path = Path("/proc/sys", path)
        if path.exists():
            path.write_text("400000 400000 400000")


def mac(i):
    """Hosts and switch know it, and nobody asks: a burst of loss ends when it has taken its packets,
    and questions are so rare that it outlives many of them."""
    return f"02:00:00:00:{i // 256:02x}:{i % 256:02x}"


class Network:
    """The hosts of a scenario and the switch between them."""

    all_mark = False        # with ECN: all ports, not the receiver's alone

    def __init__(self, scenario, hosts=0):
        self.scenario = scenario
        self.hosts = [f"h{i}" for i in range(hosts or scenario.senders + 1)]
        run("ip", "-batch", "-", text="".join(
            f"netns add {name}\n" for name in ["sw", *self.hosts]))
        ip("sw", "link add name br0 type bridge mcast_snooping 0",
           "link set br0 up", "link set lo up")
        for i, host in enumerate(self.hosts):
            self.plug_in(i, host)
        for host in self.hosts:
            ip(host, *(f"neigh replace {address(i, net)} lladdr {mac(i)} dev eth0 nud permanent"
                       for i in range(len(self.hosts)) for net in (0, 1)
                       if self.hosts[i] != host))

    def plug_in(self, i, host):
        s = self.scenario
        ip("sw", f"link add name p{i} mtu {s.mtu} type veth"
           f" peer name eth0 mtu {s.mtu} address {mac(i)} netns {host}",
           f"link set p{i} master br0 up")
        run("bridge", "-n", "sw", "fdb", "replace", mac(i), "dev", f"p{i}", "master", "static")
        ip(host, "link set lo up", f"address add {address(i)}/16 dev eth0",
           "link set eth0 up")
        off = " ".join(f"{name} off" for name in OFFLOADS)
        values = " ".join(f"{k}={v}" for k, v in SYSCTLS.items())
        run(*inside("sw", "sh", "-c", f"ethtool -K p{i} {off}"))
        run(*inside(host, "sh", "-c",
                    f"ethtool -K eth0 {off}; sysctl -qw {values}"))
        # The delay is the hosts': netem's limit counts what it delays, too
        tc(host, f"qdisc add dev eth0 root netem delay {s.delay} limit 100000")

    def prepare(self, protocol):
        """Fresh queues and routes for one protocol."""
        for i, host in enumerate(self.hosts):
            marks = protocol.ecn and (self.all_mark or i == 0)
            # Something else in between: netem over netem would keep what
            # is below it
            tc("sw", f"qdisc replace dev p{i} root pfifo",
               *(self.marking_queue if marks else self.plain_queue)(i))
            rto = f" rto_min {protocol.rto_min}" if protocol.rto_min else ""
            ip(host, f"route replace 10.0.0.0/16 dev eth0 src {address(i)}{rto}")
        for i in range(1, len(self.hosts)) if protocol.paths > 1 else ():
            self.second_path(i)

    def during(self, rounds):
        if self.scenario.steady:
            steady.watch(self, rounds)

    def rate(self, _i):
        """Of a host's link."""
        return self.scenario.rate

    def plain_queue(self, i):
        s = self.scenario
        return [f"qdisc replace dev p{i} root netem rate {self.rate(i)}bit"
                f" limit {s.queue}{self.loss()}"]

    def loss(self):
        """Gilbert's model: every packet is lost in the bad state, none in the good one;
        the bad one lasts for a burst, and as often as makes the share of loss."""
        s = self.scenario
        if not s.loss:
            return ""
        burst = getattr(s, "burst", 1)  # those of ../eval have none
        if burst == 1:
            return f" loss {s.loss}%"
        leave = 100 / burst
        enter = leave * s.loss / (100 - s.loss)
        return f" loss gemodel {enter:.6f}% {leave:.6f}% 100% 0%"

    def marking_queue(self, i):
        """Marks above a quarter of the queue, at most 65 packets (DCTCP's
        choice for 10 Gbit/s), by the queue's length of now, not its mean."""
        s = self.scenario
        mark = min(s.queue // 4, 65)
        frame = s.mtu + 14
        return [
            f"qdisc replace dev p{i} root handle 1: netem limit 100000{self.loss()}",
            f"qdisc replace dev p{i} parent 1:1 handle 2: tbf rate {self.rate(i)}bit"
            f" burst {2 * frame} limit {s.queue * frame}",
            f"qdisc replace dev p{i} parent 2:1 handle 3: red"
            f" limit {s.queue * frame} min {mark * frame}"
            f" max {(mark + 1) * frame} avpkt {frame} burst {mark}"
            # for idle times only, and no more than 32 bits of bytes
            f" probability 1 bandwidth {min(self.rate(i), 30_000_000_000)}bit ecn",
        ]

    def second_path(self, i):
        """MPTCP: a second address, so a second connection beside the first."""
        ip("h0", "mptcp limits set subflow 2 add_addr_accepted 2")
        ip(self.hosts[i], f"address replace {address(i, 1)}/16 dev eth0",
           "mptcp limits set subflow 2 add_addr_accepted 2",
           f"mptcp endpoint add {address(i, 1)} dev eth0 subflow")


class LeafSpine:
    """Hosts at two leaves, between them the spines of vm/topo.sh."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.last = scenario.spines - 1
        self.hosts = [f"h{i}" for i in range(2 * scenario.per_leaf)]
        self.topo(f"topo_leaf_spine {scenario.per_leaf} rate=10gbit spine_rate={scenario.spine_rate}bit"
                  f" spines={scenario.spines} delay={scenario.delay} mtu={scenario.mtu}"
                  f" queue={scenario.queue}")
        for host in self.hosts:
            values = " ".join(f"{k}={v}" for k, v in SYSCTLS.items())
            run(*inside(host, "sh", "-c", f"sysctl -qw {values}"))

    def topo(self, command):
        s = self.scenario
        run("bash", "-c", f". {TOPO}; topo_spine_rate={s.spine_rate}bit"
            f" topo_queue={s.queue} topo_mtu={s.mtu}; {command}")

    def prepare(self, protocol):
        for s in range(self.scenario.spines):
            self.topo(f"topo_spine {s}")
        if self.scenario.spine:
            self.topo(f"topo_spine {self.last} {self.scenario.spine}")
        for host in self.hosts:
            if protocol.module:
                run(*inside(host, "sysctl", "-qw",
                            f"net.dlcp.nr_paths={protocol.dlcp_paths}"))
        if protocol.paths > 1:
            self.more_ports(protocol.paths - 1)

    def more_ports(self, nr):
        """MPTCP: the receiver names more ports, so that the sender opens connections that
        routers may tell apart."""
        limits = f"mptcp limits set subflow {nr} add_addr_accepted {nr}"
        ip("h0", limits, *(f"mptcp endpoint add {address(0)} id {i} port {6000 + i} signal"
                           for i in range(1, nr + 1)))
        ip("h1", limits)

    def carried(self):
        """Bytes the spines sent, both ways."""
        text = "".join(run("tc", "-n", f"spine{s}", "-s", "qdisc", "show")
                       for s in range(self.scenario.spines))
        return sum(int(n) for n in re.findall(r"Sent (\d+) bytes", text))

    def during(self, rounds):
        """Kill the last spine when half of the rounds' bytes have passed."""
        s = self.scenario
        if not s.dies:
            return
        half = self.carried() + (s.warmup + rounds / 2) * s.crossing
        end = time.monotonic() + 10
        while self.carried() < half and time.monotonic() < end:
            time.sleep(0.002)
        self.topo(f"topo_spine {self.last} loss=100")


class Failed(Exception):
    pass


def end_all(started):
    for process in started:
        process.kill()
        process.wait()


class Background:
    """Bursts of TCP CUBIC through the receiver's port, on and off, from a host of their own."""

    PORT = "5099"

    def __init__(self, network, program):
        s = network.scenario
        words = [program, "--proto", "tcp", "--cc", "cubic", "--addr", address(0), "--port",
                 self.PORT, "--bytes", str(s.background), "--rounds", "100000",
                 "--gap", str(s.background * 8e3 / s.rate)]
        self.processes = [subprocess.Popen(inside("h0", *words, "recv"), text=True,
                                           stdout=subprocess.PIPE)]
        if self.processes[0].stdout.readline() != "ready\n":
            raise Failed("the background did not start")
        self.processes.append(subprocess.Popen(inside(network.hosts[-1], *words, "send")))
        self.bytes, self.start = self.received(), time.monotonic()

    def received(self):
        text = run(*inside("h0", "ss", "-tinH", "state", "established",
                           f"sport = :{self.PORT}"))
        return sum(int(n) for n in re.findall(r"bytes_received:(\d+)", text))

    def rate(self):
        """Mean, Gbit/s."""
        return (self.received() - self.bytes) * 8e-9 / (time.monotonic() - self.start)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()


def start_job(program, words, job, started):
    """Receiver and senders of a job. Return: the receiver."""
    receiver = subprocess.Popen(inside(f"h{job.receiver}", program, *words, "recv"), text=True,
                                stdout=subprocess.PIPE)
    started.append(receiver)
    if receiver.stdout.readline() != "ready\n":
        raise Failed("the receiver did not start")
    return receiver


def start_senders(program, words, job, started):
    for i, host in enumerate(job.senders):
        started.append(subprocess.Popen(inside(
            f"h{host}", program, *words, "--index", str(i), "send")))


def shares(results):
    """What each job got of its share while all of them were at work; their rounds follow
    each other at once."""
    end = min(sum(r["times"]) for r in results)
    got = []
    for r in results:
        left, done = end, 0
        for t in r["times"]:
            done += min(t, left) / t
            left -= min(t, left)
        got.append(done * r["ideal"] / end)
    return got


def merge(lines):
    """One result of many jobs: all their rounds, and what each of them got."""
    results = [json.loads(line) for line in lines]
    whole = dict(results[0])
    times = sorted(t for r in results for t in r["times"])
    whole["times"] = [t for r in results for t in r["times"]]
    whole["rounds"] = len(times)
    whole["mean"] = sum(times) / len(times)
    whole["worst"] = times[-1]
    for name, share in ("p50", 0.5), ("p99", 0.99):
        whole[name] = times[max(math.ceil(share * len(times)) - 1, 0)]
    for name in "mean", "worst":
        whole[f"{name}_ratio"] = whole[name] / whole["ideal"]
    for name in "lost", "forgiven", "spurious", "probes", "sent", "resent", "marks":
        if all(name in r for r in results):
            whole[name] = sum(r[name] for r in results)
    got = shares(results)
    whole["goodput"] = sum(got) / len(got)
    whole["notes"] = {"share_least": round(min(got), 3), "share_most": round(max(got), 3),
                      "share_mean": round(whole["goodput"], 3)}
    return json.dumps(whole) + "\n"


def words_of(scenario, name, label, rounds):
    """Arguments of dlcpperf for everybody."""
    words = [*PROTOCOLS[label].args.split(), "--senders", str(scenario.senders),
             "--bytes", str(scenario.bytes), "--rate", str(scenario.rate / scenario.jobs),
             "--scenario", name, "--label", label, "--rounds", str(rounds),
             "--warmup", str(scenario.warmup)]
    if scenario.urgent:
        words += ["--urgent", str(scenario.urgent)]
    if scenario.layers:
        words += ["--layers", ",".join(str(n) for n in scenario.layers),
                  "--compute", str(scenario.compute)]
    return words


def measure(network, program, name, label, rounds):
    """Return: the line of JSON."""
    scenario = network.scenario
    rounds = rounds or PROTOCOLS[label].rounds or scenario.rounds
    if scenario.steady == "divided":
        return steady.divided(network, program, name, label, PROTOCOLS[label].args)
    words = words_of(scenario, name, label, rounds)
    started, receivers, background = [], [], None
    try:
        if scenario.background:
            background = Background(network, program)
        jobs = [(job, [*words, "--addr", address(job.receiver), "--port", str(5001 + n)])
                for n, job in enumerate(scenario.plan())]
        receivers = [start_job(program, line, job, started) for job, line in jobs]
        for job, line in jobs:
            start_senders(program, line, job, started)
        network.during(rounds)
        lines = [receiver.communicate(timeout=TIMEOUT)[0] for receiver in receivers]
        rate = background.rate() if background else None
        for process in started:
            if process.wait(timeout=TIMEOUT):
                raise Failed("a sender or the receiver failed")
        line = lines[0] if len(lines) == 1 else merge(lines)
        if scenario.steady:
            line = json.dumps({**json.loads(line), "notes": network.notes}) + "\n"
        if background:
            line = json.dumps({**json.loads(line),
                               "notes": {"tcp_gbit": round(rate, 2)}}) + "\n"
        return line
    except subprocess.TimeoutExpired:
        raise Failed(f"not over after {TIMEOUT} seconds") from None
    finally:
        end_all(started)
        if background:
            background.stop()


def main():
    program, name, rounds, *labels = sys.argv[1:]
    scenario = SCENARIOS[name]
    if scenario.layers:
        allow_memory()
    if scenario.spines:
        network = LeafSpine(scenario)
    else:
        network = Network(scenario, scenario.hosts)
    for label in labels:
        network.prepare(PROTOCOLS[label])
        try:
            line = measure(network, program, name, label, int(rounds))
        except Failed as error:
            line = json.dumps({"scenario": name, "protocol": label,
                               "error": str(error)}) + "\n"
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
