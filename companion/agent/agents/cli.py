"""What differs between the CLIs that the engine runs. Each of them is a module with a class of its
own, and a row in `supported`; nobody else knows what is special of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from ...base import jsonrpc
from ..acp import messages
from ..events.tool_call import Call, Record
from ..events.turn_events import PastTurn, Usage
from ..wording.failure import not_among
from .credentials import Credentials
from .program import Program

# Seconds: what a CLI has not recorded by then will not be waited for.
PATIENCE = 0.15


@dataclass(frozen=True)
class Retry:
    """The CLI asks the model once more: after which attempt, and the model's status or ""."""

    attempt: int
    status: str


@dataclass(frozen=True)
class Resumption:
    """How a session that remembers is opened: LOAD or RESUME, the session's id, and how many
    updates it repeats after its answer."""

    method: str
    session: str
    updates: int = 0


class NoRecording:
    """Of a CLI whose protocol tells all."""

    def skip(self) -> None:
        """Pass over what is there already, as a turn begins. Of turns before, it would be taken for
        a call of this one that has the same id; of a long conversation that was loaded, it would be
        read at the first call of a tool, with everybody waiting."""

    async def find(self, call_id: str, patience: float = PATIENCE) -> Record | None:
        """What was recorded of the call; waits for it, but not longer than `patience` seconds."""
        return None


class Cli(ABC):
    """A CLI in a home of ours, which takes the place of the user's: `folder` is ours alone and is
    made where it is missing; its parent has to be there. `trusted` says whether the CLI may take a
    workspace's own settings for its own.

    `id` is how options, requests and transcripts name it; `kinds` are those of the credentials that
    it takes. It is all that differs, which takes some methods more than the twenty.
    """

    id = ""
    program: Program
    kinds: tuple[str, ...] = ()
    has_google_login = False

    def __init__(self, folder: str, trusted: bool) -> None:
        self.folder = folder
        self.trusted = trusted

    @property
    def name(self) -> str:
        return self.program.name

    # The process.

    def arguments(self, model: str) -> tuple[str, ...]:
        """The program's, for the protocol; `model` is that of new sessions or ""."""
        return ("--acp", *(("--model", model) if model else ()))

    @abstractmethod
    def prepare(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """Write its settings anew, with those in `more` on top. Raises OSError, NotPrivate."""

    @abstractmethod
    def environment(self, credentials: Credentials, more: Mapping[str, str]) -> dict[str, str]:
        """All that the process sees; `more` wins."""

    def retry(self, line: str) -> Retry | None:
        """What a line of its own log says of the model, where it does; not in which session."""
        return None

    @classmethod
    def address(cls, url: str) -> dict[str, str]:
        """The variables that lead it to Gemini's API at another address."""
        return {}

    # Who the user is.

    def check(self, credentials: Credentials) -> None:
        """Raises AgentError where something is missing or could not be handed on."""
        if credentials.kind not in self.kinds:
            raise not_among(self.kinds, credentials.kind)
        credentials.check()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        """What a user of the CLI may have set already; None where nothing is."""
        return None

    @abstractmethod
    def authentication(self, credentials: Credentials) -> messages.Request[None]:
        """What hands them over."""

    def asks_for_login(self, noise: str) -> bool:
        """Whether a line past the protocol wants a person to log in."""
        return False

    @property
    def has_login(self) -> bool:
        """Whether somebody logged in with Google in this home; it may have run out."""
        return False

    @property
    def account(self) -> str | None:
        """The e-mail address of who logged in."""
        return None

    def forget_login(self) -> None:  # noqa: B027 (most have none)
        """Raises OSError."""

    # What it says.

    @abstractmethod
    def text_for(self, message: str) -> str:
        """The user's message in such words that the CLI hands them to the model. Raises
        AgentError for an empty one, and a command of its own that would run without asking."""

    @abstractmethod
    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        """What is told of a call, also in a permission request."""

    def usage(self, meta: messages.Meta) -> Usage:
        """The tokens that the `meta` of a piece of an answer, or of a turn's end, tells of; they
        are added up for the turn."""
        return Usage()

    def writes_through_us(self, path: str, folder: str) -> bool:
        """Whether it asks us to write this file, in a session of this folder (a real path)."""
        return True

    def text_to_write(self, request: messages.WriteTextFile) -> str:
        """What has to stand in the file. Raises AgentError where it cannot be written so."""
        return request.content

    def refusal(self, text: str) -> Any:
        """The `error` of an answer of which the model is to read the text."""
        return {"code": jsonrpc.INTERNAL_ERROR, "message": text}

    # What it has on disk.

    def recording(self, session: str) -> NoRecording:
        """Where what the protocol leaves out of the session's calls is found."""
        return NoRecording()

    @abstractmethod
    def resumption(
        self, workspace: str, id: str, last: str, turns: Sequence[PastTurn]
    ) -> Resumption | None:
        """How a session that remembers what was said is opened, None where none can be; `id` is
        for one that is written anew, `last` that of the one before. It may write files and take a
        while. Raises OSError."""

    @abstractmethod
    def remove_recordings(self, session: str) -> None:
        """All that the CLI has of the session."""
