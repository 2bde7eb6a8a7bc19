"""`python -m bench`: every measurement of the project in one run, as one table with the aims.

Requests per second, over eight keep-alive connections of this machine, one request at a time on
each; the median and the spread of rounds in which the servers take turns, of the numbers and of
the ratios of each round:
  companion                 ours, without an editor behind it
  SDK server                the npm MCP SDK with express and the same two tools, answering as it
                            does unasked, with event streams
  SDK server, JSON bodies   the same with `enableJsonResponse`, which is what ours does
  bare aiohttp              a handler that parses a JSON body and answers with a fixed one as long

Latency: from `Companion.select` to the byte on the event stream, in one process, less the 50 ms
that the companion waits for the user to stop moving.
"""

from __future__ import annotations

import platform
import sys
import time
from typing import List

from . import latency, table, throughput


def main() -> int:
    began = time.monotonic()
    rows: List[table.Row] = []
    for section in (throughput, latency):
        print(f"measuring {section.__name__.split('.')[-1]} ...", file=sys.stderr, flush=True)
        rows.extend(section.measure())
    seconds = time.monotonic() - began
    print(table.render(rows))
    print(f"\nPython {platform.python_version()}, {platform.machine()}, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
