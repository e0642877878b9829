#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""PyTorch's own tests of torch.distributed, which ship in it, with DLCP in place of Gloo.

usage: run.py [--like mpi] [--backend gloo] [--list] [TEST...]

Those tests run that PyTorch has for another backend, Gloo unless --like says otherwise. All their
groups are of "dlcp", or of --backend. There are four ranks, or eight where PyTorch 2 asks for so many.
Only what the file `skips` has may be skipped, or fail. Each test has a line "ok NAME", "not ok NAME" or
"skip NAME: why"; notes on a failure stand before it.
"""

import argparse
import fnmatch
import os
import sys
import tempfile
import time
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))

import torch

import dlcp  # pylint: disable=unused-import


def have_expecttest():
    """PyTorch's tests are made from a class of this package, of which Debian 12 has none. What it adds to
    unittest's, comparing with text in the source, no test here uses."""
    try:
        import expecttest  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        base = types.ModuleType("expecttest")
        base.TestCase, base.ACCEPT = type("TestCase", (unittest.TestCase,), {}), False
        sys.modules["expecttest"] = base


def without_replicated_tensors():
    """1.13's tests switch them on in DistributedDataParallel. Python 3.11, which Debian has, refuses to
    import what they need, whatever the backend; without is what users have."""
    try:
        from torch.nn.parallel import _replicated_tensor_ddp_utils  # pylint: disable=import-outside-toplevel
    except ImportError:
        return
    _replicated_tensor_ddp_utils._set_ddp_with_replicated_tensor = lambda value: None


class Name(str):
    """A backend's, which tests that ask whether it is @like take for that"""

    def __new__(cls, name, like):
        self = super().__new__(cls, name)
        self.like = like
        return self

    def __eq__(self, other):
        return other == self.like

    def __ne__(self, other):
        return other != self.like

    def __hash__(self):
        return hash(self.like)


def load(like, backend):
    """PyTorch's module: while it is imported, and tests are chosen, its backend is @like"""
    os.environ.update(BACKEND=like, WORLD_SIZE="4", TEMP_DIR=tempfile.gettempdir(), USE_LIBUV="0")
    os.environ["INIT_METHOD"] = "file://"  # setUp() makes a file
    have_expecttest()
    without_replicated_tensors()
    from torch.testing._internal.distributed import distributed_test  # pylint: disable=import-outside-toplevel

    distributed_test.BACKEND = Name(backend, like)
    return distributed_test


def cases_of(module):
    """The class of the tests, whose ranks are forked: they have PyTorch already"""

    class Upstream(module.TestDistBackend, module.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            module.INIT_METHOD = os.environ["INIT_METHOD"]
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return Upstream


def allowed_skips():
    """(pattern of names, pattern of what PyTorch says) of each line of the file"""
    with open(os.path.join(HERE, "skips"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return [(name, why) for name, why, _reason in lines]


class Result(unittest.TestResult):
    """Prints a line for each test"""

    def __init__(self, allowed):
        super().__init__()
        self.allowed, self.started, self.bad, self.passed = allowed, 0, 0, 0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def _allowed(self, name, reason):
        return any(fnmatch.fnmatch(name, a) and fnmatch.fnmatch(reason, b) for a, b in self.allowed)

    def _fail(self, test, text):
        self.bad += 1
        print("#", text.replace("\n", "\n# "))
        print("not ok", name_of(test), flush=True)

    def addSuccess(self, test):
        self.passed += 1
        print(f"# {time.monotonic() - self.started:.1f} s")
        print("ok", name_of(test), flush=True)

    def addError(self, test, err):
        text = self._exc_info_to_string(err, test)
        if self._allowed(name_of(test), text):
            print(f"skip {name_of(test)}: fails, as with Gloo: see skips", flush=True)
        else:
            self._fail(test, text)

    addFailure = addError

    def addSkip(self, test, reason):
        name = name_of(test)
        if self._allowed(name, reason):
            print(f"skip {name}: {reason}", flush=True)
        else:
            self._fail(test, f"skipped ({reason}), for no reason that `skips` has")


def decorators_of(test):
    """The names of what PyTorch decorated a test with"""
    while test:
        yield test.__code__.co_qualname.split(".")[0]
        test = getattr(test, "__wrapped__", None)


def wants_gpus(test):
    """Does it skip itself without, when its ranks are there?"""
    return any("gpu" in name and "nccl" not in name for name in decorators_of(test))


def world_of(test):
    """How many ranks it wants. 1.13 is content with four."""
    many = torch.__version__[0] != "1" and "skip_if_small_worldsize" in decorators_of(test)
    return 8 if many else 4


def name_of(test):
    return test.id().split(".")[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--like", default="gloo")
    parser.add_argument("--backend", default="dlcp")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("tests", nargs="*", default=["test_*"])
    args = parser.parse_args()
    torch.set_num_threads(1)
    cases = cases_of(load(args.like, args.backend))
    names = [
        name
        for name in unittest.TestLoader().getTestCaseNames(cases)
        if any(fnmatch.fnmatch(name, pattern) for pattern in args.tests)
    ]
    if args.list:
        for name in names:
            print(name, getattr(getattr(cases, name), "__unittest_skip_why__", ""), sep="\t")
        return 0
    result = Result(allowed_skips())
    cases.setUpClass()
    for name in names:
        case = cases(name)
        os.environ["WORLD_SIZE"] = str(world_of(getattr(cases, name)))
        if wants_gpus(getattr(cases, name)) and not torch.cuda.is_available():
            result.addSkip(case, "wants GPUs")
        else:
            case.run(result)
    print(f"# PyTorch {torch.__version__}: {result.passed} passed, {result.bad} failed")
    return bool(result.bad or not result.passed)


if __name__ == "__main__":
    sys.exit(main())
