# SPDX-License-Identifier: GPL-2.0
"""In the lab: guest.py train PROGRAM DATA OUT NAME SEED,SEED... IMAGES CONTESTANT...
           guest.py replay PROGRAM NAME ITERATIONS MODELS CONTESTANT...
           guest.py record PROGRAM OUT NAME BYTES ROUNDS

Trains with every contestant and seed over fresh queues of the same network. What
dlcp-train writes goes to OUT/NAME/CONTESTANT-SEED.jsonl; a line of JSON on stdout says
what the network did. Or replays the iterations of all models, a line for each. Or
records in OUT/NAME.RANK what all-reduces lose.
"""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "bench")]
import guest as bench  # noqa: E402  (bench/guest.py: network name spaces and queues)

sys.modules.pop("table", None)
sys.path.insert(0, str(HERE))
from models import MODELS, buckets  # noqa: E402
from table import CONTESTANTS, RECORDINGS, REPLAYS, TRAININGS  # noqa: E402

TIMEOUT = 600           # seconds of virtual time for one training
GRACE = 5               # seconds for others to end once one has failed
PERF = str(HERE.parent.parent / "build" / "bench" / "dlcpperf")
WARM = 4                # iterations of a replay that do not count


class Cluster(bench.Network):
    """h0 is the server, the others are workers. In the bench's network only the switch's
    ports have a rate, so a server sends to all at once at no cost; nic: it has one."""

    all_mark = True

    def __init__(self, scenario):
        self.background = getattr(scenario, "background", 0)
        super().__init__(scenario, scenario.senders + 1 + bool(self.background))

    def rate(self, i):
        """Of a host's link."""
        return i == 1 and getattr(self.scenario, "slow", 0) or self.scenario.rate

    def plug_in(self, i, host):
        super().plug_in(i, host)
        s = self.scenario
        if not s.nic and self.rate(i) == s.rate:
            return
        # As Debian has it: fq_codel above the card. The delay comes behind it, where packets
        # get to the switch: netem takes them from their socket, which would then not know how
        # many wait in this queue (TCP Small Queues)
        bench.tc(host, f"qdisc replace dev eth0 root handle 2: tbf rate {self.rate(i)}bit"
                       f" burst {2 * bench.FRAME} limit {10000 * bench.FRAME}",
                 "qdisc replace dev eth0 parent 2:1 handle 3: fq_codel")
        bench.ip("sw", f"link add ifb{i} type ifb", f"link set ifb{i} up")
        bench.tc("sw", f"qdisc replace dev ifb{i} root netem delay {s.delay} limit 100000",
                 f"qdisc add dev p{i} ingress",
                 f"filter add dev p{i} ingress matchall action mirred egress redirect dev ifb{i}")

    def prepare(self, protocol):
        super().prepare(protocol)
        if protocol.transport != "tcp":
            return
        allowed = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
        Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(allowed)
        for host in self.hosts:
            bench.run(*bench.inside(host, "sysctl", "-qw",
                                    f"net.ipv4.tcp_congestion_control={protocol.cc}"))

    def drops(self):
        """Packets lost in front of the server."""
        text = bench.run("tc", "-n", "sw", "-s", "qdisc", "show", "dev", "p0")
        return max(int(n) for n in re.findall(r"dropped (\d+)", text))


def train_words(training, contestant, images):
    loss = contestant.bound
    return ["--images", str(images or training.images), "--batch", str(training.batch),
            "--epochs", str(training.epochs), "--compute-us", str(training.compute_us),
            "--slice", str(training.slice),
            "--loss", str(loss), "--droppable", "0.5" if loss and contestant.tags else "0",
            "--correct", contestant.correct, "--eval-every", "5"]


def ended(started):
    """How each of them ended. What one that failed tells the others takes them a moment to hear and
    to repeat: whoever was ended before that would look like the one at fault"""
    until = time.monotonic() + GRACE
    words = []
    for rank, process in enumerate(started):
        try:
            status = process.wait(timeout=max(0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            words.append(f"process {rank} still ran")
            continue
        if status < 0:
            words.append(f"process {rank} was killed by signal {-status}")
        elif status:
            words.append(f"process {rank} ended with status {status}")
    if any("signal" in word for word in words):
        words.append(f"the kernel says: {bench.run('dmesg').strip().splitlines()[-3:]}")
    return "; ".join(words)


def finish(started):
    """Wait for all, or end all."""
    try:
        for process in started:
            if process.wait(timeout=TIMEOUT):
                raise bench.Failed(ended(started))
    except subprocess.TimeoutExpired:
        raise bench.Failed(f"not over after {TIMEOUT} seconds") from None
    finally:
        for process in started:
            process.kill()
            process.wait()


def train(cluster, program, data, out, contestant, seed, words):
    common = ["--transport", contestant.transport, "--data", data]
    started = [subprocess.Popen(bench.inside(
        "h0", program, "server", *common, "--workers", str(cluster.scenario.senders),
        "--seed", str(seed), "--out", str(out), *words))]
    for host in cluster.hosts[1:cluster.scenario.senders + 1]:
        started.append(subprocess.Popen(bench.inside(
            host, program, "worker", *common, "--host", bench.address(0))))
    finish(started)


@contextmanager
def observed(cluster, said):
    """Beside what runs: bursts of TCP, where the network has them. What came of it: in said."""
    background = None
    try:
        if cluster.background:
            background = bench.Background(cluster, PERF)
        yield
        said["dropped"] = cluster.drops()
        if background:
            said["background_gbit"] = background.rate()
    except bench.Failed as error:
        said["error"] = str(error)
    finally:
        if background:
            background.stop()


def train_ddp(cluster, data, out, contestant, seed, images):
    """PyTorch, only where it is wanted."""
    import ddp  # pylint: disable=import-outside-toplevel
    training = cluster.scenario
    if contestant.gloo:
        ddp.load_gloo_device(os.environ["GLOO_DLCP"])
    words = [*ddp.words_of(training, contestant, seed, images), "--out", str(out)]
    if training.model == "cnn":
        words += ["--data", data]
    try:
        ddp.train(cluster.hosts[:training.senders],
                  [bench.address(i) for i in range(training.senders)],
                  words, "DLCP" if contestant.gloo else "", TIMEOUT)
    except ddp.Failed as error:
        raise bench.Failed(str(error)) from None


def trainings(program, data, out, name, seeds, images, *labels):
    training = TRAININGS[name]
    cluster = Cluster(training)
    folder = Path(out) / name
    folder.mkdir(parents=True, exist_ok=True)
    for label in labels:
        contestant = CONTESTANTS[label]
        for seed in map(int, seeds.split(",")):
            said = {"training": name, "contestant": label, "seed": seed}
            cluster.prepare(contestant)
            to = folder / f"{label}-{seed}.jsonl"
            with observed(cluster, said):
                if training.ddp:
                    train_ddp(cluster, data, to, contestant, seed, int(images))
                else:
                    train(cluster, program, data, to, contestant, seed,
                          train_words(training, contestant, int(images)))
            print(json.dumps(said), flush=True)


def replay(cluster, program, contestant, schedule, parts, iterations):
    """Milliseconds of each iteration."""
    part = cluster.scenario
    started = [subprocess.Popen(
        bench.inside(host, program, *["-e"] * contestant.early, contestant.transport, part.form,
                     schedule, str(rank), str(len(cluster.hosts)), str(iterations),
                     str(contestant.bound),
                     str(part.backlog), str(contestant.stripes), *(":".join(map(str, bucket)) for bucket in parts)),
        text=True, stdout=subprocess.PIPE) for rank, host in enumerate(cluster.hosts)]
    finish(started)
    return [float(line) for process in started for line in process.stdout]


def wire_ms(part, size):
    """What the busiest link needs for the payload of an iteration, each way."""
    hosts = part.senders + 1
    share = part.senders if part.form == "ps" else 2 * (hosts - 1) / hosts
    return share * size * 8e3 / part.rate


def replays(program, name, iterations, models, *labels):
    part = REPLAYS[name]
    cluster = Cluster(part)
    for model in models.split(","):
        for label in labels:
            for schedule, fusion in part.schedules:
                hops = part.senders + 1 if part.form == "ring" else 1
                parts = buckets(MODELS[model], fusion * 1e6, part.piece * hops)
                said = {"part": name, "model": model, "contestant": label,
                        "schedule": schedule, "fusion": fusion, "scale": MODELS[model].scale,
                        "compute_ms": sum(b[1] + b[2] for b in parts) / 1e3,
                        "wire_ms": wire_ms(part, sum(b[0] for b in parts))}
                cluster.prepare(CONTESTANTS[label])
                try:
                    # The first ones meet cold windows, a server that has no measure of
                    # its link yet, and hosts not in step
                    times = replay(cluster, program, CONTESTANTS[label], schedule, parts,
                                   int(iterations) + WARM)[WARM:]
                    said |= {"times": times, "mean_ms": sum(times) / len(times),
                             "worst_ms": max(times), "dropped": cluster.drops()}
                except bench.Failed as error:
                    said["error"] = str(error)
                print(json.dumps(said), flush=True)


def record(program, out, name, size, rounds):
    """With feedback, so that what was lost is checked to be there in the end."""
    part = RECORDINGS[name]
    contestant = CONTESTANTS["dlcp-10%"]
    cluster = Cluster(part)
    cluster.prepare(contestant)
    # The server is the last rank
    hosts = cluster.hosts[1:part.senders + 1] + cluster.hosts[:1]
    words = [program, "coll-perf", "-b", size, "-n", rounds, "-w", "0", "--algo", part.form,
             "--loss", str(contestant.bound), "--timeout", "120",
             *(["--dedicated"] if part.form == "server" else [])]
    env = os.environ | {"WORLD_SIZE": str(len(hosts)), "MASTER_ADDR": bench.address(1),
                        "MASTER_PORT": "7000", "DLCP_COLL_TRACE": f"{out}/{name}"}
    said = {"recording": name, "rounds": int(rounds)}
    with observed(cluster, said):
        finish([subprocess.Popen(bench.inside(host, *words), env=env | {"RANK": str(rank)})
                for rank, host in enumerate(hosts)])
    print(json.dumps(said), flush=True)


def main():
    # What was preloaded for PyTorch is not for ip and tc
    os.environ.pop("LD_PRELOAD", None)
    kind, *words = sys.argv[1:]
    {"train": trainings, "replay": replays, "record": record}[kind](*words)


main()
