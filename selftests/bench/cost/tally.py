# SPDX-License-Identifier: GPL-2.0
"""From what the plugin counted to what is shown."""

import statistics
from collections import defaultdict

from symbols import NAMES, Symbols, class_of

CONTEXTS = ("sender", "receiver", "softirq", "other")
# Moving bytes and zeroing them: the same work for everybody, at a price that only this machine has
BYTES = ("copy", "clear")
# A look of `dlcp show` asks for the netlink family once for each of its two tables
ASKED, ASKED_BY_LOOK = "ctrl_getfamily", 2
# Of a table; those not here are together its last one
COLUMNS = ("transport", "network", "iovec", "memory", "sched")


def functions(path, symbols):
    """Return: the total, and {(name, module): {context: instructions, "calls": n}}"""
    lines = path.read_text().splitlines()
    found = defaultdict(lambda: dict.fromkeys((*CONTEXTS, "calls"), 0))
    for line in lines[1:]:
        addr, size, *runs = line.split()
        name, module, offset = symbols.at(int(addr, 16))
        entry = found[name, module]
        for context, n in zip(CONTEXTS, runs):
            entry[context] += int(size) * int(n)
            entry["calls"] += int(n) * (offset == 0)
    return int(lines[0].split()[1]), found


def tally(folder, number, units):
    """Return: what a measurement's line of JSON says of its instructions, per unit."""
    total, found = functions(folder / f"{number}.counts", Symbols(folder / "kallsyms"))
    classes = {name: dict.fromkeys(CONTEXTS, 0) for name in NAMES}
    rows = []
    for (name, module), entry in found.items():
        kind = class_of(name, module)
        for context in CONTEXTS:
            classes[kind][context] += entry[context]
        rows.append({"name": name, "module": module, "class": kind,
                     "instructions": sum(entry[c] for c in CONTEXTS), **entry})
    looks = sum(row["calls"] for row in rows if row["name"] == ASKED) / ASKED_BY_LOOK
    rows.sort(key=lambda row: -row["instructions"])
    for entry in (*classes.values(), *rows):
        for word in entry.keys() - {"name", "module", "class"}:
            entry[word] = round(entry[word] / units, 3)
    net = {context: round(sum(classes[name][context] for name in NAMES if name not in BYTES), 3)
           for context in CONTEXTS}
    return {"total": round(total / units, 3), "net": round(sum(net.values()), 3),
            "net_by_context": net, "looks": looks, "classes": classes, "functions": rows}


# --- tables

HEAD = ("protocol", "total", *BYTES, *COLUMNS, "rest", "net", "x CUBIC", *CONTEXTS)
FORM = "  {:<14}" + "{:>10}" * (len(HEAD) - 1)


def whole(result, name):
    return sum(result["classes"][name].values())


def cells(result, base):
    """Of a row, as words; @base: CUBIC's result, or None"""
    ratio = f"{result['net'] / base['net']:.2f}" if base else ""
    rest = sum(whole(result, name) for name in NAMES if name not in BYTES + COLUMNS)
    numbers = [result["total"], *(whole(result, name) for name in BYTES + COLUMNS), rest,
               result["net"]]
    places = [result["net_by_context"][context] for context in CONTEXTS]
    return [f"{n:.0f}" for n in numbers] + [ratio] + [f"{n:.0f}" for n in places]


def cubic_of(results):
    return next((r for r in results if r["protocol"] == "cubic" and "error" not in r), None)


def table(results):
    base = cubic_of(results)
    rows = [FORM.format(*HEAD)]
    for r in results:
        rows.append(f"  {r['protocol']:<14}{r['error']}" if "error" in r else
                    FORM.format(r["protocol"], *cells(r, base)))
    return "\n".join(rows)


# --- several processors

TIME_HEAD = ("protocol", "ms", "throughput", "resent", "dropped", "waits/MB")
TIME_FORM = "  {:<10}" + "{:>12}" * (len(TIME_HEAD) - 1)


def middle(results):
    """Of the rounds of all, ms"""
    return statistics.median(time for r in results for time in r["times"])


def time_rows(results):
    """A row for each protocol, as words; throughput is a multiple of CUBIC's"""
    by_name = defaultdict(list)
    for r in results:
        if "error" not in r:
            by_name[r["protocol"]].append(r)
    rows = []
    for name, own in by_name.items():
        bytes_ = sum(r["bytes"] * r["rounds"] for r in own)
        known = all("resent" in r for r in own)
        resent = f"{100 * sum(r['resent'] for r in own) / bytes_:.2f} %" if known else ""
        base = by_name.get("cubic")
        ratio = f"{middle(base) / middle(own):.2f}" if base else ""
        waits = [r["waits"] for r in own if "waits" in r]
        rows.append([name, f"{middle(own):.0f}", ratio, resent,
                     str(sum(r["dropped"] for r in own)),
                     f"{statistics.mean(waits):.2f}" if waits else ""])
    return rows


def time_table(results):
    errors = [f"  {r['protocol']:<10}{r['error']}" for r in results if "error" in r]
    return "\n".join([TIME_FORM.format(*row) for row in (TIME_HEAD, *time_rows(results))]
                     + errors)


def top(result, n):
    """The functions that take most."""
    form = "{:>3} {:<36}{:<10}{:>10}{:>9}" + "{:>10}" * len(CONTEXTS)
    rows = [form.format("", "function", "class", "instr", "calls", *CONTEXTS)]
    for i, row in enumerate(result["functions"][:n], 1):
        rows.append(form.format(i, row["name"], row["class"], f"{row['instructions']:.1f}",
                                f"{row['calls']:.3f}", *(f"{row[c]:.1f}" for c in CONTEXTS)))
    return "\n".join(rows) + "\n"
