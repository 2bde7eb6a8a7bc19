"""What a key does in a view, by the key bindings of packages and then by Sublime's own.

    keyboard.press(view, "ctrl+enter")     # the names of Sublime's key bindings
    keyboard.press(view, "x")              # a character is its own name

The last binding whose context holds counts. Of Sublime's own there are those that write, go from
place to place and complete.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

CHARACTER = "<character>"
EQUAL, NOT_EQUAL, MATCH, NOT_MATCH, CONTAINS, NOT_CONTAINS = range(6)
OPERATORS = {
    "equal": EQUAL,
    "not_equal": NOT_EQUAL,
    "regex_match": MATCH,
    "not_regex_match": NOT_MATCH,
    "regex_contains": CONTAINS,
    "not_regex_contains": NOT_CONTAINS,
}
MOVES = {
    "left": ("move", {"by": "characters", "forward": False}),
    "right": ("move", {"by": "characters", "forward": True}),
    "up": ("move", {"by": "lines", "forward": False}),
    "down": ("move", {"by": "lines", "forward": True}),
    "pageup": ("move", {"by": "pages", "forward": False}),
    "pagedown": ("move", {"by": "pages", "forward": True}),
    "ctrl+left": ("move", {"by": "words", "forward": False}),
    "ctrl+right": ("move", {"by": "word_ends", "forward": True}),
    "home": ("move_to", {"to": "bol"}),
    "end": ("move_to", {"to": "eol"}),
    "ctrl+home": ("move_to", {"to": "bof"}),
    "ctrl+end": ("move_to", {"to": "eof"}),
}
OWN: Dict[str, Tuple[str, Any]] = {
    "enter": ("insert", {"characters": "\n"}),
    "tab": ("insert", {"characters": "\t"}),
    "backspace": ("left_delete", None),
    "delete": ("right_delete", None),
    "ctrl+a": ("select_all", None),
    "ctrl+v": ("paste", None),
    "ctrl+w": ("close", None),
    "ctrl+x": ("cut", None),
    "ctrl+z": ("undo", None),
    "ctrl+y": ("redo_or_repeat", None),
    "ctrl+shift+z": ("redo_or_repeat", None),
    "ctrl+space": ("auto_complete", None),
    **MOVES,
}
# What Sublime answers itself, and this editor cannot.
UNKNOWN = frozenset(
    ("selector", "eol_selector", "text", "preceding_text", "following_text", "read_only")
)
WHILE_COMPLETING = {"tab": "commit_completion", "enter": "commit_completion"}


class Condition(NamedTuple):
    """One of a binding's context. `key` is what is asked for, `operator` one of OPERATORS'
    values."""

    key: str
    operator: int
    operand: Any
    match_all: bool


class Keyboard:
    """Of one editor; on the UI thread. It keeps the first keys of a binding of several."""

    def __init__(self, editor: Any) -> None:
        self.editor = editor
        self.begun: List[str] = []
        # Those of UNKNOWN that were told of.
        self.told: Set[str] = set()

    def forget_begun(self) -> None:
        """The keys of a binding of several are not gone on with."""
        self.begun = []

    def press(self, view: Any, key: str) -> None:
        """A key nobody has a binding for does nothing, unless it is a character."""
        keys = [*self.begun, key]
        self.begun = []
        command, args, is_begin = self._bound(view, keys)
        if len(key) == 1 and key.isupper() and not (command or is_begin):
            command, args, is_begin = self._bound(view, [*keys[:-1], "shift+" + key.lower()])
        if is_begin:
            self.begun = keys
        elif command:
            self._run(view, command, args)
        elif len(keys) == 1:
            self._press_own(view, key)

    def paste(self, view: Any, text: str) -> None:
        """What a terminal says was pasted: its clipboard is another one."""
        before, self.editor.clipboard = self.editor.clipboard, text
        self._run(view, "paste", None)
        self.editor.clipboard = before

    def _press_own(self, view: Any, key: str) -> None:
        completing = _completes(view)
        if key == "escape" and completing:
            self._run(view, "hide_auto_complete", None)
        elif completing and key in WHILE_COMPLETING:
            self._run(view, WHILE_COMPLETING[key], None)
        elif key in OWN:
            name, args = OWN[key]
            self._run(view, name, args)
        elif key.startswith("shift+") and key[6:] in MOVES:
            name, args = MOVES[key[6:]]
            self._run(view, name, {**args, "extend": True})
        elif len(key) == 1 and self.editor.switches.input_method:
            self.editor.type_text(view, key)
        elif len(key) == 1:
            command, args, _is_begin = self._bound(view, [CHARACTER])
            args = {**(args or {}), "character": key} if command else {"characters": key}
            self._run(view, command or "insert", args)

    def _run(self, view: Any, name: str, args: Any) -> None:
        self.editor.commands.run(view.window, name, args)

    def _bound(self, view: Any, keys: List[str]) -> Tuple[str, Any, bool]:
        """Command and arguments of a binding, "" where there is none; and whether the keys are the
        first ones of another."""
        for binding in reversed(self.editor.packages.key_bindings()):
            bound = binding.get("keys", [])
            if bound[: len(keys)] == keys and self._holds(view, binding):
                if len(bound) > len(keys):
                    return "", None, True
                return str(binding.get("command", "")), binding.get("args"), False
        return "", None, False

    def _holds(self, view: Any, binding: Any) -> bool:
        return all(
            self._is_so(view, _condition(condition)) for condition in binding.get("context", ())
        )

    def _is_so(self, view: Any, wanted: Condition) -> bool:
        if wanted.key in UNKNOWN:
            self._tell_unknown(wanted.key)
            return False
        known = self._known(view, wanted.key)
        if known is None:
            return bool(self.editor.events.context(view, *wanted))
        return _compares(known[0], wanted.operator, wanted.operand)

    def _tell_unknown(self, key: str) -> None:
        """Never in silence: the binding would seem to be wrong."""
        if key not in self.told:
            self.told.add(key)
            sys.stderr.write('No key binding with the context "%s" holds in this editor\n' % key)

    def _known(self, view: Any, key: str) -> Optional[Tuple[Any]]:
        """What the editor itself knows of a condition's key; None where packages are asked."""
        if key.startswith("setting."):
            return (view.settings.get(key[len("setting.") :]),)
        own: Dict[str, Callable[[], Any]] = {
            "auto_complete_visible": lambda: _completes(view),
            "num_selections": lambda: len(view.selection),
            "selection_empty": lambda: all(a == b for a, b in view.selection),
            "has_next_field": lambda: False,
            "has_prev_field": lambda: False,
            "panel_visible": lambda: view.window is not None and bool(view.window.active_panel),
            "overlay_visible": lambda: False,
            "popup_visible": lambda: view.popup is not None,
        }
        return (own[key](),) if key in own else None


def _completes(view: Any) -> bool:
    return view.completing is not None and view.completing.best() is not None


def _condition(context: Any) -> Condition:
    operator = OPERATORS[context.get("operator", "equal")]
    operand = context.get("operand", True)
    return Condition(context["key"], operator, operand, bool(context.get("match_all", False)))


def _compares(value: Any, operator: int, operand: Any) -> bool:
    if operator in (EQUAL, NOT_EQUAL):
        # A setting that has no value is not set.
        same = bool(value) == operand if isinstance(operand, bool) else value == operand
        return same == (operator == EQUAL)
    find = re.fullmatch if operator in (MATCH, NOT_MATCH) else re.search
    return (find(str(operand), str(value)) is not None) == (operator in (MATCH, CONTAINS))
