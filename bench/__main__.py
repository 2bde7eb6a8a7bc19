"""`python -m bench`: every measurement of the project in one run, as one table with the aims.

Requests per second, over eight keep-alive connections of this machine, one request at a time on
each; the median and the spread of rounds in which the servers take turns, of the numbers and of
the ratios of each round, and the ratios for each second that the servers had a processor, which
other work on the machine changes less:
  companion                 ours, without an editor behind it
  companion in Python alone the same with libraries that have no compiled parts, as the package has
                            them that carries its own (of older releases)
  SDK server                the npm MCP SDK with express and the same two tools, answering as it
                            does unasked, with event streams
  SDK server, JSON bodies   the same with `enableJsonResponse`, which is what ours does
  bare aiohttp              a handler that parses a JSON body and answers with a fixed one as long

Latency: from `Companion.select` to the byte on the event stream, in one process, less the 50 ms
that the companion waits for the user to stop moving.

Claude Code's web socket: from openDiff to the decision, with an editor that accepts at once, beside
the same over POST and event stream, by turns in one process; and how much longer the latter takes.

The editor's thread, in the headless editor: one call of the plugin's handler for a moved selection
(in Sublime it runs on the worker that all packages share), the median of some; then the longest
callback from openDiff to the decision, for proposals of every size, the median of some, and how
much of that it had a processor; then the review of proposals with many changes, from the call that
opens one to the last colour, and the sheet of all changes of many files; then how long a list of
what three work trees have changed takes, and the sheet of that; then a load of the
package with the libraries that it carries, the median of some: from `plugin_loaded` to the
discovery file, the longest that the editor's thread did nothing else, and how much larger the
process was a second later; some of it for the package as one file, whose modules are compiled at
each start, and for the one without libraries where another package had loaded them before.

The chat, in the headless editor with an agent of ours: 3,000 pieces of an answer in a second, and
the longest that a callback held the editor's thread; one more line in a transcript of 100,000 lines
beside one of 100, without the time in the editor's API; from a new chat until it says that the
agent is starting, and to the first event, also with Gemini CLI beside the CLI alone; what Python
holds for ten chats of 1 MB outside of the editor.

Hooks of the extension, as processes: without an editor, with one, beside a Node.js that does
nothing; and how long it takes from the start of a hook until the editor knows of a question.

Large bodies and answers, with both servers in one process: the longest that a thread which ticks
each millisecond had to wait, the longest answer to another client, and the memory that 128 clients
cost which ask for a file of 10 MB and do not read it.

Very many requests that one connection sends ahead of their answers, to either server: the longest
that other clients wait meanwhile.

Ten thousand conversations that a server of the API has kept, beside a hundred: from the start of
its process to the first page of the list, with and without the list that an earlier one has left,
memory, a page, a search in all texts beside reading the same files, and how much smaller a page is
in gzip.

The Gemini CLI API, with the real CLI and the tests' model, beside the same CLI driven over its
input and output: turns of both by turns, with the median of their differences; pieces of a long
answer per second; memory over many turns, and what each conversation adds to it; starts of both up
to the first event; many conversations at once, in one process of the CLI and in several.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from typing import List

from . import api, chat, claude, editor, hooks, kept, large, latency, pipelining, table, throughput


def main() -> int:
    """The exit status is 1 where something could not be measured; a missed aim is no failure."""
    began = time.monotonic()
    rows: List[table.Row] = []
    for section in (throughput, latency, claude, editor, chat, hooks, large, pipelining, kept, api):
        name = section.__name__.split(".")[-1]
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            rows.extend(section.measure())
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            rows.append(table.missing_row(name, str(error)))
    seconds = time.monotonic() - began
    print(table.format_rows(rows))
    print(f"\nPython {platform.python_version()}, {platform.machine()}, {seconds:.0f} s")
    return int(any(row.measured is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
