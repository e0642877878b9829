#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""report.py FILE...: results.jsonl, of one run of `make bench-cost` or of several, as the Markdown
of results/cost.md.
"""

import json
import sys
from pathlib import Path

from cases import CASES, CHECK, PROTOCOLS, SHOWN as LOOKED_AT, TRACED
from tally import HEAD, TIME_HEAD, cells, cubic_of, time_rows, top

SHOWN = ("bulk-on", "dlcp-0")       # its functions

START = """# Results: what a transfer costs a processor

What `make bench-cost RESULTS=results/cost.md` writes, of {dates}, at commit {commits}
(`+`: and what was not yet committed). [How it counts](../selftests/bench/cost/README.md): instructions
of the kernel and of the programs, at both hosts, in QEMU with Debian's 6.1. *Net* is without `copy` and
`clear`, the functions that move and zero bytes. They count one instruction a byte here, and far less on
a real processor.

## Net, as multiples of TCP CUBIC in the same boot

"""


def row(words):
    return "| " + " | ".join(words) + " |\n"


def head(words):
    return row(words) + row(["---"] * len(words))


def summary(by_case):
    text = head(["", "unit", "CUBIC, net", *list(PROTOCOLS)[1:]])
    for name, results in by_case.items():
        base = cubic_of(results)
        if CASES[name].processors or not base:
            continue
        net = {r["protocol"]: r["net"] for r in results if "error" not in r}
        ratios = [f"{net[p] / base['net']:.2f}" if p in net else "" for p in list(PROTOCOLS)[1:]]
        text += row([f"`{name}`", base["unit"], f"{base['net']:.0f}", *ratios])
    return text


def counted(name, results):
    text = f"\n## `{name}`: {CASES[name].text}\n\nInstructions per {CASES[name].unit}.\n\n"
    text += head(["", *HEAD[1:]])
    for r in results:
        text += row([r["protocol"], r["error"]] if "error" in r else
                    [r["protocol"], *cells(r, cubic_of(results))])
    return text


def timed(name, results):
    text = (f"\n## `{name}`: {CASES[name].text}\n\nMedian of the rounds, on a machine that others"
            " used, too: only ratios tell something.\n\n" + head(["", *TIME_HEAD[1:]]))
    return text + "".join(row(words) for words in time_rows(results))


WATCHED = """# Results: what it costs to look

What `make bench-cost ONLY=watch RESULTS=results/watching.md` writes, of {dates}, at commit {commits}
(`+`: and what was not yet committed). [How it counts](../selftests/bench/cost/README.md): instructions
of the kernel and of the programs, at both hosts, in QEMU with Debian's 6.1.

"""


def watching(by_case):
    """What tracepoints that are on add, per unit; and what a look of `dlcp show -w` takes"""
    traced, shown = "", ""
    for name, results in by_case.items():
        found = {r["protocol"]: r for r in results if "error" not in r}
        for protocol, r in found.items():
            alone = found.get(protocol.partition("+")[0])
            if protocol.endswith(TRACED) and alone:
                more = r["net"] - alone["net"]
                traced += row([f"`{name}`", r["unit"], f"{alone['net']:.0f}", f"{r['net']:.0f}",
                               f"{more:.0f}", f"{100 * more / alone['net']:.0f} %"])
            if protocol.endswith(LOOKED_AT) and alone:
                rest = [sum(c["other"] for c in one["classes"].values()) for one in (r, alone)]
                a_look = (rest[0] - rest[1]) * CASES[name].units(r["rounds"]) / r["looks"]
                # A second of 1 GHz, if one instruction takes a cycle
                shown += row([f"`{name}`", str(CASES[name].senders), f"{a_look:.0f}",
                              f"{a_look / CASES[name].senders:.0f}", f"{a_look / 1e7:.3f} %"])
    if traced:
        traced = ("## Tracepoints\n\nAll of `dlcp:*` are on, and write into the kernel's ring buffer; nobody"
                  " reads it. Instructions without copying and clearing.\n\n"
                  + head(["", "unit", "off", "on", "more", "share"]) + traced + "\n")
    if shown:
        shown = ("## `dlcp show -w`\n\nInstructions of the program and of its system calls, of each look. The"
                 " last column is the share of a processor of a thousand million instructions a second that"
                 " `dlcp show -w 1` takes.\n\n"
                 + head(["", "connections", "a look", "by connection", "share"]) + shown)
    return traced + shown


def functions(by_case):
    name, protocol = SHOWN
    shown = [r for r in by_case.get(name, ()) if r["protocol"] == protocol and "error" not in r]
    if not shown:
        return ""
    return (f"\n## The functions of `{name}/{protocol}` that take most\n\nInstructions and calls per"
            f" {CASES[name].unit}.\n\n```\n{top(shown[0], 40)}```\n")


def report(lines):
    by_case = {name: [] for name in CASES if not name.startswith(CHECK)}
    for line in lines:
        if line["case"] in by_case:
            by_case[line["case"]].append(line)
    by_case = {name: results for name, results in by_case.items() if results}
    good = [line for line in lines if "commit" in line]
    only_watched = by_case and all(name.startswith("watch") for name in by_case)
    text = (WATCHED if only_watched else START).format(dates=" and ".join(sorted({line["date"] for line in good})),
                        commits=", ".join(dict.fromkeys(line["commit"] for line in good)))
    if only_watched:
        return text + watching(by_case)
    text += summary(by_case)
    for name, results in by_case.items():
        text += (timed if CASES[name].processors else counted)(name, results)
    return text + watching(by_case) + functions(by_case)


if __name__ == "__main__":
    print(report([json.loads(line) for path in sys.argv[1:]
                  for line in Path(path).read_text().splitlines()]), end="")
