# SPDX-License-Identifier: GPL-2.0
"""report.py FOLDER: tables of what is in it, on stdout and in FOLDER/report.md, and pictures."""

import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from models import MODELS
from table import CONTESTANTS, REPLAYS, TRAININGS

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    # Text stays text
    matplotlib.rcParams["svg.fonttype"] = "none"
except ImportError:
    pyplot = None


HERE = Path(__file__).resolve().parent
# What packets of 1500 bytes are on the wire, over their payload
HEADERS = 1.046


def lines(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


class Run:
    """One training, as dlcp-train wrote it."""

    def __init__(self, path):
        rows = lines(path)
        self.steps = [row for row in rows if row["event"] == "step"]
        self.start = rows[0]
        self.end = rows[-1]
        ends = [0.0] + [row["t_ms"] for row in self.steps]
        self.times = [b - a for a, b in zip(ends, ends[1:])]
        self.curve = [(row["t_ms"] / 1e3, row["accuracy"]) for row in self.steps
                      if "accuracy" in row]

    @property
    def whole(self):
        return self.end["event"] == "end"

    def time_to(self, target):
        return next((t for t, accuracy in self.curve if accuracy >= target), None)

    def share(self, what):
        """Of what was offered, per cent; None if nobody counts it."""
        push = self.end.get("push", {})
        return 100 * push[what] / push["offered"] if what in push else None


def runs_of(folder, name):
    """{contestant: its runs}"""
    found = {}
    for label in TRAININGS[name].contestants:
        paths = sorted(folder.glob(f"{name}/{label}-[0-9]*.jsonl"))
        runs = [run for run in map(Run, paths) if run.whole]
        if runs:
            found[label] = runs
    return found


def quantile(values, q):
    return sorted(values)[min(int(q * len(values)), len(values) - 1)]


def spread(values, form=".1f"):
    text = f"{statistics.mean(values):{form}}"
    return text + (f" ± {statistics.stdev(values):{form}}" if len(values) > 1 else "")


def mean_share(runs, what, form):
    shares = [run.share(what) for run in runs]
    return "" if None in shares else f"{statistics.mean(shares):{form}}"


def mean_time(runs, target):
    """Seconds, or None if one of them never got there."""
    times = [run.time_to(target) for run in runs]
    return None if None in times else statistics.mean(times)


def faster(runs, others, target):
    """How many times faster to the target than others, over the seeds both have, if all get there."""
    mine = {run.start["seed"]: run.time_to(target) for run in runs}
    their = {run.start["seed"]: run.time_to(target) for run in others}
    seeds = mine.keys() & their.keys()
    if not seeds or not all(mine[s] and their[s] for s in seeds):
        return ""
    return f"{sum(their[s] for s in seeds) / sum(mine[s] for s in seeds):.2f}"


def training_table(name, found):
    training = TRAININGS[name]
    first = next(iter(found.values()))[0]
    target = training.target
    if len(first.steps) < training.epochs * (training.images // (training.senders * training.batch)):
        target = min(target, 0.5)   # a short run
    yield (f"\n## {name}: {'DistributedDataParallel, ' if training.ddp else ''}"
           f"{training.senders} workers, queue of {training.queue} packets,"
           f" {training.rate / 1e9:g} Gbit/s{', hosts too' if training.nic else ''},"
           f" {sum(first.start['layer_bytes']) / 1e3:.0f} kB of gradient,"
           f" {training.compute_us / 1e3:g} ms of computing, {len(first.steps)} steps\n")
    yield (f"| transport | seeds | step, ms: mean | p99 | worst | s to {100 * target:g} % | x CUBIC tuned"
           " | x DCTCP tuned | final accuracy, % | resent, % | forgiven, % |")
    yield "|---" * 11 + "|"
    for label, runs in found.items():
        times = [t for run in runs for t in run.times]
        reached = mean_time(runs, target)
        ratios = [faster(runs, found.get(other, []), target)
                  for other in ("cubic-tuned", "dctcp-tuned")]
        yield (f"| {CONTESTANTS[label].shown} | {len(runs)} | {statistics.mean(times):.1f}"
               f" | {quantile(times, 0.99):.1f} | {max(times):.1f}"
               f" | {f'{reached:.3f}' if reached else 'never'} | {' | '.join(ratios)}"
               f" | {spread([100 * run.curve[-1][1] for run in runs])}"
               f" | {mean_share(runs, 'resent', '.1f')} | {mean_share(runs, 'forgiven', '.2f')} |")


def looks_table(name, found):
    """DeAR hides averages behind the next step; where accuracy is looked at all must be there."""
    if not (TRAININGS[name].ddp and any(CONTESTANTS[label].dear for label in found)):
        return
    yield "\n| transport | step, ms: mean, without those before and after a look at accuracy |"
    yield "|---|---|"
    for label, runs in found.items():
        times = [time for run in runs for time, step, last in
                 zip(run.times[1:], run.steps[1:], run.steps)
                 if "accuracy" not in step and "accuracy" not in last]
        yield f"| {CONTESTANTS[label].shown} | {statistics.mean(times):.2f} |"


def bursts_table(name, found, network):
    """Of runs beside bursts of TCP: what those got in all the run, in which they pause half of
    the time, and how long a step took."""
    rows = []
    for label, runs in found.items():
        for run in runs:
            got = network.get((name, label, run.start["seed"]), {}).get("background_gbit")
            if got is not None:
                rows.append(f"| {CONTESTANTS[label].shown} | {run.start['seed']} | {got:.2f}"
                            f" | {statistics.mean(run.times):.2f} |")
    if rows:
        yield "\n| transport | seed | bursts, Gbit/s | step, ms: mean |"
        yield "|---" * 4 + "|"
        yield from rows


def style(label):
    return {"linewidth": 2} if label.startswith("dlcp") else {"linewidth": 1, "linestyle": "--"}


def training_plots(folder, name, found):
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5))
    for label, runs in found.items():
        shown = CONTESTANTS[label].shown
        left.plot(*zip(*[(t, 100 * a) for t, a in runs[0].curve]), label=shown, **style(label))
        times = sorted(t for run in runs for t in run.times)
        share = [(i + 1) / len(times) for i in range(len(times))]
        right.step(times, share, where="post", label=shown, **style(label))
    left.set_xlabel("seconds of the network, first seed")
    left.set_ylabel("test accuracy, %")
    right.set_xscale("log")
    right.set_xlabel("time of a step, ms")
    right.set_ylabel("share of steps")
    right.legend(fontsize="small")
    figure.suptitle(name)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def same_models(name, found):
    """What lost nothing must have made the same model, whatever carried it. Of all-reduces
    what had no bound, each kind for itself, and DeAR: they add in different orders."""
    models, ddp = defaultdict(set), TRAININGS[name].ddp
    for label, runs in found.items():
        for run in runs:
            if not run.share("forgiven") and not (ddp and CONTESTANTS[label].bound):
                adds = run.start["transport"] + CONTESTANTS[label].dear * " dear" if ddp else ""
                models[run.start["seed"], len(run.steps), adds].add(run.end["model"])
    if any(len(hashes) > 1 for hashes in models.values()):
        sys.exit(f"eval: {name}: runs without loss made different models: {dict(models)}")


def by_loss(rows):
    """{(loss, correction): runs}"""
    groups = defaultdict(list)
    for row in rows:
        groups[row["loss"], row["correct"]].append(row)
    return groups


def ablation_table(name, rows):
    groups, first = by_loss(rows), rows[0]
    yield (f"\n## {name}: {first['workers']} workers, {first['steps']} steps, natively,"
           f" loss or its bound {100 * first['rate']:g} %\n")
    yield ("| loss | correction | seeds | missing, % | bytes up, share | accuracy, %"
           " | points over no loss, same seed |")
    yield "|---" * 7 + "|"
    plain = first["bytes_up"]
    for (loss, correct), some in groups.items():
        yield (f"| {loss} | {correct} | {len(some)}"
               f" | {100 * statistics.mean(r['missing'] for r in some):.1f}"
               f" | 1/{plain / some[0]['bytes_up']:.2f}"
               f" | {spread([100 * r['accuracy'] for r in some])}"
               f" | {spread(points(some, groups), '.2f')} |")


def points(some, groups):
    """Of each run, over the one without loss."""
    base = {row["seed"]: row["accuracy"] for row in groups["none", "nothing"]}
    return [100 * (row["accuracy"] - base[row["seed"]]) for row in some]


def losses_table(rows):
    """How uneven they were; of the runs of each loss, which differ in their seeds."""
    yield ("\n| loss | missing, % | of the workers, % | of a step, %: deviation | least | most"
           " | burst, segments | first, last tenth of a message, % | messages at the bound, % |")
    yield "|---" * 9 + "|"
    for loss in dict.fromkeys(row["loss"] for row in rows if row["missing"]):
        some = [row for row in rows if row["loss"] == loss]
        steps = [100 * share for row in some for share in row["by_step"]]
        workers = [100 * statistics.mean(shares) for shares in zip(*(r["by_worker"] for r in some))]
        bound, tenths = some[0]["at_bound"], some[0].get("tenths") or []
        yield (f"| {loss} | {statistics.mean(steps):.1f} | {min(workers):.1f} to {max(workers):.1f}"
               f" | {statistics.pstdev(steps):.1f} | {min(steps):.1f} | {max(steps):.1f}"
               f" | {statistics.mean(row['burst'] for row in some):.1f}"
               f" | {', '.join(f'{100 * share:.1f}' for share in tenths)}"
               f" | {'' if bound is None else f'{100 * bound:.0f}'} |")


def ablation_plot(folder, name, rows):
    """What was missing of the first steps, and what each run lost by it."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5))
    groups, shown = by_loss(rows), {}
    for loss, correct in groups:
        if loss not in shown and loss != "none":
            shares = [100 * share for share in groups[loss, correct][0]["by_step"][:100]]
            shown[loss] = left.plot(shares, linewidth=1, label=loss)[0].get_color()
    labels = [key for key in groups if key != ("none", "nothing")]
    for y, (loss, correct) in enumerate(labels):
        found = points(groups[loss, correct], groups)
        color = shown.get(loss, "black")
        right.plot(found, [-y] * len(found), ".", color=color)
        right.plot(statistics.mean(found), -y, "|", color=color, markersize=14)
    right.set_yticks([-y for y in range(len(labels))], [": ".join(key) for key in labels])
    right.axvline(0, color="grey", linewidth=0.5)
    right.set_xlabel("accuracy: points over no loss, same seed")
    left.set_xlabel("step")
    left.set_ylabel("missing, %")
    left.legend(fontsize="small")
    figure.suptitle(name)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def bound_ms(row):
    """No iteration takes less: of a ring, where each half of an all-reduce may run beside a pass,
    and of a server, to which all push while all pull, what is largest of both."""
    wire = row["wire_ms"] * HEADERS
    if REPLAYS[row["part"]].form != "ring":
        return max(row["compute_ms"], wire)
    model = MODELS[row["model"]]
    forward = row["compute_ms"] * model.forward_ms / (model.forward_ms + model.backward_ms)
    return max(row["compute_ms"] - forward, wire / 2) + max(forward, wire / 2)


def replay_table(name, rows):
    yield f"\n## {name}: {REPLAYS[name].shown}\n"
    yield ("| model | transport | schedule | buckets, MB | iteration, ms: mean | worst"
           " | compute, ms | wire alone, ms | bound, ms | over it, % |")
    yield "|---" * 10 + "|"
    for r in rows:
        bound = bound_ms(r)
        yield (f"| {r['model']} | {CONTESTANTS[r['contestant']].shown} | {r['schedule']} | {r['fusion']}"
               f" | {r['mean_ms']:.2f} | {r['worst_ms']:.2f} | {r['compute_ms']:.2f}"
               f" | {r['wire_ms']:.2f} | {bound:.2f} | {100 * (r['mean_ms'] / bound - 1):.1f} |")


def replay_plot(folder, name, rows):
    """How far from the bound each iteration is."""
    labels = list(dict.fromkeys((r["model"], r["schedule"], r["fusion"]) for r in rows))
    figure, axis = pyplot.subplots(figsize=(9, 1.5 + 0.25 * len(labels)))
    for contestant in dict.fromkeys(r["contestant"] for r in rows):
        some = [r for r in rows if r["contestant"] == contestant]
        axis.plot([r["mean_ms"] / bound_ms(r) for r in some],
                  [-labels.index((r["model"], r["schedule"], r["fusion"])) for r in some],
                  "o", markersize=4, label=CONTESTANTS[contestant].shown)
    axis.set_yticks([-y for y in range(len(labels))],
                    [f"{model}: {schedule}, {fusion} MB" for model, schedule, fusion in labels])
    axis.axvline(1, color="grey", linewidth=0.5)
    axis.set_xscale("log")
    axis.set_xlabel("mean time of an iteration over its bound")
    axis.legend(fontsize="small")
    figure.suptitle(name)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def flatness(latest):
    """How much longer an iteration takes when the network's tail doubles."""
    yield "\n## p99/p50 of packets' delay from 1.5 to 3\n"
    yield "| transport | longer by |\n|---|---|"
    for (part, *key), row in latest.items():
        other = latest.get(("flat-3", *key))
        if part == "flat-1.5" and other:
            yield (f"| {CONTESTANTS[row['contestant']].shown}"
                   f" | {100 * (other['mean_ms'] / row['mean_ms'] - 1):.1f} % |")


def main():
    folder, text = Path(sys.argv[1]), []
    # The last line is of the run that is there
    network = {(row["training"], row["contestant"], row["seed"]): row
               for row in lines(folder / "network.jsonl") if "training" in row}
    for name in TRAININGS:
        found = runs_of(folder, name)
        if not found:
            continue
        same_models(name, found)
        text += training_table(name, found)
        text += looks_table(name, found)
        text += bursts_table(name, found, network)
        if pyplot:
            training_plots(folder, name, found)
    latest = {}
    for row in lines(folder / "replay.jsonl"):
        if "error" not in row:
            latest[row["part"], row["model"], row["contestant"], row["schedule"],
                   row["fusion"]] = row
    for name in REPLAYS:
        rows = [row for (part, *_), row in sorted(latest.items()) if part == name]
        if rows:
            text += replay_table(name, rows)
            if pyplot:
                replay_plot(folder, name, rows)
    if any(part == "flat-3" for part, *_ in latest):
        text += flatness(latest)
    for path in sorted(folder.glob("ablation*.jsonl")):
        rows = lines(path)
        if rows:
            text += ablation_table(path.stem, rows)
            text += losses_table(rows)
            if pyplot:
                ablation_plot(folder, path.stem, rows)
    (folder / "report.md").write_text("# Evaluation\n" + "\n".join(text) + "\n")
    print("\n".join(text))
    page(folder, text)


def page(folder, text):
    """All of it in one file: the tables, and below them the pictures"""
    pictures = [f"\n![{path.stem}]({path.name})\n" for path in sorted(folder.glob("*.svg"))]
    (folder / "page.md").write_text("# Evaluation of DLCP\n" + "\n".join(text + pictures) + "\n")
    settings = [f"-s{name}={os.environ[name]}" for name in ("ONLY", "QUICK", "SEEDS") if name in os.environ]
    subprocess.run([HERE.parent.parent / "scripts" / "html-report", *settings, folder / "page.md",
                    folder / "report.html"], check=True)


main()
