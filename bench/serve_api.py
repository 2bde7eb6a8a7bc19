"""The API without a CLI, as a process: prints port, token and read-only token, ends with its input.

`python -m bench.serve_api LIMIT [FOLDER]`: so many requests a minute for each caller, 0 for any
number; with what an earlier one has left in the folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

from companion.agent.processes.runner import Launch
from companion.api import state_folder
from companion.api.server import Server, ServerSettings
from companion.api.serving.access import Access


async def _serve_api(folder: str, limit: int) -> None:
    state, workspace = os.path.join(folder, "state"), os.path.join(folder, "workspace")
    os.makedirs(workspace, exist_ok=True)
    access = Access(has_read_only_token=True, rate_limit=limit)
    launch = Launch((os.path.join(folder, "no program"),))
    agent = state_folder.agent_options(state, launch, cache=os.path.join(folder, "cache"))
    server = Server(ServerSettings(agent, [workspace], port=0, access=access), state)
    await server.start()
    with open(server.read_only_file, encoding="ascii") as file:
        print(server.port, server.token, file.read().strip(), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        asyncio.run(_serve_api((sys.argv[2:] or [_folder])[0], int(sys.argv[1])))
