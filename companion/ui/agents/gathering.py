"""The rows of all providers, asked for at the same time: what is there soon is shown, however slow
another one is. UI thread only."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.answer import Answer, Unanswered
from .. import queues
from ..stories import Story
from .agent_row import AgentRow, AgentRows


class Gathering:
    """What the `providers` have for a list in the window. `begin` begins a story."""

    def __init__(
        self,
        window: sublime.Window,
        providers: Sequence[AgentRows],
        begin: Callable[[Story], object],
    ) -> None:
        self._window, self._begin = window, begin
        self._providers = providers
        # By the names of the providers that have answered; and why others cannot.
        self._found: dict[str, Sequence[AgentRow]] = {}
        self.problems: dict[str, str] = {}
        # Given when another one has answered, and replaced then.
        self._news: Answer[None] = Answer()

    @property
    def rows(self) -> list[AgentRow]:
        """Those that are there, in the order of the list."""
        found: dict[object, AgentRow] = {}
        for provider in self._providers:
            for row in self._found.get(provider.name, ()):
                key = row.key or id(row)
                known = found.setdefault(key, row)
                if known.is_vague and known is not row:
                    found[key] = replace(known, title=row.title, facts=row.facts, is_vague=False)
        return sorted(found.values(), key=lambda row: row.order)

    @property
    def missing(self) -> list[str]:
        """The names of those that have not answered yet."""
        return [each.name for each in self._providers if each.name not in self._found]

    def ask_providers(self) -> None:
        """Begin to ask all of them."""
        for provider in self._providers:
            self._begin(self._ask_provider(provider))

    async def wait_until_known(self, milliseconds: int) -> None:
        """Wait until all have answered; if there are rows by then, for this long at most."""
        is_late: list[bool] = []
        queues.on_ui_thread(partial(self._end_wait, is_late), milliseconds)
        while self.missing and not (is_late and self._found_any):
            await self._news

    @property
    def _found_any(self) -> bool:
        return any(self._found.values())

    def _end_wait(self, is_late: list[bool]) -> None:
        is_late.append(True)
        self._tell_news()

    async def _ask_provider(self, provider: AgentRows) -> None:
        rows: Sequence[AgentRow] = ()
        try:
            rows = await provider.agent_rows(self._window)
        except Unanswered as error:
            self.problems[provider.name] = str(error)
        finally:
            # Also of one that fails, which the boundary of stories tells.
            self._found[provider.name] = rows
            self._tell_news()

    def _tell_news(self) -> None:
        news, self._news = self._news, Answer()
        news.give(None)
