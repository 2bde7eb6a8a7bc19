"""A client of the Gemini CLI API for scripts, with the standard library alone.

    from companion.api.client import Client

    print(Client().chat("What does this project do?")["response"])

    client = Client()
    for event in client.stream("Write a haiku to haiku.txt."):
        if event["type"] == "tool_confirmation":
            client.confirm(event, "proceed_once")

`python -m companion.api.client chat "..."` does the same from a terminal.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import sys
import time
from contextlib import ExitStack
from typing import Any, Iterator, Mapping, Sequence
from urllib.parse import urlencode, urlsplit

from ..base.shown_text import spell_hidden
from . import state_folder

URL = "http://127.0.0.1:8080"
# After so many seconds of silence the server counts as gone; it writes a comment every ten.
SILENCE = 60.0
# The same while waiting for a whole answer: nothing is written before it, and a turn may take an
# hour.
WHOLE = 3700.0
# The address of the server on this machine. Its token goes nowhere else.
LOOPBACK = ("127.0.0.1", "::1", "localhost")
# How often a broken stream is opened again, and the seconds before each attempt: the server waits
# five seconds for a client to come back.
RETURNS, PAUSE = 5, 0.5
# Characters at the end of a piece that can change how the next one is read: a combining mark needs
# its letter.
CONTEXT = 16
# The outcome that also needs a text.
MODIFY = "modify_with_editor"
JSON = "application/json"
# Exit codes: the turn failed, and the request could not be sent.
UNSUCCESSFUL, FAILED = 1, 2


class ApiError(Exception):
    """The server refused the request, or the connection broke. `status` is the HTTP status, 0 if
    there was no answer; `code` is the API's error code, "" if there was none."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Client:
    """Each call opens its own connection, so several threads can share one client.

    `token`, if it is not given, is read from the environment, or for a URL of this machine from the
    server's token file; `language` is "en" or "zh". Every call raises ApiError, and OSError if
    nobody listens.
    """

    def __init__(self, url: str = URL, token: str = "", language: str = "en") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"Expected a URL like {URL}; got {url!r}.")
        self._is_secure = parts.scheme == "https"
        self._address = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {
            "Authorization": f"Bearer {token or _known_token(parts.hostname)}",
            "Accept-Language": language,
            "Content-Type": JSON,
        }

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        seconds: float = SILENCE,
        key: str = "",
    ) -> Mapping[str, Any]:
        """Call any endpoint. Gives its answer, which must come within that many seconds. The same
        request with the same `key` is done once, so it can be sent again if its answer is lost."""
        headers = {"Accept": JSON, **({"Idempotency-Key": key} if key else {})}
        connection, response = self._send_request(method, path, body, headers, seconds)
        try:
            return _parse_object(response.read())
        finally:
            connection.close()

    def chat(self, message: str, key: str = "", **fields: Any) -> Mapping[str, Any]:
        """Send a message and wait for the whole answer. `key` is as in `ask`. `fields` are more
        fields of the endpoint, such as `sessionId` or `workspacePath`. Tool calls that need a
        decision are rejected."""
        return self.ask("POST", "/chat", {"message": message, **fields}, WHOLE, key)

    def stream(self, message: str, **fields: Any) -> Iterator[Mapping[str, Any]]:
        """Send a message and give the events as they come. If the connection breaks, it is opened
        again, and no event is missed."""
        body: dict[str, Any] = {"message": message, **fields, "stream": True}
        last, left = "", RETURNS
        while True:
            try:
                for id, event in self._stream_events(body, last):
                    last, left = id, RETURNS
                    body.setdefault("sessionId", event["data"].get("sessionId"))
                    yield event
                    if event["type"] in ("complete", "error"):
                        return
                raise ConnectionError("The stream ended before the turn did.")
            except (OSError, http.client.HTTPException) as error:
                left -= 1
                # Without an id the message would be sent twice.
                if not last or left < 0:
                    raise ApiError(0, "", f"The connection broke off: {error}") from error
                time.sleep(PAUSE)

    def sessions(self, words: str = "") -> Iterator[Mapping[str, Any]]:
        """The conversations, page by page, the last used one first; with `words`, those that have
        them in the title or in what was said. One that is used meanwhile may come twice."""
        query = {"limit": "100", **({"q": words} if words else {})}
        while True:
            told = self.ask("GET", "/sessions?" + urlencode(query))
            yield from told["sessions"]
            if "nextCursor" not in told:
                return
            query["cursor"] = told["nextCursor"]

    def confirm(
        self, event: Mapping[str, Any], outcome: str, new_content: str | None = None
    ) -> Mapping[str, Any]:
        """Decide on the tool call of a `tool_confirmation`, as it was then. `new_content` is
        written instead of the agent's text, with the outcome "modify_with_editor"."""
        data = event["data"]
        names = ("callId", "sessionId", "revision")
        body = {**{name: data[name] for name in names if name in data}, "outcome": outcome}
        if new_content is not None:
            body["newContent"] = new_content
        return self.ask("POST", "/tool-confirmation", body)

    def answer(
        self, event: Mapping[str, Any], action: str, content: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Answer an `elicitation`: "accept", for a form with the values of its fields, "decline" or
        "cancel"."""
        body = {"elicitationId": event["data"]["elicitationId"], "action": action}
        given = {} if content is None else {"content": content}
        return self.ask("POST", "/elicitation", {**body, **given})

    def _stream_events(
        self, body: Mapping[str, Any], last: str
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The events after the one with this id, each with its own id."""
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        connection, response = self._send_request("POST", "/chat", body, headers)
        id = ""
        try:
            for line in response:
                if not line.endswith(b"\n"):
                    raise ConnectionError("The stream broke off within a line.")
                text = line.decode("utf-8").rstrip("\r\n")
                if text.startswith("id: "):
                    id = text[len("id: ") :]
                elif text.startswith("data: "):
                    yield id, json.loads(text[len("data: ") :])
        finally:
            connection.close()

    def _send_request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        seconds: float = SILENCE,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._is_secure else http.client.HTTPConnection
        host, port = self._address
        connection = kind(host, port, timeout=seconds)
        with ExitStack() as failing:
            failing.callback(connection.close)
            data = None if body is None else json.dumps(body).encode("utf-8")
            named = _named_session(body)
            connection.request(
                method, self._path + path, data, {**self._headers, **named, **headers}
            )
            response = connection.getresponse()
            if response.status >= 400:
                said = _parse_object(response.read())
                message = str(said.get("message") or response.reason)
                raise ApiError(response.status, str(said.get("code", "")), message)
            failing.pop_all()
        return connection, response


def _named_session(body: Mapping[str, Any] | None) -> dict[str, str]:
    """The header that leads to the server with the conversation, where there are several."""
    id = (body or {}).get("sessionId")
    return {"Session-Id": id} if isinstance(id, str) else {}


def _parse_object(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ApiError(0, "", "Expected an object of JSON; is this a Gemini CLI API?")
    return value


def _known_token(host: str) -> str:
    """The token in the environment, or of the server on this machine."""
    given = os.environ.get("GEMINI_API_SERVER_TOKEN", "")
    if given:
        return given
    if host not in LOOPBACK:
        raise ApiError(0, "", f"No token is given for {host}, which is not this machine.")
    path = os.path.join(state_folder.default_folder(os.environ), state_folder.TOKEN_FILE)
    try:
        with open(path, encoding="ascii") as file:
            return file.read(100).strip()
    except OSError as error:
        raise ApiError(0, "", f"No token is given, and {path} cannot be read: {error}") from error


class Terminal:
    """Shows a turn to a person, and asks them to decide on tool calls if they can be asked. If
    `outcome` is given, it decides instead. No control character of a text reaches the terminal."""

    def __init__(self, client: Client, outcome: str) -> None:
        self._client = client
        self._outcome = outcome
        self._end = ""

    def run(self, message: str, fields: Mapping[str, Any]) -> int:
        """The exit code."""
        for event in self._client.stream(message, **fields):
            kind, data = event["type"], event["data"]
            if kind == "content":
                self._print_answer(data["text"], end="" if data["isPartial"] else "\n")
            elif kind == "thought":
                self._print_note(spell_hidden(f"{data['subject']} {data['description']}"))
            elif kind == "tool_confirmation":
                self._client.confirm(event, self._decide_call(data))
            elif kind == "elicitation":
                self._print_note(
                    "\n".join(data["shown"][name] for name in ("message", "url", "host"))
                )
                content = self._fill_form(data["fields"])
                self._client.answer(event, "cancel" if content is None else "accept", content)
            elif kind == "resource":
                told = [data["shown"][name] for name in ("name", "uri", "text")]
                self._print_note("\n".join(filter(None, told)))
            elif kind == "tool_result":
                self._print_note(_shown_text(data, "displayResult" if data["success"] else "error"))
            elif kind in ("complete", "error") and not data.get("success"):
                self._print_note(spell_hidden(data["message"]))
                return UNSUCCESSFUL
        return 0

    def _decide_call(self, data: Mapping[str, Any]) -> str:
        self._print_note(f"{data['shown']['displayName']}\n{data['shown']['asked']}")
        for diff in [data["diff"], *data["moreDiffs"]] if data["diff"] else []:
            self._print_note(diff["shown"]["path"])
            self._print_note(_shown_text(diff, "newText"))
        if self._outcome or not sys.stdin.isatty():
            return self._outcome or "cancel"
        options = [each for each in data["options"] if each["outcome"] != MODIFY]
        known = [each["outcome"] for each in options]
        for number, each in enumerate(options, 1):
            self._print_note(f"{number}  {each['shown']['label']}")
        try:
            answer = input("> ").strip()
        except EOFError:
            answer = ""
        is_number = answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(known)
        return known[int(answer) - 1] if is_number else "cancel"

    def _fill_form(self, fields: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """The values of a form's fields, as JSON where they are no texts; none where nothing is
        typed. None if nobody can be asked, or they end their input."""
        if not sys.stdin.isatty():
            return None
        filled: dict[str, Any] = {}
        try:
            for field in fields:
                known = ", ".join(each["value"] for each in field["values"])
                self._print_note(
                    " ".join(filter(None, [field["shown"]["title"], spell_hidden(known)]))
                )
                typed = input("> ").strip()
                is_text = field["type"] in ("string", "choice")
                if typed:
                    filled[field["name"]] = typed if is_text else json.loads(typed)
            if not fields:
                input("Enter ")
        except (EOFError, ValueError):
            return None
        return filled

    def _print_note(self, text: str) -> None:
        """Print what is not part of the answer, with hidden characters shown. Another program may
        read the answer."""
        print(text.strip(), file=sys.stderr, flush=True)

    def _print_answer(self, text: str, end: str) -> None:
        """Print a piece of the answer: unchanged if a program reads it."""
        if sys.stdout.isatty():
            before, self._end = self._end, (self._end + text)[-CONTEXT:]
            text = spell_hidden(before + text)[len(spell_hidden(before)) :]
        print(text, end=end, flush=True)


def _shown_text(data: Mapping[str, Any], name: str) -> str:
    """A long text with hidden characters shown."""
    return str(data["shown"].get(name, data[name]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m companion.api.client", description="Talk with a Gemini CLI API."
    )
    parser.add_argument("--url", default=URL, help=f"default {URL}")
    token_help = "default: GEMINI_API_SERVER_TOKEN, or that of the server on this machine"
    parser.add_argument("--token-file", metavar="PATH", help=token_help)
    chat = parser.add_subparsers(metavar="COMMAND", required=True).add_parser(
        "chat", help="say something and show the answer"
    )
    chat.add_argument("message", help='"-" reads it from the standard input')
    chat.add_argument("--workspace", metavar="DIR", help="default: that of the server")
    chat.add_argument("--session", metavar="ID", help="an earlier conversation")
    outcome_help = "decides on every tool; else you are asked, or it is rejected without a terminal"
    chat.add_argument(
        "--outcome", choices=("proceed_once", "cancel"), default="", help=outcome_help
    )
    asked = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        token = _read_token(asked.token_file) if asked.token_file else ""
        fields = {"workspacePath": asked.workspace, "sessionId": asked.session}
        message = sys.stdin.read() if asked.message == "-" else asked.message
        return Terminal(Client(asked.url, token), asked.outcome).run(message, fields)
    except (ApiError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return FAILED


def _read_token(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read(100).strip()


if __name__ == "__main__":
    sys.exit(main())
