"""Reads the CLI's own recording of a session for what its protocol leaves out: arguments and
results of tools. The file is undocumented: if it is missing or has another form, nothing is found.

Source: docs/gemini-cli-acp.md 6.
"""

from __future__ import annotations

import asyncio
import glob
import json
import os
import re
from contextlib import suppress
from typing import Any, Iterator, Mapping

from ..events.tool_call import Record
from ..wording.surrogates import clean_surrogates
from .cli import PATIENCE, NoRecording

# Seconds between two checks.
INTERVAL = 0.003
# Characters of the session's id in the name of the file.
PREFIX = 8
# Surrounds the results of tools that read text of strangers; meant for the model.
WRAPPER = re.compile(r"^\s*<untrusted_context>\n?(.*?)\n?</untrusted_context>\s*$", re.DOTALL)


class Recording(NoRecording):
    """The recording of one session. `folder` is the CLI's own folder, which contains `tmp`."""

    def __init__(self, folder: str, session: str) -> None:
        name = f"session-*-{glob.escape(session[:PREFIX])}.jsonl"
        self._pattern = os.path.join(glob.escape(folder), "tmp", "*", "chats", name)
        self._path = ""
        self._read_to = 0
        self._rest = b""
        # Records that nobody has asked for yet, oldest first: the model may use an id several
        # times.
        self._records: dict[str, list[Record]] = {}
        # When the newest call of each id ended. A message is written again for each of its calls,
        # and by then the CLI may have put other results into it.
        self._ended: dict[str, str] = {}

    def skip_earlier_turns(self) -> None:
        self._records.clear()
        self._rest = b""
        self._find_file()
        with suppress(OSError):
            self._read_to = os.path.getsize(self._path) if self._path else 0

    async def find_record(self, call_id: str, patience: float = PATIENCE) -> Record | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while True:
            self._read_new()
            if call_id in self._records:
                return self._take_record(call_id)
            if loop.time() >= end:
                return None
            await asyncio.sleep(INTERVAL)

    def _take_record(self, call_id: str) -> Record:
        oldest, *others = self._records.pop(call_id)
        if others:
            self._records[call_id] = others
        return oldest

    def _find_file(self) -> None:
        """Find the file if it exists by now."""
        if not self._path:
            self._path = next(iter(sorted(glob.glob(self._pattern), reverse=True)), "")

    def _read_new(self) -> None:
        """Read what was appended since the last check."""
        self._find_file()
        if not self._path:
            return
        try:
            with open(self._path, "rb") as file:
                file.seek(self._read_to)
                data = file.read()
        except OSError:
            self._path = ""
            return
        self._read_to += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            # Most lines are texts; parsing their JSON would be useless.
            if b'"toolCalls"' in line:
                for call_id, record in _read_calls(line):
                    self._add_record(call_id, record)

    def _add_record(self, call_id: str, record: Record) -> None:
        if self._ended.get(call_id) != record.ended:
            self._ended[call_id] = record.ended
            self._records.setdefault(call_id, []).append(record)


def _read_calls(line: bytes) -> Iterator[tuple[str, Record]]:
    try:
        value = clean_surrogates(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return
    for holder in _call_holders(value):
        for call in holder.get("toolCalls") or []:
            # A call is there before it has run as well; only one with a result counts.
            if isinstance(call, dict) and isinstance(call.get("id"), str) and call.get("result"):
                yield call["id"], _read_record(call)


def _call_holders(value: Any) -> Iterator[Mapping[str, Any]]:
    """The line itself, and its members one level below: `{"$set": {...}}` changes a message."""
    if isinstance(value, dict):
        yield value
        yield from (member for member in value.values() if isinstance(member, dict))


def _read_record(call: Mapping[str, Any]) -> Record:
    args, display = call.get("args"), call.get("resultDisplay")
    output, error = _read_response(call.get("result"))
    if isinstance(display, dict):
        display = display.get("fileDiff") or display.get("summary") or ""
    return Record(
        str(call.get("name") or ""),
        str(call.get("displayName") or ""),
        str(call.get("status") or ""),
        args if isinstance(args, dict) else {},
        output,
        error,
        display if isinstance(display, str) else "",
        str(call.get("timestamp") or ""),
    )


def _read_response(result: Any) -> tuple[str, str]:
    """Output and error from all parts of a result."""
    outputs, errors = [], []
    for part in result if isinstance(result, list) else []:
        response = part.get("functionResponse") if isinstance(part, dict) else None
        response = response.get("response") if isinstance(response, dict) else None
        if isinstance(response, dict):
            if "error" in response:
                errors.append(_unwrapped_output(response["error"]))
            elif "output" in response:
                outputs.append(_unwrapped_output(response["output"]))
    return "\n".join(outputs), "\n".join(errors)


def _unwrapped_output(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    found = WRAPPER.match(text)
    return found.group(1) if found else text
