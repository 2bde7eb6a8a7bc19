"""Runs inside the editor: does what comes in on standard input, a JSON array a line.

[number, name, argument ...] comes in; "@" and {"number", "value"} or {"number", "error"} go out.
Each function is one thing that a user does or sees, through Sublime's API.
"""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
import threading
import time
import traceback
from typing import Any

import sublime

from headless import clicks, html_text, session
from headless.host import current


def window() -> sublime.Window:
    return sublime.active_window()


# Seconds for what is sure to happen, on a busy machine.
PATIENCE = 240


def _wait(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


def wait_until_served() -> None:
    """Until a CLI finds the window, and its terminals have the variables."""

    def files() -> list[str]:
        folder = os.path.join(os.environ["TMPDIR"], "gemini", "ide")
        return os.listdir(folder) if os.path.isdir(folder) else []

    _wait(lambda: any(name.endswith(".json") for name in files()), "no discovery file")
    environment()


def open(path: str) -> None:
    view = window().open_file(path)
    _wait(lambda: not view.is_loading(), "not loaded")


def select(path: str, begin: int, end: int) -> None:
    view = window().find_open_file(path)
    if view is not None:
        view.sel().clear()
        view.sel().add(sublime.Region(begin, end))


def _diffs(path: str) -> list[sublime.View]:
    found = []
    # Some wait without tabs.
    listed: Any = window().settings().get("gemini_companion_diffs", [])
    hidden = [view for view in map(sublime.View, listed) if view.element() is not None]
    for view in (*window().views(), *hidden):
        settings = view.settings()
        if settings.get("gemini_companion_diff"):
            if settings.get("gemini_companion_diff_path") == path:
                found.append(view)
    return found


def _diff(path: str) -> sublime.View | None:
    return next(iter(_diffs(path)), None)


def proposal(path: str) -> str | None:
    """The right side of the diff for the path; None where there is none."""
    view = _diff(path)
    return view.substr(sublime.Region(0, view.size())) if view is not None else None


def append(path: str, text: str) -> None:
    view = _diff(path)
    if view is not None:
        view.run_command("append", {"characters": text})


def type_in_file(path: str, text: str) -> None:
    """At the end of its tab, without saving."""
    view = window().find_open_file(path)
    if view is not None:
        view.run_command("append", {"characters": text})


def is_unsaved(path: str) -> bool:
    view = window().find_open_file(path)
    return view is not None and view.is_dirty()


def undo_in_file(path: str) -> None:
    view = window().find_open_file(path)
    if view is not None:
        view.run_command("undo")


def command(name: str, arguments: Any = None) -> None:
    _press_at_once()
    window().run_command(name, arguments)


def _press_at_once() -> None:
    """A test presses faster than a person: a diff may have come just now."""
    pace: Any = sys.modules.get("GeminiCompanion.companion.ui.review.pace")
    if pace is not None:
        pace.MOMENT = 0.0


def project(ours: Any) -> None:
    """Save the package's settings in the project of the window."""
    data: Any = window().project_data() or {}
    window().set_project_data({**data, "settings": {"GeminiCompanion": ours}})
    from GeminiCompanion import plugin

    current().ui(plugin._host.running.editor.windows.check_windows)


def close_tab(path: str) -> None:
    view = _diff(path)
    if view is not None:
        view.close()


def focus_tab(name: str) -> None:
    """Put the keyboard into the tab of this name."""
    window().focus_view(next(view for view in window().views() if view.name() == name))


def close_tabs(words: str) -> None:
    """Those with the words in their names, whatever is typed in them."""
    for view in window().views():
        if words in view.name():
            view.set_scratch(True)
            view.close()


def tabs() -> list[str]:
    return [view.name() or os.path.basename(view.file_name() or "") for view in window().views()]


def has_tab_with(words: str) -> bool:
    """Whether the name of a tab has the words."""
    return any(words in name for name in tabs())


def has_tab(name: str) -> bool:
    return name in tabs()


def on_disk(path: str) -> str:
    with builtins.open(path, encoding="utf-8") as file:
        return file.read()


def text(path: str) -> str:
    view = window().find_open_file(path)
    return view.substr(sublime.Region(0, view.size())) if view is not None else ""


def connected() -> int:
    """How many CLIs the package says are connected."""
    first = _status().split("\n")[0]
    return len(first.split(", ")) if first.startswith("Connected: ") else 0


def is_connected() -> bool:
    return connected() > 0


def unwritten() -> int:
    """How many accepted texts the package says that no CLI has written."""
    _, _, rest = _status().partition("texts that no CLI has written: ")
    return int(rest.partition(";")[0] or 0)


def accepted_edits(path: str = "") -> int:
    """How many of them can be undone, in all files or in that one."""
    from GeminiCompanion import plugin

    kept = plugin._host.running.review.ledger.made.all
    return sum(1 for edit in kept if path in ("", edit.path))


def status() -> str:
    return _status()


def status_matches(pattern: str) -> bool:
    """Whether a part of it does."""
    return re.search(pattern, _status()) is not None


def _status() -> str:
    """Asks until there is an answer: the package has no commands before it is imported whole."""

    found = ""

    def is_answered() -> bool:
        nonlocal found
        window().run_command("gemini_companion_show_status")
        # Each answer that comes writes it anew.
        found = _panel("gemini_companion")
        return bool(found)

    window().destroy_output_panel("gemini_companion")
    _wait(is_answered, "no status")
    return found


def _panel(name: str) -> str:
    """Its text between two drawings; empty where there is none."""

    def panel_text() -> str:
        panel = window().find_output_panel(name)
        return panel.substr(sublime.Region(0, panel.size())) if panel is not None else ""

    return current().ui(panel_text)


def api() -> str:
    """What the panel of the API's server says; empty where there is none."""
    return _panel("gemini_companion_api")


def report() -> str:
    """What the doctor says, as text."""
    sublime.set_clipboard("")
    window().run_command("gemini_companion_doctor", {"copy": True})
    _wait(sublime.get_clipboard, "no report")
    return sublime.get_clipboard()


def _sheet() -> Any:
    """The tab with HTML that is before the user."""
    sheet = _window().active_sheet()
    return sheet if sheet is not None and sheet.view is None else None


def page() -> str:
    """What it shows, as plain lines."""
    _wait(_sheet, "no sheet")
    return "\n".join(html_text.plain(_sheet().contents))


def page_says(words: str) -> bool:
    return words in " ".join(page().split())


def click_page(text: str) -> None:
    clicks.click_in_sheet(current(), _sheet(), text)


def remedy(action: str, argument: str = "") -> None:
    """What a link of the doctor does."""
    window().run_command("gemini_companion_remedy", {"action": action, "argument": argument})


def setting(name: str, value: Any) -> None:
    """Change one of the user's settings of the package."""
    sublime.load_settings("GeminiCompanion.sublime-settings").set(name, value)


def set_folders(*folders: str) -> None:
    """Have these folders in the window, and the CLIs told of them."""
    window().set_project_data({"folders": [{"path": folder} for folder in folders]})
    _wait(lambda: tuple(advertised()) == folders, "not told of the folders")


def exists(path: str) -> bool:
    return os.path.exists(path)


def is_json(path: str) -> bool:
    """Whether somebody has written it to its end."""
    try:
        with builtins.open(path, encoding="utf-8") as file:
            json.load(file)
    except (OSError, ValueError):
        return False
    return True


def open_window(folder: str) -> None:
    """Another window, with this folder."""
    before = [each.id() for each in sublime.windows()]
    sublime.run_command("new_window")
    made = next(each for each in sublime.windows() if each.id() not in before)
    made.set_project_data({"folders": [{"path": folder}]})


def look_at_window(folder: str) -> None:
    """Have the window with the folder in front; all else here is about that."""
    _window_of(folder).bring_to_front()


def windows_of(path: str) -> list[str]:
    """The folder of each window that shows a diff for the path."""
    return [each.folders()[0] for each in sublime.windows() if _diff_in(each, path)]


def decide_in(folder: str, command: str) -> None:
    """Decide on the diff that the window with the folder shows."""
    _press_at_once()
    _window_of(folder).run_command(command)


def _window_of(folder: str) -> sublime.Window:
    return next(each for each in sublime.windows() if each.folders() == [folder])


def _diff_in(each: sublime.Window, path: str) -> bool:
    return any(view.settings().get("gemini_companion_diff_path") == path for view in each.views())


def holds(path: str, text: str) -> bool:
    """Whether the text is in the file."""
    with builtins.open(path, encoding="utf-8") as file:
        return text in file.read()


def advertised() -> list[str]:
    line = next(line for line in _status().split("\n") if line.startswith("Folders: "))
    told = line[len("Folders: ") :]
    return [] if told.startswith("none") else told.split(", ")


def api_runs() -> bool:
    return any(thread.name == "GeminiCompanion Agent" for thread in threading.enumerate())


def choose_in_palette(caption: str) -> bool:
    """Run the command with the caption as a user does, from its list if it stands in one; whether
    the palette offers it."""
    from GeminiCompanion.companion.ui.commands import table

    prefix, _, words = caption.rpartition(": ")
    for row in table.ROWS:
        if row.list and row.caption == words:
            opener = f"{prefix}: {table.LISTS[row.list]}"
            is_offered = _is_offered(table.name_of(row.command), dict(row.arguments))
            return is_offered and _choose_entry(opener) and _choose_row(words, row.list)
    return _choose_entry(caption)


def _choose_entry(caption: str) -> bool:
    """Choose the entry of the palette; whether it is offered."""
    _press_at_once()
    editor = current()
    for entry in editor.packages.palette():
        if entry["caption"] == caption and _is_offered(entry["command"], entry.get("args")):
            editor.ui(editor.commands.choose, _window(), entry["command"], entry.get("args"))
            return True
    return False


def _choose_row(caption: str, name: str) -> bool:
    """Choose it in the list that has opened; a single one was done at once."""
    from GeminiCompanion.companion.ui.commands import table

    question = _question()
    listed = {row.caption for row in table.ROWS if row.list == name}
    shown = [question.rows(n)[0] for n in range(question.count())] if question is not None else []
    if caption in shown and listed.issuperset(shown):
        current().ui(_window().answer, shown.index(caption))
    return True


def _is_offered(name: str, arguments: Any) -> bool:
    editor, window = current(), _window()
    return all(
        editor.ui(ask, window, name, arguments)
        for ask in (editor.commands.is_enabled, editor.commands.is_visible)
    )


def log() -> str:
    from GeminiCompanion import plugin

    return "\n".join(plugin._host.log.lines() if plugin._host.log is not None else [])


def environment() -> dict[str, str]:
    """The variables of a terminal that the package opens in the window, once there are any: those
    of the port come a moment after the discovery file."""
    from GeminiCompanion import plugin

    port = "GEMINI_CLI_IDE_SERVER_PORT"
    _wait(lambda: port in plugin._host.environment_of(window()), "no port for terminals")
    return dict(plugin._host.environment_of(window()))


def title(path: str) -> str:
    view = _diff(path)
    return view.name() if view is not None else ""


def named(name: str) -> str | None:
    """The text of the tab with this name."""
    found = [view for view in window().views() if view.name() == name]
    return found[0].substr(sublime.Region(0, found[0].size())) if found else None


def ends_with(name: str, text: str) -> bool:
    """Whether the text of the tab with this name does."""
    return (named(name) or "").endswith(text)


def begins_with(name: str, text: str) -> bool:
    """Whether the text of the tab of that name does."""
    return (named(name) or "").startswith(text)


def proposals(path: str) -> list[str]:
    """The right sides of all diffs for the path, oldest first."""
    return [view.substr(sublime.Region(0, view.size())) for view in _diffs(path)]


def accept(path: str, text: str) -> None:
    """Look at the diff with this text, and accept it."""
    for view in _diffs(path):
        if view.substr(sublime.Region(0, view.size())) == text:
            window().focus_view(view)
            command("gemini_companion_accept_diff")


def size(path: str) -> int:
    return os.path.getsize(path)


def is_told(words: str) -> bool:
    """Whether they stand in the status bar."""
    return words in str(_window().status_message)


def status_message() -> str:
    """What the user was told last."""
    return str(_window().status_message)


def clear_status_message() -> None:
    window().status_message("")


def status_bar() -> str:
    """What stands there of the package's own, beside what it was told last."""
    view = window().active_view()
    return view.get_status("gemini_companion") if view is not None else ""


def status_bar_says(words: str) -> bool:
    return words in status_bar()


def wait_until_saved(text: str) -> None:
    """Until what has to outlive a crash is on disk."""
    path = os.path.join(sublime.cache_path(), "GeminiCompanion", "state.json")

    def saved() -> bool:
        if not os.path.exists(path):
            return False
        with builtins.open(path, encoding="ascii") as file:
            return text in file.read()

    _wait(saved, f"{text!r} was not saved")


def choose(*indexes: int) -> None:
    """Answer the quick panels that come one after another."""
    for index in indexes:
        _wait(_question, "no question")
        current().ui(_window().answer, index)


def choose_if_asked(index: int) -> None:
    """Answer the quick panel if one is open."""
    if _question() is not None:
        current().ui(_window().answer, index)


def run(name: str, *answers: int) -> None:
    command(name)
    choose(*answers)


def _window() -> Any:
    """The window as the person before the screen sees it."""
    return current().active_window


def _question() -> Any:
    return _window().question


def offered() -> list[str]:
    """What the quick panel that comes has to choose from."""
    _wait(_question, "no question")
    return [getattr(item, "trigger", str(item)) for item in _question().items]


def panel_rows() -> list[list[str]]:
    """The rows of the items of the quick panel that is open; none without one."""
    question = _question()
    count = question.count() if question is not None and question.items is not None else 0
    return [question.rows(number) for number in range(count)]


def head(path: str, number: int = 0) -> str:
    """What stands at the head of the proposal, links too, once its changes are known."""
    view, found = _diffs(path)[number], ""

    def is_known() -> bool:
        nonlocal found
        found = current().ui(_head, view)
        return " seen" in found

    _wait(is_known, "no changes at the head")
    return found


def _head(view: sublime.View) -> str:
    state = current().views[view.id()]
    shown = [
        phantom.content for phantom in state.phantoms if phantom.key == "gemini_companion_diff"
    ]
    return " ".join(line for content in shown for line in html_text.plain(content))


def says(path: str, words: str) -> bool:
    """Whether the words stand at the head of the proposal."""
    return words in head(path)


def review(name: str, path: str, number: int = 0) -> None:
    """Run a command for the diff, whatever has the keyboard."""
    _wait(lambda: len(_diffs(path)) > number, "no such diff")
    record: Any = _diffs(path)[number].settings().get("gemini_companion_diff_record")
    command("gemini_companion_" + name, {"id": record["id"]})


def click(path: str, text: str, number: int = 0) -> None:
    """Click a link at the head of the proposal."""
    _press_at_once()
    clicks.click(current(), current().views[_diffs(path)[number].id()], text)


def retype(path: str, old: str, new: str) -> None:
    """Put the caret behind a text in the proposal, take it away and type another one."""
    view = _diff(path)
    if view is not None:
        region = view.find(old, 0, sublime.LITERAL)
        view.sel().clear()
        view.sel().add(region)
        view.run_command("insert", {"characters": new})


def retype_named(name: str, old: str, new: str) -> None:
    """The same in the tab of that name."""
    for view in window().views():
        if view.name() == name:
            window().focus_view(view)
            view.sel().clear()
            view.sel().add(view.find(old, 0, sublime.LITERAL))
            view.run_command("insert", {"characters": new})


def put_caret(name: str, *words: str) -> None:
    """In the tab of that name, behind the last of the words, each of which is the next one below
    the one before. Raises ValueError where one is not there."""
    view = next(view for view in window().views() if view.name() == name)
    window().focus_view(view)
    text, at = view.substr(sublime.Region(0, view.size())), 0
    for each in words:
        at = text.index(each, at) + len(each)
    view.sel().clear()
    view.sel().add(sublime.Region(at))


def tabs_of_diffs() -> int:
    """How many tabs are a side of a diff."""
    names = "gemini_companion_diff", "gemini_companion_diff_original"
    views = window().views()
    return sum(1 for view in views if any(view.settings().has(name) for name in names))


def type_below(name: str, above: str, behind: str, new: str) -> None:
    """In the tab of that name, behind the text that is next below another one."""
    for view in window().views():
        if view.name() == name:
            window().focus_view(view)
            start = view.find(above, 0, sublime.LITERAL).end()
            point = view.find(behind, start, sublime.LITERAL).end()
            view.sel().clear()
            view.sel().add(sublime.Region(point))
            view.run_command("insert", {"characters": new})


def is_kept_without_tabs(text: str) -> bool:
    """Whether a proposal without tabs has that text on the disk."""
    folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "unopened")
    for name in os.listdir(folder):
        with builtins.open(os.path.join(folder, name), encoding="utf-8") as file:
            if file.read().endswith(text):
                return True
    return False


def focus(path: str) -> None:
    """Put the keyboard into the tab of the file."""
    view = window().find_open_file(path)
    if view is not None:
        window().focus_view(view)


def type_in_panel(text: str) -> None:
    """Answer an input panel."""
    _wait(_question, "no input panel")
    current().ui(_window().answer, -1, text)


def asks() -> bool:
    """Whether a panel is open that asks for something."""
    return _question() is not None


def clipboard() -> str:
    return sublime.get_clipboard()


def open_terminal(title: str, folder: str) -> None:
    """A tab like one of Terminus', in which Gemini CLI runs."""
    front, view = window().active_view(), window().new_file()
    view.set_name(title)
    view.set_scratch(True)
    view.settings().set("terminus_view", True)
    view.settings().set("terminus_view.args", {"cwd": folder, "cmd": ["gemini"]})
    if front is not None:
        window().focus_view(front)


def run_in_terminus(command: list[str], folder: str, variables: dict[str, str]) -> None:
    """In a tab of the genuine Terminus."""
    arguments: dict[str, Any] = {"cmd": command, "cwd": folder, "env": variables}
    window().run_command("terminus_open", {**arguments, "title": "Gemini CLI"})


def _terminal() -> Any:
    """The one terminal of Terminus."""
    known: Any = sys.modules["Terminus.terminus.terminal"]

    def found() -> list[Any]:
        views = [view for view in window().views() if view.settings().get("terminus_view")]
        terminals = [known.Terminal.from_id(view.id()) for view in views]
        return [
            terminal for terminal in terminals if getattr(terminal, "process", None) is not None
        ]

    _wait(found, "no terminal")
    return found()[0]


def press_in_terminus(keys: str) -> None:
    """Give the keys to the program in it."""
    _terminal().send_string(keys)


def pid_in_terminus() -> int:
    """The process that was started in it, which leads a group of its own."""
    return int(_terminal().process.pid)


def in_terminus(text: str) -> bool:
    """Whether the terminal shows the text."""
    found = [view for view in window().views() if view.settings().get("terminus_view")]
    return any(text in view.substr(sublime.Region(0, view.size())) for view in found)


def name_terminal(title: str, new: str) -> None:
    for view in window().views():
        if view.name() == title:
            view.set_name(new)


def close_terminals() -> None:
    for view in window().views():
        if view.settings().get("terminus_view"):
            view.close()


def origin(name: str) -> str | None:
    """The file that a module was loaded from."""
    return sys.modules[name].__file__


def importable(names: list[str]) -> list[str]:
    """Those that another package can import."""
    found = []
    for name in names:
        try:
            __import__(name)
        except ImportError:
            continue
        found.append(name)
    return found


def _chat() -> sublime.View | None:
    """The chat in front, else the first one."""
    views = [window().active_view(), *window().views()]
    return next(
        (view for view in views if view and view.settings().get("gemini_companion_chat")), None
    )


def close_chats() -> None:
    for view in window().views():
        if view.settings().get("gemini_companion_chat"):
            view.close()


def chat() -> str | None:
    """All of its text, as a person sees it: between two drawings, each of which has several
    steps."""
    return current().ui(_chat_text)


def _chat_text() -> str | None:
    view = _chat()
    return view.substr(sublime.Region(0, view.size())) if view is not None else None


def chat_state() -> str:
    """What is drawn above the composer."""
    return current().ui(_phantoms_of_chat, "gemini_companion_chat_state")


def chat_above() -> str:
    """What waits and what is attached, as it is drawn above the composer."""
    return current().ui(_phantoms_of_chat, "gemini_companion_chat_above")


def _phantoms_of_chat(key: str) -> str:
    view = _chat()
    found = current().view(view.id()).phantoms if view is not None else []
    return " ".join(phantom.content for phantom in found if phantom.key == key)


def press_in_chat(label: str, number: int = 0) -> None:
    """A link above the composer, by its label; the first is 0."""
    view = _chat()
    if view is not None:
        clicks.click(current(), current().view(view.id()), label, number)


def type_in_chat(text: str) -> None:
    """Character by character, at the carets."""
    view = _chat()
    for character in text if view is not None else "":
        view.run_command("insert", {"characters": character})


def follow_in_chat(words: str) -> None:
    """Put the caret on the last words like these, and press Enter."""
    view = _chat()
    if view is not None:
        at = view.substr(sublime.Region(0, view.size())).rfind(words)
        view.sel().clear()
        view.sel().add(sublime.Region(at + 1))
        view.run_command("insert", {"characters": "\n"})


def reload_package() -> None:
    """What an upgrade does; the one thing here that is no API of Sublime's."""
    editor = current()
    package = next(each for each in editor.packages.ordered() if each.name == "GeminiCompanion")
    editor.ui(editor.plugins.reload, package)
    # A person takes longer than the package does until it has commands again.
    _status()


def keep_session() -> None:
    """What the editor does by itself where a person uses it."""
    current().ui(session.save, current())


def restore_session() -> None:
    current().ui(session.restore, current())


def leave() -> None:
    """Quit as a user does; nothing after it is answered."""
    current().leave()


def wait_for(name: str, expected: Any, *args: Any) -> None:
    """Wait until the function gives what is expected; the error says what it gave instead."""
    try:
        _wait(lambda: globals()[name](*args) == expected, name)
    except TimeoutError:
        found = globals()[name](*args)
        raise TimeoutError(f"{name}{args} is {found!r} and not {expected!r}") from None


if __name__ == "__main__":
    for line in sys.stdin:
        number, name, *args = json.loads(line)
        try:
            answer = {"number": number, "value": globals()[name](*args)}
        # A boundary: whatever a function raises is told to the test.
        except Exception:
            answer = {"number": number, "error": f"{name}: {traceback.format_exc()}"}
        sys.stdout.write("@" + json.dumps(answer) + "\n")
        sys.stdout.flush()
