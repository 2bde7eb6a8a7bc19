"""The words of tables in the editor: files, CLIs and what the user does.

A text `a/b_c` is the lines "a" and "b c", each with its end. Views have names: `a.py` is the
file's, `+a.py` the proposal for it, the newest one where there are several, and `-a.py` the left
side of that. What is seen is waited for: so is what comes from other threads.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import Any, Callable

import sublime
from GeminiCompanion.companion.ide import session, silence
from GeminiCompanion.companion.ui.review import marks, open_diffs, record

from ..fake_cli import FakeCli
from ..tables import told, word
from .adapter import text_of
from .reviewing import ReviewCase, Steps


def text(words: str) -> str:
    """What a row means by this text."""
    return "" if words == "nothing" else words.replace("/", "\n").replace("_", " ") + "\n"


def sentence(words: str) -> str:
    """Itself, or that of a module of ui: `queue.NONE`, or `conflicts.LARGE_CONFLICTS of 1`."""
    named = re.fullmatch(r"([a-z_.]+)\.([A-Z_]+)(?: of (.+))?", words)
    if named is None:
        return words
    package = "GeminiCompanion.companion.ui."
    folder = "" if importlib.util.find_spec(package + named[1]) else "review."
    module = importlib.import_module(package + folder + named[1])
    return str(getattr(module, named[2])).format(named[3])


def words_of(text: str) -> str:
    """What a row has for this text; what it could not have is as Python writes it."""
    is_plain = text.endswith("\n") and not {"/", "_"} & set(text) and "\r" not in text
    return (
        text[:-1].replace("\n", "/").replace(" ", "_")
        if is_plain
        else repr(text)
        if text
        else "nothing"
    )


def name_of_row(item: Any) -> str:
    return str(getattr(item, "trigger", None) or item[0])


def decisions(cli: FakeCli) -> list[str]:
    """What it heard of the user's decisions."""
    found = []
    for method, params in cli.notifications:
        folder, name = os.path.split(params.get("filePath", ""))
        if folder != cli.folder:
            continue
        if method == "ide/diffAccepted":
            found.append(f"{name} accepted {words_of(params['content'])}")
        elif method == "ide/diffRejected":
            found.append(f"{name} rejected")
    return found


class DeskCase(ReviewCase):
    """`by_name` are CLIs and views; `sentences` is what the status bar showed, `asked` and
    `inputs_asked` are the questions that wait for an answer."""

    def setUp(self) -> None:
        super().setUp()
        self.by_name: dict[str, Any] = {}
        # The ids of the diffs among the views.
        self.diff_ids: dict[str, str] = {}
        self.sentences = self.told()
        self.asked, self.inputs_asked = self.panels(), self.inputs()

    def begins(self, part: str) -> Steps:
        yield from self.until_turn()

    def compare(self, look: Callable[[], Any], expected: str) -> Steps:
        def seen() -> str:
            try:
                return told(look())
            except LookupError as error:
                # It is not there yet.
                return repr(error)

        yield from self.until_equal(seen, expected)

    def view(self, name: str) -> sublime.View:
        if name.startswith("-"):
            return open_diffs.partner_view(self.view("+" + name[1:]))
        view: sublime.View = self.by_name[name]
        if name in self.diff_ids and not view.is_valid():
            # It may have got tabs since.
            view = self.by_name[name] = open_diffs.with_id(self.diff_ids[name]) or view
        return view

    def name_of(self, view: sublime.View) -> str:
        for name in self.diff_ids:
            self.view(name)
        for name, each in self.by_name.items():
            if isinstance(each, sublime.View) and each == view:
                return name
            if name.startswith("+") and each.is_valid() and open_diffs.partner_view(each) == view:
                return "-" + name[1:]
        return str(view.name())

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    @word(r"(\S+) is open(?: with (\S+))?")
    def is_open(self, name: str, words: str | None = None) -> Steps:
        self.by_name[name] = yield from self.open(name, text(words or "x"))

    @word(r"(\w+) connects")
    def connects(self, name: str) -> Steps:
        self.cli = self.by_name[name] = yield from self.connect()

    @word(r"(\w+) proposes (\S+) for (a new file )?(\S+)")
    def proposes(self, name: str, words: str, new: str | None, file: str) -> Steps:
        if not new and not os.path.exists(self.at(file)):
            self.write(file, text("old"))
        right = yield from self.diff(self.by_name[name], self.at(file), text(words))
        self.by_name["+" + file] = right
        waiting = record.waiting_record(right)
        self.diff_ids["+" + file] = waiting.id if waiting is not None else ""

    @word(r"(\S+) is reviewed from (\S+) to (\S+)")
    def reviewed(self, file: str, old: str, new: str) -> Steps:
        """It has the keyboard, and its changes are known."""
        right = yield from self.propose(text(old), text(new), file)
        self.by_name.update({"c": self.cli, "+" + file: right})
        self.window.focus_view(right)

    @word(r"the changes of (\S+) are known")
    def changes_known(self, name: str) -> Steps:
        yield from self.until_computed(self.view(name))

    @word(r"(\w+) leaves")
    def leaves(self, name: str) -> Steps:
        self.by_name[name].close()
        yield self.by_name[name].stream_ended.is_set

    @word(r"(\w+) closes (\S+)( in its terminal)? and gets (\S+)")
    def closes(self, name: str, file: str, decided: str | None, words: str) -> Steps:
        more = {"suppressNotification": True} if decided else {}
        answer = self.by_name[name].call("closeDiff", filePath=self.at(file), **more)
        yield answer.done
        found = json.loads(answer.result()["content"][0]["text"])
        self.assertEqual(found, {"content": text(words)} if words != "none" else {})

    @word(r"(\w+) has heard all")
    def heard_all(self, name: str) -> Steps:
        yield from self.until_heard(self.by_name[name])

    @word("a CLI is gone as soon as it leaves")
    def absent_at_once(self) -> None:
        for module in (session, silence):
            self.replace(module, "ABSENT", 0.0)

    @word("the answer is (.+)")
    def answer(self, words: str) -> Steps:
        """To what is asked first: a row of the panel by its first words."""
        yield lambda: self.asked
        panel = self.asked.pop(0)
        names = [item if isinstance(item, str) else name_of_row(item) for item in panel["items"]]
        chosen = [at for at, name in enumerate(names) if name.startswith(words)]
        self.assertEqual(len(chosen) == 1, words != "none", names)
        panel["on_select"](chosen[0] if chosen else -1)
        yield from self.until_turn()

    @word("the words are (.+)")
    def answer_words(self, words: str) -> Steps:
        yield lambda: self.inputs_asked
        self.inputs_asked.pop(0)(words if words != "empty" else "")
        yield from self.until_turn()

    @word("the user was told: (.+)")
    def was_told(self, part: str) -> Steps:
        yield lambda: any(sentence(part) in each for each in self.sentences)

    @word("it is asked: (.+)")
    def is_asked(self, part: str) -> Steps:
        yield lambda: self.asked
        self.assertIn(sentence(part), self.asked[0]["placeholder"])

    def focus(self, name: str) -> None:
        self.window.focus_view(self.view(name))

    words: dict[str, Callable[..., Any]] = {
        r"(\S+) holds (\S+)": lambda t, name, words: t.write(name, text(words)),
        r"(\S+) has the keyboard": focus,
        r"run ([a-z_]+)": lambda t, name: t.run_command(name),
        r"do ([a-z_]+)": lambda t, name: t.window.run_command(name),
        r"(\S+) does ([a-z_]+)": lambda t, name, command: t.view(name).run_command(command),
        r"(\S+) is typed into (\S+)": lambda t, words, name: t.view(name).run_command(
            "append", {"characters": text(words)}
        ),
        r"(\S+) is put at the caret of (\S+)": lambda t, words, name: t.view(name).run_command(
            "insert", {"characters": text(words)}
        ),
        r"(\S+) is shut": lambda t, name: t.view(name).close(),
        r"(\S+) is set to (\S+)": lambda t, name, value: t.set(name, json.loads(value)),
        "all that was told is forgotten": lambda t: t.sentences.clear(),
        r"(\w+) comes back": lambda t, name: t.by_name[name].resume(),
        r"no CLI is there": lambda t: t.until_connected(0),
    }
    seen: dict[str, Callable[..., Any]] = {
        r"(\w+) heard": lambda t, name: decisions(t.by_name[name]),
        r"(\S+) reads": lambda t, name: words_of(text_of(t.view(name))),
        r"(\S+) is on disk as": lambda t, name: words_of(open(t.at(name), encoding="utf-8").read()),
        "the tabs are": lambda t: [f"{name}: {words_of(tab)}" for name, tab in t.tabs().items()],
        r"(\S+) is there:": lambda t, name: t.view(name).is_valid(),
        r"(\S+) can be edited:": lambda t, name: not t.view(name).is_read_only(),
        r"(\S+) is a proposal:": lambda t, name: record.is_diff(t.view(name)),
        r"(\S+) is called": lambda t, name: t.view(name).name(),
        r"(\S+) is unsaved:": lambda t, name: t.view(name).is_dirty(),
        r"(\S+) goes without a word:": lambda t, name: t.view(name).is_scratch(),
        r"(\S+) is in sight:": lambda t, name: open_diffs.is_on_top(t.window, t.view(name)),
        r"marked in (\S+) are": lambda t, name: [
            words_of(each) for each in t.texts(t.view(name), marks.LINES)
        ],
        "groups:": lambda t: t.window.num_groups(),
        "the keyboard is in": lambda t: t.name_of(t.window.active_view()),
        "what waits is": lambda t: [
            t.name_of(diff) for diff, _ in open_diffs.undecided_diffs(t.window)
        ],
        "questions:": lambda t: len(t.asked),
        "sentences:": lambda t: len(t.sentences),
        "the clipboard has": lambda t: sublime.get_clipboard(),
    }
