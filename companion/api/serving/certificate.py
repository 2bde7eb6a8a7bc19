"""The server's TLS certificate, which is loaded again when its files change."""

from __future__ import annotations

import os
import ssl
import time
from contextlib import suppress
from typing import Any

from ...base.log import logger

# Seconds between two checks of the files. All other connections wait during a check.
PAUSE = 5.0


class BadCertificate(Exception):
    """The files cannot be used; the text is a sentence for the operator."""


class Certificate:
    """`path` has the certificate and its chain, `key` the key, both in PEM; they may be one file.
    `context` is for a server, from TLS 1.2 on.

    A handshake checks whether the files have changed, at most every PAUSE seconds, so a renewed
    certificate is used at most PAUSE later. If the new files cannot be used, the old certificate
    stays.
    """

    def __init__(self, path: str, key: str) -> None:
        """Raises BadCertificate."""
        self._path, self._key = path, key
        self.context = self._newest = self._load_context()
        self._read = self._file_stamp()
        self._next_look = 0.0
        self.context.sni_callback = self._choose_context

    def _choose_context(self, connection: Any, _name: object, _context: object) -> None:
        """Called in each handshake."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + PAUSE
            self._reload_if_changed()
        connection.context = self._newest

    def _reload_if_changed(self) -> None:
        stamp = self._file_stamp()
        # During a renewal the files may be missing.
        if stamp and stamp != self._read:
            self._read = stamp
            try:
                self._newest = self._load_context()
                logger.info("the certificate was renewed, and read again")
            except BadCertificate as error:
                logger.warning("The renewed certificate cannot be used yet. %s", error)

    def _file_stamp(self) -> tuple[Any, ...]:
        with suppress(OSError):
            looked = [os.stat(path) for path in (self._path, self._key)]
            return tuple((status.st_mtime_ns, status.st_ino, status.st_size) for status in looked)
        return ()

    def _load_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A client could keep the server busy with renegotiation alone.
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            context.load_cert_chain(self._path, self._key, self._refuse_password)
        except ssl.SSLError as error:
            raise BadCertificate(self._error_sentence(error)) from error
        except OSError as error:
            # The error does not say which of the two files it is.
            missing = next((path for path in (self._path, self._key) if not _is_readable(path)), "")
            where = missing or self._path
            raise BadCertificate(f"{where} cannot be read: {error.strerror}.") from error
        return context

    def _refuse_password(self) -> str:
        # Without this, the library would ask for the password at the terminal.
        raise BadCertificate(f"Expected a key without a password; {self._key} has one.")

    def _error_sentence(self, error: ssl.SSLError) -> str:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"Expected the key of {self._path}; {self._key} has another one."
        return (
            f"Expected a certificate in PEM in {self._path} and its key in {self._key};"
            f" the library says {error.reason or error}."
        )


def _is_readable(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False
