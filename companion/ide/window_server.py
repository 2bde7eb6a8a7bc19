"""The server of one editor window: its port, its token, and the files by which CLIs find it. The
loop owns it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Callable

from ..base.log import logger
from .discovery import Advertisement, Publication
from .editor import Editor
from .reach import Reach
from .transport import Endpoint

# Makes what answers on the port: for a token, with what tells the user a sentence.
MakeEndpoint = Callable[[str, Callable[[str], None]], Endpoint]


class WindowServer:
    """`advertisement` is what CLIs are told; its port is 0 while nothing is served. `on_change` is
    called when there is a port that must be saved."""

    def __init__(
        self,
        window_id: int,
        advertisement: Advertisement,
        editor: Editor,
        reach: Reach,
        make_endpoint: MakeEndpoint,
        on_change: Callable[[], None],
    ) -> None:
        self._window_id = window_id
        self.advertisement = advertisement
        self.publication: Publication | None = None
        # When a CLI could first find it, in seconds since the epoch; 0.0 if it takes over from an
        # earlier one.
        self.since = 0.0
        self._editor, self.reach = editor, reach
        self._make_endpoint = make_endpoint
        self._on_change = on_change
        self._wanted_port = 0
        self._closed, self._settled = asyncio.Event(), asyncio.Event()
        self._is_handed_over = False

    def adopt_address(self, port: int, token: str) -> None:
        """Serve on this port if it is available, with this token if there is one."""
        self._wanted_port = port
        token = token or self.advertisement.token
        self.advertisement = replace(self.advertisement, token=token)

    @property
    def kept_port(self) -> int:
        """The port that it has, had, or is to have; 0 if there is none."""
        return self.advertisement.port or self._wanted_port

    async def run(self, pid: int) -> None:
        """Serve until `close`. Raises OSError.

        `pid` is the editor's process. The discovery file is removed before the socket closes.
        """
        async with AsyncExitStack() as stack:
            stack.callback(self._settled.set)
            port = await self._open_port(stack)
            self.since = 0.0 if self._wanted_port else time.time()
            self.advertisement = replace(self.advertisement, pid=pid, port=port)
            self.publication = self._publish_files()
            self._on_change()
            self._settled.set()
            await self._closed.wait()

    async def settle(self) -> None:
        """Wait until it has served, or could not."""
        await self._settled.wait()

    def close(self, is_handed_over: bool) -> None:
        """Stop serving. If it `is_handed_over`, the next server has the port from now on."""
        self._is_handed_over = is_handed_over
        self._closed.set()

    def change_advertisement(self, **changes: Any) -> bool:
        """Tell CLIs this from now on; gives whether it is something else."""
        advertisement = replace(self.advertisement, **changes)
        if advertisement == self.advertisement:
            return False
        self.advertisement = advertisement
        if self.publication is not None:
            self.publication.change_advertisement(advertisement)
        return True

    def renew_files(self) -> None:
        """Check that the discovery file exists."""
        if self.publication is not None:
            self.publication.renew()

    async def _open_port(self, stack: AsyncExitStack) -> int:
        if self._wanted_port:
            try:
                return await self._serve_port(stack, self._wanted_port)
            except OSError as error:
                logger.warning("the port of before, %d, is not free: %s", self._wanted_port, error)
            # Another program has the port now and gets the token of CLIs from before, so the token
            # must be void. They have to be enabled again.
            self.advertisement = replace(self.advertisement, token=secrets.token_urlsafe(32))
        return await self._serve_port(stack, 0)

    async def _serve_port(self, stack: AsyncExitStack, port: int) -> int:
        about = f"address {self._window_id}"
        tell = partial(self._editor.show_message, about=about)
        endpoint = self._make_endpoint(self.advertisement.token, tell)
        port = await stack.enter_async_context(endpoint.listen_on(port))
        self.advertisement = replace(self.advertisement, key=endpoint.key)
        if self.reach.address:
            stack.callback(self._editor.withdraw_message, about)
        stack.callback(self._end_endpoint, endpoint)
        return port

    def _end_endpoint(self, endpoint: Endpoint) -> None:
        if self.publication is not None:
            self.publication.remove()
            self.publication = None
        self._wanted_port = self.advertisement.port
        self.advertisement = replace(self.advertisement, port=0)
        if self._is_handed_over:
            endpoint.hand_over()

    def _publish_files(self) -> Publication:
        about = f"discovery {self._window_id}"
        tell = partial(self._editor.show_message, about=about)
        withdraw = partial(self._editor.withdraw_message, about)
        return Publication(self.advertisement, self.reach.folder, tell, withdraw)
