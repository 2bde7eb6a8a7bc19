"""Sessions of the terminal that go on in a chat, with a service that answers as the test says."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

from GeminiCompanion.companion.agent.acp.session_list import ListedSession
from GeminiCompanion.companion.agent.credentials import ANTHROPIC, OPENAI, OWN, AuthStatus
from GeminiCompanion.companion.base.answer import Unanswered
from GeminiCompanion.companion.chat.requests import (
    Agents,
    FoundConversations,
    ListConversations,
    OfferedAgent,
)
from GeminiCompanion.companion.chat.session_requests import OwnSessions, TakeOver
from GeminiCompanion.companion.chat.workspaces import Workspaces
from GeminiCompanion.companion.ui.chat.drafts import folder_of
from GeminiCompanion.companion.ui.chat.taking_over import (
    MAY_BE_OPEN,
    NO_OWN_LOGIN,
    NONE,
    UNTITLED,
)
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .reviewing import Steps
from .test_chat_list import ListCase, info

THEIRS = AuthStatus(True, OWN, False, False, None, False)
WITH_KEY = AuthStatus(True, OPENAI, True, False, None, False)


def row(id: str, login: AuthStatus, is_there: bool = True) -> OfferedAgent:
    return OfferedAgent(id, id.title(), False, is_there, "", (ANTHROPIC,), False, login)


class TakingOver(ListCase):
    def asked_for(self, *rows: OfferedAgent) -> Steps:
        self.run_command("take_over_session")
        yield lambda: self.service.asked
        self.assertIsInstance(self.asked, Agents)
        yield from self.answer(rows)

    def test_the_chosen_session_of_the_only_agent_opens_in_a_tab(self) -> Steps:
        now = datetime.now(timezone.utc)
        sessions = (
            ListedSession("a", "/w", "fix it\u202e", now),
            ListedSession("b", "/w", "", now - timedelta(hours=5)),
            ListedSession("c", "/w", "long ago" * 1000, None),
        )
        yield from self.asked_for(row("claude", THEIRS), row("codex", WITH_KEY))
        self.assertEqual(self.asked, OwnSessions("claude", folder_of(self.window)))
        yield from self.answer(sessions)
        yield lambda: self.shown
        self.assertEqual(self.triggers[:2], ["fix it<U+202E>", UNTITLED])
        self.assertLess(len(self.triggers[2]), 250)
        items = self.shown[-1]["items"]
        self.assertEqual([item.annotation for item in items], ["just now", "5 h ago", ""])
        self.assertEqual([list(item.details) for item in items], [[MAY_BE_OPEN], [""], [""]])
        yield from self.choose(1)
        self.assertEqual(self.asked, TakeOver("claude", folder_of(self.window), sessions[1]))
        yield from self.answer("f" * 32)
        yield lambda: self.id_of(self.window.active_view()) == "f" * 32

    def test_of_several_agents_the_user_chooses_one(self) -> Steps:
        rows = [row("claude", THEIRS), row("opencode", THEIRS), row("codex", THEIRS, False)]
        lists_none = replace(row("gemini", THEIRS), lists_sessions=False)
        yield from self.asked_for(*rows, lists_none)
        yield from self.answer(FoundConversations((), {}, ""))
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["Claude", "Opencode"])
        yield from self.choose(1)
        yield lambda: isinstance(self.asked, OwnSessions)
        self.assertEqual(self.asked.agent, "opencode")

    def test_the_agent_of_the_last_conversation_in_the_folder_stands_first(self) -> Steps:
        yield from self.asked_for(row("claude", THEIRS), row("opencode", THEIRS))
        self.assertEqual(
            self.asked, ListConversations(Workspaces((folder_of(self.window),)), limit=1)
        )
        last = replace(info("a"), agent="opencode")
        yield from self.answer(FoundConversations((last,), {}, ""))
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["Opencode", "Claude"])

    def test_the_agent_of_the_chat_in_front_stands_first(self) -> Steps:
        view = yield from self.chat()
        yield from self.update(view, agent="opencode")
        yield from self.asked_for(row("claude", THEIRS), row("opencode", THEIRS))
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["Opencode", "Claude"])

    def test_where_no_agent_has_the_users_login_they_are_told_what_to_do(self) -> Steps:
        yield from self.asked_for(row("claude", WITH_KEY))
        yield lambda: PREFIX + NO_OWN_LOGIN in self.sentences
        self.assertEqual(self.shown, [])

    def test_where_there_is_no_session_that_is_said(self) -> Steps:
        yield from self.asked_for(row("claude", THEIRS))
        yield from self.answer(())
        told = NONE.format("Claude", folder_of(self.window))
        yield lambda: PREFIX + told in self.sentences

    def test_why_a_session_cannot_be_opened_is_said(self) -> Steps:
        yield from self.asked_for(row("claude", THEIRS))
        yield from self.answer((ListedSession("a", "/w"),))
        yield lambda: self.shown
        yield from self.choose(0)
        before = len(self.window.views())
        yield from self.answer(Unanswered("It cannot be read."))
        yield lambda: any("It cannot be read." in sentence for sentence in self.sentences)
        self.assertEqual(len(self.window.views()), before)
