"""Runs inside an editor: what a chat costs it.

`python -m headless FOLDER --exec bench/inside/chat.py -- CASE [ARGUMENTS] REPORT`: writes REPORT, a
JSON object. The agent is the one that the settings name first. Times are seconds.
  streaming MESSAGE  an answer to the message, once all that starts has started: `held` the longest
                     callback, `busy` the longest with a processor, `own` the longest without the
                     time in the editor's API; `updates`, `characters`, and `lasted` from the first
                     of them to the last
  starting           a chat from nothing: `told` until the tab says that the agent is starting,
                     `first` until the answer to a message is seen
  login              gives Gemini CLI a key
  growing LINES      a transcript of so many lines: `opened` is what it costs to show its end, and
                     then each of the parts before that; `collected` the longest that the garbage
                     collector took meanwhile, through so many `objects`; `patches` what one more
                     line costs the editor's thread, each with and without the time in the editor's
                     API; `added` what that costs the engine's thread
  asking COUNT       a chat in which so many questions wait: `answered` what one answer costs the
                     engine's thread, `shown` what it costs the editor's thread, `meant` what it
                     costs to find the question that a command is about, each without the time in
                     the editor's API
  turns COUNT        a chat with so many turns, each of a message and an answer: seconds of the
                     processor for a turn, `early` those of the first ones, `late` of the last ones,
                     with the headless editor and all that writes to the disk
  memory MESSAGE     ten chats with ten answers to the message each: `characters` that they show,
                     and `bytes` that Python holds for them outside of the headless editor
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import tracemalloc
from datetime import datetime, timezone
from functools import partial
from typing import Any, Callable, Dict, List, Tuple, cast

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.credentials import API_KEY, Credentials
from GeminiCompanion.companion.agent.turn_events import (
    CANCEL,
    END_TURN,
    EXECUTING,
    ONCE,
    Complete,
    Content,
    Message,
    Option,
    ToolConfirmation,
    ToolExecution,
    ToolResult,
    TurnEvent,
    Usage,
)
from GeminiCompanion.companion.chat.chat_service import ChatService
from GeminiCompanion.companion.chat.chat_update import FAILED, READY, WORKING, ChatUpdate
from GeminiCompanion.companion.chat.login_requests import Configure
from GeminiCompanion.companion.chat.rendered import MESSAGE, Patch
from GeminiCompanion.companion.chat.transcript import Transcript
from GeminiCompanion.companion.ui.chat.chat_actions import ChatActions
from GeminiCompanion.companion.ui.chat.chat_view import CONVERSATION, ChatView

import headless
from headless import running
from headless.queues import Queue

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from load import collections, time_run, watch_queue  # noqa: E402

# Seconds for an answer.
PATIENCE = 90.0
LOOK, SETTLED = 0.001, 1.0
CHATS, TURNS = 10, 10
# Lines of a turn, and how often one more comes.
TURN, PATCHES = 25, 50
# Turns that are measured at the beginning of a long chat, and at its end.
FEW = 50
# How many questions are answered.
ANSWERS = 50
MUCH = list(range(1 << 21))
STATE = "gemini_companion_chat_state"
HEADLESS = os.path.join(os.path.dirname(os.path.abspath(headless.__file__)), "*")
SAYS_STARTING = "is starting"
ANSWER = "An answer."
LINE = "one more line of an answer, with `code` in it, and as long as such lines are\n"


def main(case: str, *arguments: str) -> None:
    *given, report = arguments
    _wait_until(lambda: plugin._host.running is not None)
    found = CASES[case](*given)
    with open(report, "w") as file:
        json.dump(found, file)


def streaming(message: str) -> Dict[str, Any]:
    view = _new_chat()
    _say_words(view, "hello")
    _wait_until(lambda: _is_ready(view))
    own = OwnTime()
    held = watch_queue(running.current().queues.ui)
    own.watch(running.current().queues.ui)
    sizes = [(view.size(), time.perf_counter())]
    _say_words(view, message)
    while len(sizes) < 2 or not _is_ready(view):
        if view.size() != sizes[-1][0]:
            sizes.append((view.size(), time.perf_counter()))
        time.sleep(LOOK)
    return {
        "held": max(cost.wall for cost in held),
        "busy": max(cost.busy for cost in held),
        "own": max(own.costs),
        "updates": len(sizes) - 1,
        "characters": sizes[-1][0] - sizes[0][0],
        "lasted": sizes[-1][1] - sizes[1][1],
    }


def starting() -> Dict[str, Any]:
    window = sublime.active_window()
    # The headless editor learns them at the first use, the real one at its start.
    sublime.list_syntaxes()
    began = time.perf_counter()
    window.run_command("gemini_companion_new_chat", {"agent": _chosen_agent()})
    view = _front_view(window)
    _wait_until(lambda: SAYS_STARTING in _state_text(view))
    told = time.perf_counter() - began
    _say_words(view, "hello")
    _wait_until(lambda: _has_words(view, ANSWER))
    return {"told": told, "first": time.perf_counter() - began}


def login() -> Dict[str, Any]:
    """The agent keeps the key for editors to come."""
    sublime.active_window().run_command("gemini_companion_new_chat", {"agent": _chosen_agent()})
    _wait_until(lambda: _chat_actions().access.service is not None)
    service = cast(ChatService, _chat_actions().access.service)
    answer = service.ask(Configure("gemini", Credentials(API_KEY, "the-key")))
    _wait_until(lambda: answer.is_there)
    answer.result()
    return {}


def growing(lines: str) -> Dict[str, Any]:
    view, document, events = sublime.active_window().new_file(), Transcript(), Events()
    chats: List[ChatView] = []
    time_run(lambda: chats.append(ChatView(view, "", None, lambda _chat: None)))
    for _ in range(int(lines) // TURN):
        events.add_turn(document)
    # Nobody keeps an update that is drawn.
    first = [ChatUpdate("", READY, patches=document.take_patches(), is_anew=True)]
    own = OwnTime()
    opened = [own.of(lambda: chats[0].show_update(first.pop()))]
    while not chats[0].is_whole:
        opened.append(own.of(lambda: chats[0].go_on()))
    collected = collections.longest
    patches: List[Tuple[float, float]] = []
    added: List[float] = []
    for _ in range(PATCHES):
        _use_caches()
        began = time.perf_counter()
        events.add(document, Content(LINE))
        update = ChatUpdate("", READY, patches=document.take_patches())
        added.append(time.perf_counter() - began)
        _use_caches()
        patches.append(own.of(partial(chats[0].show_update, update)))
    return {
        "lines": view.rowcol(view.size())[0],
        "opened": opened,
        "collected": collected,
        "objects": len(gc.get_objects()),
        "added": added,
        "patches": patches,
    }


def asking(count: str) -> Dict[str, Any]:
    waiting = Waiting(_new_chat(), int(count))
    costs: Dict[str, List[float]] = {"answered": [], "shown": [], "meant": []}
    for _ in range(ANSWERS):
        meant, answered, shown = waiting.answer_first()
        costs["meant"].append(meant)
        costs["answered"].append(answered)
        costs["shown"].append(shown)
        waiting.ask_one()
    return costs


def turns(count: str) -> Dict[str, Any]:
    view = _new_chat()
    costs: List[float] = []
    for _ in range(int(count)):
        began = time.process_time()
        _say_words(view, "hello")
        _wait_until(lambda: _is_ready(view))
        costs.append(time.process_time() - began)
    # The very first ones import what they need.
    return {"early": costs[FEW : 2 * FEW], "late": costs[-FEW:]}


def memory(message: str) -> Dict[str, Any]:
    # Engine, agent and all modules are there.
    _said_often(message)
    tracemalloc.start()
    size = sum(_said_often(message) for _ in range(CHATS))
    editor = running.current()
    # What is written behind is on the disk by then.
    time.sleep(SETTLED)
    for view in editor.views.values():
        view.buffer.history.clear()
    gc.collect()
    others = [tracemalloc.Filter(False, path) for path in (HEADLESS, tracemalloc.__file__)]
    held = tracemalloc.take_snapshot().filter_traces(others).statistics("filename")
    return {"characters": size, "bytes": sum(statistic.size for statistic in held)}


def _said_often(message: str) -> int:
    """The characters of a new chat in which the message was sent some times."""
    view = _new_chat()
    for _ in range(TURNS):
        _say_words(view, message)
        _wait_until(lambda: _is_ready(view))
    return view.size()


class OwnTime:
    """What callbacks cost the editor's thread without the time in Sublime's API, which is the
    headless editor's, and without full collections of garbage."""

    CLASSES = (sublime.View, sublime.Selection, sublime.Settings, sublime.Window, sublime.Buffer)

    def __init__(self) -> None:
        self._outside = 0.0
        self._is_outside = False
        # Of each callback, where a queue is watch_queue.
        self.costs: List[float] = []
        for kind in self.CLASSES:
            for name, function in list(vars(kind).items()):
                if callable(function) and not name.startswith("__"):
                    setattr(kind, name, self._time_function(function))

    def of(self, run: Callable[[], object]) -> Tuple[float, float]:
        """Seconds with it, and without."""
        costs: List[Tuple[float, float]] = []
        time_run(lambda: costs.append(self._measure_cost(run)))
        return costs[0]

    def watch(self, queue: Queue) -> None:
        run_one = queue.run_one

        def measured(callback: Callable[[], object]) -> None:
            self.costs.append(self._measure_cost(lambda: run_one(callback))[1])

        queue.run_one = measured  # type: ignore[method-assign]

    def _measure_cost(self, run: Callable[[], object]) -> Tuple[float, float]:
        self._outside, began, own = 0.0, time.perf_counter(), self._now()
        run()
        return time.perf_counter() - began, self._now() - own - self._outside

    @staticmethod
    def _now() -> float:
        return time.perf_counter() - float(collections.seconds)

    def _time_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_outside or not running.current().queues.ui.is_here():
                return function(*args, **kwargs)
            self._is_outside, began = True, self._now()
            try:
                return function(*args, **kwargs)
            finally:
                self._is_outside = False
                self._outside += self._now() - began

        return call


class Events:
    """Events of one conversation, one after the other."""

    def __init__(self) -> None:
        self._turn = self._number = 0

    def add(self, document: Transcript, body: Any) -> None:
        self._number += 1
        time = datetime.now(timezone.utc)
        document.add_event(TurnEvent(self._number, time, "", str(self._turn), body))

    def add_turn(self, document: Transcript) -> None:
        """One with TURN lines."""
        self._turn, self._number = self._turn + 1, -1
        self.add(document, Message("What is in here?"))
        self.add(document, ToolResult("call", "read_file", {"path": "a.py"}, "12", "", True))
        self.add(document, Content(LINE * (TURN - 9), False))
        self.add(document, Complete(END_TURN, Usage()))


class Waiting:
    """A chat in whose tab so many questions of an agent wait."""

    OPTIONS = (Option(ONCE, "Yes"), Option(CANCEL, "No"))

    def __init__(self, view: sublime.View, count: int) -> None:
        chat, window = _chat_actions().tabs.chat_of(view), view.window()
        if chat is None or window is None:
            raise RuntimeError("no chat is in front")
        # Its own conversation says nothing more.
        _chat_actions().leave_chat(chat)
        self._chat, self._window = chat, window
        self._document, self._events, self._own = Transcript(), Events(), OwnTime()
        self._asked = self._answered = 0
        self._events.add_turn(self._document)
        self._events.add(self._document, Message("Run all of these."))
        for _ in range(count):
            self._ask_more()
        self._show(True)
        while not chat.is_whole:
            time_run(chat.go_on)

    def ask_one(self) -> None:
        self._ask_more()
        self._show()

    def answer_first(self) -> Tuple[float, float, float]:
        """Seconds for finding the question that a command is about, for the engine's thread, and
        for the editor's."""
        _use_caches()
        find = partial(_chat_actions().questions.current_question, self._window)
        _all, meant = self._own.of(find)
        _use_caches()
        began = time.perf_counter()
        body = ToolExecution(str(self._answered), "shell", EXECUTING)
        self._events.add(self._document, body)
        patches = self._document.take_patches()
        answered = time.perf_counter() - began
        self._answered += 1
        _use_caches()
        return meant, answered, self._draw_patches(patches)

    def _ask_more(self) -> None:
        call, command = str(self._asked), f"make part-{self._asked}"
        self._asked += 1
        body = ToolConfirmation(call, "shell", "Shell", "", command, {}, self.OPTIONS)
        self._events.add(self._document, body)

    def _show(self, is_anew: bool = False) -> None:
        self._draw_patches(self._document.take_patches(), is_anew)

    def _draw_patches(self, patches: Tuple[Patch, ...], is_anew: bool = False) -> float:
        update = ChatUpdate(
            self._chat.conversation,
            WORKING,
            patches=patches,
            is_anew=is_anew,
            waiting=self._document.waiting,
        )

        def show() -> None:
            self._chat.show_update(update)
            _chat_actions().answering.follow_update(self._chat)

        return self._own.of(show)[1]


CASES: Dict[str, Callable[..., Dict[str, Any]]] = {
    "streaming": streaming,
    "starting": starting,
    "login": login,
    "growing": growing,
    "asking": asking,
    "turns": turns,
    "memory": memory,
}


def _use_caches() -> None:
    """Where everything stands is much to find out in a long text, and leaves the processor's caches
    to nobody else; so it is the same for a short one."""
    sum(MUCH)


def _new_chat() -> sublime.View:
    window = sublime.active_window()
    window.run_command("gemini_companion_new_chat", {"agent": _chosen_agent()})
    view = _front_view(window)
    _wait_until(lambda: _is_ready(view))
    return view


def _chosen_agent() -> str:
    """The one of the settings; without it, the command may ask."""
    return str(sublime.load_settings("GeminiCompanion.sublime-settings").get("usual_agent"))


def _front_view(window: sublime.Window) -> sublime.View:
    view = window.active_view()
    if view is None or not view.settings().get(CONVERSATION):
        raise RuntimeError("no chat is in front")
    return view


def _say_words(view: sublime.View, words: str) -> None:
    """Returns once they stand in the tab."""
    count, window = _count_messages(view), view.window()
    conversation = str(view.settings().get("gemini_companion_chat"))
    _wait_until(lambda: not _chat_actions()._sending.is_under_way(conversation))
    if window is not None:
        window.focus_view(view)
        window.run_command("gemini_companion_send", {"text": words})
    _wait_until(lambda: _count_messages(view) > count)


def _count_messages(view: sublime.View) -> int:
    return view.substr(sublime.Region(0, view.size())).count(MESSAGE)


def _has_words(view: sublime.View, words: str) -> bool:
    return words in view.substr(sublime.Region(0, view.size()))


def _is_ready(view: sublime.View) -> bool:
    chat = _chat_actions().tabs.chat_of(view)
    told = chat.told if chat is not None else None
    if told is not None and told.state == FAILED:
        raise RuntimeError(told.problem)
    return told is not None and told.state == READY


def _chat_actions() -> ChatActions:
    if plugin._host.running is None:
        raise RuntimeError("the package is not loaded")
    return plugin._host.running.chat.actions


def _state_text(view: sublime.View) -> str:
    found = running.current().view(view.id()).phantoms
    return " ".join(phantom.content for phantom in found if phantom.key == STATE)


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the chat does not get there")
        time.sleep(LOOK)


if __name__ == "__main__":
    main(*sys.argv[1:])
