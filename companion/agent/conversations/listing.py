"""The conversations page by page, and those that have some words in their titles or texts."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ...base.background import in_thread
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence
from .conversation import SessionInfo
from .registry import Conversations
from .text_search import SearchWords
from .transcript_reader import FIRST, ConversationSummary, TranscriptReader

# Bytes of transcripts that are looked through for one page.
MAX_READ = 64 << 20


# Whether a conversation is to be listed.
Listed = Callable[[ConversationSummary], bool]


def every_conversation(summary: ConversationSummary) -> bool:
    return True


class ListPosition(NamedTuple):
    """The place of a conversation in the order of their last use."""

    used: datetime
    id: str


class PageCursor(NamedTuple):
    """`began` is the place of the first conversation of the first page, `last` that of the last one
    so far.

    The pages go down from `began`. What is used meanwhile moves up above it, out of the way, and
    comes after everything else. So nothing is left out, and only what was used meanwhile may come
    twice."""

    began: ListPosition
    last: ListPosition

    @property
    def text(self) -> str:
        values = [[place.used.isoformat(), place.id] for place in self]
        return base64.urlsafe_b64encode(json.dumps(values).encode("ascii")).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> PageCursor:
        """Raises AgentError."""
        try:
            values: Any = json.loads(base64.urlsafe_b64decode(text.encode("ascii")))
            began, last = (
                ListPosition(datetime.fromisoformat(used), str(id)) for used, id in values
            )
            if began.used.tzinfo is None or last.used.tzinfo is None:
                raise ValueError("Expected times with a zone.")
            return cls(began, last)
        except (ValueError, TypeError, RecursionError):
            told = sentence("Expected the nextCursor of another page as cursor.")
            raise AgentError(VALIDATION_ERROR, told) from None


@dataclass(frozen=True)
class ListingPage:
    """`excerpts` has the places where the words are, by the conversations' ids. `next` is the
    cursor of the next page, empty if there is none."""

    infos: tuple[SessionInfo, ...]
    excerpts: Mapping[str, str]
    next: str


class Listing:
    """Belongs to the loop; a thread reads the transcripts for a search."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        # One search at a time, because each keeps a processor busy.
        self._searching = asyncio.Lock()

    async def list_page(
        self, limit: int, cursor: str, words: str, listed: Listed = every_conversation
    ) -> ListingPage:
        """The last used ones first, `limit` of them, of those that are to be `listed`. With words,
        those that have them; there may be fewer of them, or none, although there is a next page.
        Raises AgentError."""
        place = PageCursor.from_text(cursor) if cursor else None
        if words.strip():
            return await self._search_page(limit, place, SearchWords(words.strip()), listed)
        while True:
            order = self._order_after(place, listed)
            chosen = order[:limit]
            since = chosen[-1].last_used if self._is_below(chosen, limit, place) else FIRST
            if not await self._conversations.index.wait_for_all_since(since):
                return self._listing_page(place, order, len(chosen), chosen, {})

    async def _search_page(
        self, limit: int, place: PageCursor | None, words: SearchWords, listed: Listed
    ) -> ListingPage:
        await self._conversations.index.wait_for_all_since()
        async with self._searching:
            order = self._order_after(place, listed)
            reader = self._conversations.transcript_readers()
            looked, found = await in_thread(
                partial(_search_transcripts, order, reader, words, limit)
            )
        there = [
            summary
            for summary in order
            if summary.id in found and summary.id in self._conversations
        ]
        return self._listing_page(place, order, looked, there, found)

    def _listing_page(
        self,
        place: PageCursor | None,
        order: list[ConversationSummary],
        count: int,
        chosen: Iterable[ConversationSummary],
        excerpts: Mapping[str, str],
    ) -> ListingPage:
        """`count` of `order` were looked at."""
        infos = tuple(map(self._conversations.session_info, chosen))
        if count >= len(order) or not count:
            return ListingPage(infos, excerpts, "")
        last = _list_position(order[count - 1])
        return ListingPage(
            infos,
            excerpts,
            PageCursor(place.began if place else _list_position(order[0]), last).text,
        )

    def _order_after(self, cursor: PageCursor | None, listed: Listed) -> list[ConversationSummary]:
        """All that come after the cursor."""
        them = [
            (_list_position(summary), summary)
            for summary in filter(listed, self._conversations.known_summaries())
        ]
        if cursor is None:
            return [summary for _at, summary in sorted(them, key=_position_of, reverse=True)]
        below = [pair for pair in them if pair[0] < cursor.last <= cursor.began]
        above = [pair for pair in them if pair[0] > max(cursor)]
        below.sort(key=_position_of, reverse=True)
        return [summary for _at, summary in below + sorted(above, key=_position_of)]

    @staticmethod
    def _is_below(chosen: list[ConversationSummary], limit: int, cursor: PageCursor | None) -> bool:
        """Whether the page is full of conversations that were not used since the first page."""
        is_full = len(chosen) == limit
        return is_full and (cursor is None or _list_position(chosen[-1]) < cursor.began)


def _search_transcripts(
    order: Sequence[ConversationSummary],
    reader: Callable[[str], TranscriptReader],
    words: SearchWords,
    limit: int,
) -> tuple[int, Mapping[str, str]]:
    """How many were looked at, and the excerpts of those that have the words, by their ids. An
    excerpt is empty if they are in the title."""
    found: dict[str, str] = {}
    left = MAX_READ
    for number, summary in enumerate(order, 1):
        if words.are_in(summary.title):
            found[summary.id] = ""
        else:
            # One that was just deleted is not there any more.
            with suppress(OSError):
                excerpt, size = reader(summary.id).find_excerpt(words)
                left -= size
                if excerpt:
                    found[summary.id] = excerpt
        if len(found) == limit or left <= 0:
            return number, found
    return len(order), found


def _list_position(summary: ConversationSummary) -> ListPosition:
    return ListPosition(summary.last_used, summary.id)


def _position_of(pair: tuple[ListPosition, ConversationSummary]) -> ListPosition:
    return pair[0]
