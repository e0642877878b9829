# SPDX-License-Identifier: GPL-2.0
"""What is measured: protocols and scenarios. Nothing here runs anything."""

from dataclasses import dataclass

from layers import backward, gpt, resnet50, vgg16

@dataclass(frozen=True)
class Protocol:
    args: str                   # of dlcpperf, for receiver and senders
    ecn: bool = False           # the switch marks: RED on the way to the receiver
    rto_min: str = ""           # on the routes of all hosts
    paths: int = 1              # addresses of a sender that MPTCP may use
    rounds: int = 0             # other than the scenario's
    dlcp_paths: int = 1         # net.dlcp.nr_paths

    @property
    def module(self):
        return "--proto dlcp" in self.args


@dataclass(frozen=True)
class Job:
    receiver: int               # host
    senders: tuple


@dataclass(frozen=True)
class Scenario:
    protocols: tuple            # names
    senders: int = 1
    bytes: int = 20_000_000     # of all senders in a round
    rounds: int = 8
    warmup: int = 2
    rate: int = 10_000_000_000  # bits per second of every port of the switch
    delay: str = "25us"         # each way, as netem wants it
    queue: int = 1000           # packets at each port of the switch
    loss: float = 0             # percent, at each port: both directions
    burst: float = 1            # packets of a loss, in the mean
    layers: tuple = ()          # bytes of each sender's messages, in the order in which
                                # they are there to be sent: the last one is wanted first
    urgent: int = 0             # so many senders are in class 0, the others in class 7
    jobs: int = 1               # that many times as many senders, with receivers of their
                                # own at the same host: each has its share of the rate
    background: int = 0         # bytes of each burst of TCP CUBIC through the same port;
                                # between bursts as long a pause as one takes at best
    mem: int = 1024             # of the virtual machine, MB
    mtu: int = 1500
    spines: int = 0             # >0: leaf-spine, per_leaf hosts at each of two leaves; rate
                                # is then what a receiver can get of the spines' rates
    per_leaf: int = 1           # more than 1: everyone receives from all others
    spine_rate: int = 2_000_000_000
    spine: str = ""             # what is wrong with the last one, as topo_spine wants it
    dies: bool = False          # it dies half-way, without routing noticing
    steady: str = ""            # look into the network: "watch" the last round, or how
                                # the link is "divided" between DLCP and TCP (steady.py)

    @property
    def compute(self):
        """ms until the last layer is there: what a sender's own link needs for all. So
        with two senders the port of the receiver is asked for twice what it has."""
        return sum(self.layers) * 8e3 / self.rate

    def plan(self):
        hosts = 2 * self.per_leaf
        if self.per_leaf > 1:
            return [Job(i, tuple(k for k in range(hosts) if k != i)) for i in range(hosts)]
        return [Job(0, tuple(range(1 + n * self.senders, 1 + (n + 1) * self.senders)))
                for n in range(self.jobs)]

    @property
    def hosts(self):
        """Of a star: the receiver, the senders, and one for the background."""
        return 1 + self.jobs * self.senders + (self.background > 0)

    @property
    def crossing(self):
        """Bytes of a round of everyone that pass the spines."""
        if self.per_leaf == 1:
            return self.bytes
        return 2 * self.bytes * self.per_leaf ** 2 / self.senders


PROTOCOLS = {
    "cubic": Protocol("--proto tcp --cc cubic"),
    "bbr": Protocol("--proto tcp --cc bbr"),
    "dctcp": Protocol("--proto tcp --cc dctcp", ecn=True),
    # What a careful operator does
    "cubic-tuned": Protocol("--proto tcp --cc cubic", rto_min="10ms"),
    "bbr-tuned": Protocol("--proto tcp --cc bbr", rto_min="10ms"),
    "dctcp-tuned": Protocol("--proto tcp --cc dctcp", ecn=True, rto_min="10ms"),
    "mptcp": Protocol("--proto mptcp --cc cubic", paths=2),
    "mptcp-ports": Protocol("--proto mptcp --cc cubic", paths=8),
    "sctp": Protocol("--proto sctp"),
    # Not a protocol, but what the bed allows: 98 % of the link, divided evenly
    "udp-paced": Protocol("--proto udp --cc cubic", rounds=2),
    "dlcp-0": Protocol("--proto dlcp"),
    "dlcp-0.1%": Protocol("--proto dlcp --bound 0.001"),
    "dlcp-1%": Protocol("--proto dlcp --bound 0.01"),
    "dlcp-0-loss": Protocol("--proto dlcp --cc loss"),
    "dlcp-3%": Protocol("--proto dlcp --bound 0.03"),
    "dlcp-10%": Protocol("--proto dlcp --bound 0.1"),
    "dlcp-0-ecn": Protocol("--proto dlcp", ecn=True),
    "dlcp-0.1%-ecn": Protocol("--proto dlcp --bound 0.001", ecn=True),
    "dlcp-1%-ecn": Protocol("--proto dlcp --bound 0.01", ecn=True),
    "dlcp-0-paths": Protocol("--proto dlcp", dlcp_paths=16),
    "dlcp-1%-paths": Protocol("--proto dlcp --bound 0.01", dlcp_paths=16),
}

TCP = ("cubic", "bbr", "dctcp", "cubic-tuned", "dctcp-tuned")
DLCP = ("dlcp-0", "dlcp-1%", "dlcp-3%", "dlcp-10%")
INCAST = TCP + ("udp-paced", "dlcp-0", "dlcp-1%", "dlcp-10%", "dlcp-0-ecn",
                "dlcp-1%-ecn")
# One connection through the fabric
SPINE = ("cubic", "mptcp-ports", "dlcp-0", "dlcp-0-paths", "dlcp-1%-paths")
# A backward pass: gradients of half precision of two workers, layer by layer
LAYERS = TCP + ("bbr-tuned", "dlcp-0", "dlcp-1%", "dlcp-0-ecn", "dlcp-1%-ecn")


def backward_pass(model, mem=2048):
    layers = backward(model)
    return Scenario(LAYERS, senders=2, bytes=2 * sum(layers), layers=layers, rounds=4,
                    warmup=1, queue=128, mem=mem)


ALL_TO_ALL = TCP + ("dlcp-0", "dlcp-1%", "dlcp-0-paths", "dlcp-1%-paths")


def all_to_all(rate, protocols=ALL_TO_ALL, **more):
    """Eight hosts, four at each leaf; @rate: of all spines together. 16 of the 28 pairs are
    at different leaves, and the spines have half of what four hosts have (2:1)."""
    return Scenario(protocols, senders=7, bytes=3_500_000, per_leaf=4, spines=4,
                    spine_rate=5_000_000_000, rate=rate * 7 // 16, queue=128, **more)


SCENARIOS = {
    "p2p": Scenario(TCP + ("mptcp", "sctp", "udp-paced") + DLCP),
    "p2p-loss0.1": Scenario(TCP + ("mptcp", "sctp", "dlcp-0.1%") + DLCP, loss=0.1),
    "p2p-loss1": Scenario(TCP + ("bbr-tuned", "mptcp") + DLCP, loss=1),
    "p2p-loss3": Scenario(TCP + ("bbr-tuned",) + DLCP, loss=3),
    # Lost together: four packets in the mean (Gilbert's model)
    "p2p-burst0.1": Scenario(TCP + ("mptcp", "sctp", "dlcp-0.1%") + DLCP, loss=0.1, burst=4),
    "p2p-burst1": Scenario(TCP + ("bbr-tuned", "mptcp") + DLCP, loss=1, burst=4),
    # TCP with its 200 ms would not end
    "p2p-burst3": Scenario(("cubic-tuned", "bbr-tuned", "dctcp-tuned") + DLCP, loss=3,
                           burst=4),
    # Packets take 100 us each way in the median, and the slowest of a hundred half as much
    # again; they overtake each other
    "p2p-jitter": Scenario(TCP + ("bbr-tuned",) + DLCP, delay="100us 21.5us distribution normal",
                           queue=128),
    # The slowest of a hundred take three times as long as in the median: most overtake others
    "incast4-jitter": Scenario(TCP + DLCP, senders=4, queue=128,
                               delay="100us 86us distribution normal"),
    "layers-gpt": backward_pass(gpt()),
    "layers-resnet50": backward_pass(resnet50()),
    "layers-vgg16": backward_pass(vgg16(), mem=6144),
    "goodput": Scenario(("cubic", "bbr", "dlcp-0", "dlcp-1%"), bytes=200_000_000,
                        rounds=1, warmup=0),
    **{f"incast{senders}-q{queue}" + (f"-loss{loss:g}" if loss else ""):
       Scenario(INCAST + ("dlcp-0.1%", "dlcp-0.1%-ecn"), senders=senders,
                queue=queue, loss=loss)
       for senders in (8, 16, 32, 64) for queue in (16, 32, 128)
       for loss in (0, 0.1, 1)},
    # Ten times as fast, and jumbo frames: in this bed a look at the clock takes as long as
    # two packets of 1500 bytes
    "p2p-100g": Scenario(TCP + DLCP, rate=100_000_000_000, bytes=200_000_000, mtu=9000),
    "incast16-100g": Scenario(INCAST, senders=16, queue=128, rate=100_000_000_000,
                              bytes=200_000_000, mtu=9000),
    # Half of the senders are in a hurry, and the switch knows nothing of it
    "urgent16": Scenario(TCP + ("dlcp-0", "dlcp-1%"), senders=16, queue=128, urgent=8),
    # The middle of a long round: queue, drops, fairness. "divided" ends after all rounds'
    # bytes, its flows' together; in a queue of 1000 packets TCP's window takes 0.3 s and
    # more from one loss to the next
    "steady32-q32": Scenario(("dlcp-0", "dlcp-1%"), senders=32, queue=32, rounds=1,
                             warmup=0, bytes=100_000_000, steady="watch"),
    "steady16-q128": Scenario(("dlcp-0",), senders=16, queue=128, rounds=1, warmup=0,
                              bytes=100_000_000, steady="watch"),
    **{f"beside-cubic-q{queue}": Scenario(("dlcp-0", "dlcp-0-loss"), senders=2,
                                          queue=queue, rounds=rounds, steady="divided")
       for queue, rounds in ((32, 5), (64, 12), (128, 12), (256, 12), (1000, 20))},
    "spines": Scenario(SPINE, spines=4, rate=8_000_000_000),
    "spines-slow": Scenario(SPINE, spines=4, rate=6_500_000_000, spine="rate=500mbit"),
    "spines-loss": Scenario(SPINE, spines=4, rate=8_000_000_000, spine="loss=5"),
    # A flow that cannot leave the dead one would never end: no TCP
    "spines-dying": Scenario(("dlcp-0-paths", "dlcp-1%-paths"), spines=4,
                             rate=8_000_000_000, dies=True),
    "alltoall": all_to_all(20_000_000_000),
    "alltoall-slow": all_to_all(16_250_000_000, spine="rate=1250mbit"),
    "alltoall-dying": all_to_all(20_000_000_000, ("dlcp-0-paths", "dlcp-1%-paths"),
                                 dies=True),
    # Two trainings, each with eight workers, through one port
    "twojobs": Scenario(INCAST, senders=8, jobs=2, queue=128),
    "background": Scenario(INCAST, senders=16, queue=128, background=10_000_000),
}
