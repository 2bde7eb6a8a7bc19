"""Completions: what the listeners offer for the word at the caret, and taking the best of it."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

TEXT, SNIPPET, COMMAND = 0, 1, 2
KEEP_PREFIX = 1


class Offer(NamedTuple):
    """One completion, in whatever form it was given."""

    trigger: str
    content: str
    format: int
    keeps_prefix: bool


class Completing:
    """One question to the listeners of a view, and their answers as they come; UI thread only."""

    def __init__(self, editor: Any, view: Any) -> None:
        self._editor = editor
        self._view = view
        self._offers: List[Offer] = []

    def ask(self) -> None:
        carets = [max(pair) for pair in self._view.selection]
        events = self._editor.events
        for answer in events.ask("on_query_completions", self._view, prefix_of(self._view), carets):
            if isinstance(answer, self._editor.api.sublime.CompletionList):
                answer._wait(lambda items: self._editor.queues.ui.post(lambda: self._add(items)))
            elif isinstance(answer, tuple):
                self._add(answer[0])
            elif answer:
                self._add(answer)

    def _add(self, items: Any) -> None:
        self._offers += [_offer(item) for item in items or ()]

    def best(self) -> Optional[Offer]:
        """Of those that begin with the word at the caret the first, else of those that fit it;
        None where none does."""
        return next(iter(self.fitting()), None)

    def fitting(self) -> List[Offer]:
        """Those that fit the word at the caret, the best first."""
        prefix = prefix_of(self._view)
        low = prefix.lower()
        found = [each for each in self._offers if fits(prefix, each.trigger)]
        return sorted(found, key=lambda each: not each.trigger.lower().startswith(low))


def _offer(item: Any) -> Offer:
    """Of a CompletionItem, a text, or a pair of a trigger with its annotation and a snippet."""
    if isinstance(item, str):
        return Offer(item, item, TEXT, False)
    if isinstance(item, (tuple, list)):
        return Offer(item[0].split("\t", 1)[0], item[-1], SNIPPET, False)
    content = item.completion or item.trigger
    return Offer(item.trigger, content, int(item.completion_format), bool(item.flags & KEEP_PREFIX))


def prefix_of(view: Any) -> str:
    """The word before the first caret."""
    if not view.selection:
        return ""
    end = view.selection[0][1]
    begin = view.text.line(end)[0]
    before = view.text.slice(begin, end)
    separators = str(view.settings.get("word_separators", ""))
    at = len(before)
    while at and not before[at - 1].isspace() and before[at - 1] not in separators:
        at -= 1
    return str(before[at:])


def fits(prefix: str, trigger: str) -> bool:
    """Whether all characters of the prefix are in the trigger, in their order."""
    rest = iter(trigger.lower())
    return all(character in rest for character in prefix.lower())
