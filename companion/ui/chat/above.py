"""What stands above a composer, a line each: the messages that wait, and what goes with the next
one. UI thread only."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

import sublime

from ...agent.turn_events import Queue, QueuedMessage
from ...base.shown_text import shown_line
from ...chat.amounts import count_text
from ...chat.attached import Attached, add_attachments, words_of
from .. import wrapping
from .one_phantom import OnePhantom, narrowest_columns

KEY = "gemini_companion_chat_above"
# The most characters of a text in one line, and the most lines of each kind.
LONGEST, MOST = 80, 10
# What the links do; behind each is the id of a message or the place of what is attached.
CHANGE, TAKE_BACK, SEND_NOW, DETACH, PUT_IN = "change", "take_back", "send_now", "detach", "put_in"
HELD = "Waits until you send it"
PASSING = "Is being given to the agent"
WAITS = "Waits"
MORE = '… {} more: "Gemini Companion: Waiting Messages"'
STYLE = "<style>p { margin: 0.1rem 0; } a { text-decoration: none; }</style>"


@dataclass(frozen=True)
class LinkRow:
    """`links` are labels, each with what it does and with what, as in `pressed`."""

    text: str
    links: tuple[tuple[str, str], ...] = ()


class Above:
    """The lines of one chat, with these `views()`, before the place `composer()`. `attached` is
    what goes with the next message; `on_change` hears when that is other. `pressed` is called with
    a link, as "ACTION ARGUMENT", `drawing` before and after the lines are drawn."""

    def __init__(
        self,
        views: Callable[[], Sequence[sublime.View]],
        composer: Callable[[], int],
        on_change: Callable[[], None],
        pressed: Callable[[str], None],
        drawing: Callable[[], object],
    ) -> None:
        self._views = views
        self._composer = composer
        self._on_change = on_change
        self.attached: tuple[Attached, ...] = ()
        self.queue = Queue((), False)
        self._phantom = OnePhantom(KEY, drawing, pressed)

    def attach(self, new: Iterable[Attached]) -> None:
        self._set_attached(add_attachments(self.attached, new))

    def detach(self, gone: Iterable[Attached]) -> None:
        left = set(gone)
        self._set_attached(
            tuple(attachment for attachment in self.attached if attachment not in left)
        )

    def _set_attached(self, attached: tuple[Attached, ...]) -> None:
        if attached != self.attached:
            self.attached = attached
            self.draw_lines()
            self._on_change()

    def draw_lines(self) -> None:
        """Draw the lines where they are others."""
        rows, views = _link_rows(self.queue, self.attached), self._views()
        content = _lines_html(rows, narrowest_columns(views)) if rows else ""
        # Before the place of the state, so that the two keep their order.
        self._phantom.show(views, self._composer() - 2, content)

    def leave_view(self, view: sublime.View) -> None:
        """The view is being closed."""
        self._phantom.leave_view(view)


def _link_rows(queue: Queue, attached: Sequence[Attached]) -> tuple[LinkRow, ...]:
    rows = [_waiting_row(message, queue) for message in queue.messages[:MOST]]
    if len(queue.messages) > MOST:
        rows.append(LinkRow(MORE.format(len(queue.messages) - MOST)))
    if queue.problem:
        rows.append(LinkRow(str(queue.problem)))
    return (*rows, *(_attached_row(place, attachment) for place, attachment in enumerate(attached)))


def message_summary(message: QueuedMessage) -> str:
    """A message that waits, in a line."""
    words, count = words_of(message), len(message.given) + len(message.attachments)
    more = f" (with {count_text(count, 'file')})" if count else ""
    return short_line(words or message.text) + more


def short_line(text: str) -> str:
    """The first line that is not blank."""
    line = next(filter(None, map(str.strip, text[: 4 * LONGEST].split("\n"))), "")
    is_cut = len(line) > LONGEST or len(text.strip()) > len(line)
    return shown_line(line[:LONGEST]) + (" …" if is_cut else "")


def _waiting_row(message: QueuedMessage, queue: Queue) -> LinkRow:
    state = PASSING if message.id == queue.passing else HELD if queue.is_held else WAITS
    links = (("change", CHANGE), ("take back", TAKE_BACK), ("send now", SEND_NOW))
    labels = tuple((label, f"{action} {message.id}") for label, action in links)
    return LinkRow(f"{state}: {message_summary(message)}", labels)


def _attached_row(place: int, attached: Attached) -> LinkRow:
    back = ("take back", f"{DETACH} {place}")
    links = (("put into the text", f"{PUT_IN} {place}"), back) if attached.text else (back,)
    return LinkRow(f"With it: {attached.kind}, {shown_line(attached.name)}", links)


def _lines_html(rows: Sequence[LinkRow], columns: int) -> str:
    paragraphs = "".join(_row_html(row, columns) for row in rows)
    return f'<body id="gemini-companion-chat">{STYLE}{paragraphs}</body>'


def _row_html(row: LinkRow, columns: int) -> str:
    links = [
        (f'· <a href="{html.escape(href)}">{label}</a>', len(label) + 2)
        for label, href in row.links
    ]
    pieces = [*wrapping.text_pieces(row.text, columns), *links]
    return f"<p>{'<br>'.join(wrapping.fill_rows(pieces, columns))}</p>"
