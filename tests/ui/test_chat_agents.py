"""Which agent a chat is with, and what the user can do where one cannot be used, with a service
that answers as the test says."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion.companion.agent.auth_method import BY_PROGRAM, IN_TERMINAL, AuthMethod
from GeminiCompanion.companion.agent.credentials import (
    API_KEY,
    GOOGLE,
    OPENAI,
    OWN,
    AuthStatus,
    Credentials,
    UsedLogin,
)
from GeminiCompanion.companion.agent.failure import (
    AUTH_NOT_SET,
    AUTH_REQUIRED,
    CLIENT_NOT_INITIALIZED,
)
from GeminiCompanion.companion.agent.processes.login import Login
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat.attached import SELECTION, Attached
from GeminiCompanion.companion.chat.chat_update import FAILED, READY, ChatUpdate
from GeminiCompanion.companion.chat.login_requests import (
    BeginLogin,
    Configure,
    FinishLogin,
    SignIn,
    StartAnew,
)
from GeminiCompanion.companion.chat.rendered import LOG_IN, RETRY, Link, Patch, Rendered
from GeminiCompanion.companion.chat.requests import Agents, OfferedAgent
from GeminiCompanion.companion.chat.retry_requests import Reopen, SendAgain
from GeminiCompanion.companion.ide.questions import WindowServed
from GeminiCompanion.companion.ui.chat import sign_in
from GeminiCompanion.companion.ui.chat.agent_choice import NEEDS_LOGIN, NOT_INSTALLED, USUAL
from GeminiCompanion.companion.ui.chat.agent_login import WITH_KEY, WITH_OTHER, ways_of
from GeminiCompanion.companion.ui.chat.recovery import terminal_command
from GeminiCompanion.companion.ui.chat.state_line import SENDS, words_of
from GeminiCompanion.companion.ui.terminals import terminus

from .adapter import text_of
from .reviewing import Steps
from .test_chat_list import ListCase

HERE = AuthStatus(True, API_KEY, True, False, None, False)
NOBODY = AuthStatus(False, None, False, False, None, False)
ROWS = (
    OfferedAgent("gemini", "Gemini CLI", True, True, "", (API_KEY,), True, HERE),
    OfferedAgent("qwen", "Qwen Code", False, True, "", (OPENAI,), False, NOBODY),
    OfferedAgent("mine", "mine", False, False, 'Install it with "x".', (), False, NOBODY),
)


class AgentCase(ListCase):
    def setUp(self) -> None:
        super().setUp()
        self.agents: dict[str, str] = {}
        real = self.service.open_chat

        def opened(
            workspace: str, agent: str, conversation_id: str, tools: Any, folders: Any
        ) -> Any:
            self.agents[conversation_id], self.tools = agent, tools
            return real(workspace, agent, conversation_id, tools, folders)

        self.replace(self.service, "open_chat", opened)

    def agent_of(self, view: sublime.View) -> str:
        return self.agents[self.id_of(view)]


class New(AgentCase):
    def test_with_one_agent_in_the_settings_nobody_is_asked(self) -> Steps:
        view = yield from self.chat()
        self.assertEqual((self.shown, self.agent_of(view)), ([], ""))

    def test_with_several_the_user_chooses_and_sees_what_is_missing(self) -> Steps:
        self.set("agents", {"mine": {"command": ["mine", "acp"]}})
        self.run_command("new_chat")
        yield from self.answer(ROWS)
        yield lambda: self.shown
        self.assertIsInstance(self.service.asked[0][0], Agents)
        self.assertEqual(self.triggers, ["Gemini CLI", "mine", "Qwen Code"])
        items = self.shown[-1]["items"]
        self.assertEqual([item.annotation for item in items], [USUAL, NOT_INSTALLED, ""])
        self.assertEqual(
            [item.details for item in items[1:]], [['Install it with "x".'], [NEEDS_LOGIN]]
        )
        yield from self.choose(2)
        yield lambda: self.agents.get(self.id_of(self.window.active_view())) == "qwen"
        self.assertEqual(self.agent_of(self.window.active_view()), "qwen")

    def test_a_key_binding_can_name_the_agent(self) -> Steps:
        self.set("agents", {"mine": {"command": ["mine", "acp"]}})
        self.run_command("new_chat", agent="mine")
        view = self.window.active_view()
        yield lambda: self.id_of(view) in self.agents
        self.assertEqual((self.shown, self.agent_of(view)), ([], "mine"))

    def test_a_chat_that_is_closed_before_its_first_message_comes_back_with_its_agent(
        self,
    ) -> Steps:
        self.run_command("new_chat", agent="mine")
        view = self.window.active_view()
        id = self.id_of(view)
        yield lambda: id in self.agents
        self.type(view, "do it")
        view.close()
        del self.agents[id]
        self.run_command("chat")
        yield lambda: id in self.agents
        self.assertEqual(self.agents[id], "mine")
        self.assertEqual(self.unsent(self.window.active_view()), "do it")

    def test_the_user_can_be_asked_in_any_case(self) -> Steps:
        self.run_command("new_chat", ask=True)
        yield from self.answer(ROWS)
        yield lambda: self.shown


class Tools(AgentCase):
    def test_the_agent_is_offered_the_tools_of_the_windows_editor_and_no_text_has_the_token(
        self,
    ) -> Steps:
        yield from self.chat()
        yield lambda: self.tools.is_there
        (server,) = self.tools.result()
        told = self.running().environment_of(self.window)
        self.assertIn(f":{told['GEMINI_CLI_IDE_SERVER_PORT']}/tools", server.params["url"])
        token = told["GEMINI_CLI_IDE_AUTH_TOKEN"]
        self.assertEqual(server.params["headers"][0]["value"], f"Bearer {token}")
        self.assertNotIn(token, repr(server))

    def test_the_agent_starts_before_the_window_has_its_endpoint(self) -> Steps:
        companion = self.running().companion
        ask = companion.ask
        served: Answer[None] = Answer()
        self.replace(
            companion,
            "ask",
            lambda asked: served if isinstance(asked, WindowServed) else ask(asked),
        )
        yield from self.chat()
        self.assertFalse(self.tools.is_there)
        served.give(None)
        yield lambda: self.tools.is_there
        self.assertEqual([each.name for each in self.tools.result()], ["editor"])

    def test_where_nobody_waits_for_the_endpoint_any_more_there_are_no_tools(self) -> None:
        told: Answer[Any] = Answer()
        story = self.running().chat.actions.context.tell_servers(self.window, told)
        story.send(None)
        self.assertFalse(told.is_there)
        story.close()
        self.assertEqual(told.result(), ())


class Failing(AgentCase):
    def failed(self, **members: Any) -> Steps:
        self.view = yield from self.chat()
        values = {"state": FAILED, "problem": "It failed.", "agent": "gemini", **members}
        yield from self.update(self.view, **values)

    def press(self, action: str) -> None:
        self.assertIn(f'"{action}"'.replace('"', "&quot;"), self.state_of(self.view))
        self.run_command("chat_remedy", action=action, conversation=self.id_of(self.view))

    def test_an_agent_that_is_not_installed_can_be_tried_again(self) -> Steps:
        yield from self.failed(code=CLIENT_NOT_INITIALIZED, problem='Install it with "npm i".')
        self.assertIn("Install it with &quot;npm i&quot;.", self.state_of(self.view))
        self.assertNotIn("Log in", self.state_of(self.view))
        self.press("retry")
        yield lambda: self.service.asked
        self.assertEqual(self.asked, Reopen(self.id_of(self.view)))

    def test_a_chat_of_no_folder_is_tried_again_in_the_one_that_was_opened_since(self) -> Steps:
        yield from self.failed(code=CLIENT_NOT_INITIALIZED, workspace="/home/of/nobody")
        self.service.wanted.clear()
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        self.press("retry")
        yield lambda: self.service.wanted
        self.assertEqual(self.service.asked, [])
        self.assertEqual(self.service.wanted, [(self.id_of(self.view), "", self.folder)])

    def test_another_agent_takes_over_what_is_written(self) -> Steps:
        yield from self.failed(code=CLIENT_NOT_INITIALIZED)
        self.type(self.view, "do it")
        selection = Attached(SELECTION, "of a.py (1 line)", text="@a.py#L1")
        self.chats.tabs.chat_of(self.view).above.attach([selection])
        self.press("other_agent")
        yield from self.answer(ROWS)
        yield lambda: self.shown
        yield from self.choose(1)
        yield lambda: not self.view.is_valid()
        view = self.window.active_view()
        self.assertEqual(self.unsent(view), "do it")
        yield lambda: self.agents.get(self.id_of(view)) == "qwen"
        self.assertEqual(self.chats.tabs.chat_of(view).above.attached, (selection,))

    def test_a_chat_in_which_something_was_said_keeps_its_agent(self) -> Steps:
        yield from self.failed(code=CLIENT_NOT_INITIALIZED, title="hello")
        self.assertNotIn("Use another agent", self.state_of(self.view))

    def test_a_missing_key_is_asked_for(self) -> Steps:
        given = self.inputs()
        yield from self.failed(code=AUTH_NOT_SET, agent="qwen")
        self.assertIn(WITH_KEY.replace('"', "&quot;"), self.state_of(self.view))
        self.press("log_in")
        yield lambda: self.shown
        yield from self.choose(1)
        for place, words in enumerate((" sk-1 ", "https://x/v1", "")):
            yield lambda place=place: len(given) > place
            given[place](words)
            yield from self.until_turn()
        wanted = Credentials(OPENAI, "sk-1", base_url="https://x/v1")
        self.assertEqual(self.asked, Configure("qwen", wanted))
        self.assertNotIn("sk-1", repr(self.asked))
        yield from self.answer(None)
        yield lambda: any("is logged in now" in sentence for sentence in self.sentences)

    def test_the_users_own_login_is_a_way_that_asks_for_nothing(self) -> Steps:
        yield from self.failed(code=AUTH_REQUIRED, agent="codex", login=UsedLogin(OWN))
        self.assertIn(WITH_OTHER.replace('"', "&quot;"), self.state_of(self.view))
        self.press("log_in")
        yield lambda: self.shown
        self.assertEqual(self.triggers[:1], ["As in your terminal"])
        (details,) = self.shown[-1]["items"][0].details
        self.assertIn('To log in there: "codex login"', details)
        yield from self.choose(0)
        self.assertEqual(self.asked, Configure("codex", Credentials(OWN)))
        yield from self.answer(None)
        yield lambda: any("uses your own login now" in sentence for sentence in self.sentences)

    def test_what_the_settings_say_of_the_login_is_told_and_not_asked(self) -> Steps:
        yield from self.failed(code=AUTH_REQUIRED, agent="codex", login=UsedLogin(OWN))
        self.set("agents", {"codex": {"own_login": True}})
        self.press("log_in")
        yield lambda: any('"own_login" under "agents"' in sentence for sentence in self.sentences)
        self.assertFalse(self.shown)
        self.set("agents", {"codex": {"own_login": False}})
        self.press("log_in")
        yield lambda: self.shown
        self.assertEqual(self.triggers, ["Key for an API like OpenAI's"])
        self.assertIn("not with your own login", self.shown[-1]["placeholder"])

    def test_it_is_the_first_way_of_every_known_agent(self) -> None:
        for id in CLIS:
            self.assertEqual(ways_of(id)[0].kind, OWN, id)

    def test_whose_login_an_agent_has_is_said_once_where_a_chat_begins(self) -> None:
        told = ChatUpdate("a", READY, agent="codex", agent_name="Codex", workspace="/w", mode="m")
        for agent, login, words in (
            ("codex", UsedLogin(OWN), "Codex works in /w with your own login · Write"),
            ("codex", UsedLogin(OWN, True), "Codex works in /w with your own login · Write"),
            ("codex", UsedLogin(OPENAI, True), "Codex works in /w with the key that you gave it"),
            ("codex", UsedLogin(OPENAI), "Codex works in /w with the key of the environment"),
            (
                "gemini",
                UsedLogin(GOOGLE, True),
                "Codex works in /w with the login that you gave it",
            ),
            ("claude", UsedLogin(OWN), "with your own login; your rules that allow a tool count"),
            (
                "codex",
                UsedLogin(OWN, has_variables=True),
                'Codex works in /w as in your terminal, and with the key or address in its "env"',
            ),
            ("mine", UsedLogin(OWN), "Codex works in /w · Write"),
            ("codex", UsedLogin(), "Codex works in /w · Write"),
        ):
            shown = replace(told, agent=agent, login=login)
            self.assertIn(words, words_of(shown, is_empty=True))
            self.assertNotIn("with", words_of(shown))

    def test_a_model_that_is_named_as_the_mode_is_is_said_once(self) -> None:
        told = ChatUpdate("a", READY, agent_name="Claude", mode="Default")
        for model, words in (
            ("Default (recommended)", "Default · Claude · "),
            ("Opus", "Default · Claude · Opus · "),
        ):
            self.assertTrue(words_of(replace(told, model=model)).startswith(words + SENDS))

    def test_without_a_chat_the_user_chooses_the_agent_to_log_in_to(self) -> Steps:
        given = self.inputs()
        self.run_command("log_in")
        yield from self.answer(ROWS)
        yield lambda: self.shown
        yield from self.choose(1)
        yield lambda: len(self.shown) > 1
        yield from self.choose(1)
        for place, words in enumerate(("sk-1", "https://x/v1", "")):
            yield lambda place=place: len(given) > place
            given[place](words)
            yield from self.until_turn()
        wanted = Credentials(OPENAI, "sk-1", base_url="https://x/v1")
        self.assertEqual(self.asked, Configure("qwen", wanted))
        self.assertFalse(any("has no chat" in sentence for sentence in self.sentences))

    def test_a_login_with_google_opens_the_browser_and_asks_for_the_code(self) -> Steps:
        given, opened = self.inputs(), self.replace(webbrowser, "open", mock.Mock())
        yield from self.failed(code=AUTH_REQUIRED)
        self.press("log_in")
        yield lambda: self.shown
        yield from self.choose(2)
        self.assertEqual(self.asked, Configure("gemini", Credentials(GOOGLE)))
        yield from self.answer(None)
        self.assertEqual(self.asked, BeginLogin("gemini"))
        yield from self.answer(Login("https://accounts", datetime.now(timezone.utc)))
        yield lambda: given
        opened.assert_called_once_with("https://accounts")
        given[0](" code ")
        yield from self.until_turn()
        self.assertEqual(self.asked, FinishLogin("gemini", "code"))

    def test_an_agent_of_the_settings_logs_in_in_a_terminal(self) -> Steps:
        run = self.replace(terminus, "run_cli", mock.Mock(side_effect=ended))
        yield from self.failed(code=AUTH_REQUIRED, agent="mine")
        env = {"A": "1", "B": None}
        self.set("agents", {"mine": {"command": ["mine", "--acp", "-v"], "env": env}})
        self.assertEqual(terminal_command("mine"), ("mine", "-v"))
        self.press("log_in_in_terminal")
        # It does not run, so it tells no ways.
        yield from self.answer(())
        yield lambda: run.called
        self.assertEqual(run.call_args[0][2], {"A": "1"})
        self.assertEqual(run.call_args[0][4], ("mine", "-v"))

    def test_before_a_login_runs_the_terminal_of_a_project_the_user_is_asked(self) -> Steps:
        run = self.replace(terminus, "run_cli", mock.Mock(side_effect=ended))
        self.replace(terminus, "has_terminus", lambda: False)
        yield from self.failed(code=AUTH_REQUIRED, agent="mine")
        before: Any = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        ours = {"GeminiCompanion": {"terminal_command": ["sh", "-c", "touch \u202ea"]}}
        self.window.set_project_data({**(before or {}), "settings": ours})
        for number, calls in ((1, 0), (-1, 0), (0, 1)):
            self.press("log_in_in_terminal")
            yield from self.answer(())
            yield lambda: self.shown and len(self.shown[-1]["items"]) == 2
            (details,) = self.shown[-1]["items"][0].details
            self.assertIn("sh -c 'touch &lt;U+202E&gt;a'", details)
            yield from self.choose(number)
            yield from self.until_turn()
            self.shown.clear()
            self.assertEqual(run.call_count, calls)

    def test_the_ways_to_log_in_that_an_agent_tells_are_links(self) -> Steps:
        run = self.replace(terminus, "run_cli", mock.Mock(side_effect=ended))
        ways = (
            AuthMethod("web", "Log in with\u202e Acme"),
            AuthMethod("tty", "Acme", IN_TERMINAL, ("login", "--now"), (("ACME", "1"),)),
            AuthMethod("old", "Old", BY_PROGRAM, ("auth", "login")),
        )
        yield from self.failed(code=AUTH_REQUIRED, agent="mine", agent_name="Mine", sign_ins=ways)
        self.set("agents", {"mine": {"command": ["mine", "--acp"], "env": {"B": "2"}}})
        shown = self.state_of(self.view)
        self.assertIn("Mine asks for a login of its own", shown)
        for words in ("Log in with&lt;U+202E&gt; Acme", "Acme (in a terminal)", "Try again"):
            self.assertIn(words, shown)
        self.assertNotIn("Log in in a terminal", shown)
        self.sign_in("web")
        yield lambda: self.service.asked
        self.assertEqual(self.asked, SignIn("mine", "web"))
        yield from self.answer(None)
        for way, command, env in (
            ("tty", ("mine", "--acp", "login", "--now"), {"ACME": "1", "B": "2"}),
            # Without the words by which it speaks the protocol, and never a command that it names.
            ("old", ("mine", "auth", "login"), {"B": "2"}),
        ):
            run.reset_mock()
            self.sign_in(way)
            yield from self.choose_shown(0)
            yield lambda: self.asked == StartAnew("mine")
            self.assertFalse(run.called)
            yield from self.answer(None)
            yield lambda: run.called
            self.assertEqual((run.call_args[0][4], run.call_args[0][2]), (command, env))
        self.assertIn(sign_in.TRY_AGAIN.format("Mine"), " ".join(self.sentences))

    def test_the_user_sees_the_whole_login_of_an_agent_before_it_runs(self) -> Steps:
        run = self.replace(terminus, "run_cli", mock.Mock(side_effect=ended))
        env = (("PATH", "/evil"), ("GONE", "1"), ("ACME", "a\u202e b"))
        args = ("login", *(f"--word={number}" for number in range(20)))
        ways = (
            AuthMethod("tty", "Acme", IN_TERMINAL, args, env),
            AuthMethod("long", "Long", IN_TERMINAL, ("x" * 5000,)),
        )
        yield from self.failed(code=AUTH_REQUIRED, agent="mine", agent_name="Mine", sign_ins=ways)
        own = {"PATH": "/mine", "GONE": None}
        self.set("agents", {"mine": {"command": ["mine", "--acp"], "env": own}})
        for number in (1, -1):
            self.sign_in("tty")
            yield lambda: self.shown and len(self.shown[-1]["items"]) == 2
            shown = "".join(self.shown[-1]["items"][0].details)
            self.assertTrue(shown.startswith("mine --acp login --word=0"), shown)
            self.assertIn("--word=19", shown)
            self.assertIn("ACME='a&lt;U+202E&gt; b'", shown)
            # What the user has said of a variable counts.
            for words in ("/evil", "GONE"):
                self.assertNotIn(words, shown)
            yield from self.choose_shown(number)
            yield from self.until_turn()
        self.sign_in("long")
        yield lambda: sign_in.TOO_LONG.format("Mine") in " ".join(self.sentences)
        self.assertEqual((run.called, self.service.asked), (False, []))
        self.sign_in("tty")
        yield from self.choose_shown(0)
        yield lambda: self.service.asked
        yield from self.answer(None)
        yield lambda: run.called
        self.assertEqual(run.call_args[0][2], {"PATH": "/mine", "ACME": "a\u202e b"})

    def test_a_launcher_does_not_get_the_words_for_the_program_of_an_agent(self) -> Steps:
        ways = (AuthMethod("old", "Old", BY_PROGRAM, ("auth", "login")),)
        yield from self.failed(code=AUTH_REQUIRED, agent="mine", agent_name="Mine")
        self.set("agents", {"mine": {"command": ["npx", "mine", "--acp"]}})
        told = {"code": AUTH_REQUIRED, "agent": "mine", "agent_name": "Mine"}
        yield from self.update(self.view, state=FAILED, problem="No.", sign_ins=ways, **told)
        shown = self.state_of(self.view)
        self.assertNotIn("Old", shown)
        self.assertIn("Log in in a terminal", shown)

    def choose_shown(self, number: int) -> Steps:
        """Answer the question about a command."""
        yield lambda: self.shown and len(self.shown[-1]["items"]) == 2
        yield from self.choose(number)
        self.shown.clear()

    def test_the_own_login_of_a_known_agent_is_gone_in_a_terminal(self) -> Steps:
        run = self.replace(terminus, "run_cli", mock.Mock(side_effect=ended))
        told = {"code": AUTH_REQUIRED, "agent": "claude", "agent_name": "Claude Code"}
        yield from self.failed(**told, login=UsedLogin(OWN))
        self.press("log_in_in_terminal")
        yield lambda: self.service.asked
        self.assertEqual(self.asked, StartAnew("claude"))
        yield from self.answer(None)
        yield lambda: run.called
        self.assertEqual(run.call_args[0][4], ("claude", "auth", "login"))
        self.assertIn(sign_in.TRY_AGAIN.format("Claude Code"), " ".join(self.sentences))
        self.assertIn("Log in<", self.state_of(self.view))
        # With a key, that login would change nothing.
        yield from self.update(self.view, state=FAILED, problem="No.", **told)
        self.assertNotIn("log_in_in_terminal", self.state_of(self.view))

    def sign_in(self, way: str) -> None:
        """Follow the link of a way that the agent tells."""
        self.assertIn(f"&quot;{way}&quot;", self.state_of(self.view))
        id = self.id_of(self.view)
        self.run_command("chat_remedy", action="sign_in", conversation=id, way=way)

    def test_a_failed_turn_is_sent_again_or_logged_in_for(self) -> Steps:
        yield from self.failed(state="ready", problem="")
        told = '{"turn": "t1"}'
        links = (Link(0, 9, LOG_IN, told), Link(10, 19, RETRY, told))
        read = Rendered("[Log in1] [Try agai]\n", links=links)
        yield from self.update(self.view, agent="gemini", patches=(Patch("a", 0, 0, read),))
        self.view.sel().clear()
        self.view.sel().add(11)
        yield from self.until_turn()
        self.type(self.view, "\n")
        yield lambda: self.service.asked
        self.assertEqual(self.asked, SendAgain(self.id_of(self.view), "t1"))
        self.view.sel().clear()
        self.view.sel().add(1)
        yield from self.until_turn()
        self.type(self.view, "\n")
        yield lambda: self.shown
        self.assertIn("[Log in1]", text_of(self.view))


async def ended(*_args: Any) -> None:
    pass
