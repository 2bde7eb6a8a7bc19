"""Makes the pictures of README and docs: `python tools/pictures.py [NAME ...]`.

Each picture is a scene: the headless editor plays it, writes a page for each moment that it is to
show, and a browser makes pictures of the pages; several moments become one animated picture. The
same file is the script that plays the scene inside the editor (`--exec`). Needs Playwright, and a
Chromium in PATH or the one that `make setup` unpacks.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from itertools import groupby
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(ROOT, "docs", "images")
# What colours the texts; the editor has none of its own.
SYNTAXES = os.path.join(ROOT, "tools", "picture_syntaxes")
# GitHub shows larger ones only after a while.
LARGEST = 1_000_000
# Seconds in which the package looks several times where the views are scrolled to.
SETTLED = 0.3
SHOP = '''"""A shop."""


def total(items):
    """What the items cost together."""
    sum = 0
    for item in items:
        sum = sum + item.price
    return sum


def count(items):
    return len(items)
'''
PROPOSED = SHOP.replace(
    "    sum = 0\n    for item in items:\n        sum = sum + item.price\n    return sum\n",
    "    return sum(item.price for item in items)\n",
).replace(
    "    return len(items)\n",
    "    return len(items)\n\n\ndef is_empty(items):\n    return not items\n",
)

TESTS = """from shop import is_empty, total


def test_a_shop_without_items_is_empty():
    assert is_empty([]) and total([]) == 0
"""

# Seconds for what is sure to come, on a busy machine.
PATIENCE = 120.0

# What is said in the picture of a chat.
QUESTION = "Can total() be simpler? There should be is_empty(), too."
TOTAL = PROPOSED[PROPOSED.index("def total") : PROPOSED.index("\n\ndef count")]
ANSWER = f"""Yes: the loop is a `sum` over a generator.

```python
{TOTAL}```

`is_empty` is new."""


class Task(NamedTuple):
    """How far an agent is with TASK, in a work tree: what it has written there, the tokens in its
    context, and what it cost; 0 if it does not tell that."""

    agent: str
    name: str
    files: Dict[str, str]
    tokens: int = 0
    cost: float = 0.0
    asks: bool = False
    is_done: bool = False


# What three agents are asked in the pictures of work trees, and what they make of it.
TASK = "Simplify and test total()"
LOOP = SHOP[SHOP.index("    sum = 0") : SHOP.index("\n\ndef count")]
PRICES = "    prices = [item.price for item in items]\n    return sum(prices)\n"
TOTAL_TEST = """from shop import total


def test_a_shop_without_items_costs_nothing():
    assert total([]) == 0
"""
TASKS = (
    Task(
        "claude",
        "Claude Code",
        {"shop.py": PROPOSED, "test_shop.py": TOTAL_TEST},
        tokens=18_200,
        cost=0.14,
        is_done=True,
    ),
    Task(
        "gemini",
        "Gemini CLI",
        {"shop.py": SHOP.replace(LOOP, PRICES), "test_shop.py": TOTAL_TEST},
        asks=True,
    ),
    Task(
        "codex",
        "Codex",
        {"shop.py": SHOP.replace(LOOP, "    return sum([item.price for item in items])\n")},
        tokens=9_400,
    ),
)

# What the terminal of the scene of that name has, in characters and lines.
COLUMNS, LINES = 72, 40
PROMPT = "make total() simpler, and add is_empty()"
TERMINAL = """
body { width: %dpx; }
.window { float: left; }
.terminal { float: left; margin-left: 14px; width: %dpx; height: %dpx; overflow: hidden;
  background: #1b1e23; color: #d4d8de; border-radius: 7px; box-shadow: 0 4px 18px #0006; }
.terminal .title { color: #9aa5b1; }
.terminal pre { font: 12px/15.8px 'DejaVu Sans Mono', monospace; margin: 0; padding: 6px 12px; }
"""
# As a terminal shows the colours that have names.
NAMED = {
    "black": "#3a404a",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d4d8de",
}


class Stage:
    """The editor while a scene is played; made inside it."""

    def __init__(self, name: str, folder: str) -> None:
        import sublime

        from headless import running

        self.name, self.folder = name, folder
        self.editor = running.current()
        self.window = sublime.active_window()
        self.path = os.path.join(self.window.folders()[0], "shop.py")
        self.moments: List[List[Any]] = []

    def open(self) -> Any:
        """The file, two of its lines selected."""
        import sublime

        view = self.window.open_file(self.path)
        wait_until(lambda: not view.is_loading())
        view.sel().clear()
        view.sel().add(sublime.Region(view.text_point(6, 4), view.text_point(7, 30)))
        return view

    def connect(self) -> Any:
        """A CLI that is connected to the window."""
        from GeminiCompanion import plugin
        from GeminiCompanion.tests.fake_cli import FakeCli

        wait_until(lambda: plugin._host.environment_of(self.window))
        cli = FakeCli(plugin._host.environment_of(self.window))
        wait_until(cli.connected)
        return cli

    def propose(self, cli: Any) -> None:
        cli.call("openDiff", filePath=self.path, newContent=PROPOSED).result(PATIENCE)

    def show(self, seconds: float = 1.0, beside: str = "") -> None:
        """Keep this moment; in an animated picture it is shown for so long. HTML may stand beside
        the window."""
        from headless.render import render

        # Until both sides have scrolled to the same place, and the links with them.
        time.sleep(SETTLED)
        page = os.path.join(self.folder, "%s-%02d.html" % (self.name, len(self.moments)))
        # Not the folder of whoever makes the pictures.
        text = self.editor.ui(render, self.editor) + beside
        text = text.replace(self.folder, "/home/ann")
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
        self.moments.append([page, seconds])


def play_terminal(stage: Stage) -> None:
    """The real Gemini CLI in a terminal beside the editor, with a model that is played."""
    import sublime

    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    import cli as clis
    from GeminiCompanion import plugin
    from model_server import ModelServer

    stage.open()
    wait_until(lambda: plugin._host.environment_of(stage.window))
    environment = dict(plugin._host.environment_of(stage.window))
    clis.COLUMNS, clis.LINES = COLUMNS, LINES
    stage.window.set_sidebar_visible(False)
    home = os.path.join(stage.folder, "home")
    with ModelServer() as model:
        cli = clis.GeminiCli(home, os.path.dirname(stage.path), model.url, environment)
        try:
            cli.wait_connected()
            cli.clear("Connected to")
            edit = {"file_path": stage.path, "content": PROPOSED}
            model.will_call("write_file", edit, "total() is one line now, and is_empty() is new.")
            cli.say(PROMPT)
            cli.wait_for("Apply this change?", "No, suggest changes")
            # The CLI asks before the editor has opened it.
            wait_until(partial(find_proposal, stage))
            wait_until(
                partial(says_at_head, stage, find_proposal(stage), "change 1 of 2, 0 of 2 seen")
            )
            cli._wait_quiet()
            stage.show(4.0, terminal_page(cli))
            stage.window.run_command("gemini_companion_accept_diff")
            cli.wait_for("is_empty() is new.")
            cli.wait_ready()
            cli._wait_quiet()
            tab = stage.window.find_open_file(stage.path)
            wait_until(lambda: tab and "sum(" in tab.substr(sublime.Region(0, tab.size())))
            stage.show(3.0, terminal_page(cli))
        finally:
            cli.kill()


def find_proposal(stage: Stage) -> Any:
    """The view of a proposal; None where none is open."""
    return next((view for view in stage.window.views() if "(proposed)" in view.name()), None)


def terminal_page(cli: Any) -> str:
    """What the terminal shows, as HTML beside the editor's window."""
    screen = cli._screen
    rows = [[screen.buffer[y][x] for x in range(COLUMNS)] for y in range(LINES)]
    text = "\n".join(
        "".join(stretch_page(style, cells) for style, cells in groupby(row, cell_style))
        for row in rows
    )
    picture = PICTURES["terminal"]
    width = COLUMNS * 7.23 + 24
    # The window has a title above and a status bar below.
    style = TERMINAL % (picture.width + width + 80, width, picture.height + 28)
    title = "<div class='title'>gemini</div>"
    return f"<style>{style}</style><div class='terminal'>{title}<pre>{text}</pre></div>"


def cell_style(cell: Any) -> str:
    """The look of a character of a terminal, as CSS."""
    front, back = (NAMED.get(colour, "#" + colour) for colour in (cell.fg, cell.bg))
    if cell.reverse:
        front, back = back, front
    styles = ["color:" + front] if front != "#default" else []
    styles += ["background:" + back] if back != "#default" else []
    styles += ["font-weight:bold"] if cell.bold else []
    return ";".join(styles)


def stretch_page(style: str, cells: Any) -> str:
    """Characters that look alike."""
    text = html.escape("".join(cell.data for cell in cells))
    return f"<span style='{style}'>{text}</span>" if style else text


def play_diff(stage: Stage) -> None:
    stage.open()
    stage.propose(stage.connect())
    stage.show()


def play_gone(stage: Stage) -> None:
    stage.open()
    cli = stage.connect()
    stage.propose(cli)
    cli.close()
    wait_until(lambda: any(view.name().endswith("CLI gone)") for view in stage.window.views()))
    stage.show()


def play_status(stage: Stage) -> None:
    stage.open()
    stage.connect()
    stage.window.run_command("gemini_companion_show_status")
    wait_until(lambda: stage.window.active_panel())
    stage.show()


def play_review(stage: Stage) -> None:
    """A change is seen, the next one is dropped, the rest is accepted."""
    import sublime

    tab = stage.open()
    cli = stage.connect()
    stage.propose(cli)
    right = next(
        view for view in stage.window.views() if view.settings().get("gemini_companion_diff")
    )
    record: Any = right.settings().get("gemini_companion_diff_record")
    id = record["id"]
    steps = (
        ("", "change 1 of 2, 0 of 2 seen"),
        ("keep_change", "change 2 of 2, 1 of 2 seen"),
        ("drop_change", "1 of 1 seen"),
    )
    for command, words in steps:
        if command:
            stage.window.run_command("gemini_companion_" + command, {"id": id})
        wait_until(partial(says_at_head, stage, right, words))
        stage.show(2.0)
    stage.window.run_command("gemini_companion_accept_diff", {"id": id})
    wait_until(lambda: cli.received("ide/diffAccepted") and not right.is_valid())
    accepted = cli.received("ide/diffAccepted")[0]["content"]
    # As the CLI does.
    with open(stage.path, "w", encoding="utf-8") as file:
        file.write(accepted)
    wait_until(lambda: tab.substr(sublime.Region(0, tab.size())) == accepted)
    stage.show(2.0)


def play_chat(stage: Stage) -> None:
    """A turn that has written a file and asks to run a command, without an agent behind it."""
    import sublime
    from GeminiCompanion import plugin

    stage.open()
    host: Any = plugin._host
    wait_until(lambda: host.running)
    chats = host.running.chat.actions

    async def nobody() -> None:
        """No agent is started."""

    chats.ensure_service = nobody
    view = stage.window.new_file()
    stage.editor.ui(view.settings().set, "gemini_companion_chat", "picture")
    stage.editor.ui(chats.tabs.adopt_view, view)
    chats.drawing.draw_soon(turn_events("picture", stage.path))
    wait_until(lambda: "Shell?" in view.substr(sublime.Region(0, view.size())))
    stage.window.focus_view(view)
    # From the message on.
    stage.editor.ui(view.set_viewport_position, (0.0, 0.0), False)
    stage.show()


def turn_events(conversation: str, path: str) -> Any:
    """What the tab of a conversation is told of that turn, which works on the file."""
    from GeminiCompanion.companion.agent.turn_events import TurnEvent
    from GeminiCompanion.companion.chat.chat_update import WORKING, ChatUpdate
    from GeminiCompanion.companion.chat.transcript import Transcript

    document = Transcript(os.path.dirname(path))
    for number, body in enumerate([*message_events(path), *edit_events(path), *question_events()]):
        document.add_event(TurnEvent(number, datetime(2026, 5, 4), "", "turn", body))
    return ChatUpdate(
        conversation,
        WORKING,
        title=QUESTION,
        agent="gemini",
        agent_name="Gemini CLI",
        patches=document.take_patches(),
        is_anew=True,
        waiting=document.waiting,
    )


def message_events(path: str) -> List[Any]:
    """The message, and what the agent says to it after it has read the file."""
    from GeminiCompanion.companion.agent import turn_events as events
    from GeminiCompanion.companion.agent.session_state import Plan, PlanEntry

    rewriting = PlanEntry("Rewrite `total`", "high", "completed")
    testing = PlanEntry("Run the tests", "high", "in_progress")
    return [
        events.Message(QUESTION, files=(path,)),
        events.Thought("Reading the shop", "`total` adds the prices one by one."),
        events.ToolCall("1", "read_file", "ReadFile", "", {"file_path": path}, False),
        events.ToolResult("1", "read_file", {}, SHOP, "", True),
        Plan((rewriting, testing)),
        events.Content(ANSWER),
    ]


def edit_events(path: str) -> List[Any]:
    """An edit of the file that the user has allowed."""
    from GeminiCompanion.companion.agent import turn_events as events

    edit = events.Diff(path, SHOP, PROPOSED)
    return [
        events.ToolCall("2", "replace", "Edit", "", {}, True),
        events.ToolConfirmation("2", "replace", "Edit", "", "", {}, question_options(), edit),
        events.ToolResult("2", "replace", {}, "", "", True),
    ]


def question_events() -> List[Any]:
    """A command that waits for the user."""
    from GeminiCompanion.companion.agent import turn_events as events

    name, command = "run_shell_command", "python -m pytest -q tests"
    args = {"command": command}
    return [
        events.ToolCall("3", name, "Shell", "", args, True),
        events.ToolConfirmation("3", name, "Shell", "", command, args, question_options()),
    ]


def question_options() -> Any:
    from GeminiCompanion.companion.agent.turn_events import Option

    named = (("proceed_once", "Yes"), ("proceed_always", "Always"), ("cancel", "No"))
    return tuple(Option(*choice) for choice in named)


def play_changes(stage: Stage) -> None:
    """Two proposals in one sheet, the first change of one seen."""
    import sublime

    stage.open()
    cli = stage.connect()
    stage.propose(cli)
    tests = os.path.join(os.path.dirname(stage.path), "test_shop.py")
    cli.call("openDiff", filePath=tests, newContent=TESTS).result(10)
    stage.window.run_command("gemini_companion_show_changes", {"show": "tab"})

    def sheet() -> Any:
        front = stage.window.active_view()
        if front is None or not front.settings().get("gemini_companion_changes"):
            return None
        return front if "test_shop" in front.substr(sublime.Region(0, front.size())) else None

    wait_until(sheet)
    wait_until(lambda: "2 waiting" in sheet().get_status("gemini_companion"))
    # Most of the window for the sheet.
    cells = [[0, 0, 2, 1], [0, 1, 1, 2], [1, 1, 2, 2]]
    stage.window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 0.72, 1], "cells": cells})
    stage.show()


def play_beginning(stage: Stage) -> None:
    """The question with what a work tree begins."""
    from GeminiCompanion import plugin

    commit_project(stage, {"shop.py": SHOP, ".gitignore": ".env\n"})
    put_file(stage, "shop.py", SHOP + "\n# Prices are in cents.\n")
    put_file(stage, "ideas.md", "# Ideas\n")
    put_file(stage, ".env", "KEY=1\n")
    stage.open()
    host: Any = plugin._host
    wait_until(lambda: host.running)
    asking = host.running.work_trees.maker.prepare_trees(stage.window)
    stage.editor.ui(host.running.stories.begin, asking)
    wait_until(partial(is_asked, stage))
    stage.show()


def play_agents(stage: Stage) -> None:
    """Three agents in work trees: one asks, one is done, one works."""
    give_task(stage)
    stage.window.run_command("gemini_companion_agents")
    wait_until(partial(is_asked, stage))
    stage.show()


def play_variants(stage: Stage) -> None:
    """What the three have made of a file, below each other."""
    import sublime

    give_task(stage)
    stage.window.run_command("gemini_companion_show_changes", {"show": "tab"})

    def has_all() -> bool:
        sheet = stage.window.active_view()
        text = sheet.substr(sublime.Region(0, sheet.size())) if sheet is not None else ""
        return text.count("\n## ") == len(TASKS) + 1

    wait_until(has_all)
    stage.show()


def give_task(stage: Stage) -> None:
    """The agents of TASKS work in work trees of the project, and have changed files there. No agent
    is behind their chats."""
    from GeminiCompanion import plugin

    commit_project(stage, {"shop.py": SHOP})
    host: Any = plugin._host
    wait_until(lambda: host.running)
    running = host.running
    trees: List[Any] = []
    maker, lists = running.work_trees.maker, running.tree_changes.lists

    async def make_trees() -> None:
        prepared = await maker.prepare_trees(stage.window)
        for task in TASKS:
            trees.append(await maker.make_tree(stage.window, prepared, task.agent))

    stage.editor.ui(running.stories.begin, make_trees())
    wait_until(lambda: len(trees) == len(TASKS))
    for task, tree in zip(TASKS, trees):
        for name, text in task.files.items():
            put_file(stage, name, text, tree.own_folder)
    open_chats(stage, running.chat.actions, [tree.own_folder for tree in trees])
    stage.editor.ui(lists.look_again)
    wait_until(lambda: all(lists.with_id(tree.id) for tree in trees))
    wait_until(lambda: all(lists.with_id(tree.id).changes for tree in trees))
    wait_until(lambda: all(running.base.trees.agent_of(tree.id) for tree in trees))


def open_chats(stage: Stage, chats: Any, folders: List[str]) -> None:
    """The chats of TASKS in these folders, out of sight."""

    async def nobody() -> None:
        """No agent is started."""

    chats.ensure_service = nobody
    for task in TASKS:
        view = stage.window.new_file()
        stage.editor.ui(view.settings().set, "gemini_companion_chat", task.agent)
        stage.editor.ui(chats.tabs.adopt_view, view)
    stage.window.set_sidebar_visible(False)
    # In front of them.
    stage.open()
    for task, folder in zip(TASKS, folders):
        for update in task_updates(task, folder):
            chats.drawing.draw_soon(update)


def task_updates(task: Task, folder: str) -> Iterator[Any]:
    """What the tab of a task is told: that it works, and how it stands now."""
    from GeminiCompanion.companion.agent.session_state import ContextUsage, Cost
    from GeminiCompanion.companion.agent.turn_events import Message, TurnEvent
    from GeminiCompanion.companion.chat.chat_update import READY, WORKING, ChatUpdate
    from GeminiCompanion.companion.chat.transcript import Transcript

    document = Transcript(folder)
    bodies = [Message(TASK), *(question_events() if task.asks else [])]
    for number, body in enumerate(bodies):
        document.add_event(TurnEvent(number, datetime.now(timezone.utc), "", "turn", body))
    cost: Any = Cost(task.cost, "USD") if task.cost else None
    usage: Any = ContextUsage(task.tokens, 200_000, cost) if task.tokens else None
    update = ChatUpdate(
        task.agent,
        WORKING,
        title=TASK,
        agent=task.agent,
        agent_name=task.name,
        workspace=folder,
        patches=document.take_patches(),
        is_anew=True,
        waiting=document.waiting,
        usage=usage,
    )
    yield update
    if task.is_done:
        yield replace(update, state=READY, patches=(), is_anew=False)


def is_asked(stage: Stage) -> bool:
    """Whether a panel with a question is open."""
    return any(window.question is not None for window in stage.editor.windows)


def put_file(stage: Stage, name: str, text: str, folder: str = "") -> None:
    """Write a file of the project, or in another folder."""
    path = os.path.join(folder or os.path.dirname(stage.path), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def commit_project(stage: Stage, files: Dict[str, str]) -> None:
    """Make a repository of the project, with these files."""
    for name, text in files.items():
        put_file(stage, name, text)
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "A shop"]):
        subprocess.check_call(["git", *words], cwd=os.path.dirname(stage.path))


def says_at_head(stage: Stage, view: Any, words: str) -> bool:
    """Whether the words stand at the head of the proposal."""
    state = stage.editor.views[view.id()]
    return any(
        words in phantom.content
        for phantom in state.phantoms
        if phantom.key == "gemini_companion_diff"
    )


class Picture(NamedTuple):
    """How a scene is played, in which scheme, and the size of the window in pixels."""

    play: Callable[[Stage], None]
    height: float = 640
    width: float = 1320
    scheme: str = "dark"


PICTURES: Dict[str, Picture] = {
    "terminal": Picture(play_terminal, 640, 900),
    "diff": Picture(play_diff),
    "status": Picture(play_status),
    "gone": Picture(play_gone),
    "review": Picture(play_review),
    "chat": Picture(play_chat, 700),
    "changes": Picture(play_changes, 760),
    "beginning": Picture(play_beginning, 400, 1100),
    "agents": Picture(play_agents, 560, 1100),
    "variants": Picture(play_variants, 1150),
}


def wait_until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the editor did not get there")
        time.sleep(0.02)


def play_scene(name: str, folder: str) -> None:
    """Inside the editor: play a scene and leave a list of its moments."""
    sys.path.insert(0, ROOT)
    stage, picture = Stage(name, folder), PICTURES[name]
    stage.editor.switches.window_width = picture.width
    stage.editor.switches.window_height = picture.height
    picture.play(stage)
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(stage.moments, file)


def take_picture(name: str, browser: Any) -> None:
    """Have the editor play a scene and the browser make the picture of it."""
    from tools.animation import Frame, join_frames

    folder = tempfile.mkdtemp()
    try:
        moments = run_scene(name, folder)
        frames = [Frame(photograph_page(browser, page), seconds) for page, seconds in moments]
    finally:
        shutil.rmtree(folder)
    picture = frames[0].png if len(frames) == 1 else join_frames(frames)
    if len(picture) > LARGEST:
        sys.exit("%s has %d bytes, more than %d" % (name, len(picture), LARGEST))
    with open(os.path.join(IMAGES, name + ".png"), "wb") as file:
        file.write(picture)


def run_scene(name: str, folder: str) -> List[Any]:
    shop = os.path.join(folder, "shop")
    os.mkdir(shop)
    with open(os.path.join(shop, "shop.py"), "w", encoding="utf-8") as file:
        file.write(SHOP)
    data = os.path.join(folder, "data")
    for syntax in os.listdir(SYNTAXES):
        language = os.path.splitext(syntax)[0]
        package = os.path.join(data, "Packages", language)
        os.makedirs(package)
        target = os.path.join(package, language + ".sublime-syntax")
        shutil.copy(os.path.join(SYNTAXES, syntax), target)
    editor = [sys.executable, "-m", "headless", shop, "--data", data]
    editor += ["--scheme", PICTURES[name].scheme]
    # With a temp folder of its own: no CLI of the user finds it, and nothing of it is left.
    subprocess.check_call(
        editor + ["--exec", os.path.abspath(__file__), "--", name, folder],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": folder, "GIT_CONFIG_GLOBAL": os.devnull},
    )
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return list(json.load(file))


def photograph_page(browser: Any, page: str) -> bytes:
    """The first window of a page and the terminal beside it, with a little of what is around."""
    tab = browser.new_page(viewport={"width": 1600, "height": 1200})
    try:
        tab.goto("file://" + page)
        found = [tab.locator(".window").first, *tab.locator(".terminal").all()]
        boxes = [locator.bounding_box() for locator in found]
        edge = 12
        left, top = (min(box[side] for box in boxes) - edge for side in ("x", "y"))
        right = max(box["x"] + box["width"] for box in boxes) + edge
        bottom = max(box["y"] + box["height"] for box in boxes) + edge
        clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        return bytes(tab.screenshot(clip=clip))
    finally:
        tab.close()


def main(names: List[str]) -> None:
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, ROOT)
    from tools.browser import browser_environment, find_browser

    if not find_browser():
        sys.exit("no Chromium found: put one into PATH, or run make setup")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), env=browser_environment()
        )
        for name in names or list(PICTURES):
            take_picture(name, browser)
        browser.close()


if __name__ == "__main__":
    if "sublime" in sys.modules:
        play_scene(*sys.argv[1:3])
    else:
        main(sys.argv[1:])
