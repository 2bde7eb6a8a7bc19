"""How the program of the extension and a window's server prove to each other that both have the key
of the server's file (`server_file`), before anything of content is sent. Pure.

Source: docs/protocol.md 9.88. The program has the same in JavaScript (extension/companion.cjs).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Mapping

# Begins each text that is signed, and says which form the rest has.
FORM = "gemini-companion 1"
NONCE = re.compile(r"[0-9a-f]{32}")
SCHEME = "Extension"
# The scheme, the id of the CLI, the digest of the body, and the proof.
AUTHORIZATION = re.compile(rf"{SCHEME} ([a-z]+) ([0-9a-f]{{64}}) ([0-9a-f]{{64}})")


@dataclass(frozen=True)
class Claim:
    """What the head of a request claims and proves: the id of the CLI, and the body's digest."""

    cli_id: str
    digest: str


@dataclass(frozen=True)
class Handshake:
    """The nonces of one connection: `theirs` is the program's, `ours` the server's. The port is
    signed with them, so that nobody passes an exchange on to a server on another one."""

    key: str
    port: int
    theirs: str
    ours: str

    def server_greeting(self) -> Mapping[str, str]:
        """The server's answer to the program's nonce."""
        return {"nonce": self.ours, "proof": self._proof("server")}

    def verify_claim(self, path: str, authorization: str) -> Claim | None:
        """What a header proves about a request; None if it proves nothing."""
        match = AUTHORIZATION.fullmatch(authorization)
        if match is None:
            return None
        cli_id, digest, proof = match.groups()
        if not hmac.compare_digest(proof, self.prove_request(path, cli_id, digest)):
            return None
        return Claim(cli_id, digest)

    def prove_request(self, path: str, cli_id: str, digest: str) -> str:
        """The proof of the program."""
        return self._proof("request", path, cli_id, digest)

    def prove_answer(self, status: int, body: bytes) -> str:
        """The proof of the server."""
        return self._proof("answer", str(status), digest_of(body))

    def _proof(self, *parts: str) -> str:
        text = "\n".join((FORM, str(self.port), self.theirs, self.ours, *parts))
        return hmac.new(self.key.encode("ascii"), text.encode("utf-8"), hashlib.sha256).hexdigest()


def digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
