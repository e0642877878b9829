# SPDX-License-Identifier: GPL-2.0
"""
Incasts of `make bench` in the simulator, beside what the lab measured: the table of
results/transfers.md, or the results.jsonl of a run of the benchmark.
"""
import concurrent.futures
import json
import re

import run

PUBLISHED = run.HERE.parents[1] / "results/transfers.md"
SENDERS, QUEUES = (8, 16, 32, 64), (16, 32, 128)
# The columns of the table, protocols of the benchmark, and the bound
PROTOCOLS = {"p = 0": ("dlcp-0", 0), "10 %": ("dlcp-10%", 100000)}
# As the benchmark: 20 MB in all, 25 us each way, two rounds before those that count
ROUND, WARM, ROUNDS = 20_000_000, 2, 4
SEEDS = (1, 2, 3, 4)
# The lab's links count Ethernet frames without preamble, sum and gap
FRAME = 1514 / 1538
# Percent. In the one cell four boots of the lab had means of 1.080 to 1.096: one round of three waits for
# a timeout of the last sender
APART = 2
ROUGH = {(64, 16): 3}


def of_table(path):
    """{(senders, queue, protocol): mean round over the ideal} of cells without loss"""
    found, columns = {}, []
    for line in path.read_text().splitlines():
        fields = [field.strip(" *") for field in line.split("|")[1:-1]]
        if fields[:1] == ["senders, queue, loss"]:
            columns = fields
        where = re.fullmatch(r"(\d+), (\d+), 0 %", fields[0]) if fields else None
        if not where or not set(PROTOCOLS) <= set(columns):
            columns = columns if fields else []
            continue
        for name in PROTOCOLS:
            mean = fields[columns.index(name)].split("/")[0]
            found[int(where[1]), int(where[2]), name] = float(mean)
    return found


def of_bench(path):
    """The same of lines of JSON"""
    names, found = {bench: name for name, (bench, _) in PROTOCOLS.items()}, {}
    for line in path.read_text().splitlines():
        result = json.loads(line)
        where = re.fullmatch(r"incast(\d+)-q(\d+)", result["scenario"])
        if where and result["protocol"] in names and "mean_ratio" in result:
            found[int(where[1]), int(where[2]), names[result["protocol"]]] = result["mean_ratio"]
    return found


def arguments(senders, queue, name, seed):
    return (f"hosts={senders + 1} workers={senders} bytes={ROUND // senders} delay_ns=12500 queue={queue} "
            f"ecn=0 warm={WARM} steps={ROUNDS} loss_ppm={PROTOCOLS[name][1]} seed={seed}")


def here(where, seeds):
    """The mean round over the ideal, of all seeds"""
    done = [run.simulate(arguments(*where, seed)) for seed in seeds]
    ideal = ROUND * 8 / 10_000
    return sum(r["step_us"]["mean"] for r in done) / len(done) * FRAME / ideal


def measure(path, seeds, names=PROTOCOLS):
    """{(senders, queue, protocol): (in the lab, here)}"""
    lab = (of_bench if path.suffix == ".jsonl" else of_table)(path)
    if path == PUBLISHED and len(lab) != len(SENDERS) * len(QUEUES) * len(PROTOCOLS):
        raise run.Failed(f"{path.name} has {len(lab)} of the {len(SENDERS) * len(QUEUES) * len(PROTOCOLS)} "
                         "incasts without loss that are simulated")
    chosen = [where for where in lab if where[2] in names]
    with concurrent.futures.ThreadPoolExecutor(run.JOBS) as pool:
        ours = pool.map(lambda where: here(where, seeds), chosen)
        return {where: (lab[where], x) for where, x in zip(chosen, ours)}


def differs(pair):
    return 100 * (pair[1] / pair[0] - 1)


def say_wrong(cells):
    return [f"{senders} senders, queue of {queue}, {name}: {differs(pair):+.1f} % beside the lab"
            for (senders, queue, name), pair in cells.items() if abs(differs(pair)) > ROUGH.get((senders, queue), APART)]


def compare(path=PUBLISHED):
    """Prints a table. Return: what is wrong"""
    cells = measure(path, SEEDS)
    print("## Beside the lab: incasts of `make bench` without loss\n")
    print("Rounds as multiples of payload bits over the link's rate: in the lab, in the simulator, "
          "and how much the latter differs.\n")
    print("| senders, queue | " + " | ".join(f"{name}: lab | here | differs" for name in PROTOCOLS) + " |")
    print("| --- |" + " --- |" * 3 * len(PROTOCOLS))
    for senders, queue in sorted({where[:2] for where in cells}):
        pairs = [cells.get((senders, queue, name)) for name in PROTOCOLS]
        print(f"| {senders}, {queue} | " + " | ".join(
            f"{pair[0]:.3f} | {pair[1]:.3f} | {differs(pair):+.1f} %" if pair else "| |"
            for pair in pairs) + " |")
    print()
    return say_wrong(cells)


def check():
    """With p = 0 and one seed. Return: what is wrong"""
    return say_wrong(measure(PUBLISHED, SEEDS[:1], ("p = 0",)))
