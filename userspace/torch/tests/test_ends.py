#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp: how scripts come to it, and how ranks end, by an error of their own, too.

See test_torch.py, which has the rest.
"""

import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import test_torch
from test_group import fails
from test_torch import PACKAGE, default_group, have_module, ranks, run_all

import dlcp  # pylint: disable=wrong-import-order # test_torch knows where

# --- scripts

SCRIPT = """
import os, sys, torch, torch.distributed as dist
assert __name__ == "__main__" and sys.argv[1:] == ["--a", "b"] and "dlcp" not in globals()
if "RANK" in os.environ:
    dist.init_process_group("dlcp")
    x = torch.ones(5)
    dist.all_reduce(x)
    assert (x == 2).all()
    dist.destroy_process_group()
else:
    assert hasattr(dist.Backend, "DLCP")
"""


SCRIPTS = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with # until the end


def start_script(text, environment, **how):
    """In a process by itself, which finds the package: a Popen"""
    paths = os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=SCRIPTS.name, encoding="utf-8", delete=False) as file:
        file.write(text)
    # Python knows itself by its path: see torch-2.6 of scripts/fetch
    command = [os.environ.get("PYTHON") or sys.executable, "-m", "dlcp", file.name, "--a", "b"]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths, **environment}, **how)


def launched(*settings):
    """A script that does not import the package, once with each of these environments"""

    def test():
        runs = [start_script(SCRIPT, more) for more in settings]
        return not any([run.wait() for run in runs])

    return test


FAULTY = """
import multiprocessing, os, sys, threading
HOW = os.environ["HOW"]
def main(_=None):
    import torch.distributed as dist, dlcp      # a new process has them from here on
    dist.init_process_group("dlcp")
    if os.environ["RANK"] == "1":
        dist.barrier()
        if HOW in ("process", "new_process"):
            threading.Thread(target=dist.barrier).start()   # that ends with the group
        print("raises", flush=True)
        raise ValueError("nobody\'s fault but mine")
    try:
        dist.barrier()      # where the other may be out of it, and gone
        os.read(0, 1)
        dist.barrier()
    except Exception as error:
        os._exit("rank 1 gave up: ValueError: nobody\'s fault but mine" not in str(error))
    os._exit(1)
if __name__ != "__main__":
    pass
elif HOW == "script":
    main()
elif HOW == "spawned":
    import torch
    torch.multiprocessing.start_processes(main, nprocs=1, start_method="fork")
else:
    if "PYTHON" in os.environ:
        multiprocessing.set_executable(os.environ["PYTHON"])
    child = multiprocessing.get_context("fork" if HOW == "process" else "spawn").Process(target=main)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


FAULTS = ("script", "process", "new_process", "spawned")


def failed_by_itself(how):
    """A rank that raises is gone at once, though the other is busy; and that one hears why"""

    def test():
        test_torch.PORT[0] += 1
        more = {"HOW": how, "MASTER_PORT": str(test_torch.PORT[0])}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        other, faulty = (start_script(FAULTY, {**of_two(rank), **more}, **pipes) for rank in range(2))
        faulty.stdout.readline()
        try:
            gone = faulty.wait(timeout=60) != 0
        except subprocess.TimeoutExpired:
            gone = False
        other.stdin.close()
        return gone and other.wait() == 0

    return test


def installed():
    """From 2.5 on PyTorch imports the package by itself. A library that is too old, or missing, is named
    then, and PyTorch is imported all the same."""
    autoloads = hasattr(torch, "_import_device_backends")
    with tempfile.TemporaryDirectory() as folder:
        make = ["make", "-s", "-C", os.path.join(PACKAGE, ".."), "install-torch", f"DESTDIR={folder}", "PYTHONDIR=/site"]
        subprocess.run(make, check=True)

        def says(library, code):
            more = {"PYTHONPATH": folder + "/site", "DLCP_LIBRARY": library}
            command = [os.environ.get("PYTHON") or sys.executable, "-c", "import torch, torch.distributed as dist; " + code]
            run = subprocess.run(command, env={**os.environ, **more}, stderr=subprocess.PIPE, text=True, check=False)
            return run.returncode, run.stderr

        for library, words in (("libm.so.6", "libdlcp is too old"), ("/nosuch", "cannot load libdlcp")):
            status, text = says(library, 'assert not hasattr(dist.Backend, "DLCP")')
            if status or (words in text) != autoloads:
                print("#", status, text.replace("\n", "\n# "))
                return False
        return not autoloads or not says(os.environ["DLCP_LIBRARY"], "assert dist.Backend.DLCP")[0]


def of_two(rank):
    return {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29699"}


# --- ranks

def children(rank):
    """What a forked child does, and that it ends, is nothing to its parent's group"""
    dist.barrier()
    if rank == 0:
        for end in (dist.destroy_process_group, lambda: default_group().abort("a child's wish"), lambda: sys.exit(3)):
            child = multiprocessing.get_context("fork").Process(target=end)
            child.start()
            child.join()
        pid = os.fork()
        if not pid:
            dlcp.backend._close_all()  # pylint: disable=protected-access # as when an interpreter ends
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    loader = torch.utils.data.DataLoader(range(8), num_workers=2, batch_size=2)
    for x in loader:
        dist.all_reduce(x)
    assert x.tolist() == [12, 14]


def with_dead_rank(rank):
    """Who makes a group with it hears of that in time, and those that are left make one of their own"""
    if rank == 1:
        dist.barrier()
        os.kill(os.getpid(), signal.SIGKILL)

    def until_told():
        dist.barrier()      # where rank 1 may be out of it, and dead
        while True:
            dist.all_reduce(torch.ones(1000))

    assert fails(until_told, "rank 1 died")
    start, short = time.monotonic(), timedelta(seconds=4)
    assert fails(lambda: dist.new_group([0, 1, 2], timeout=short), "rank 1 did not come"), rank
    # There rank 1 is the one that others meet at
    assert rank == 0 or fails(lambda: dist.new_group([1, 2], timeout=short), "rank 0 of the group did not come"), rank
    assert time.monotonic() < start + 30
    if "use_local_synchronization" in inspect.signature(dist.new_group).parameters:
        if rank == 0:
            dist.new_group([1, 2])      # each call counts in the names that groups meet by
        left = dist.new_group([0, 2], use_local_synchronization=True)
        x = torch.ones(1000)
        dist.all_reduce(x, group=left)
        assert (x == 2).all()


def main():
    bad = run_all([("torch_script", launched({})), ("torch_installed", installed)])
    if not have_module():
        return bad
    test_torch.PORT[0] = 30100
    live = [
        ("torch_children", lambda: ranks(2, children) == 0),
        ("torch_new_group_with_dead_rank", lambda: ranks(3, with_dead_rank) == 1),
        *((f"torch_{how}_that_raises", failed_by_itself(how)) for how in FAULTS),
        ("torch_launched", launched(of_two(0), of_two(1))),
    ]
    return run_all(live) or bad


if __name__ == "__main__":
    sys.exit(main())
