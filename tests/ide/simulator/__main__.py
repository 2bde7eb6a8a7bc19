"""python -m tests.ide.simulator [--seeds 300] [--from N] [--jobs N] | --seed N [--trace]"""

from __future__ import annotations

import argparse
import multiprocessing
import os
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
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of a set of strings is part of what a seed decides.
        arguments = [sys.executable, "-m", "tests.ide.simulator", *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})
    if options.seed is not None:
        return _one(options.seed, options.trace)
    return _many(range(options.first, options.first + options.seeds), options.jobs)


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


def _some(seeds: range) -> tuple[Counter[str], list[tuple[int, str, str]]]:
    from .harness import Harness

    harness = Harness()
    counts: Counter[str] = Counter()
    found: list[tuple[int, str, str]] = []
    with harness.installed():
        for seed in seeds:
            ledger = harness.run(seed).ledger
            counts.update(ledger.counts)
            found += [(seed, *it) for it in ledger.violations]
    return counts, found


def _many(seeds: range, jobs: int) -> int:
    begin = time.perf_counter()
    parts = [seeds[start::jobs] for start in range(jobs)]
    results: list[Any]
    if jobs > 1:
        with multiprocessing.get_context("spawn").Pool(jobs) as pool:
            results = pool.map(_some, parts)
    else:
        results = [_some(part) for part in parts]
    counts: Counter[str] = sum((each[0] for each in results), Counter())
    found = sorted(it for each in results for it in each[1])
    seconds = time.perf_counter() - begin
    print(f"{len(seeds)} seeds in {seconds:.1f} s; " + _told(counts))
    kinds = Counter(what for _, what, _ in found)
    for what, count in kinds.most_common():
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
