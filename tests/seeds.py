"""The command line of a simulator: many seeds, or one of them with all that happens."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from typing import Any, Callable

# Violations that are told.
SHOWN = 20


def parsed(description: str | None, arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="tell what happens")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, world_of: Callable[[int, bool], Any]) -> int:
    """Run the seeds, tell what is violated, and give the status of the process. A world has a
    `ledger` with `counts` and `violations`, and a `trace` if it is wanted."""
    first, count = (options.first, options.seeds) if options.seed is None else (options.seed, 1)
    counts: Counter[str] = Counter()
    found: list[str] = []
    begin = time.perf_counter()
    for seed in range(first, first + count):
        world = world_of(seed, options.trace)
        try:
            world.run()
        except Exception:
            print(f"seed {seed} failed", flush=True)
            raise
        counts.update(world.ledger.counts)
        found += [f"seed {seed}: {violation}" for violation in world.ledger.violations]
        for line in [f"seed {seed}", *world.trace] if options.trace else ():
            print(line)
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{count} seeds in {time.perf_counter() - begin:.1f} s; {told}")
    for each in found[:SHOWN]:
        print(each)
    return 1 if found else 0


def run_here(description: str | None, world_of: Callable[[int, bool], Any]) -> int:
    """The same for a program, which runs itself again where hashes vary: the order of a set of
    strings is part of what a seed decides."""
    options = parsed(description)
    if os.environ.get("PYTHONHASHSEED") != "0":
        spec = sys.modules["__main__"].__spec__
        name = spec.name.rpartition(".")[0] if spec is not None else ""
        arguments = [sys.executable, "-m", name, *sys.argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})
    return run(options, world_of)
