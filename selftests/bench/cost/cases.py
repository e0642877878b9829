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
}

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
    rounds: int = 2
    warmup: int = 2

    @property
    def unit(self):
        return f"{SEGMENT} bytes"

    def units(self, rounds):
        """How many units so many rounds are"""
        return rounds * self.bytes / SEGMENT


CASES = {
    **{f"bulk-{offload}": Case(f"20 MB, offloads {offload}", offload=offload)
       for offload in OFFLOADS},
    **{f"bulk9000-{offload}": Case(f"20 MB, MTU 9000, offloads {offload}", offload=offload,
                                   mtu=9000) for offload in OFFLOADS},
    **{f"loss1-{offload}": Case(f"20 MB, 1 % loss both ways, offloads {offload}",
                                offload=offload, loss=1) for offload in ("soft", "off")},
    **{f"conns{n}": Case(f"20 MB, {n} connections", senders=n) for n in (16, 256)},
}
