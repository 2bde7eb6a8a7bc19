"""What differs between the CLIs that the engine runs. Each has a module with a class of its own,
and a row in `supported`; no other module knows its peculiarities. What a class does not say is what
the protocol says."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Mapping, Sequence

from ...base import jsonrpc, private_files
from ...base.child_processes import users_variables
from ...base.private_files import is_within
from ..acp import messages
from ..attachments import Forms
from ..auth_method import AuthMethod
from ..credentials import OWN, USERS, Credentials
from ..events import tool_call
from ..events.tool_call import Call, Record
from ..failure import VALIDATION_ERROR, AgentError, not_among
from ..open_files import NO_EDITOR, OpenFiles
from ..sentence import Words, sentence
from ..turn_events import PastTurn, Usage
from . import untrusted_workspace
from .cli_home import (
    inherited_variables,
    with_changes,
    without_git_programs,
)
from .known_versions import KnownVersions
from .message_text import BLANKS, after_slash
from .program import Program

# The protocol's code for a file that does not exist.
NOT_FOUND = -32002
# Matches nothing.
NO_MARK = re.compile(r"(?!)")
# Seconds after which nobody waits any longer for the CLI to record something.
PATIENCE = 0.15
# The file of our home that says that the user's own login was used.
OWN_USED = "own-login"
# The folder beside our home in which it starts with that.
OWN_FOLDER = "own"
# With this the extension in the user's home keeps silent: the chat hears all by itself.
IN_CHAT = {"GEMINI_COMPANION_CHAT": "1"}
# What is said of a model that is asked again.
UNREACHED = sentence(
    "The model cannot be reached: attempt {attempt} failed, and it is asked again."
)
UNANSWERED = sentence("The model did not answer attempt {attempt}; it is asked again.")
REFUSED = sentence(
    "The model did not answer attempt {attempt} (status {status}); it is asked again."
)
NO_CHANGES: Mapping[str, str | None] = {}


@dataclass(frozen=True)
class Retry:
    """The CLI asks the model again: the failed attempt, and the model's status or "". It
    `is_unreached` if the connection failed."""

    attempt: int
    status: str
    is_unreached: bool = False

    @property
    def sentence(self) -> Words:
        told = REFUSED if self.status else UNREACHED if self.is_unreached else UNANSWERED
        return told.with_values(attempt=self.attempt, status=self.status)


@dataclass(frozen=True)
class Resumption:
    """How to open a session that remembers: LOAD or RESUME, the session's id, and the number of
    updates that it repeats after its answer."""

    method: str
    session: str
    updates: int = 0


class NoRecording:
    """Reads no recording: the CLI's protocol gives everything."""

    def skip_earlier_turns(self) -> None:
        """Skip what was recorded before this turn. A call of an earlier turn may have the same id
        as a call of this one; and a long recording that was loaded would otherwise be read at the
        first call of a tool, while everybody waits."""

    async def find_record(self, call_id: str, patience: float = PATIENCE) -> Record | None:
        """The record of the call. Waits for it, but at most `patience` seconds."""
        return None


class NoGoogleLogin:
    """The login with Google of a CLI that has none."""

    is_offered = False

    @property
    def is_there(self) -> bool:
        """Whether somebody has logged in; the login may have expired."""
        return False

    @property
    def account(self) -> str | None:
        """The e-mail address of the user who logged in."""
        return None

    def is_asked_for(self, noise: str) -> bool:
        """Whether a line outside the protocol asks a person to log in."""
        return False

    def forget(self) -> None:
        """Raises OSError."""


def with_output(told: messages.ToolCallUpdate) -> messages.ToolCallUpdate:
    """The update with the tool's own result as its text, if the agent gives no other."""
    if told.is_over and not told.texts and isinstance(told.raw_output, str):
        return replace(told, texts=(told.raw_output,))
    return told


class SessionFiles:
    """What a CLI stores about its sessions; for one that opens them again as the protocol says."""

    def recording_of(self, session: str) -> NoRecording:
        """The recording with what the protocol leaves out about the session's calls."""
        return NoRecording()

    def prepare_resumption(
        self,
        workspace: str,
        id: str,
        last: str,
        turns: Sequence[PastTurn],
        capabilities: messages.AgentCapabilities,
    ) -> Resumption | None:
        """How to open a session that remembers what was said; None if that is not possible. `id` is
        for a session that is written anew; `last` is the id of the one before. May write files and
        take a while. Raises OSError."""
        if not last or not (capabilities.resume or capabilities.load):
            return None
        return Resumption(messages.RESUME if capabilities.resume else messages.LOAD, last)

    def remove_session(self, session: str) -> None:
        """Remove everything that the CLI has stored about the session."""


class AgentCli:
    """A CLI in a home of ours, which replaces the user's; or, with credentials of the kind OWN, one
    that runs as in the user's terminal. `folder` is the home of ours; it is created if it is
    missing, but its parent must exist. `trusted` says whether the CLI may use a workspace's own
    settings.

    Those of the `trusted_folders`, absolute paths, and of folders in these may be used in any case.

    `id` is its name in options, requests and transcripts. `tested` are its versions that tests run.
    `kinds` are the kinds of credentials that
    it accepts from everybody. If it has an `own_login`, the command by which the user logs in to it
    in a terminal, `check` accepts OWN, too: from whom, is for the caller to say.
    `login` is the login with Google in its home, `session_files` are there, too; those of sessions
    in the user's home are `users_session_files`. It
    `authenticates_first` if it needs that before anything else, not only where it asks for it. It
    `asks_to_write` if its writes of files come through us; it is then also offered to read them
    through us, where there are `open_files` of an editor. `asking_mode` is the mode for sessions
    for which nobody chose one, if that could be one in which nobody is asked. It `has_sign_ins` if
    the user logs in by the ways that it tells itself, and `uses_terminals` if it is to run its
    commands in terminals of ours, in an editor. It `removes_sessions`
    if its own files of a conversation go with that. `asks_for_messages`
    is the method by which it asks, during a turn, what the user has said meanwhile, or empty. A
    piece of an answer that is an `own_mark` is not for the user. `options` are the answers to its
    permission requests that are known to be harmless: the outcome of each by its id. Of others,
    none is offered that lasts. `harmless_commands` are those of its own, as they are written behind
    the slash, that only show something or change nothing but the conversation. `key_files` are the
    files that have the key, as paths in its home; each is written again when it is needed.
    `home_file` is one that is there once it has run in our home. `unprevented` says what of the
    user's settings lets it do something unasked with their own login, or is empty. It
    `lists_sessions` of a terminal, as far as is known before it runs.
    `key_variables` are those from which `from_environment` has the key, `url_variables` those of
    the addresses that such a key is for. If it `shows_headers`, those of its tool servers stand on
    a command line, which all users of the computer can read. It `starts_git` if it does so by
    itself, as soon as it opens a folder. `attachment_forms` are the forms in which it takes images
    and documents.

    Each method is one difference between the CLIs.
    """

    id = ""
    program: Program
    tested = KnownVersions()
    kinds: tuple[str, ...] = ()
    own_login = ""
    login = NoGoogleLogin()
    session_files = users_session_files = SessionFiles()
    authenticates_first = asks_to_write = removes_sessions = shows_headers = False
    starts_git = has_sign_ins = uses_terminals = False
    asking_mode = asks_for_messages = ""
    key_files: tuple[str, ...] = ()
    home_file = unprevented = ""
    lists_sessions = True
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    own_mark = NO_MARK
    options: Mapping[str, str] = {}
    harmless_commands: tuple[str, ...] = ()
    trusted_folders: tuple[str, ...] = ()
    attachment_forms = Forms()
    open_files: OpenFiles = NO_EDITOR

    def __init__(self, folder: str, trusted: bool) -> None:
        self.folder = folder
        self.trusted = trusted

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def has_home(self) -> bool:
        """Whether it has run in our home, and never with the user's own login."""
        is_there, is_own = (
            os.path.isfile(os.path.join(self.folder, name)) for name in (self.home_file, OWN_USED)
        )
        return is_there and not is_own

    @property
    def own_folder(self) -> str:
        """The folder in which it starts with the user's own login: without any settings, and not
        below our home, where its search for the user's variables would end."""
        return os.path.join(os.path.dirname(self.folder), OWN_FOLDER)

    def process_folder(self, credentials: Credentials) -> str:
        """The folder in which its process starts."""
        return self.own_folder if credentials.kind == OWN else self.folder

    def files_in(self, home: str) -> SessionFiles:
        """What it stores about its sessions in that home."""
        return self.users_session_files if home == USERS else self.session_files

    def trusts_workspace(self, workspace: str) -> bool:
        """Whether it may use this workspace's own settings. Blocks."""
        return self.trusted or any(is_within(workspace, folder) for folder in self.trusted_folders)

    # The process.

    def program_arguments(self, model: str) -> tuple[str, ...]:
        """The program's arguments for the protocol. `model` is that of new sessions, or "", and is
        also the model of the credentials."""
        return ()

    def own_arguments(self) -> tuple[str, ...]:
        """The program's arguments by which it asks before it writes, whatever the user's own
        settings say."""
        return ()

    def prepare_files(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """Write its settings in our home again, with those in `more` on top. The user's own home
        stays as it is. Raises OSError, NotPrivate."""
        private_files.make_folder(self.folder)
        if credentials.kind == OWN:
            private_files.make_folder(self.own_folder)
            private_files.write_file(os.path.join(self.folder, OWN_USED), b"")
            self.prepare_own()
        else:
            self.prepare_home(credentials, more)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """Write its settings in our home, which exists, for credentials that it keeps there."""

    def prepare_own(self) -> None:
        """Write what `own_arguments` and `own_variables` name, in our home, which exists. Raises
        OSError, NotPrivate."""

    def process_environment(
        self,
        credentials: Credentials,
        more: Mapping[str, str],
        env: Mapping[str, str | None] = NO_CHANGES,
    ) -> dict[str, str]:
        """The whole environment of the process; `more` takes precedence. With the user's own login
        it is theirs, as if they had started it. `env` are their variables for this agent (None
        takes one away), which change nothing that leads it to our home or makes it ask; a key among
        them is passed on in the way of its kind, and an address only with its key."""
        if credentials.kind == OWN:
            found = {
                **with_changes(users_variables(), env),
                **IN_CHAT,
                **self.own_variables(),
                **more,
            }
        else:
            ways = {*self.key_variables, *self.url_variables}
            env = {name: env[name] for name in env if name not in ways}
            below = {**inherited_variables(), **self.machine_variables(credentials)}
            found = {**with_changes(below, env), **self.home_variables(credentials), **more}
        return found if self.trusted else without_git_programs(found)

    def home_variables(self, credentials: Credentials) -> Mapping[str, str]:
        """The variables that lead it to our home, and to the model."""
        return {}

    def machine_variables(self, credentials: Credentials) -> Mapping[str, str]:
        """The variables that lead it to a login of the machine. The user's own for this agent take
        precedence."""
        return {}

    def own_variables(self) -> Mapping[str, str]:
        """The variables by which it asks before it writes, whatever the user's own settings say."""
        return {}

    def read_retry(self, line: str) -> Retry | None:
        """The retry that a line of its own log reports, if any. The line does not name the
        session."""
        return None

    @classmethod
    def address_variables(cls, url: str) -> dict[str, str]:
        """The variables that lead it to Gemini's API at another address."""
        return {}

    def session_meta(self, workspace: str) -> messages.Meta:
        """What it has to be told of its own with each session that is opened. May look at the
        workspace. Raises AgentError if no session may be opened there."""
        if not self.trusts_workspace(workspace):
            self.check_workspace(workspace)
        return {}

    def check_workspace(self, workspace: str) -> None:
        """Raises AgentError if something in a workspace that nobody trusts would take effect as
        soon as it is opened, and nothing keeps the CLI from that. Blocks."""
        untrusted_workspace.check_files(workspace, self.name)
        if self.starts_git:
            untrusted_workspace.check_git(workspace, self.name)

    # Credentials.

    def check_credentials(self, credentials: Credentials) -> None:
        """Raises AgentError if something is missing or cannot be passed on."""
        is_own = credentials.kind == OWN and bool(self.own_login)
        if not is_own and credentials.kind not in self.kinds:
            raise not_among(self.kinds, credentials.kind)
        credentials.check_texts()
        if credentials.kind != OWN:
            self.check_fields(credentials)

    def check_fields(self, credentials: Credentials) -> None:
        """Raises AgentError if something is missing for a kind that has fields."""
        credentials.check_key()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        """What a user of the CLI may have set already; None if nothing is set."""
        return None

    def authentication_request(
        self, credentials: Credentials, methods: Sequence[AuthMethod]
    ) -> messages.OutgoingRequest[None] | None:
        """The request that passes on the credentials, by one of the methods that it offers; None if
        there is no such request."""
        return None

    # Messages.

    def text_for(self, message: str) -> str:
        """The user's message in a form that the CLI passes to the model. Raises AgentError for an
        empty message, and for a command of the CLI that would run without asking."""
        if not message.strip(BLANKS):
            raise AgentError(VALIDATION_ERROR, sentence("The message is empty."))
        return message

    def command_in(self, message: str) -> str:
        """The command for which it takes the message, without the slash and in one line, if that
        may change more than this conversation; else ""."""
        command = after_slash(message)
        return "" if command in self.harmless_commands else command

    def uri_of(self, path: str) -> str:
        """The URI of a file that belongs to a message, by its absolute path."""
        return Path(path).as_uri()

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        """The information about a call, also in a permission request."""
        return tool_call.read_call(with_output(told), told.kind or "tool", told.raw_input or {})

    def parent_call(self, meta: messages.Meta) -> str:
        """The id of the call of the subagent that a call or a piece of an answer with this `meta`
        comes from; empty for what is the agent's own."""
        return ""

    def said_meanwhile(self, texts: Sequence[str]) -> Mapping[str, Any]:
        """The result that answers `asks_for_messages`."""
        return {}

    def read_usage(self, meta: messages.Meta) -> Usage:
        """The tokens in the `meta` of a piece of an answer or of a turn's end. They are added up
        for the turn."""
        return Usage()

    def writes_through_us(self, path: str, folder: str) -> bool:
        """Whether it asks us to write this file, in a session of this folder (a real path)."""
        return self.asks_to_write

    def text_to_write(self, request: messages.WriteTextFile) -> str:
        """The text for the file. Raises AgentError if it cannot be written in that form."""
        return request.content

    def missing_file_error(self, path: str) -> Any:
        """The `error` of an answer that says that there is no such file."""
        return {"code": NOT_FOUND, "message": f"There is no file {path}."}

    def refusal_error(self, text: str) -> Any:
        """The `error` of an answer whose text the model is to read."""
        return {"code": jsonrpc.INTERNAL_ERROR, "message": text}
