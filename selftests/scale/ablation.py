#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Switches off the rules of the engine one at a time and prints who notices: tests of
selftests/core, cells of the simulator, random networks. A copy of the tree in BUILD is
changed, never the tree itself.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("kmod/core", "uapi", "selftests/core", "selftests/scale", "selftests/eval")
TESTS = ("test_cong", "test_cong_undo", "test_conn_ack", "test_conn_rate", "test_conn_rtt",
         "test_conn_start", "test_conn_vest", "test_conn_paths", "test_conn_place",
         "test_conn_again", "test_grant", "test_grant_epoch", "test_rtt", "sim")
# What no rule of the engine can change, or what takes minutes
LEFT_OUT = re.compile("^(dctcp|pfabric|ndp|homa|incast_1008|two_hosts_20mb|same_seed)")
FIRST, NETWORKS = 300001, 500
# A test that takes so long has failed
LIMIT = 300
# An unused name is what switching off leaves behind
FLAGS = ("-O2 -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function "
         "-Wno-unused-value -Wno-int-in-bool-context -Wno-tautological-compare")


def read_rules():
    """[(name, file, old, new)]"""
    rules = []
    for line in (TOP / "selftests/scale/rules").read_text().splitlines():
        if line and not line.startswith("#"):
            name, file, old, new = line.split(" | ")
            rules.append((name, file, *(code.replace("\\n", "\n").replace("\\t", "\t")
                                        for code in (old, new))))
    return rules


class Tree:
    """A copy of what a run needs, and its programs"""

    def __init__(self, build):
        self.top = build / "tree"
        self.core = build / "core"
        self.scale = build / "scale"
        # Of a run that was ended objects may be left, with a rule off, which are newer than the sources
        for folder in (self.top, self.core, self.scale):
            shutil.rmtree(folder, ignore_errors=True)
        for part in PARTS:
            shutil.copytree(TOP / part, self.top / part)

    def make(self):
        for folder, build, targets in (
                ("core", self.core, [f"{self.core}/gcc/{test}" for test in TESTS]),
                ("scale", self.scale, [])):
            subprocess.run(["make", "-s", "-C", self.top / "selftests" / folder, "SAN=", "CC=gcc",
                            f"CFLAGS={FLAGS}", f"BUILD={build}", *targets], check=True)

    def replace(self, file, old, new):
        """Return: what undoes it"""
        path = self.top / "kmod/core" / file
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"rules: in {file} there is not one {old!r}")
        path.write_text(text.replace(old, new))
        return lambda: path.write_text(text)

    def failed_tests(self):
        failed = set()
        for test in TESTS:
            try:
                done = subprocess.run([self.core / "gcc" / test], text=True, timeout=LIMIT,
                                      check=False, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
                out, status = done.stdout, done.returncode
            except subprocess.TimeoutExpired:
                out, status = "", 1
            names = re.findall(r"^not ok \d+ -? ?(\S+)", out, re.M)
            failed |= {f"{test} {name}" for name in names}
            if status and not names:
                failed.add(f"{test} ends")
        return failed

    def run_py(self, *args):
        return subprocess.run(
            [sys.executable, self.top / "selftests/scale/run.py", *args], text=True, check=False,
            env=os.environ | {"BIN": str(self.scale / "gcc")}, stdout=subprocess.PIPE).stdout

    def failed_cells(self):
        lines = (TOP / "selftests/scale/cells").read_text().splitlines()
        names = [line.split("|")[0].strip() for line in lines
                 if line and not line.startswith("#")]
        out = self.run_py("check", *(n for n in names if not LEFT_OUT.match(n)))
        if "\n1.." not in out:
            sys.exit("ablation: the cells were not run to their end")
        return set(re.findall(r"^not ok \d+ - (\S+)", out, re.M))

    def networks(self):
        """Return: mean over the ideal, how many above four"""
        out = self.run_py("random", str(FIRST), str(NETWORKS))
        found = re.search(r"over the ideal.* mean ([\d.]+).* over four (\d+)", out)
        if not found:
            sys.exit("ablation: the random networks were not run to their end")
        return float(found[1]), int(found[2])


def some(names):
    names = sorted(names)
    return ", ".join(names[:3]) + (f", {len(names) - 3} more" if len(names) > 3 else "")


def row(tree, name, known):
    """Print a row. Return: what fails"""
    tree.make()
    tests, cells = tree.failed_tests(), tree.failed_cells()
    mean, over = tree.networks()
    print(f"| {name} | {some(tests - known)} | {some(cells - known)} | {mean:.2f} | {over} |",
          flush=True)
    return tests | cells


def check(tree):
    """Is the code of each rule there once, and does the copy have what its programs want?"""
    for _, file, old, new in read_rules():
        tree.replace(file, old, new)()
    subprocess.run([sys.executable, "-c", "import run"], cwd=tree.top / "selftests/scale", check=True)
    print("ok ablation_rules")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only whether each rule's code is in the engine")
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("rules", nargs="*", metavar="RULE", help="by a part of its name; all without")
    chosen = parser.parse_args()
    tree = Tree(chosen.build.resolve())
    if chosen.check:
        return check(tree)
    print("| switched off | tests that fail | cells that fail | mean over the ideal | above 4 |")
    print("| --- | --- | --- | --- | --- |")
    known = row(tree, "nothing", set())
    for name, file, old, new in read_rules():
        if chosen.rules and not any(part in name for part in chosen.rules):
            continue
        undo = tree.replace(file, old, new)
        try:
            row(tree, name, known)
        except subprocess.CalledProcessError:
            sys.exit(f"rules: without {name} nothing can be built")
        finally:
            undo()


if __name__ == "__main__":
    main()
