"""CLIs in a process of their own, which propose edits of many files and wait for no decision.

`python -m bench.proposals_client PORT TOKEN FOLDER COUNT EACH`: proposes the text of 0.new for 0.py
and so on, `EACH` from one CLI. Prints the seconds of each answer, and leaves at the end of its
input.
"""

from __future__ import annotations

import os
import sys
import time
from typing import List

from .client import Client

INFO = {"name": "bench", "version": "1"}


def main(port: str, token: str, folder: str, count: str, each: str) -> None:
    streams: List[object] = []
    for number in range(int(count)):
        if number % int(each) == 0:
            client = Client(int(port), token)
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}
            client.post("initialize", params)
            streams.append(client.stream())
        with open(os.path.join(folder, f"{number}.new"), encoding="utf-8") as file:
            arguments = {
                "filePath": os.path.join(folder, f"{number}.py"),
                "newContent": file.read(),
            }
        began = time.perf_counter()
        client.post("tools/call", {"name": "openDiff", "arguments": arguments})
        print(time.perf_counter() - began, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
