"""A stand-in for Google's login and Code Assist, reached as a proxy, for the real CLI knows only
Google's own addresses.

    with GoogleServer(folder) as google:      # the folder gets its certificates
        environment = google.environment      # variables for the CLI

It takes CODE for a login, and answers every model call with "From Code Assist.".
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import tempfile
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable
from urllib.parse import parse_qs

from model_server import USAGE, serve
from scripted import CODE, EMAIL

ANSWER = "From Code Assist."
NAMES = "DNS:oauth2.googleapis.com,DNS:www.googleapis.com,DNS:cloudcode-pa.googleapis.com"
TOKEN_INFO = {"email": EMAIL, "expires_in": 3600, "scope": "email"}
TIER = {"id": "standard-tier", "name": "Code Assist Standard", "isDefault": True}


class GoogleServer:
    def __init__(self, folder: str) -> None:
        # The sentence with which Code Assist refuses the account; empty where it does not.
        self.refusal = ""
        # What was asked, as host and path.
        self.asked: list[str] = []
        self._folder = folder
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self._certificate())
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_CONNECT(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.connection = context.wrap_socket(self.connection, server_side=True)
                self.rfile = self.connection.makefile("rb")
                self.wfile = self.connection.makefile("wb", buffering=0)  # type: ignore[assignment]
                self.close_connection = False

            def finish(self) -> None:
                super().finish()
                # The server knows the plain connection only, which lives on within this one.
                self.connection.close()

            def do_GET(self) -> None:
                self._reply({})

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._reply(parse_qs(data.decode("utf-8", "replace")))

            def _reply(self, form: dict[str, list[str]]) -> None:
                status, value = server._answer(self.headers["Host"] + self.path, form)
                body, kind = json.dumps(value).encode(), "application/json"
                if "alt=sse" in self.path:
                    body, kind = b"data: " + body + b"\r\n\r\n", "text/event-stream"
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        proxy = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.environment = {
            "HTTPS_PROXY": proxy,
            "https_proxy": proxy,
            "NODE_EXTRA_CA_CERTS": os.path.join(folder, "ca.pem"),
        }

    def __enter__(self) -> GoogleServer:
        serve(self._http)
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, target: str, form: dict[str, list[str]]) -> tuple[int, Any]:
        self.asked.append(target)
        for part, answer in self._answers.items():
            if part in target:
                return answer(form)
        return 200, {}

    @property
    def _answers(self) -> dict[str, Callable[[dict[str, list[str]]], tuple[int, Any]]]:
        return {
            "oauth2.googleapis.com/tokeninfo": lambda _: (200, TOKEN_INFO),
            "oauth2.googleapis.com/token": self._token,
            "www.googleapis.com/oauth2/": lambda _: (200, {"email": EMAIL}),
            ":loadCodeAssist": self._load,
            ":onboardUser": lambda _: (200, {"done": True, "response": {}}),
            ":streamGenerateContent": lambda _: (200, _said()),
        }

    def _token(self, form: dict[str, list[str]]) -> tuple[int, Any]:
        if form.get("code", [CODE]) != [CODE]:
            return 400, {"error": "invalid_grant", "error_description": "Malformed auth code."}
        tokens = {"access_token": "access", "refresh_token": "refresh", "expires_in": 3600}
        return 200, {**tokens, "token_type": "Bearer", "scope": "email"}

    def _load(self, form: dict[str, list[str]]) -> tuple[int, Any]:
        if self.refusal:
            tier = {"reasonCode": "UNSUPPORTED_CLIENT", "reasonMessage": self.refusal}
            return 200, {"ineligibleTiers": [{**tier, "tierId": "free-tier", "tierName": "Free"}]}
        return 200, {"currentTier": TIER, "cloudaicompanionProject": "project"}

    def _certificate(self) -> tuple[str, str]:
        """Certificate and key of the server, signed by an authority of our own."""
        ca, key, cert = (
            os.path.join(self._folder, path) for path in ("ca.pem", "ca.key", "cert.pem")
        )
        new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        self._openssl(*new, "-subj", "/CN=Test CA", "-keyout", key, "-out", ca)
        own = os.path.join(self._folder, "server.key")
        request = os.path.join(self._folder, "server.csr")
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=googleapis.com",
            "-keyout", own, "-out", request,
        )  # fmt: skip
        names = os.path.join(self._folder, "names")
        with open(names, "w", encoding="ascii") as file:
            file.write(f"subjectAltName={NAMES}\n")
        self._openssl(
            "x509", "-req", "-in", request, "-CA", ca, "-CAkey", key, "-CAcreateserial",
            "-days", "2", "-extfile", names, "-out", cert,
        )  # fmt: skip
        return cert, own

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def _said() -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"response": {"candidates": [candidate], "usageMetadata": USAGE}}


def start(test: type[unittest.TestCase]) -> tuple[GoogleServer, dict[str, str]]:
    """One for the class, and the variables that lead a CLI to it. Raises SkipTest."""
    if shutil.which("openssl") is None:
        raise unittest.SkipTest("certificates are made with openssl")
    folder = tempfile.mkdtemp(prefix="google-")
    test.addClassCleanup(shutil.rmtree, folder, True)
    google = GoogleServer(folder)
    google.__enter__()
    test.addClassCleanup(google.__exit__)
    return google, google.environment
