"""What a conversation keeps over a restart beside its turns: what the user chose, its session of
the agent, what the agent is still to be told; as a frozen record, and as changes in its file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping

from ..acp import tool_servers
from ..acp.tool_servers import ToolServer

# What stands in the file for something that is so.
YES = "yes"


@dataclass(frozen=True)
class ConversationState:
    """What is empty is not known, or was not chosen. `agent` is the CLI's id, `session` that of its
    last session, `loading` that of a recording which may be on its disk. Somebody uses one that
    `is_owned` by its id; one that `is_temporary` does not outlive the server. `servers` are the
    tool servers that it brought along, `undone` the paths of which the agent is still to be
    told."""

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

    @classmethod
    def of(cls, changes: Mapping[str, str]) -> ConversationState:
        """From the last changes of each kind in a file; what a later release has there is passed
        over."""
        texts = ("title", "agent", "model", "mode", "session", "loading")
        return cls(
            **{name: changes.get(name, "") for name in texts},
            is_owned=bool(changes.get("owned")),
            is_temporary=bool(changes.get("temporary")),
            servers=tool_servers.from_text(changes.get("servers", "[]")),
            undone=tuple(filter(None, changes.get("undone", "").split("\n"))),
        )

    def choosing(self, wanted: Mapping[str, str]) -> ConversationState:
        """With another "model", another "mode", or both."""
        model, mode = wanted.get("model", self.model), wanted.get("mode", self.mode)
        return replace(self, model=model, mode=mode)

    def changes_since(self, before: ConversationState) -> dict[str, str]:
        """What has to be written of it into a file that has `before`."""
        mine, others = self._texts, before._texts
        return {name: mine[name] for name in mine if mine[name] != others[name]}

    @property
    def _texts(self) -> Mapping[str, str]:
        return {
            "title": self.title,
            "agent": self.agent,
            "model": self.model,
            "mode": self.mode,
            "session": self.session,
            "loading": self.loading,
            "owned": YES if self.is_owned else "",
            "temporary": YES if self.is_temporary else "",
            "servers": tool_servers.as_text(self.servers),
            "undone": "\n".join(self.undone),
        }
