"""The extension's side of the handshake with a window, by docs/protocol.md 9.88 and in no words of
the product's.

answer = ExtensionClient(port, key_of(port)).post("/hooks", body)
"""

from __future__ import annotations

import glob
import hashlib
import hmac
import http.client
import json
import os
import secrets
from typing import Any, NamedTuple

from .waiting import PATIENCE, wait_for

PATH = "/extension"
JSON = {"Content-Type": "application/json"}


class ExtensionAnswer(NamedTuple):
    """`is_signed`: the window has proved that it comes from it."""

    status: int
    body: bytes
    is_signed: bool

    def json(self) -> Any:
        return json.loads(self.body)


def key_of(port: int) -> str:
    """The key in the file of this user's window."""
    folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), "gemini", "ide")
    pattern = os.path.join(folder, f"gemini-companion-*-{port}.key")
    # The first test of a run has a temp folder that the window has not written to yet.
    wait_for(lambda: glob.glob(pattern))
    (path,) = glob.glob(pattern)
    with open(path, encoding="ascii") as file:
        return str(json.load(file)["key"])


def proof(key: str, port: int, nonces: tuple[str, str], *parts: object) -> str:
    whole = "\n".join(map(str, ("gemini-companion 1", port, *nonces, *parts)))
    return hmac.new(key.encode(), whole.encode(), hashlib.sha256).hexdigest()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class ExtensionClient:
    """`port` is the one that is signed, `at` the one that is called."""

    def __init__(self, port: int, key: str, cli_id: str = "gemini", at: int = 0) -> None:
        self.port, self.key, self.cli_id = port, key, cli_id
        self.nonce = secrets.token_hex(16)
        self.connection = http.client.HTTPConnection("127.0.0.1", at or port, timeout=PATIENCE)

    def post(self, route: str, value: Any) -> ExtensionAnswer:
        """Bytes go as they are, everything else as JSON."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        try:
            ours = self.greet()
            headers = {"Authorization": self.authorization(ours, PATH + route, digest(body))}
            return self.send(PATH + route, body, headers, ours)
        finally:
            self.connection.close()

    def greet(self) -> str:
        """The nonce of the window, which has proved that it has the key."""
        self.connection.request("GET", PATH, headers={"Companion-Nonce": self.nonce})
        response = self.connection.getresponse()
        told = json.loads(response.read())
        if told["proof"] != proof(self.key, self.port, (self.nonce, told["nonce"]), "server"):
            raise AssertionError("the window has not proved itself")
        return str(told["nonce"])

    def authorization(self, theirs: str, path: str, body_digest: str) -> str:
        told = proof(
            self.key, self.port, (self.nonce, theirs), "request", path, self.cli_id, body_digest
        )
        return f"Extension {self.cli_id} {body_digest} {told}"

    def send(self, path: str, body: bytes, headers: dict[str, str], theirs: str) -> ExtensionAnswer:
        self.connection.request("POST", path, body, {**JSON, **headers})
        response = self.connection.getresponse()
        said, told = response.read(), response.getheader("Companion-Proof")
        nonces = (self.nonce, theirs)
        expected = proof(self.key, self.port, nonces, "answer", response.status, digest(said))
        return ExtensionAnswer(response.status, said, told == expected)
