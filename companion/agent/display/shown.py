"""What a person sees of an event before they decide: the member `shown` beside the raw texts.

Short texts are always in it. A long text is in it only if it differs from the raw one; nearly all
long texts can be shown unchanged.
"""

from __future__ import annotations

from typing import Any, Mapping

from ...base.shown_text import Remarks, show_hidden, shown_line, spell_hidden
from ..sentence import CHINESE, ENGLISH, sentence, translated_text
from ..turn_events import Diff

_FOLDED = (
    sentence("{count} blank lines"),
    sentence("{count} spaces"),
    sentence("{count} spaces and tabs"),
)
REMARKS = {
    language: Remarks(*(translated_text(text, language) for text in _FOLDED))
    for language in (CHINESE, ENGLISH)
}


def display_line(text: str, language: str) -> str:
    """A name, a label or a path."""
    return shown_line(text, REMARKS[language])


def display_text(text: str, language: str) -> str:
    """A command, or another text that may have several lines."""
    return show_hidden(text, REMARKS[language])


def args_of(args: Mapping[str, Any], language: str) -> dict[str, Any]:
    """`{"args"}` with every text in it as it is shown; empty if all are shown unchanged."""
    found = _shown_value(args, language)
    return {} if found == args else {"args": found}


def shown_diff(value: Diff, language: str) -> dict[str, str]:
    """`{"path", "oldText", "newText"}`, both texts with their lines. A CR before every line end of
    both texts is not a visible difference."""
    old, new = value.old_text, value.new_text
    if not any("\n" in text.replace("\r\n", "") for text in (old, new)):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    return {"path": display_line(value.path, language), **changed_texts(oldText=old, newText=new)}


def changed_texts(**texts: str | None) -> dict[str, str]:
    """The texts that cannot be shown unchanged, with their lines."""
    found = {name: spell_hidden(text) for name, text in texts.items() if text is not None}
    return {name: text for name, text in found.items() if text != texts[name]}


def _shown_value(value: Any, language: str) -> Any:
    if isinstance(value, str):
        return display_text(value, language)
    if isinstance(value, Mapping):
        return {
            display_line(str(name), language): _shown_value(member, language)
            for name, member in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_shown_value(member, language) for member in value]
    return value
