#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the simulator: cells with bounds, random networks and faults (draw.py), the same runs
in ns-3, and the grids of results/scale.md.

usage: run.py check [CELL...]
       run.py ns3 [CELL...]
       run.py random FIRST NR
       run.py lab [results.jsonl of make bench]
       run.py figures [GRID...]
       run.py hashes [CELL...]    of all that arrived: the same before and after a change of names alone

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

import draw

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "eval"))
import models
BIN = pathlib.Path(os.environ.get("BIN", HERE.parents[1] / "build/scale/gcc"))
JOBS = int(os.environ.get("JOBS", 1))
OUT = BIN.parent / "out"
# Seconds of a processor that no cell comes near
LIMIT = 600
# Random ones of a check
NETWORKS = 1000
REBOOTS = 200
MIXTURES = 200
BURSTS = 200


class Failed(Exception):
    """A run that did not do what it should"""


def model_keys(name):
    """What model=NAME or NAME/DIVISOR stands for: tensors, front layer first, and the times of a pass"""
    name, _, divisor = name.partition("/")
    model, by = models.MODELS[name], int(divisor or 1)
    return ["layers=" + ",".join(str(4 * count // by) for count, _ in model.tensors),
            "work=" + ",".join(str(cost) for _, cost in model.tensors),
            f"forward_us={1e3 * model.forward_ms / by:.0f}",
            f"backward_us={1e3 * model.backward_ms / by:.0f}"]


def simulate(args, program="scale"):
    """Return: what one run says, args a string"""
    words = []
    for word in args.split():
        words += model_keys(word[6:]) if word.startswith("model=") else [word]
    done = subprocess.run([BIN / program, *words], text=True, timeout=LIMIT, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failed(done.stderr.strip() or f"ended with status {done.returncode}")
    return json.loads(done.stdout)


def field(result, path):
    for part in path.split("."):
        result = result.get(part, 0)
    return float(result)


def read_cells(path="cells"):
    """[(name, args, [bound])]"""
    cells = []
    for line in (HERE / path).read_text().splitlines():
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
    if kind == "scale":
        here, there = field(simulate(args), "step_us.mean"), field(result, "step_us.mean")
        return None if abs(here / there - 1) <= float(what) / 100 else f"{there} us in ns-3, {here} here"
    path, less, value = re.fullmatch(r"([\w.]+)([<>])=([\d.]+)", bound).groups()
    is_so = field(result, path) <= float(value) if less == "<" else field(result, path) >= float(value)
    return None if is_so else f"{path} is {field(result, path):.4g}, wanted {less}= {value}"


def black_holes(result):
    """No MTU changes in a simulation"""
    found = result.get("dlcp", {}).get("holes", 0)
    return [f"queues or faults were taken for a smaller MTU, {found} times"] if found else []


def check_cell(cell, program="scale"):
    name, args, bounds = cell
    try:
        result = simulate(args, program)
    except (Failed, subprocess.TimeoutExpired) as error:
        return name, {}, [str(error)]
    wrong = [f"{n} messages {what}" for what, n in (
        ("do not end", result["unfinished"]), ("are not reported", result["unreported"])) if n]
    wrong += black_holes(result)
    wrong += [why for why in (check_bound(result, args, b) for b in bounds) if why]
    return name, result, wrong


def random_one(seed):
    """Return: how it went, steps over what they had to wait for, and over their floor"""
    try:
        result = simulate(draw.draw(seed))
    except (Failed, subprocess.TimeoutExpired) as error:
        return f"seed {seed}: {error}", 0.0, 0.0
    wrong = [f"{result[n]} messages {what}" for n, what in (
        ("unfinished", "do not end"), ("unreported", "are not reported")) if result[n]]
    if result["step_us"]["nr"] != result["steps_wanted"]:
        wrong.append("a step did not end")
    wrong += black_holes(result)
    return (f"seed {seed}: {', '.join(wrong)}" if wrong else "",
            field(result, "ideal_x.mean"), field(result, "step_x.max"))


def say_spread(what, values):
    values = sorted(values)
    print(f"# figure: {what}, of {len(values)} networks: mean {sum(values) / len(values):.2f}, "
          f"median {values[len(values) // 2]:.2f}, 95 % {values[len(values) * 95 // 100]:.2f}, "
          f"most {values[-1]:.2f}, over four {sum(v > 4 for v in values)}")


def check_random(first, number, nr=1):
    """Return: whether something was wrong"""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(random_one, range(first, first + number)))
    wrong = [why for why, _, _ in done if why]
    for why in wrong:
        print(f"# {why}: scale {draw.draw(int(why.split()[1].rstrip(':')))}")
    fine = [(ideal, floor) for why, ideal, floor in done if not why]
    if fine:
        say_spread("steps over the ideal", [ideal for ideal, _ in fine])
        say_spread("the longest step over its floor", [floor for _, floor in fine])
    print(f"{'not ' if wrong else ''}ok {nr} - random_networks_from_{first}", flush=True)
    return bool(wrong)


def check_lab(nr):
    """Return: whether the lab measured something else"""
    import lab
    wrong = lab.check()
    for why in wrong:
        print(f"# {why}")
    print(f"{'not ' if wrong else ''}ok {nr} - lab", flush=True)
    return bool(wrong)


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
    nr = len(cells)
    if not names or "lab" in names:
        nr += 1
        failed += check_lab(nr)
    if not names:
        nr += 1
        failed += check_random(1, NETWORKS, nr)
        nr += 1
        failed += check_random(draw.REBOOTS, REBOOTS, nr)
        nr += 1
        failed += check_random(draw.MIXTURES, MIXTURES, nr)
        nr += 1
        failed += check_random(draw.BURSTS, BURSTS, nr)
    print(f"1..{nr}")
    return failed


def check_ns3(names):
    """The cells of ns3/cells in ns-3, beside the same in the simulator here"""
    cells = [c for c in read_cells("ns3/cells") if not names or c[0] in names]
    failed = 0
    for nr, cell in enumerate(cells, 1):
        if not (BIN / "scale-ns3").exists():
            print(f"ok {nr} - {cell[0]} # SKIP libns3-dev is not installed")
            continue
        name, result, wrong = check_cell(cell, "scale-ns3")
        for why in wrong:
            print(f"# {why}")
        print(f"# figure: {name} {field(result, 'step_us.mean'):.1f} us in ns-3, {result.get('cpu_s')} s")
        print(f"{'not ' if wrong else ''}ok {nr} - {name}", flush=True)
        failed += bool(wrong)
    print(f"1..{len(cells)}")
    return failed


def main():
    if sys.argv[1:2] == ["ns3"]:
        sys.exit(1 if check_ns3(sys.argv[2:]) else 0)
    if sys.argv[1:2] == ["random"] and len(sys.argv) == 4:
        sys.exit(check_random(int(sys.argv[2]), int(sys.argv[3])))
    if sys.argv[1:2] == ["check"]:
        sys.exit(1 if check(sys.argv[2:]) else 0)
    if sys.argv[1:2] == ["hashes"]:
        for name, args, _ in read_cells():
            if not sys.argv[2:] or name in sys.argv[2:]:
                print(simulate(args)["hash"], name)
        sys.exit()
    if sys.argv[1:2] == ["lab"] and len(sys.argv) < 4:
        import lab
        sys.exit("\n".join(lab.compare(*map(pathlib.Path, sys.argv[2:]))) or 0)
    if sys.argv[1:2] == ["figures"]:
        import figures
        sys.exit(figures.main(sys.argv[2:]) or 0)
    sys.exit(__doc__)


if __name__ == "__main__":
    main()
