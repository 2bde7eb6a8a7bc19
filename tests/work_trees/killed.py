"""Makes, mends or removes a work tree and is killed on the way, as a program of its own that forks
for each attempt. A line of stdin is JSON with the work, and before which change of a file or start
of a program the kill comes, from 1; a line of stdout is "killed", "done" or "failed".
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import Any, Callable

from tests.package_name import name_package

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
name_package(ROOT)

from GeminiCompanion.companion.work_trees.mending import mend_trees  # noqa: E402
from GeminiCompanion.companion.work_trees.removal import remove_work_tree  # noqa: E402
from GeminiCompanion.companion.work_trees.repository import inspect_repository  # noqa: E402
from GeminiCompanion.companion.work_trees.tree_making import WantedTree, make_tree  # noqa: E402
from GeminiCompanion.companion.work_trees.tree_store import TreeStore  # noqa: E402

# The audit events of what changes something on the disk.
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "subprocess.Popen"}


def kill_before(number: int, scratch: str) -> None:
    """End this process before its change of that number. Changes in the folder for files of the
    moment leave nothing that counts."""
    left = number

    def count(event: str, arguments: Any) -> None:
        nonlocal left
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT
        is_scratch = str(arguments[:1]).startswith(f"('{scratch}")
        if (event in CHANGES or writes) and not is_scratch:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def make(work: dict[str, Any], store: TreeStore) -> Callable[[], object]:
    repository = inspect_repository(work["root"], work["scratch"])
    wanted = WantedTree(repository, work["root"], work["place"], "agent", True, True)
    return lambda: make_tree(store, wanted, lambda *progress: None)


def remove(work: dict[str, Any], store: TreeStore) -> Callable[[], object]:
    (tree,) = store.list_trees()

    def remove_tree() -> None:
        with store.hold_tree(tree.id):
            remove_work_tree(store, tree)

    return remove_tree


def mend(work: dict[str, Any], store: TreeStore) -> Callable[[], object]:
    return lambda: mend_trees(store)


def attempt(work: dict[str, Any]) -> None:
    store = TreeStore(work["store"])
    act = {"make": make, "remove": remove, "mend": mend}[work["work"]](work, store)
    kill_before(work["number"], work["scratch"])
    act()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            status = 1
            try:
                attempt(json.loads(line))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        is_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print("killed" if is_killed else "failed" if status else "done", flush=True)


if __name__ == "__main__":
    main()
