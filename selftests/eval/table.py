# SPDX-License-Identifier: GPL-2.0
"""What is evaluated: contestants, and what they train. Nothing here runs anything."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contestant:
    """A transport as it is set up; what bench/guest.py needs to prepare the network."""
    transport: str              # "tcp" or "dlcp"
    cc: str = "cubic"           # of TCP
    ecn: bool = False           # the switch marks, at all ports
    rto_min: str = ""           # on the routes of all hosts
    bound: float = 0            # DLCP: share of a gradient that may be lost
    correct: str = "none"       # what is done about it
    tags: bool = True           # the smaller half of a gradient is tagged droppable
    early: bool = False         # and the receiver stops as soon as it has the rest (replays)
    gloo: bool = False          # PyTorch: DLCP as a device of Gloo, not as a backend
    dear: bool = False          # PyTorch: dlcp.DeAR, not DistributedDataParallel
    paths: int = 1
    stripes: int = 1            # connections of a worker to the server (replays)
    shown: str = ""             # in tables and plots


CONTESTANTS = {
    "cubic": Contestant("tcp", shown="TCP CUBIC"),
    "cubic-tuned": Contestant("tcp", rto_min="10ms", shown="TCP CUBIC, rto_min 10 ms"),
    "cubic-8": Contestant("tcp", stripes=8, shown="TCP CUBIC, 8 connections"),
    "bbr": Contestant("tcp", cc="bbr", shown="TCP BBR"),
    "dctcp-tuned": Contestant("tcp", cc="dctcp", ecn=True, rto_min="10ms",
                              shown="DCTCP on ECN, rto_min 10 ms"),
    "dlcp-0": Contestant("dlcp", shown="DLCP, p = 0"),
    "gloo-dlcp": Contestant("dlcp", gloo=True, shown="Gloo over DLCP"),
    "dear-0": Contestant("dlcp", dear=True, shown="DLCP, p = 0, DeAR"),
    "dlcp-0-ecn": Contestant("dlcp", ecn=True, shown="DLCP, p = 0, ECN"),
    "dlcp-1%": Contestant("dlcp", bound=0.01, correct="feedback",
                          shown="DLCP, p = 1 %, feedback"),
    "dlcp-5%": Contestant("dlcp", bound=0.05, shown="DLCP, p = 5 %"),
    "dlcp-10%": Contestant("dlcp", bound=0.1, correct="feedback",
                           shown="DLCP, p = 10 %, feedback"),
    "dlcp-10%-ecn": Contestant("dlcp", ecn=True, bound=0.1, correct="feedback",
                               shown="DLCP, p = 10 %, feedback, ECN"),
    "dlcp-10%-early": Contestant("dlcp", bound=0.1, early=True,
                                 shown="DLCP, p = 10 %, stopped early"),
    "dlcp-10%-average": Contestant("dlcp", bound=0.1, correct="average",
                                   shown="DLCP, p = 10 %, averages"),
    "dlcp-10%-untagged": Contestant("dlcp", bound=0.1, correct="feedback", tags=False,
                                    shown="DLCP, p = 10 %, feedback, no tags"),
    "dlcp-10%-nothing": Contestant("dlcp", bound=0.1, correct="none",
                                   shown="DLCP, p = 10 %, no correction"),
}


@dataclass(frozen=True)
class Training:
    """Real training, and the network. Names as in bench/table.py's Scenario. It is
    dlcp-train with a parameter server, or (ddp) PyTorch's DistributedDataParallel with an
    all-reduce among the workers: Gloo's over TCP, or DLCP's."""
    contestants: tuple
    senders: int = 32           # workers
    images: int = 8192
    batch: int = 16
    epochs: int = 2
    compute_us: int = 2000      # of a step: measured, see Documentation/evaluation.md
    slice: int = 49152          # bytes of a message at most, as ByteScheduler and P3 cut tensors
    ddp: bool = False
    bucket_mb: float = 0.25     # ddp: of a bucket, so that there are some
    buffer_mb: float = 0        # ddp: of DeAR's buffers; 0: as buckets
    model: str = "cnn"          # ddp: or "gpt", whose "images" are contexts of 64 characters
    lr: float = 0.05            # ddp
    hidden: int = 128           # ddp: neurons of the largest layer, which has most of the gradient,
    more_layers: int = 0        # and layers of as many behind it
    target: float = 0.65        # test accuracy whose time is taken
    rate: int = 10_000_000_000
    delay: str = "25us"
    queue: int = 32
    loss: float = 0
    mtu: int = 1500
    nic: bool = False           # hosts' own links have the rate, too
    background: int = 0         # bytes of each burst of TCP CUBIC into the server's port, as in bench
    slow: int = 0               # rate of the first worker's link, bit/s, both ways; 0: as the others


PEERS = ("cubic", "cubic-tuned", "bbr", "dctcp-tuned")
OURS = ("dlcp-0", "dlcp-0-ecn", "dlcp-1%", "dlcp-10%", "dlcp-10%-untagged",
        "dlcp-10%-average", "dlcp-10%-nothing")
TUNED = ("cubic-tuned", "dctcp-tuned")
FEW = (*TUNED, "dlcp-0", "dlcp-0-ecn", "dlcp-10%")

TRAININGS = {
    "incast": Training(PEERS + OURS),
    "incast-nic": Training(FEW, nic=True),
    # The queue is deeper, or TCP's bursts alone lose packets in it
    "quiet": Training(TUNED + OURS, senders=8, queue=256),
    "lossy-0.1": Training(TUNED + OURS, senders=8, queue=256, loss=0.1),
    "lossy-1": Training(TUNED + OURS, senders=8, queue=256, loss=1),
    "cross-traffic": Training((*TUNED, *OURS, "dlcp-10%-ecn"), senders=8, queue=128,
                              background=2_000_000),
    "straggler": Training(TUNED + OURS, senders=8, queue=128, slow=1_000_000_000),
}

DDP = ("cubic-tuned", "dctcp-tuned", "gloo-dlcp", "dlcp-0", "dear-0", "dlcp-0-ecn", "dlcp-10%")
GPT = ("cubic-tuned", "dctcp-tuned", "gloo-dlcp", "dlcp-0", "dear-0", "dlcp-10%")
LICENCES = {"model": "gpt", "hidden": 64, "lr": 0.006, "target": 0.27}
TRAININGS |= {
    f"ddp-{name}": Training(contestants, ddp=True, senders=8, epochs=1, nic=True,
                            **{"images": 6144, "target": 0.6, **other})
    for name, contestants, other in (
        ("quiet", ("cubic", *DDP), {"queue": 256}),
        ("deep", DDP, {"queue": 256, "hidden": 256, "more_layers": 12, "bucket_mb": 1,
                       "buffer_mb": 0.5, "compute_us": 8000}),
        ("lossy-0.1", DDP, {"queue": 256, "loss": 0.1}),
        ("lossy-1", (*DDP, "dlcp-1%", "dlcp-10%-average", "dlcp-10%-untagged",
                     "dlcp-10%-nothing"), {"queue": 256, "loss": 1}),
        ("shallow", DDP, {"queue": 32}),
        ("cross-traffic", DDP, {"queue": 128, "background": 2_000_000}),
        ("straggler", DDP, {"queue": 128, "slow": 1_000_000_000}),
        ("gpt", GPT, {"queue": 256, **LICENCES}),
        ("gpt-lossy-1", GPT, {"queue": 256, "loss": 1, **LICENCES}),
    )
}


@dataclass(frozen=True)
class Replay:
    """Iterations of models.py's models, computing slept."""
    contestants: tuple
    form: str                   # "ps" (rank 0 is the server) or "ring"
    shown: str
    models: tuple = ("ResNet-50", "VGG-16", "BERT-base", "GPT-2")
    schedules: tuple = (("plain", 25), ("plain", 6), ("dear", 25), ("dear", 6))
                                # and the megabytes of a bucket, before scaling
    piece: int = 128 << 10      # bytes of a message at most
    backlog: int = 256 << 10    # bytes the kernel has of them ahead of time: more than a path holds
    iterations: int = 20        # timed
    senders: int = 3            # hosts but one
    rate: int = 10_000_000_000
    delay: str = "25us"
    queue: int = 32
    loss: float = 0
    mtu: int = 1500
    nic: bool = True


REPLAY_ONES = ("cubic-tuned", "dctcp-tuned", "dlcp-0")

REPLAYS = {
    "ring": Replay(REPLAY_ONES, "ring", "ring of 4 hosts, 10 Gbit/s, queue of 32 packets",
                   schedules=(*Replay.schedules, ("eager", 25), ("eager", 6))),
    # The one-way delay of packets is 100 us in the median and so many times that at p99; at
    # random they come in bunches that 32 packets have no room for, and loss is not what is meant
    **{f"flat-{ratio:g}": Replay(("cubic-tuned", "dlcp-0", "dlcp-1%", "dlcp-10%-early"), "ring",
                                 f"the same, p99/p50 of packets' delay {ratio:g}",
                                 models=("ResNet-50",), schedules=(("plain", 25),),
                                 iterations=90, backlog=768 << 10, queue=256,
                                 delay=f"100us {100 * (ratio - 1) / 2.33:.1f}us"
                                       " distribution normal")
       for ratio in (1.5, 3)},
    "ps": Replay(REPLAY_ONES, "ps", "a server and 4 workers, 10 Gbit/s, queue of 32 packets",
                 senders=4),
    # Sites with a worker each, a continent apart; the queue holds half of what is on its way
    **{f"geo-{loss:g}": Replay(("cubic", "cubic-8", "bbr", "dlcp-0", "dlcp-5%"), "ps",
                               f"a server and 8 sites, 1 Gbit/s, 40 ms, {loss:g} % loss",
                               models=("ResNet-50",), schedules=(("plain", 25),), iterations=10,
                               senders=8, rate=1_000_000_000, delay="20ms", queue=1667, loss=loss,
                               backlog=8 << 20)
       for loss in (0.1, 1)},
}


@dataclass(frozen=True)
class Recording:
    """All-reduces of random numbers in the lab, with a bound of 10 %: what is forgiven is
    replayed in trainings of `senders` workers."""
    form: str                   # "server" (h0 is one and does not work) or "transpose"
    senders: int = 4            # hosts but one
    rate: int = 10_000_000_000
    delay: str = "25us"
    queue: int = 256
    loss: float = 0
    burst: int = 1              # packets lost together, in the mean
    mtu: int = 1500
    nic: bool = False
    background: int = 0         # as in Training


RECORDINGS = {
    "random": Recording("server", loss=10),
    "bursts": Recording("server", loss=10, burst=20),
    "bursts-transpose": Recording("transpose", senders=3, loss=10, burst=20),
    "incast": Recording("server", queue=8, background=2_000_000),
}

# Options of userspace/torch/eval/replay.py: trained natively, loss is a model's, or --trace:
# RECORDINGS, of as many rounds as there are steps
ABLATIONS = {
    "ablation": ("--losses", "none,independent,bursty", "--thc", "--rate", "0.1",
                 "--decay", "--steps", "400", "--seeds", "3"),
    # Until the rate is low for long: what loss only delayed has been made up for
    "ablation-long": ("--losses", "none,independent,bursty", "--rate", "0.1", "--decay",
                      "--steps", "1200", "--seeds", "3"),
    "ablation-trace": ("--losses", "none,trace", "--trace",
                       "random,bursts,bursts-transpose,incast", "--rate", "0.1",
                       "--decay", "--steps", "400", "--seeds", "3"),
    "ablation-trace-long": ("--losses", "none,trace", "--trace", "random,incast", "--rate", "0.1",
                            "--decay", "--steps", "1200", "--seeds", "3"),
    "ablation-tags": ("--losses", "none,trace", "--trace", "bursts,incast", "--droppable", "0.5",
                      "--rate", "0.1", "--decay", "--steps", "400", "--seeds", "3"),
    "ablation-trace-gpt": ("--model", "gpt", "--losses", "none,trace", "--trace", "random,incast",
                           "--rate", "0.1", "--decay", "--steps", "900", "--seeds", "3"),
    "ablation-gpt": ("--model", "gpt", "--losses", "none,bursty", "--thc", "--rate", "0.1",
                     "--decay", "--steps", "900", "--seeds", "3"),
}
