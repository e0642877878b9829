#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the simulator: cells with bounds, and the grids of results/scale.md.

usage: run.py check [CELL...]
       run.py figures [GRID...]

The environment: BIN is the folder of the programs, JOBS how many run side by side. SEED
adds to the seeds. Lines of JSON and, with matplotlib, plots go to BIN/../out.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(os.environ.get("BIN", HERE.parents[1] / "build/scale/gcc"))
JOBS = int(os.environ.get("JOBS", 1))
OUT = BIN.parent / "out"
# Seconds of a processor that no cell comes near
LIMIT = 600


class Failed(Exception):
    """A run that did not do what it should"""


def simulate(args):
    """Return: what one run says, args a string"""
    done = subprocess.run([BIN / "scale", *args.split()], text=True, timeout=LIMIT, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failed(done.stderr.strip() or f"ended with status {done.returncode}")
    return json.loads(done.stdout)


def field(result, path):
    for part in path.split("."):
        result = result.get(part, 0)
    return float(result)


def read_cells():
    """[(name, args, [bound])]"""
    cells = []
    for line in (HERE / "cells").read_text().splitlines():
        if line and not line.startswith("#"):
            name, args, bounds = (part.strip() for part in line.split("|"))
            cells.append((name, args, bounds.split()))
    return cells


def two_nodes(what):
    size, loss = what.split(",")
    out = subprocess.run([BIN / "p2p", size, loss, "1"], text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    return float(out)


def check_bound(result, args, bound):
    """Return: why it does not hold, or None"""
    kind, _, what = bound.partition(":")
    if kind == "same":
        again = simulate(f"{args} {what.replace(',', ' ')}")
        return None if again["hash"] == result["hash"] else f"another hash with {what}"
    if kind == "near":
        here, there = field(result, "message_us.mean"), two_nodes(what)
        return None if abs(here / there - 1) <= 0.01 else f"{here} us here, {there} there"
    path, less, value = re.fullmatch(r"([\w.]+)([<>])=([\d.]+)", bound).groups()
    is_so = field(result, path) <= float(value) if less == "<" else field(result, path) >= float(value)
    return None if is_so else f"{path} is {field(result, path):.4g}, wanted {less}= {value}"


def check_cell(cell):
    name, args, bounds = cell
    try:
        result = simulate(args)
    except (Failed, subprocess.TimeoutExpired) as error:
        return name, {}, [str(error)]
    wrong = [f"{n} messages {what}" for what, n in (
        ("do not end", result["unfinished"]), ("are not reported", result["unreported"])) if n]
    wrong += [why for why in (check_bound(result, args, b) for b in bounds) if why]
    return name, result, wrong


def check(names):
    cells = [c for c in read_cells() if not names or c[0] in names]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for nr, (name, result, wrong) in enumerate(pool.map(check_cell, cells), 1):
            for why in wrong:
                print(f"# {why}")
            if result:
                print(f"# figure: {name} {field(result, 'step_x.mean'):.3f} "
                      f"{field(result, 'step_x.max'):.3f} {result['cpu_s']} s")
            print(f"{'not ' if wrong else ''}ok {nr} - {name}", flush=True)
            failed += bool(wrong)
    print(f"1..{len(cells)}")
    return failed


def main():
    if sys.argv[1:2] == ["check"]:
        sys.exit(1 if check(sys.argv[2:]) else 0)
    if sys.argv[1:2] == ["figures"]:
        import figures
        sys.exit(figures.main(sys.argv[2:]))
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
