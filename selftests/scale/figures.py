# SPDX-License-Identifier: GPL-2.0
"""
The grids of results/scale.md: what the paper's simulations claim, over the depth of
queues and the least timeout, which it does not tell. Prints Markdown; lines of JSON and,
with matplotlib, plots go to build/scale/out.
"""
import concurrent.futures
import json
import re
import subprocess

import grids
import lab
import run
import stalls

# (heading, arguments that all have): 100 Gbit/s; as many packets are marked as a quarter
# of the queue holds. A receiver knows its link after some steps.
GRIDS = {
    "jobs": ("Eight jobs of 16 workers and 2 servers, 144 hosts in 9 leaves, 4 spines of 400 Gbit/s; "
             "2 MB a worker, pushed and pulled",
             "hosts=144 topo=leaf mbps=100000 up_mbps=400000 jobs=8 workers=16 servers=2 bytes=2e6 "
             "pull=1 warm=6 steps=2"),
    "incast": ("One job of 128 workers and one server, 100 kB a worker, pushed",
               "hosts=144 topo=leaf mbps=100000 up_mbps=400000 workers=128 servers=1 bytes=1e5 warm=6 steps=4"),
}
QUEUES = (8, 32, 128, 512)
PROTOCOLS = {
    "DLCP, p = 0": "proto=dlcp",
    "DLCP, p = 10 %": "proto=dlcp loss_ppm=100000",
    "DCTCP, 200 ms": "proto=dctcp rto_us=200000",
    "DCTCP, 10 ms": "proto=dctcp rto_us=10000",
    "DCTCP, 1 ms": "proto=dctcp rto_us=1000",
    "DCTCP, 200 ms, no RACK": "proto=dctcp rto_us=200000 modern=0",
    "pFabric": "proto=pfabric",
    "NDP": "proto=ndp",
    "like Homa": "proto=homa",
}
# In ns-3, with its own TCP
NS3_GRIDS = {
    "16 senders to one": "hosts=17 workers=16 bytes=1.25e6 queue=128 ecn=30",
    "8 senders to one over 10 ms": "hosts=9 workers=8 mbps=1000 delay_ns=2500000 queue=400 ecn=0 "
                                   "bytes=5e6 rx_space=5e7",
    "the same with 0.1 % loss": "hosts=9 workers=8 mbps=1000 delay_ns=2500000 queue=400 ecn=0 "
                                "bytes=5e6 rx_space=5e7 fault=loss:l*-h*:0:0:1000",
}
NS3_PROTOCOLS = {
    "DLCP, p = 0": "proto=dlcp",
    "DLCP, p = 5 %": "proto=dlcp loss_ppm=50000",
    "ns-3's DCTCP": "proto=dctcp",
    "ns-3's CUBIC": "proto=cubic",
    "ns-3's BBR": "proto=bbr",
}
# Tensors and times of computing of ../eval/models.py, all divided by eight
MODELS = ("ResNet-50", "VGG-16", "BERT-base", "GPT-2")
MODEL_BASE = "hosts=20 mbps=25000 workers=16 servers=4 pull=1 warm=6 steps=2"
MODEL_PROTOCOLS = {
    "DLCP, p = 0": "proto=dlcp",
    "DLCP, p = 0, front layers first": "proto=dlcp prio=1",
    "DLCP, p = 1 %": "proto=dlcp loss_ppm=10000",
    "DLCP, p = 1 %, front layers first": "proto=dlcp prio=1 loss_ppm=10000",
    "DCTCP, 1 ms": "proto=dctcp rto_us=1000",
    "NDP": "proto=ndp",
}
SEEDS = (1, 2, 3)
# What the paper is said to claim of mean and tail against these, percent
CLAIMS = {"DCTCP": (43.1, 91.8), "pFabric": (35.5, 88.6)}


def grid_runs(base):
    """[(protocol, queue, arguments)]"""
    return [(name, queue, f"{base} {args} queue={queue} ecn={max(queue // 4, 2)} cdf=1 seed={seed}")
            for name, args in PROTOCOLS.items() for queue in QUEUES for seed in SEEDS]


def measure(name, base):
    """{(protocol, queue): (mean and p99 of messages in us, means over seeds; worst step of all in x)}"""
    todo = grid_runs(base)
    with concurrent.futures.ThreadPoolExecutor(run.JOBS) as pool:
        results = list(pool.map(run.simulate, (args for _, _, args in todo)))
    with open(run.OUT / f"{name}.jsonl", "w") as out:
        for (proto, _, _), result in zip(todo, results):
            out.write(json.dumps({"protocol": proto, **result}) + "\n")
    plot(name, todo, results)
    cells = {}
    for (proto, queue, _), result in zip(todo, results):
        cells.setdefault((proto, queue), []).append(result)
    merged = {key: over_seeds(rows) for key, rows in cells.items()}
    return {key: (float("inf"),) * 3 if r["unfinished"] else
            (r["message_us"]["mean"], r["message_us"]["p99"], r["step_x"]["max"]) for key, r in merged.items()}


def shares(bins):
    """The distribution of queues: which share of the packets met at most so many 64ths of the limit"""
    total, sums = sum(bins) or 1, []
    for count in bins:
        sums.append((sums[-1] if sums else 0) + count / total)
    return sums


def plot(name, todo, results):
    """One column for each depth of queues: times of messages, steps, the queue that packets met; and
    who waited for whom with DLCP"""
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return
    figure, rows = pyplot.subplots(4, len(QUEUES), figsize=(5 * len(QUEUES), 16))
    for column, queue in enumerate(QUEUES):
        messages, steps, queues, waits = (row[column] for row in rows)
        for (proto, at, _), result in zip(todo, results):
            if at != queue:
                continue
            for axis, key in ((messages, "message_us"), (steps, "step_x")):
                cdf = result[key].get("cdf", [])
                axis.step(cdf, [i / (len(cdf) - 1) for i in range(len(cdf))], where="post", label=proto)
            bins = shares(result["queue_bins"])
            queues.step([queue * i / (len(bins) - 1) for i in range(len(bins))], bins, where="post")
            if proto == "DLCP, p = 0" and result["waits"]:
                points = waits.scatter(*zip(*[(who, to) for to, who, _ in result["waits"]]),
                                       c=[us for _, _, us in result["waits"]])
                figure.colorbar(points, ax=waits, label="us")
        messages.set(title=f"queue of {queue}", xlabel="message, us", xscale="log")
        steps.set(xlabel="step, times the floor", xscale="log")
        queues.set(xlabel="packets that wait where one arrives")
        waits.set(xlabel="DLCP, p = 0, first job: this rank's messages", ylabel="made this rank wait")
    rows[0][0].legend(fontsize="small")
    figure.savefig(run.OUT / f"{name}.svg", bbox_inches="tight")
    pyplot.close(figure)


def model_steps():
    """Steps of real models' tensors"""
    print("## Tensors of real models: 16 workers, 4 servers, 25 Gbit/s\n")
    print("Steps in milliseconds, mean / as a multiple of the floor. The floor has computing in it.\n")
    print("| | " + " | ".join(MODELS) + " |")
    print("| --- |" + " --- |" * len(MODELS))
    todo = [f"{MODEL_BASE} model={model}/8 {args} seed={seed}" for args in MODEL_PROTOCOLS.values()
            for model in MODELS for seed in SEEDS]
    with concurrent.futures.ThreadPoolExecutor(run.JOBS) as pool:
        results = list(pool.map(run.simulate, todo))
    merged = (over_seeds(results[i:i + len(SEEDS)]) for i in range(0, len(results), len(SEEDS)))
    for proto in MODEL_PROTOCOLS:
        out = []
        for _ in MODELS:
            r = next(merged)
            out.append(f"{r['step_us']['mean'] / 1e3:.1f} / {r['step_x']['mean']:.2f}"
                       if not r["unfinished"] else "not over in 20 s")
        print(f"| {proto} | " + " | ".join(out) + " |")
    print(f"\n`{MODEL_BASE} model=NAME/8`\n")


def over_seeds(results):
    """One result of several: means, and the worst step of all"""
    unfinished = sum(r["unfinished"] for r in results)
    if len(results) == 1 or unfinished:
        return results[0] | {"unfinished": unfinished}
    mean = {key: sum(r["message_us"][key] for r in results) / len(results) for key in ("mean", "p99")}
    return {"unfinished": 0, "message_us": mean,
            "job_x": [sum(job) / len(results) for job in zip(*(r["job_x"] for r in results))],
            "step_us": {"mean": sum(r["step_us"]["mean"] for r in results) / len(results)},
            "step_x": {"mean": sum(r["step_x"]["mean"] for r in results) / len(results),
                       "max": max(r["step_x"]["max"] for r in results)}}


def grid(name, heading, base, columns, rows, say, seeds=SEEDS):
    """One of grids.py, as a table; what a cell says is the first line of what says it"""
    todo = [f"{base} {row} {column} seed={seed}" for row in rows.values() for column in columns.values()
            for seed in seeds]
    with concurrent.futures.ThreadPoolExecutor(run.JOBS) as pool:
        results = list(pool.map(run.simulate, todo))
    with open(run.OUT / f"{name}.jsonl", "w") as out:
        for args, result in zip(todo, results):
            out.write(json.dumps({"arguments": args, **result}) + "\n")
    print(f"## {heading}\n\n`{base}`\n\n{say.__doc__}:\n")
    print("| | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    merged = (over_seeds(results[i:i + len(seeds)]) for i in range(0, len(results), len(seeds)))
    cells = iter(say(r) if not r["unfinished"] else "not over in 20 s" for r in merged)
    for row in rows:
        print(f"| {row} | " + " | ".join(next(cells) for _ in columns) + " |")
    for what in (columns, rows):
        print("\n" + "; ".join(f"{key}: `{args}`" if args else f"{key}: nothing" for key, args in what.items()))
    print()


def sizes():
    """One after the other, on a machine that should have nothing else to do"""
    print("## What can be simulated\n\nSeconds of one processor, user and system:\n")
    print("| run | hosts | payload | seconds | memory |\n| --- | --- | --- | --- | --- |")
    for args in grids.SIZES:
        r = run.simulate(args)
        hosts = re.search(r"hosts=(\d+)", args)[1]
        print(f"| `{args}` | {hosts} | {r['bytes'] / 1e9:.1f} GB | {r['cpu_s']:.1f} | {r['rss_kb'] / 1024:.0f} MB |",
              flush=True)
    print()


def less(new, old):
    return 100 * (1 - new / old)


def table(cells):
    print("| | " + " | ".join(f"{q} packets" for q in QUEUES) + " |")
    print("| --- |" + " --- |" * len(QUEUES))
    for proto in PROTOCOLS:
        row = (cells[proto, q] for q in QUEUES)
        print(f"| {proto} | " + " | ".join(
            f"{m:.0f} / {p:.0f} / {x:.2f}" if x < float("inf") else "not over in 20 s"
            for m, p, x in row) + " |")
    print()


def claims(cells):
    """Where DLCP with p = 10 % gains what is claimed"""
    print("| DLCP, p = 10 %, against | " + " | ".join(f"{q} packets" for q in QUEUES) + " | claimed |")
    print("| --- |" + " --- |" * (len(QUEUES) + 1))
    for proto in PROTOCOLS:
        claim = next((c for name, c in CLAIMS.items() if proto.startswith(name)), None)
        if proto == "DLCP, p = 10 %":
            continue
        out = []
        for q in QUEUES:
            new, old = cells["DLCP, p = 10 %", q], cells[proto, q]
            mean, tail = less(new[0], old[0]), less(new[1], old[1])
            holds = claim and mean >= claim[0] and tail >= claim[1]
            out.append(f"{mean:.0f} / {tail:.0f} %" + (" **holds**" if holds else ""))
        print(f"| {proto} | " + " | ".join(out) + (f" | {claim[0]} / {claim[1]} % |" if claim else " | |"))
    print()


def ns3_agrees():
    """What the same run says in both simulators"""
    print("## The same in ns-3\n")
    print("| run | here, us | ns-3, us | ns-3 / here | seconds here | in ns-3 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for _, args, bounds in run.read_cells("ns3/cells"):
        if not any(b.startswith("scale:") for b in bounds):
            continue
        here, there = run.simulate(args), run.simulate(args, "scale-ns3")
        a, b = here["step_us"]["mean"], there["step_us"]["mean"]
        print(f"| `{args}` | {a:.1f} | {b:.1f} | {b / a:.4f} | {here['cpu_s']} | {there['cpu_s']} |")
    print()


def ns3_peers():
    """DLCP beside ns-3's TCP, in ns-3"""
    print("Steps in ns-3 as multiples of their floor, mean / most:\n")
    print("| | " + " | ".join(NS3_GRIDS) + " |")
    print("| --- |" + " --- |" * len(NS3_GRIDS))
    for name, proto in NS3_PROTOCOLS.items():
        out = []
        for base in NS3_GRIDS.values():
            r = run.simulate(f"{base} {proto}", "scale-ns3")
            out.append(f"{r['step_x']['mean']:.2f} / {r['step_x']['max']:.2f}" if not r["unfinished"]
                       else "not over in 20 s")
        print(f"| {name} | " + " | ".join(out) + " |")
    print()
    for name, base in NS3_GRIDS.items():
        print(f"- {name}: `{base}`")


def main(names):
    run.OUT.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=run.HERE, text=True, check=False,
                            stdout=subprocess.PIPE).stdout.strip()
    print(f"`make scale`, commit {commit}, seeds "
          f"{', '.join(map(str, SEEDS))}.\n")
    for name, (heading, base) in GRIDS.items():
        if names and name not in names:
            continue
        cells = measure(name, base)
        print(f"## {heading}\n\n`{base}`\n")
        print("Messages: mean / 99 % in microseconds; the worst step as a multiple of its floor.\n")
        table(cells)
        print("Less time of messages, mean / 99 %:\n")
        claims(cells)
    for name, words in grids.GRIDS.items():
        if not names or name in names:
            grid(name, *words)
    if not names or "models" in names:
        model_steps()
    if "sizes" in names:
        sizes()
    if not names or "stalls" in names:
        stalls.figures()
    wrong = lab.compare() if not names or "lab" in names else []
    if (run.BIN / "scale-ns3").exists() and (not names or "ns3" in names):
        ns3_agrees()
        ns3_peers()
    return "\n".join(wrong)
