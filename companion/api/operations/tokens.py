"""Who asks, and the named tokens: given, listed, renewed and withdrawn while the server runs.

Of a named token only the SHA-256 is kept, with its name and its scopes, in a file of the state
folder. It has 256 random bits, so nothing slower is needed against guessing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any, AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence

from ...agent import wire
from ...base import private_files
from ...base.background import in_thread
from ...base.file_lock import FileLock
from ...base.log import logger
from ..contract.refusal import (
    FILE_ERROR,
    READ_ONLY,
    SCOPE_MISSING,
    TOKEN_EXISTS,
    TOKEN_NOT_FOUND,
    Refusal,
)
from ..contract.scopes import GRANTED, READ

# The most named tokens.
MAX_TOKENS = 100
TOKEN_BYTES = 32
# What the name of the file's lock has more, and the seconds for which the file counts as known.
LOCK, MOMENT = ".lock", 1.0
# Seconds that a request waits for the file's disk.
LOOKING = 1.0


@dataclass(frozen=True)
class Caller:
    """Who makes a request. `id` is never used again for another token; `name` is for people. Empty
    for a request without a token."""

    id: str = ""
    name: str = ""
    scopes: frozenset[str] = frozenset()

    def check_scopes(self, *needed: str) -> None:
        """Raises Refusal if a scope is missing."""
        missing = [each for each in needed if each not in self.scopes]
        if missing and self.scopes == {READ}:
            raise Refusal(READ_ONLY)
        if missing:
            raise Refusal(SCOPE_MISSING, scope=missing[0])


NOBODY = Caller()


@dataclass(frozen=True)
class NamedToken:
    """`digest` is the SHA-256 of the token, `created` a time as in answers. Only name and scopes
    outlast its renewal."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: str
    digest: str

    @property
    def caller(self) -> Caller:
        return Caller(self.id, self.name, frozenset(self.scopes))


class Tokens:
    """The named tokens; other servers may have the same file. All methods are called on one loop,
    `load` before all others. `taken` are the names of tokens that are none of these."""

    def __init__(self, path: str, taken: Collection[str] = ()) -> None:
        self._path = path
        self._taken = taken
        self._by_digest: Mapping[str, NamedToken] = {}
        # Held while the file is written.
        self._writing = asyncio.Lock()
        self._lock = FileLock(path + LOCK)
        # What the file was like when it was read, and when that was looked at, on the loop's clock.
        self._seen: tuple[int, int] | None = None
        self._looked = 0.0
        self._looking: asyncio.Future[None] | None = None
        # What ends the requests that are being answered, by the tokens' ids.
        self._open: dict[str, set[Callable[[], None]]] = {}

    def load(self, forget: bool = False) -> None:
        """Read the file; with `forget`, withdraw all tokens. Blocks. Raises OSError."""
        if forget:
            with self._lock.hold_lock(), suppress(FileNotFoundError):
                os.remove(self._path)
        self._seen, self._by_digest = self._file_state(), self._read_file()

    async def refresh(self) -> None:
        """Learn what another server has changed, a second ago at the latest. What is known counts
        while the disk fails, or does not answer."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked < MOMENT or self._writing.locked():
            return
        if self._looking is not None and not self._looking.done():
            return
        self._looked = loop.time()
        self._looking = asyncio.ensure_future(self._read_if_changed())
        done, _waiting = await asyncio.wait([self._looking], timeout=LOOKING)
        for each in done:
            each.result()

    async def _read_if_changed(self) -> None:
        with suppress(OSError):
            if await in_thread(self._file_state) != self._seen:
                async with self._writing:
                    await self._read_again()

    async def _read_again(self) -> None:
        before = list(self)
        seen = await in_thread(self._file_state)
        self._by_digest = dict(await in_thread(self._read_file))
        # Only now: if the disk fails, it is read with the next request.
        self._seen = seen
        for each in before:
            if each.digest not in self._by_digest:
                self._end_requests(each)

    @asynccontextmanager
    async def _exclusive_change(self) -> AsyncIterator[None]:
        """Nobody else changes the tokens meanwhile. Raises Refusal."""
        async with self._writing:
            try:
                await in_thread(self._lock.wait_for_lock)
                if await in_thread(self._file_state) != self._seen:
                    await self._read_again()
                yield
                self._seen = await in_thread(self._file_state)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Refusal(FILE_ERROR, path=self._path, reason=reason) from None
            finally:
                await in_thread(self._lock.release)

    def _file_state(self) -> tuple[int, int] | None:
        """Another value after each change of the file; None if there is none. Raises OSError."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _read_file(self) -> Mapping[str, NamedToken]:
        """Raises OSError."""
        try:
            with open(self._path, encoding="utf-8") as file:
                return {token.digest: token for token in map(_read_token, json.load(file))}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError):
            # Better none than a wrong one.
            logger.error("%s is damaged: no named token works. Give new ones.", self._path)
            return {}

    def __iter__(self) -> Iterator[NamedToken]:
        return iter(list(self._by_digest.values()))

    def holder_of(self, token: str) -> Caller:
        """Whose token this is; NOBODY, if it is none of these."""
        known = self._by_digest.get(_token_digest(token)) if self._by_digest else None
        return NOBODY if known is None else known.caller

    def has_token_of(self, caller: Caller) -> bool:
        """Whether the caller's token is one of these, and still as it was."""
        return any(token.caller == caller for token in self)

    @contextmanager
    def track_request(self, caller: Caller, end: Callable[[], None]) -> Iterator[None]:
        """Within the block a request of the caller is answered; `end` is called if its token is
        withdrawn or renewed meanwhile."""
        ends = self._open.setdefault(caller.id, set())
        ends.add(end)
        try:
            yield
        finally:
            ends.discard(end)
            if not ends:
                self._open.pop(caller.id, None)

    async def give_token(
        self, name: str, scopes: Sequence[str], giver: Caller
    ) -> tuple[NamedToken, str]:
        """A new token, with what is kept of it. Nobody gives more than they have. Raises
        Refusal."""
        giver.check_scopes(*scopes)
        async with self._exclusive_change():
            known = list(self)
            is_taken = name in self._taken or any(token.name == name for token in known)
            if is_taken or len(known) >= MAX_TOKENS:
                raise Refusal(TOKEN_EXISTS, name=name, limit=MAX_TOKENS)
            ordered = tuple(each for each in GRANTED if each in scopes)
            token, made = _make_token(NamedToken("", name, ordered, "", ""))
            await self._write_file([*known, made])
        return made, token

    async def renew_token(
        self, name: str, giver: Caller, own: Callable[[], None]
    ) -> tuple[NamedToken, str]:
        """The token anew; the old one stops working, and its requests end, but the one that
        `own` would end. Raises Refusal."""
        async with self._exclusive_change():
            before = self._token_named(name)
            giver.check_scopes(*before.scopes)
            token, made = _make_token(before)
            await self._write_file([made if known is before else known for known in self])
        self._end_requests(before, own)
        return made, token

    async def withdraw_token(self, name: str, own: Callable[[], None]) -> None:
        """The token stops working at once, and its requests end, but the one that `own` would end.
        Raises Refusal; if the disk failed, the token works again after a restart."""
        await self.refresh()
        before = self._token_named(name)
        self._by_digest = {token.digest: token for token in self if token is not before}
        self._end_requests(before, own)
        async with self._exclusive_change():
            # Another server may have renewed it meanwhile.
            renewed = [token for token in self if token.name == name]
            await self._write_file([token for token in self if token.name != name])
        for each in renewed:
            self._end_requests(each, own)

    def _token_named(self, name: str) -> NamedToken:
        found = next((token for token in self if token.name == name), None)
        if found is None:
            raise Refusal(TOKEN_NOT_FOUND, name=name[:100])
        return found

    def _end_requests(self, token: NamedToken, own: Callable[[], None] | None = None) -> None:
        for end in list(self._open.get(token.id, ())):
            if end != own:
                end()

    async def _write_file(self, tokens: Sequence[NamedToken]) -> None:
        """Raises OSError."""
        data = json.dumps([asdict(token) for token in tokens]).encode("ascii")
        await in_thread(partial(private_files.write_file, self._path, data, lasting=True))
        self._by_digest = {token.digest: token for token in tokens}


def _make_token(before: NamedToken) -> tuple[str, NamedToken]:
    """A new token, and what is kept of it."""
    token, now = secrets.token_urlsafe(TOKEN_BYTES), wire.timestamp_of(datetime.now(timezone.utc))
    id = secrets.token_hex(8)
    return token, replace(before, id=id, created=now, digest=_token_digest(token))


def _token_digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _read_token(value: Mapping[str, Any]) -> NamedToken:
    """Raises ValueError, TypeError, KeyError."""
    texts = [value[name] for name in ("id", "name", "created", "digest")]
    scopes = tuple(value["scopes"])
    if not all(isinstance(text, str) for text in texts) or not set(scopes) <= set(GRANTED):
        raise ValueError("not a token")
    id, name, created, digest = texts
    return NamedToken(id, name, scopes, created, digest)
