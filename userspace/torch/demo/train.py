#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""One rank of the demo: DistributedDataParallel learns Fashion-MNIST, or to write licences.

    RANK=0 WORLD_SIZE=8 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \\
        train.py --backend gloo|dlcp [--bound 0.1 [--correct feedback]] [--dear]

An ordinary DDP script: what is DLCP's are the import, the backend's name and,
for bounded loss, the hook. Rank 0 writes JSON lines, as dlcp-train does.
"""

import argparse
import hashlib
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import fashion_mnist  # noqa: E402  pylint: disable=wrong-import-position
import licences  # noqa: E402  pylint: disable=wrong-import-position

# Modules that know data, model and optimiser; and how wide a model is by default
TASKS = {"cnn": (fashion_mnist, 256), "gpt": (licences, 64)}


class Report:
    """JSON lines, if this is rank 0"""

    def __init__(self, path):
        self.out = (open(path, "w", encoding="utf-8") if path else sys.stdout) if dist.get_rank() == 0 else None

    def line(self, event, **row):
        if self.out:
            print(json.dumps({"event": event, **row}), file=self.out, flush=True)


def traffic(args):
    """Bytes of all ranks, as libdlcp counts them; Gloo does not"""
    if args.backend != "dlcp":
        return {}
    stats = dist.distributed_c10d._get_default_group().stats()  # pylint: disable=protected-access
    sums = torch.tensor([stats["sent"], stats["received"], stats["missing"]], dtype=torch.float64)
    dist.all_reduce(sums)
    sent, received, missing = (int(x) for x in sums)
    return {"push": {"offered": sent, "delivered": received - missing, "forgiven": missing}}


def order_of(args, epoch):
    """Indices of this rank's images, in the order of this epoch"""
    rng = torch.Generator().manual_seed(args.seed * 1000 + epoch)
    return torch.randperm(args.images, generator=rng)[dist.get_rank() :: dist.get_world_size()]


class Computing:
    """Sleeps that stand for a step's computing, where time passes for nothing else (the lab's inf-cpu): for
    a layer what its share of the multiplications is for one example, a third before its forward pass, the
    rest before its backward pass, as dlcp-train does."""

    def __init__(self, model, example, microseconds):
        self.layers = [
            layer for layer in model.modules() if hasattr(layer, "weight") or isinstance(layer, nn.MultiheadAttention)
        ]
        self.work = {}
        noting = [layer.register_forward_hook(self.note) for layer in self.layers]
        model(example)
        for hook in noting:
            hook.remove()
        self.seconds = microseconds / 1e6 / sum(self.work.values())
        for layer in self.layers if microseconds else ():
            layer.register_forward_pre_hook(self.forward_of)
            layer.register_forward_hook(self.backward_of)

    def note(self, layer, _, output):
        if isinstance(layer, nn.MultiheadAttention):  # four matrices, and every place with every place
            places, width = output[0][0].shape
            self.work[layer] = places * width * (4 * width + 2 * places)
        elif isinstance(layer, nn.Embedding):
            self.work[layer] = 0
        else:
            self.work[layer] = output[0].numel() * layer.weight[0].numel()

    def take(self, layer, share):
        time.sleep(self.work[layer] * self.seconds * share)

    def forward_of(self, layer, _):
        if torch.is_grad_enabled():  # else it is a test
            self.take(layer, 1 / 3)

    def backward_of(self, layer, _, output):
        if isinstance(output, tuple):
            output = output[0]
        if output.requires_grad:
            output.register_hook(lambda _: self.take(layer, 2 / 3))


def distributed(args, network, optimizer):
    """The model as it is trained, and its optimiser"""
    loss = None
    if args.backend == "dlcp":
        import dlcp  # pylint: disable=import-outside-toplevel

        if args.bound > 0:
            loss = dlcp.LossBound(args.bound, correct=args.correct, droppable=args.droppable)
        if args.dear:
            return network, dlcp.DeAR(network, optimizer, loss, fusion=args.bucket_mb)
    # In 1.13 the first bucket has a limit of its own, 1 MB: meant to be less than the others'
    first = int(args.bucket_mb * (1 << 20))
    dist._DEFAULT_FIRST_BUCKET_BYTES = min(first, dist._DEFAULT_FIRST_BUCKET_BYTES)  # pylint: disable=protected-access
    model = DistributedDataParallel(network, bucket_cap_mb=args.bucket_mb)
    if loss:
        model.register_comm_hook(loss, dlcp.ddp_hook)
    return model, optimizer


def train(args, report):
    task, width = TASKS[args.model]
    images, labels = task.load("train", args.data or task.FOLDER, args.images)
    if len(labels) < args.images:
        sys.exit(f"train.py: --images {args.images}: there are {len(labels)}")
    test = task.load("t10k", args.data or task.FOLDER)
    few = [x[: args.eval_images] for x in test]
    torch.manual_seed(args.seed)
    network = task.new_model(args.hidden or width, args.more_layers)
    # What PyTorch does only once is not the network's
    nn.functional.cross_entropy(network(images[: args.batch]), labels[: args.batch]).backward()
    network.zero_grad(set_to_none=True)
    Computing(network, images[:1], args.compute_us)
    model, optimizer = distributed(args, network, task.new_optimizer(network.parameters(), args.lr))
    per_epoch = args.images // (args.batch * dist.get_world_size())
    steps = per_epoch * args.epochs
    report.line(
        "start", trainer="torch", transport=args.backend, workers=dist.get_world_size(), steps=steps, seed=args.seed,
        loss_bound=args.bound, layer_bytes=[4 * p.numel() for p in model.parameters()],
    )  # fmt: skip
    dist.barrier()
    spent = 0.0
    for step in range(1, steps + 1):
        start = time.monotonic()
        epoch, at = divmod(step - 1, per_epoch)
        batch = order_of(args, epoch)[at * args.batch : (at + 1) * args.batch]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        looked_at = step % args.eval_every == 0 or step == steps
        if looked_at and args.dear:
            optimizer.synchronize()
        spent += time.monotonic() - start
        row = {}
        if looked_at and dist.get_rank() == 0:
            row["accuracy"] = fashion_mnist.accuracy(network, *(test if step == steps else few))
        report.line("step", step=step, epoch=epoch + 1, t_ms=spent * 1e3, loss=loss.item(), **row)
    made = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters()))
    report.line("end", t_ms=spent * 1e3, model=made.hexdigest(), **traffic(args))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="dlcp", help="gloo or dlcp")
    parser.add_argument("--bound", type=float, default=0, help="share of a gradient that may be lost (dlcp)")
    parser.add_argument("--correct", default="feedback", help="feedback, average or nothing")
    parser.add_argument("--droppable", type=float, default=0.5, help="share of its segments to go first (dlcp)")
    parser.add_argument("--model", choices=TASKS, default="cnn", help="cnn: images; gpt: a text, by character")
    parser.add_argument("--data", help="folder; default: Debian's dataset-fashion-mnist, or its licences")
    parser.add_argument("--out", help="file for the results; default: standard output")
    parser.add_argument("--images", type=int, default=10240, help="of an epoch; of gpt: contexts")
    parser.add_argument("--batch", type=int, default=64, help="of these in one rank's step")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--hidden", type=int, help="neurons, by default 256: 1.6 MB of gradient; of gpt 64: 0.5 MB")
    parser.add_argument("--more-layers", type=int, default=0, help="of as many neurons each")
    parser.add_argument("--dear", action="store_true", help="dlcp.DeAR instead of DistributedDataParallel (dlcp)")
    parser.add_argument("--bucket-mb", type=float, default=1, help="DDP's buckets, DeAR's buffers")
    parser.add_argument("--compute-us", type=float, default=0, help="let a step's computing take so long: it sleeps")
    parser.add_argument("--eval-every", type=int, default=10)
    parser.add_argument("--eval-images", type=int, default=2000)
    args = parser.parse_args(words)
    if args.backend != "dlcp" and (args.dear or args.bound > 0):
        parser.error("--dear and --bound want --backend dlcp")
    torch.set_num_threads(1)
    # Debian's PyTorch 2.6 asks itself for a store with libuv, which it was built without
    os.environ.setdefault("USE_LIBUV", "0")
    if args.backend == "dlcp":
        import dlcp  # pylint: disable=import-outside-toplevel,unused-import
    dist.init_process_group(args.backend)
    train(args, Report(args.out))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
