"""`make advisories`: what is known against the libraries that the packages carry.

No network: the table is requirements/advisories.json, which says when it was read.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Dict, List, NamedTuple, Tuple

from . import closure, package

TABLE = os.path.join(package.ROOT, "requirements", "advisories.json")


class Advisory(NamedTuple):
    """`fixed` is the first version that it does not concern."""

    library: str
    identifier: str
    fixed: str
    about: str


def read_advisories() -> Tuple[str, List[Advisory]]:
    """The day on which it was read, and all that it has."""
    with open(TABLE, encoding="utf-8") as file:
        content = json.load(file)
    return content["read"], [Advisory(*row) for row in content["advisories"]]


def find_advisories(host: str) -> Dict[str, List[Advisory]]:
    """The advisories by the requirement of a carried library for that host."""
    _, advisories = read_advisories()
    found: Dict[str, List[Advisory]] = {}
    for requirement in closure.carried_modules(host):
        name, version = requirement.split("==")
        hits = [
            advisory
            for advisory in advisories
            if advisory.library == name
            and _version_numbers(version) < _version_numbers(advisory.fixed)
        ]
        if hits:
            found[requirement] = hits
    return found


def _version_numbers(version: str) -> Tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def main() -> int:
    """The exit status: they are listed, and that is no failure."""
    day, advisories = read_advisories()
    print(
        "%d advisories, as they were read on %s; docs/threat-model.md says" % (len(advisories), day)
    )
    print("what each means here.")
    for host in package.SETS:
        count = len(closure.carried_modules(host))
        print("\nFor the plugin host %s and the next: %d libraries" % (host, count))
        for requirement, hits in find_advisories(host).items():
            print("  %s: %d" % (requirement, len(hits)))
            for hit in hits:
                print("    %-15s fixed in %-8s %s" % (hit.identifier, hit.fixed, hit.about))
        if not find_advisories(host):
            print("  none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
