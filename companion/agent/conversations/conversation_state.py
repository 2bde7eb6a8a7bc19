"""What a conversation keeps over a restart beside its turns: the user's choices, its session of the
agent, and what the agent still has to learn. A frozen record, and changes in its file."""

from __future__ import annotations

import dataclasses
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Mapping, Sequence

from .. import tool_servers
from ..tool_servers import ToolServer
from ..turn_events import Addition, Attachment, QueuedMessage

# The value in the file for something that is true.
YES = "yes"


@dataclass(frozen=True)
class ConversationState:
    """An empty member is not known, or was not chosen. `agent` is the CLI's id. `session` is the id
    of its last session, which is in this `home` of the CLI (`credentials`); `loading` is that of a
    recording that may be on its disk. `is_owned` says that somebody uses it by its id.
    `is_temporary` says that it is deleted with the end of the server. One that is `in_chat` was
    begun in the chat of an editor. `servers` are the tool servers that it brought along. `undone`
    are the paths that the agent still has to be told of. `agent_title` is the agent's own title.
    `options` are further options of the agent, by their ids, and their values. `queue` are the
    messages that wait. It `is_warned` if the user was told that the agent is newer than those that
    were tested."""

    title: str = ""
    agent: str = ""
    model: str = ""
    mode: str = ""
    session: str = ""
    loading: str = ""
    is_owned: bool = False
    is_temporary: bool = False
    servers: tuple[ToolServer, ...] = ()
    undone: tuple[str, ...] = ()
    agent_title: str = ""
    options: tuple[tuple[str, str | bool], ...] = ()
    queue: tuple[QueuedMessage, ...] = ()
    in_chat: bool = False
    is_warned: bool = False
    home: str = ""

    @classmethod
    def from_changes(cls, changes: Mapping[str, str]) -> ConversationState:
        """The state after the last changes of each kind in a file; kinds of a later release are
        skipped."""
        texts = ("title", "agent", "model", "mode", "session", "home", "loading", "agent_title")
        return cls(
            **{name: changes.get(name, "") for name in texts},
            is_owned=bool(changes.get("owned")),
            is_temporary=bool(changes.get("temporary")),
            in_chat=bool(changes.get("in_chat")),
            is_warned=bool(changes.get("warned")),
            # Nearly all have none of these, and thousands are read at a start.
            servers=tool_servers.from_text(changes["servers"]) if "servers" in changes else (),
            undone=tuple(filter(None, changes.get("undone", "").split("\n"))),
            options=_read_options(changes["options"]) if "options" in changes else (),
            queue=queue_of(changes["queue"]) if "queue" in changes else (),
        )

    @property
    def chat_home(self) -> str:
        """The home in which a chat stays; empty for what a client has begun."""
        return self.home if self.in_chat else ""

    def with_choices(self, wanted: Mapping[str, str]) -> ConversationState:
        """The state with another "model", another "mode", or both."""
        model, mode = wanted.get("model", self.model), wanted.get("mode", self.mode)
        return replace(self, model=model, mode=mode)

    def choosing_option(self, id: str, value: str | bool | None) -> ConversationState:
        """The state with another value of an option of the agent; None if it is not chosen."""
        others = [pair for pair in self.options if pair[0] != id]
        return replace(self, options=(*others, *([] if value is None else [(id, value)])))

    def changes_since(self, before: ConversationState) -> dict[str, str]:
        """The changes to write into a file that has the state `before`."""
        mine, others = self._state_texts, before._state_texts
        return {name: mine[name] for name in mine if mine[name] != others[name]}

    @property
    def _state_texts(self) -> Mapping[str, str]:
        return {
            "title": self.title,
            "agent": self.agent,
            "model": self.model,
            "mode": self.mode,
            "session": self.session,
            "home": self.home,
            "loading": self.loading,
            "owned": YES if self.is_owned else "",
            "temporary": YES if self.is_temporary else "",
            "in_chat": YES if self.in_chat else "",
            "warned": YES if self.is_warned else "",
            "servers": tool_servers.as_text(self.servers),
            "undone": "\n".join(self.undone),
            "agent_title": self.agent_title,
            "options": json.dumps(dict(self.options)),
            "queue": queue_text(self.queue),
        }


def _read_options(text: str) -> tuple[tuple[str, str | bool], ...]:
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    pairs = found.items() if isinstance(found, dict) else ()
    return tuple((id, value) for id, value in pairs if isinstance(value, (str, bool)))


def queue_of(text: str) -> tuple[QueuedMessage, ...]:
    """The messages that wait, from a file; one that cannot be read is left out."""
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    messages = []
    for each in found if isinstance(found, list) else ():
        with suppress(KeyError, TypeError, ValueError):
            time, texts = datetime.fromisoformat(each["time"]), ("given", "files")
            files = {name: tuple(map(str, each[name])) for name in texts}
            attached = tuple(Attachment(**values) for values in each["attachments"])
            id, said = str(each["id"]), str(each["text"])
            added = additions_of(each)
            messages.append(
                QueuedMessage(id, said, time, **files, attachments=attached, additions=added)
            )
    return tuple(messages)


def additions_of(stored: Mapping[str, Any]) -> tuple[Addition, ...]:
    """The additions of a message from a file. Raises KeyError, TypeError, ValueError."""
    found = stored.get("additions", ())
    return tuple(
        Addition(str(addition["kind"]), str(addition["name"]), int(addition["size"]))
        for addition in found
    )


def queue_text(messages: Sequence[QueuedMessage]) -> str:
    return json.dumps([_message_values(each) for each in messages], ensure_ascii=False)


def _message_values(message: QueuedMessage) -> dict[str, Any]:
    return {**dataclasses.asdict(message), "time": message.time.isoformat()}
