"""Agents with the user's own login: they run in the user's home, with what is set up there, and
still ask before they write. Each one unmodified; one that is not set up is skipped.

    make test-agents
"""

from __future__ import annotations

import asyncio
import glob
import json
import os
import re
import shutil
import tempfile
import unittest
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any, Mapping
from unittest import mock

from agent_case import PATIENCE, AgentCase, of, text
from agent_rows import AGENTS, CODEX_MODEL, GEMINI_MODEL, NEWEST_CLAUDE, Proxy
from agent_rows import Agent as Row
from any_model_server import MODEL
from editor import Editor
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents.cli_home import inherited_variables
from GeminiCompanion.companion.agent.conversations.repeated_turns import TAKEN_OVER
from GeminiCompanion.companion.agent.credentials import OWN, USERS, Credentials
from GeminiCompanion.companion.agent.failure import QUOTA_EXCEEDED, AgentError
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes import own_sessions, runner
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.supported import CLIS
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import Error, Thought, ToolConfirmation, ToolResult
from served import until, write_settings
from test_matrix import table, write_cell

# Asked before a test has an environment of its own.
WRITES_SEEN = bool(os.environ.get("WRITE_SEEN"))
OF_USER, OF_GATEWAY = "the-users-key", "a-gateways-key"
# As pnpm writes it for a global program that Node runs, and for a native one.
BY_NODE = """#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")
if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "{program}" "$@"
else
  exec node  "{program}" "$@"
fi
"""
NATIVE = '#!/bin/sh\nexec "{program}" "$@"\n'
LOGIN = Credentials(OWN)
NO, ONCE = "cancel", "proceed_once"


def claude_home(url: str) -> Mapping[str, Any]:
    variables = {"ANTHROPIC_BASE_URL": url}
    settings = {"env": variables, "apiKeyHelper": f"echo {OF_USER}"}
    return {".claude/settings.json": {**settings, "permissions": {"defaultMode": "acceptEdits"}}}


def opencode_home(url: str) -> Mapping[str, Any]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1"},
        "models": {MODEL: {}},
    }
    # Names before and after "*", which counts for all others.
    allowed = {"edit": "allow", "*": "allow", "bash": {"*": "allow"}}
    settings = {
        # It would add this itself.
        "$schema": "https://opencode.ai/config.json",
        "provider": {"mine": provider},
        "model": f"mine/{MODEL}",
        "small_model": f"mine/{MODEL}",
        "permission": allowed,
        "autoupdate": False,
    }
    login = {"mine": {"type": "api", "key": OF_USER}}
    return {
        ".config/opencode/opencode.json": settings,
        ".local/share/opencode/auth.json": login,
    }


def codex_home(url: str) -> Mapping[str, Any]:
    settings = f"""
model = "{CODEX_MODEL}"
model_provider = "mine"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[features]
plugins = false
apps = false
remote_plugin = false
[model_providers.mine]
name = "mine"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = true
"""
    login = {"auth_mode": "apikey", "OPENAI_API_KEY": OF_USER}
    return {".codex/config.toml": settings, ".codex/auth.json": login}


def gemini_home(url: str) -> Mapping[str, Any]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"defaultApprovalMode": "auto_edit"},
        "tools": {"allowed": ["write_file", "run_shell_command"]},
        "model": {"name": GEMINI_MODEL},
    }
    rule = '[[rule]]\ntoolName = "%s"\ndecision = "allow"\npriority = 950\n'
    allowed = "".join(rule % name for name in ("write_file", "run_shell_command"))
    return {
        ".gemini/settings.json": settings,
        ".gemini/policies/auto-saved.toml": allowed,
        ".gemini/.env": f"GEMINI_API_KEY={OF_USER}\nGOOGLE_GEMINI_BASE_URL={url}\n",
    }


def qwen_home(url: str) -> Mapping[str, Any]:
    auth = {"selectedType": "openai", "apiKey": OF_USER, "baseUrl": f"{url}/v1"}
    settings = {
        # It would write the second of these itself.
        "$version": 4,
        "security": {"auth": auth, "folderTrust": {"enabled": False}},
        "model": {"name": MODEL},
        "tools": {"approvalMode": "yolo", "useRipgrep": False},
        "permissions": {"allow": ["Edit", "WriteFile", "Bash", "Bash(*)"]},
    }
    return {".qwen/settings.json": settings}


HOMES = {
    "gemini": gemini_home,
    "qwen": qwen_home,
    "claude": claude_home,
    "opencode": opencode_home,
    "codex": codex_home,
}


def gateway(id: str, url: str) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """The settings and the variables of a user whose key stands in the environment alone, with the
    address of a gateway where the agent takes it from there."""
    if id == "gemini":
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        settings = {**auth, "model": {"name": GEMINI_MODEL}}
        variables = {"GEMINI_API_KEY": OF_GATEWAY, "GOOGLE_GEMINI_BASE_URL": url}
        return {".gemini/settings.json": settings}, variables
    if id == "qwen":
        auth = {"security": {"auth": {"selectedType": "openai"}}}
        settings = {**auth, "tools": {"useRipgrep": False}}
        variables = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODEL}
        return {".qwen/settings.json": settings}, {**variables, "OPENAI_API_KEY": OF_GATEWAY}
    if id == "claude":
        return {}, {"ANTHROPIC_AUTH_TOKEN": OF_GATEWAY, "ANTHROPIC_BASE_URL": url}
    files = dict(HOMES[id](url))
    if id == "opencode":
        name = ".config/opencode/opencode.json"
        del files[".local/share/opencode/auth.json"]
        options = {"baseURL": f"{url}/v1", "apiKey": "{env:GATEWAY_KEY}"}
        provider = {**files[name]["provider"]["mine"], "options": options}
        files[name] = {**files[name], "provider": {"mine": provider}}
    else:
        del files[".codex/auth.json"]
        told = str(files[".codex/config.toml"])
        asked = told.replace("requires_openai_auth = true", 'env_key = "GATEWAY_KEY"')
        files[".codex/config.toml"] = asked
    return files, {"GATEWAY_KEY": OF_GATEWAY}


def make_home(row: Row, home: str, url: str, proxy: Proxy) -> Any:
    """The user's home, with a login for the model at the URL, and settings by which nobody is
    asked. Gives what is to be patched for the agent to find it."""
    return patched_home(HOMES[row.id](url), home, proxy.variables)


def patched_home(files: Mapping[str, Any], home: str, variables: Mapping[str, str]) -> Any:
    """The user's home with these files. Gives what is to be patched for an agent with these
    variables to find it."""
    for name, content in files.items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
    # What else there is on this machine may be for another agent.
    return mock.patch.dict(
        os.environ, {**inherited_variables(), "HOME": home, **variables}, clear=True
    )


async def in_terminal(launch: Launch, root: str, folder: str, words: str) -> None:
    """Somebody else says it in the user's home, and allows everything."""
    state = os.path.join(tempfile.mkdtemp(dir=root), "state")
    other = Agent(Options(launch, state))
    try:
        await other.account.configure_credentials(LOGIN)
        turn = await other.send_message(folder, words)
        async for event in turn.read_events():
            if isinstance(event.body, ToolConfirmation):
                other.turns.confirm_call(event.body.call_id, CallDecision(ONCE))
    finally:
        await other.stop()


class WithOwnLogin(AgentCase):
    """The user's home has a login, and settings by which nobody is asked."""

    row: Row
    home: str
    proxy: Proxy
    real = True

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        super().setUpClass()

    @classmethod
    async def another_agent(cls, *given: Any, **options: Any) -> Any:
        """With the user's home as it is before the agent has run in it."""
        cls.home = os.path.join(cls.root, "home")
        shutil.rmtree(cls.home, True)
        patch = make_home(cls.row, cls.home, cls.model.url, cls.proxy)
        patch.start()
        cls.addClassCleanup(patch.stop)
        return await super().another_agent(credentials=LOGIN)

    @classmethod
    def launch(cls, *given: Any, **more: Any) -> Launch:
        """As in an editor."""
        return replace(cls.row.launch(cls.model.url, cls.proxy.variables), is_users=True)

    def setUp(self) -> None:
        super().setUp()
        self.file = self.path("file.txt")

    async def say(self, words: str, *replies: Any, decide: str = "", **more: Any) -> list[Any]:
        said = f"{words} ({self._testMethodName})"
        self.model.will_play(said, *replies)
        return await self.tell(said, decide, **more)

    async def test_the_model_is_asked_with_the_users_login(self) -> None:
        del self.model.keys[:]
        self.assertIn("Hi.", text(await self.say("hello", ["Hi."])))
        self.assertEqual(set(self.model.keys), {OF_USER})

    async def test_it_asks_before_it_writes_whatever_the_users_settings_say(self) -> None:
        story = await self.say("write", [self.row.write(self.file, "plum\n")], ["Well."], decide=NO)
        self.assertEqual(len(of(ToolConfirmation, story)), 1, story)
        self.assertFalse(os.path.exists(self.file))

    async def test_it_asks_before_it_runs_a_command(self) -> None:
        line = f"echo plum > '{self.file}'"
        story = await self.say("run", [self.row.run(line)], ["Well."], decide=NO)
        self.assertEqual(len(of(ToolConfirmation, story)), 1, story)
        self.assertFalse(os.path.exists(self.file))

    async def test_a_conversation_goes_on_in_its_home_whichever_login_is_chosen_later(self) -> None:
        key = self.row.key(self.model.url)
        begun: dict[str, tuple[str, str]] = {}
        for login, user_key in ((LOGIN, OF_USER), (key, key.api_key)):
            await self.agent.account.configure_credentials(login)
            chat = await self.new_chat()
            words = f"the word is {login.kind}"
            await self.say_in(chat, words, "I see.")
            begun[chat] = words, user_key
        await self.assert_go_on(begun, "while the key is chosen")
        # An engine after a restart has the keys from the disk, and opens the sessions again.
        await self.agent.account.configure_credentials(LOGIN)
        await self.agent.stop()
        type(self).agent = Agent(Options(self.launch(), self.agent.state))
        self.addClassCleanup(lambda agent: self.run_soon(agent.stop()), self.agent)
        await self.agent.load_conversations()
        self.let_a_minute_pass()
        await self.assert_go_on(begun, "while the own login is chosen")

    async def new_chat(self) -> str:
        """The id of a conversation of the editor's user."""
        info = await self.agent.new_session(self.workspace)
        record = self.agent.conversations.known_conversation(info.id).record
        record.change_state(replace(record.state, in_chat=True))
        return info.id

    async def say_in(self, chat: str, words: str, answer: str) -> list[Any]:
        said = f"{words} ({self._testMethodName})"
        self.model.will_play(said, [answer])
        conversation = self.agent.conversations.known_conversation(chat)
        turn = await self.agent.outbox.send_message(conversation, said, (), (), True)
        return await self.rest(turn)

    async def assert_go_on(self, begun: Mapping[str, tuple[str, str]], how: str) -> None:
        """Each with its own key, and by itself."""
        for id, (before, user_key) in begun.items():
            words = f"and now after {before} {how}"
            story = await self.say_in(id, words, "Here.")
            self.assertEqual((text(story), of(Thought, story)), ("Here.", []))
            self.assertEqual(self.keys_for(words, before), {user_key})

    def keys_for(self, *words: str) -> set[str]:
        """The keys of all requests that had these words; an agent may still ask for titles and the
        like of another conversation."""
        asked = list(self.model.asked_with)
        return {key for key, told in asked if all(word in told for word in words)}

    async def test_one_that_has_to_leave_its_home_is_given_what_was_said(self) -> None:
        account, key = self.agent.account, self.row.key(self.model.url)
        chat = await self.new_chat()
        await self.say_in(chat, "the word is plum", "I see.")
        account.learn_error(QUOTA_EXCEEDED, USERS)
        await account.configure_credentials(key)
        words = "and now with the other login"
        self.assertIn("Here.", text(await self.say_in(chat, words, "Here.")))
        self.assertEqual(self.keys_for(words, "the word is plum"), {key.api_key})
        await account.configure_credentials(LOGIN)

    def let_a_minute_pass(self) -> None:
        """Of a session of this minute Gemini CLI would lose the recording."""
        for path in glob.glob(f"{glob.escape(self.home)}/.gemini/tmp/*/chats/session-*"):
            os.rename(path, re.sub(r"session-[^/]*(?=-)", "session-2026-01-02T03-04", path))

    async def test_it_remembers_by_itself_after_its_process_has_ended(self) -> None:
        await self.say("the word is plum", ["I see."])
        await self.agent.backends[None].pool.stop()
        self.let_a_minute_pass()
        story = await self.say("and now", ["Here."])
        self.assertEqual((text(story), of(Thought, story)), ("Here.", []))
        self.assertIn("the word is plum", str(self.model.told()))

    async def test_a_session_of_the_terminal_goes_on_as_a_conversation(self) -> None:
        writes = self.row.write(self.file, "plum\n")
        self.model.will_play("the word is plum", [writes], ["I see."])
        await in_terminal(self.launch(), self.root, self.workspace, "the word is plum")
        self.assertTrue(os.path.exists(self.file))
        backend, known = self.agent.backends[None], self.agent.conversations
        (session,) = await own_sessions.list_own_sessions(backend, known, self.workspace)
        self.assertTrue(session.title)
        assert session.updated is not None
        self.assertLess(datetime.now(timezone.utc) - session.updated, timedelta(minutes=5))
        taken = await own_sessions.take_over(backend, known, self.workspace, session)
        (turn,) = (await taken.past.read_history()).turns
        self.assertEqual(turn.text, "the word is plum")
        bodies = [event.body for event in turn.events]
        self.assertEqual(text(bodies), "I see.")
        self.assertEqual(len(of(ToolResult, bodies)), 1)
        story = await self.say("and now", ["Here."], session_id=taken.id)
        self.assertEqual((text(story), of(Thought, story)), ("Here.", []))
        self.assertIn("the word is plum", str(self.model.told()))
        self.assertEqual(await own_sessions.list_own_sessions(backend, known, self.workspace), ())

    def assert_seen(self, seen: str) -> None:
        """The cell of this test in the table has the words."""
        situation = self._testMethodName[len("test_") :].replace("_", " ")
        if WRITES_SEEN:
            write_cell(situation, self.row.name, seen)
        self.assertEqual(table().get((situation, self.row.name)), seen)

    async def answer_of(self, launch: Launch) -> list[str]:
        """The keys with which the model was asked by an agent of its own, which has answered."""
        said = f"hello ({self._testMethodName})"
        self.model.will_play(said, ["Hi."])
        # It may still ask for titles and the like.
        await self.agent.backends[None].pool.stop()
        del self.model.keys[:]
        state = os.path.join(tempfile.mkdtemp(dir=self.root), "state")
        other = Agent(Options(launch, state))
        await other.account.configure_credentials(LOGIN)
        try:
            turn = await other.send_message(self.workspace, said)
            self.assertEqual(text(await self.rest(turn)), "Hi.")
        finally:
            await other.stop()
        return sorted(set(self.model.keys))

    async def test_own_login(self) -> None:
        self.assertIn("Hi.", text(await self.say("hello", ["Hi."])))
        line = f"echo plum > '{self.file}'"
        for number, call in enumerate((self.row.write(self.file, "plum\n"), self.row.run(line))):
            story = await self.say(f"do {number}", [call], ["Well."], decide=NO)
            self.assertEqual(len(of(ToolConfirmation, story)), 1, story)
        self.assertFalse(os.path.exists(self.file))
        self.assert_seen("answered; an edit and a command are asked about")

    async def test_gateway(self) -> None:
        files, variables = gateway(self.row.id, self.model.url)
        home = tempfile.mkdtemp(dir=self.root)
        with patched_home(files, home, {**self.proxy.variables, **variables}):
            launch = Launch(self.row.command(), agent=self.row.id)
            self.assertEqual(await self.answer_of(launch), [OF_GATEWAY])
        has_address = any("URL" in name for name in variables)
        where = "key and address" if has_address else "key"
        self.assert_seen(f"answered, with its {where} in the environment")

    async def test_pnpm(self) -> None:
        folder = tempfile.mkdtemp(dir=self.root)
        path = os.path.join(folder, CLIS[self.row.id].program.script)
        *node, program = self.row.command()
        with open(path, "w", encoding="utf-8") as file:
            file.write((BY_NODE if node else NATIVE).format(program=program))
        os.chmod(path, 0o700)
        if node:
            os.symlink(os.path.realpath(node[0]), os.path.join(folder, "node"))
        with mock.patch.dict(os.environ, PATH=os.pathsep.join([folder, os.environ["PATH"]])):
            launch = Chosen(self.row.id).launch
            self.assertEqual(launch.find_command().words, (path,))
            self.assertEqual(await self.answer_of(launch), [OF_USER])
        self.assert_seen("answered, started by its script")

    async def test_the_users_settings_and_login_stay_as_they_are(self) -> None:
        await self.say("hello", ["Hi."])
        for name, content in HOMES[self.row.id](self.model.url).items():
            with open(os.path.join(self.home, name), encoding="utf-8") as file:
                told = file.read()
            self.assertEqual(told if isinstance(content, str) else json.loads(told), content)


class Gemini(WithOwnLogin):
    row = AGENTS["gemini"]

    async def test_a_session_of_the_terminal_goes_on_as_a_conversation(self) -> None:
        """It lists none."""
        backend, known = self.agent.backends[None], self.agent.conversations
        with self.assertRaisesRegex(AgentError, "does not list its sessions"):
            await own_sessions.list_own_sessions(backend, known, self.workspace)


class Qwen(WithOwnLogin):
    row = AGENTS["qwen"]


class Claude(WithOwnLogin):
    row = AGENTS["claude"]


class NewestClaude(WithOwnLogin):
    row = NEWEST_CLAUDE


class OpenCode(WithOwnLogin):
    row = AGENTS["opencode"]


class Codex(WithOwnLogin):
    row = AGENTS["codex"]


class WithoutLogin(unittest.TestCase):
    """opencode has models for which nobody has to log in."""

    def test_the_user_is_told_the_command_that_logs_in(self) -> None:
        for id in ("gemini", "qwen", "claude", "codex"):
            with self.subTest(id):
                root = os.path.realpath(tempfile.mkdtemp(prefix="no login-"))
                self.addCleanup(shutil.rmtree, root, True)
                try:
                    launch = AGENTS[id].launch("", {})
                except AgentError:
                    self.skipTest(f"{id} is not installed: {AGENTS[id].setup}")
                told = asyncio.run(self.told(launch, root))
                self.assertIn(f'run "{CLIS[id].own_login}" there', told)

    def test_gemini_cli_that_waits_for_its_user_to_log_in_is_not_waited_for(self) -> None:
        try:
            launch = AGENTS["gemini"].launch("", {})
        except AgentError:
            self.skipTest(f"Gemini CLI is not installed: {AGENTS['gemini'].setup}")
        root = os.path.realpath(tempfile.mkdtemp(prefix="no login-"))
        self.addCleanup(shutil.rmtree, root, True)
        os.mkdir(os.path.join(root, ".gemini"))
        kind = {"security": {"auth": {"selectedType": "oauth-personal"}}}
        with open(os.path.join(root, ".gemini", "settings.json"), "w", encoding="utf-8") as file:
            json.dump(kind, file)
        # Where it were waited for, nothing would come.
        with mock.patch.object(runner, "STARTING", 10 * PATIENCE):
            told = asyncio.run(asyncio.wait_for(self.told(launch, root), PATIENCE))
        self.assertIn('run "gemini" there', told)

    async def told(self, launch: Launch, root: str) -> str:
        """Why a message is not answered."""
        folder = os.path.join(root, "work")
        os.mkdir(folder)
        with Proxy() as proxy:
            variables = {**inherited_variables(), "HOME": root, **proxy.variables}
            with mock.patch.dict(os.environ, variables, clear=True):
                agent = Agent(Options(launch, os.path.join(root, "state")))
                await agent.account.configure_credentials(LOGIN)
                try:
                    turn = await agent.send_message(folder, "hello")
                    last = [event.body async for event in turn.read_events()][-1]
                    return str(last.message if isinstance(last, Error) else last)
                except AgentError as error:
                    return str(error)
                finally:
                    await agent.stop()
                    proxy.shutdown()


class InTab(unittest.TestCase):
    """What a user does in the editor, from the login to the session of their terminal."""

    row = AGENTS["claude"]

    def setUp(self) -> None:
        try:
            command = self.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{self.row.name} is not installed: {self.row.setup}") from None
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="own login-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.folder, self.temp, self.data, self.home = (
            os.path.join(self.root, name) for name in ("work", "tmp", "data", "home")
        )
        for folder in (self.folder, self.temp, self.data, self.home):
            os.mkdir(folder)
        self.model = self.row.server()
        self.model.__enter__()
        self.addCleanup(self.model.__exit__, None, None, None)
        proxy = Proxy()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        patch = make_home(self.row, self.home, self.model.url, proxy)
        patch.start()
        self.addCleanup(patch.stop)
        agents = {self.row.id: {"command": command}}
        write_settings(self.data, {"usual_agent": self.row.id, "agents": agents})
        self.launch = Launch(command, agent=self.row.id)

    def until_shown(self, *words: str) -> str:
        def found() -> str:
            text = str(self.editor.do("chat") or "")
            return text if all(word in text for word in words) else ""

        return str(until(found))

    def choose_command(self, caption: str) -> None:
        until(lambda: self.editor.do("choose_in_palette", f"Gemini Companion: {caption}"))

    def test_a_session_of_the_terminal_goes_on_in_a_tab_and_remembers(self) -> None:
        self.model.will_play("the word is plum", ["I see."])
        asyncio.run(in_terminal(self.launch, self.root, self.folder, "the word is plum"))
        self.editor = Editor(self.folder, self.data, self.temp, home=self.home)
        self.addCleanup(self.editor.close)
        self.choose_command("New Chat")
        until(lambda: "with your own login" in str(self.editor.do("chat_state")))
        self.choose_command("Continue a Session of the Terminal")
        self.editor.do("choose", 0)
        self.until_shown("▎ the word is plum", "I see.", str(TAKEN_OVER))
        self.model.will_play("and now", ["Here."])
        self.editor.do("type_in_chat", "and now")
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("▎ and now", "Here.", " token")
        self.assertIn("the word is plum", str(self.model.told()))
        self.assertEqual(set(self.model.keys), {OF_USER})


del WithOwnLogin

if __name__ == "__main__":
    unittest.main()
