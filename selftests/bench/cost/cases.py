# SPDX-License-Identifier: GPL-2.0
"""What `make bench-cost` counts: loads and networks. Nothing here runs anything."""

from dataclasses import dataclass

# What a segment carries at an MTU of 1500 with TCP's timestamps: the unit of bulk figures,
# also where packets are larger or headers differ
SEGMENT = 1448

PROTOCOLS = {
    "cubic": "--proto tcp --cc cubic",
    "dlcp-0": "--proto dlcp",
    "dlcp-5%": "--proto dlcp --bound 0.05",
    "mptcp": "--proto mptcp --cc cubic",
    "sctp": "--proto sctp",
    # Datagrams and credits, nothing else: the floor
    "udp-gso": "--proto udp-gso --cc cubic",
}
# By socket calls alone: no keys, no reports
PLAIN = {**PROTOCOLS, "dlcp-0": "--proto dlcp-plain", "dlcp-5%": "--proto dlcp-plain --bound 0.05"}
# What resends
RELIABLE = tuple(name for name in PROTOCOLS if name != "udp-gso")

# Behind a protocol's name: who watches it
TRACED, SHOWN = "+trace", "+show"
# Seconds between looks of `dlcp show -w`, of the guest's clock
LOOK = 0.01

# Of both hosts' cards, as ethtool -K wants them
OFFLOADS = {
    # Nothing is ever segmented: the other host gets what was handed to the card
    "on": "",
    # As with a card that has none: the kernel segments just before it, and GRO puts together
    "soft": "tso off gso on gro on tx-udp-segmentation off tx-sctp-segmentation off",
    # Each packet alone through the whole kernel
    "off": "tso off gso off gro off tx-udp-segmentation off tx-sctp-segmentation off",
}


@dataclass(frozen=True)
class Case:
    text: str
    protocols: tuple = tuple(PROTOCOLS)
    offload: str = "on"
    mtu: int = 1500
    loss: float = 0             # percent, both ways
    senders: int = 1            # connections
    bytes: int = 20_000_000     # of all of them in a round
    messages: int = 0           # >0: plain calls of send() for each sender's bytes
    iovecs: int = 1             # pieces of memory that a message is received into
    answered: bool = False      # each round is a message there and one back
    rounds: int = 1
    warmup: int = 1
    # >0: so many processors at once. Then time is measured, and nothing is counted.
    processors: int = 0
    rps: bool = False           # any of them receives, and not the one that sends

    @property
    def unit(self):
        return "message" if self.by_message else f"{SEGMENT} bytes"

    @property
    def by_message(self):
        return self.messages > 1 or self.answered

    def units(self, rounds):
        """How many units so many rounds are"""
        if self.by_message:
            return rounds * self.messages * self.senders * (2 if self.answered else 1)
        return rounds * self.bytes / SEGMENT

    def words(self, protocol):
        """Arguments of dlcpperf."""
        protocol = protocol.partition("+")[0]
        if not self.messages:
            return PROTOCOLS[protocol].split()
        return [*PLAIN[protocol].split(), "--messages", str(self.messages), "--iovecs",
                str(self.iovecs)]


def together(processors, rps, senders=1):
    """In turn, since what else the machine does changes"""
    what = f"{senders} connection{'s'[:senders > 1]}, RPS {'on' if rps else 'off'}"
    return Case(f"20 MB on {processors} processors, {what}", ("cubic", "mptcp", "dlcp-0") * 3,
                senders=senders, processors=processors, rps=rps, rounds=4)


def watched(text, *how, **load):
    """With nobody who looks, and with somebody who does"""
    return Case(text, ("dlcp-0", *(f"dlcp-0{watcher}" for watcher in how)), **load)


def stream(size, n):
    """So many messages, as fast as the socket takes them"""
    return Case(f"{n} messages of {size // 1024} KB", bytes=size * n, messages=n)


CASES = {
    **{f"bulk-{offload}": Case(f"20 MB, offloads {offload}", offload=offload)
       for offload in OFFLOADS},
    **{f"bulk9000-{offload}": Case(f"20 MB, MTU 9000, offloads {offload}", offload=offload,
                                   mtu=9000) for offload in OFFLOADS},
    **{f"loss1-{offload}": Case(f"20 MB, 1 % loss both ways, offloads {offload}", RELIABLE,
                                offload=offload, loss=1) for offload in ("soft", "off")},
    "msg64k": stream(64 << 10, 300),
    "msg16k": stream(16 << 10, 1000),
    "msg4k": stream(4 << 10, 1000),
    # The receiver's "go" is the message there: 8 bytes
    "rtt64": Case("64 bytes and an answer, 1000 times", bytes=64, messages=1, answered=True,
                  rounds=1000, warmup=100),
    # SCTP's messages are smaller
    "iovec1024": Case("20 MB received into 1,024 pieces",
                      ("cubic", "dlcp-0", "dlcp-5%", "mptcp"), messages=1, iovecs=1024),
    **{f"conns{n}": Case(f"20 MB over {n} connections", senders=n) for n in (16, 256)},
    "watch-bulk": watched("20 MB, traced, and shown", TRACED, SHOWN, rounds=8),
    "watch-rtt64": watched("64 bytes and an answer, 1000 times, traced", TRACED, bytes=64, messages=1,
                           answered=True, rounds=1000, warmup=100),
    **{f"watch-conns{n}": watched(f"20 MB over {n} connections, shown", SHOWN, senders=n, rounds=8)
       for n in (16, 256)},
    **{f"smp{n}-rps-{'on' if rps else 'off'}": together(n, rps)
       for n in (2, 4) for rps in (False, True)},
    **{f"smp4-conns4-rps-{'on' if rps else 'off'}": together(4, rps, senders=4)
       for rps in (False, True)},
}
# What cases of the test begin with. Bulk data is counted twice.
CHECK = "check"
CASES[f"{CHECK}-bulk"] = Case("2 MB", ("cubic", "dlcp-0") * 2, bytes=2_000_000, rounds=4, warmup=4)
CASES[f"{CHECK}-msg16k"] = Case("100 messages of 16 KB", ("dlcp-0",), bytes=1_638_400, messages=100)
