"""The chat's service, made when it is first needed. UI thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ...base.signal import ValueSignal
from ...chat.chat_update import ChatUpdate
from ..engines import Engines

if TYPE_CHECKING:
    # Imported with the first engine, because many editors never have one.
    from ...chat.chat_service import ChatService

NO_LIBRARIES = "The chat cannot start: {}."


class ServiceAccess:
    """One companion's way to the service. `updates` are emitted on the engine's thread."""

    def __init__(self, engines: Engines, tell: Callable[[str], None]) -> None:
        self._engines = engines
        self._tell = tell
        self.updates = ValueSignal[ChatUpdate]()
        # Why there is none, as a sentence.
        self.failures = ValueSignal[str]()
        # None before it was needed.
        self.service: ChatService | None = None

    async def ensure_service(self) -> ChatService | None:
        """The service; None if a library is missing, which the user is told."""
        if self.service is None:
            try:
                engine = await self._engines.ensure_engine()
            except ImportError as error:
                problem = NO_LIBRARIES.format(error)
                self._tell(problem)
                self.failures.emit(problem)
                return None
            from ...chat.chat_service import ChatService

            if self.service is None:
                self.service = ChatService(engine, self.updates.emit)
        return self.service
