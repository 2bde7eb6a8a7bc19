"""python -m tests.ide.simulator [--seeds 300] [--from N] [--jobs N] | --seed N [--trace]"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

# Violations that are told; a run with a thousand of them says nothing more than one with ten.
SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ide.simulator", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="tell what happens")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--step", type=int, default=1, help="from one seed to the next")
    parser.add_argument("--json", action="store_true", help="for a program that reads it")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of a set of strings is part of what a seed decides.
        arguments = [sys.executable, "-m", "tests.ide.simulator", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})
    if options.seed is not None:
        return _one(options.seed, options.trace)
    end = options.first + options.seeds * options.step
    seeds = range(options.first, end, options.step)
    if options.json:
        counts, found = _some(seeds)
        print(json.dumps({"counts": counts, "found": found}))
        return 0
    return _many(seeds, options.jobs)


def _one(seed: int, trace: bool) -> int:
    from .harness import Harness

    harness = Harness()
    with harness.installed():
        world = harness.run(seed, trace)
    for line in world.trace or []:
        print(line)
    for what, detail in world.ledger.violations:
        print(f"{what}: {detail}")
    return 1 if world.ledger.violations else 0


def _some(seeds: range) -> tuple[Counter[str], list[Any]]:
    """What happened in these seeds, and what was violated: seed, kind, detail."""
    from .harness import Harness

    harness = Harness()
    counts: Counter[str] = Counter()
    found: list[Any] = []
    with harness.installed():
        for seed in seeds:
            ledger = harness.run(seed).ledger
            counts.update(ledger.counts)
            found += [[seed, *violation] for violation in ledger.violations]
    return counts, found


def _side_by_side(seeds: range, jobs: int) -> tuple[Counter[str], list[Any]]:
    """The same, in several processes."""
    command = [sys.executable, "-m", "tests.ide.simulator", "--json"]
    parts = [seeds[start::jobs] for start in range(jobs)]
    options = [
        ["--from", str(part_seeds[0]), "--step", str(jobs), "--seeds", str(len(part_seeds))]
        for part_seeds in parts
    ]
    children = [
        subprocess.Popen(command + arguments, stdout=subprocess.PIPE) for arguments in options
    ]
    counts: Counter[str] = Counter()
    found: list[Any] = []
    for child in children:
        output, _ = child.communicate()
        if child.returncode:
            raise SystemExit(child.returncode)
        part = json.loads(output)
        counts.update(part["counts"])
        found += part["found"]
    return counts, found


def _many(seeds: range, jobs: int) -> int:
    begin = time.perf_counter()
    counts, found = _side_by_side(seeds, jobs) if jobs > 1 else _some(seeds)
    found.sort()
    seconds = time.perf_counter() - begin
    print(f"{len(seeds)} seeds in {seconds:.1f} s; " + _told(counts))
    for what, count in Counter(what for _, what, _ in found).most_common():
        print(f"VIOLATED {count} times: {what}")
    for seed, what, detail in found[:SHOWN]:
        print(f"  seed {seed}: {what}: {detail}")
    if found:
        print(f"replay: python -m tests.ide.simulator --seed {found[0][0]} --trace")
    return 1 if found else 0


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
