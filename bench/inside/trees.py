"""Runs inside an editor: what work trees cost it in which agents have changed files.

`python -m headless FOLDER --exec bench/inside/trees.py -- REPORT`: writes REPORT, a JSON object of
seconds: `list` what a list of three trees of 5,000 files takes, each time, after the first one
(`first`); `held` and `busy` as in `changes` meanwhile; and `sheet`, which has `open`, `held` and
`busy` of the sheet with the 300 files that one of them has changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Dict, List

import sublime
from GeminiCompanion.companion.work_trees.creation import create_work_tree
from GeminiCompanion.companion.work_trees.repository import inspect_repository
from GeminiCompanion.companion.work_trees.work_tree import WorkTree, new_id

from headless import running

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from changes import (  # noqa: E402
    CHANGES,
    REGIONS,
    changed_text,
    read_resources,
    ready_package,
    wait_until,
)
from load import Costs, time_run, watch_queue  # noqa: E402

TREES, FILES, CHANGED, ROUNDS = 3, 5000, 300, 15
PEOPLE = {
    f"GIT_{role}_{what}": "bench" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def main(report: str) -> None:
    window = sublime.active_window()
    folder = os.path.realpath(window.folders()[0])
    os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    project = os.path.join(folder, "project")
    old, new = changed_text()
    _make_project(project, old)
    window.set_project_data({"folders": [{"path": project}]})
    package = ready_package()
    read_resources(window.new_file())
    trees = [_make_tree(project, folder) for _ in range(TREES)]
    for tree in trees:
        package.base.trees.store.keep_tree(tree)
    for number in range(CHANGED):
        with open(_path(trees[0].path, number), "w") as file:
            file.write(new)
    # What was written in the moment of a list is compared again at each.
    time.sleep(1.5)
    sublime.set_timeout(lambda: package.stories.begin(package.base.trees.look_again()))
    wait_until(lambda: len(package.base.trees.trees) == TREES)
    held = watch_queue(running.current().queues.ui)
    first = _list_once()
    _list_once()
    held.clear()
    lists = [_list_once() for _ in range(ROUNDS)]
    found = {
        "first": first,
        "list": lists,
        "held": max(cost.wall for cost in held),
        "busy": max(cost.busy for cost in held),
        "sheet": _open_sheet(window, held),
    }
    with open(report, "w") as out:
        json.dump(found, out)


def _make_project(project: str, text: str) -> None:
    for number in range(FILES):
        path = _path(project, number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text if number < CHANGED else f"# {number}\n" * 20)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
        subprocess.run(("git", *words), cwd=project, check=True, env={**os.environ, **PEOPLE})


def _path(top: str, number: int) -> str:
    return os.path.join(top, f"part{number // 100}", f"{number}.py")


def _make_tree(project: str, folder: str) -> WorkTree:
    id = new_id()
    path, scratch = os.path.join(folder, "trees", id), os.path.join(folder, "scratch")
    os.makedirs(scratch, exist_ok=True)
    repository = inspect_repository(project, scratch)
    made = create_work_tree(repository, path, id, False, False, lambda *progress: None)
    known = made.beginning, made.git_folder, made.admin
    return WorkTree(id, path, project, project, f"agent-{id}", "agent", time.time(), *known)


def _list_once() -> float:
    lists, answers = ready_package().tree_changes.lists, []
    began = time.perf_counter()
    sublime.set_timeout(lambda: answers.append(lists.look_again()))
    ends: List[float] = []
    wait_until(lambda: bool(answers))
    answers[0].when_there(lambda: ends.append(time.perf_counter()))
    wait_until(lambda: bool(ends))
    if len(lists.all_lists()) != TREES or len(lists.all_lists()[0].changes) != CHANGED:
        raise RuntimeError("the lists are not complete")
    return ends[0] - began


def _open_sheet(window: sublime.Window, held: Costs) -> Dict[str, float]:
    held.clear()
    began = time.perf_counter()
    time_run(lambda: window.run_command("gemini_companion_show_changes", {"show": "tab"}))
    view = window.active_view()
    if view is None:
        raise RuntimeError("no sheet is shown")
    shown: sublime.View = view
    keys = [f"{REGIONS}_{number}" for number in range(CHANGED)]
    wait_until(lambda: sum(len(shown.get_regions(key)) for key in keys) == CHANGED * CHANGES)
    return {
        "open": time.perf_counter() - began,
        "held": max(cost.wall for cost in held),
        "busy": max(cost.busy for cost in held),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
