"""The code of an answer, copied or put into a file. UI thread only."""

from __future__ import annotations

from typing import Callable

import sublime

from ...chat.amounts import count_text
from ...chat.code_blocks import CodeBlock, code_blocks
from ...chat.rendered import MARKERS
from .. import application, texts
from .chat_view import ChatView
from .last_texts import LastTexts

NO_CODE = "There is no code in this chat."
COPIED = "{} of code {} on the clipboard."
NO_TEXT = "There is no text to put the code into: open a file."
READ_ONLY = "{} cannot be changed."
INSERTED = "{} of code {} in {}."


def code_at(chat: ChatView, view: sublime.View) -> str | None:
    """The block of code at the caret, else the last one that the agent said; None for none."""
    selection = view.sel()
    caret = selection[0].b if len(selection) else view.size()
    blocks = chat.document.blocks
    for begin, block in blocks:
        if begin <= caret < begin + block.size:
            found = _block_at(code_blocks(block.drawn.text), caret - begin)
            if found is not None:
                return found.code
    for _, block in reversed(blocks):
        # What begins with a line of ours is no answer.
        is_answer = not block.drawn.text.lstrip().startswith(tuple(MARKERS))
        found_all = code_blocks(block.drawn.text) if is_answer else []
        if found_all:
            return found_all[-1].code
    return None


class CodeTaking:
    """`tell` shows a sentence."""

    def __init__(self, last: LastTexts, tell: Callable[[str], None]) -> None:
        self._last = last
        self._tell = tell

    def copy_code(self, view: sublime.View, chat: ChatView) -> None:
        code = code_at(chat, view)
        if code is None:
            self._tell(NO_CODE)
        else:
            application.copy_text(code)
            self._tell(COPIED.format(*_line_count_words(code)))

    def insert_code(self, window: sublime.Window, view: sublime.View, chat: ChatView) -> None:
        """Insert the code in the place of each selection of the text that was worked on last."""
        code, target = code_at(chat, view), self._last.last_text_in(window)
        if code is None or target is None:
            self._tell(NO_CODE if code is None else NO_TEXT)
            return
        name = target.name() or target.file_name() or "the new text"
        if target.is_read_only():
            self._tell(READ_ONLY.format(name))
            return
        texts.pending.put_parts(target, [(region, code) for region in target.sel()])
        window.focus_view(target)
        self._tell(INSERTED.format(*_line_count_words(code), name))


def _block_at(blocks: list[CodeBlock], offset: int) -> CodeBlock | None:
    return next((block for block in blocks if block.start <= offset < block.end), None)


def _line_count_words(code: str) -> tuple[str, str]:
    count = code.count("\n")
    return count_text(count, "line"), "is" if count == 1 else "are"
