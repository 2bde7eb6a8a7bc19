"""Reads files for an agent that asks us to: as they are in the user's editor, or else on disk.

Source: docs/gemini-cli-acp.md 8; docs/agents.md 3.
"""

from __future__ import annotations

import asyncio
import codecs
from functools import partial
from typing import Any, Mapping

from ...base.background import in_thread
from ...base.log import logger
from ...base.regular_file import FileTooLarge
from ..acp.acp_client import AcpClient
from ..acp.messages import ReadTextFile
from ..agents.cli import AgentCli
from ..edited_file import BOM, read_file
from ..open_files import OpenFiles, Withheld
from ..sentence import Words, sentence

# Seconds to read a file.
READING = 60.0
WITHHELD = sentence("{path} is not shared with agents: the user's settings exclude it.")
TOO_LARGE = sentence("{path} is too large to be read in this way.")
NO_ANSWER = sentence("{path} cannot be read: {reason}.")
# What reading a file raises.
EXPECTED = (Withheld, OSError, asyncio.TimeoutError)


async def answer_read(request: ReadTextFile, client: AcpClient, cli: AgentCli) -> None:
    """The boundary of a read: whatever happens, the agent gets its answer; it waits for ever."""
    path = request.path
    try:
        found = await asyncio.wait_for(_read_content(path, cli.open_files), READING)
        if found is None:
            client.refuse_request(request.id, cli.missing_file_error(path))
        else:
            client.answer_request(request.id, _result_of_read(*found, request))
        return
    except EXPECTED as error:
        words = failure_reason(path, error)
    except Exception:
        logger.exception("a file was not read")
        words = NO_ANSWER.with_values(path=path, reason=sentence("something went wrong"))
    client.refuse_request(request.id, cli.refusal_error(str(words)))


def failure_reason(path: str, error: BaseException) -> Words:
    """Why the file cannot be read, of an error that is EXPECTED."""
    if isinstance(error, Withheld):
        return WITHHELD.with_values(path=path)
    if isinstance(error, FileTooLarge):
        return TOO_LARGE.with_values(path=path)
    told = getattr(error, "strerror", None) or sentence("the disk does not answer")
    return NO_ANSWER.with_values(path=path, reason=told)


async def present_text(path: str, files: OpenFiles) -> str:
    """The text that an agent would read, "" if there is no file. Raises what is EXPECTED."""
    found = await _read_content(path, files)
    return "" if found is None else found[0]


async def _read_content(path: str, files: OpenFiles) -> tuple[str, str] | None:
    """The text and its encoding; None if there is no such file. Raises what is EXPECTED."""
    data = await in_thread(partial(read_file, path), READING)
    if data is None:
        # Nobody learns anything of it.
        return None
    unsaved = await files.unsaved_text(path)
    text, encoding = _decode_text(data)
    if unsaved is None:
        return text, encoding
    if "\r\n" in text:
        unsaved = unsaved.replace("\n", "\r\n")
    return (BOM if text.startswith(BOM) else "") + unsaved, encoding


def _decode_text(data: bytes) -> tuple[str, str]:
    """What cannot be known is told in Latin-1, which loses nothing."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = "utf-16" if is_wide else "utf-8"
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin1"


def _result_of_read(text: str, encoding: str, request: ReadTextFile) -> Mapping[str, Any]:
    """The result, with what Qwen Code wants to know of the whole file."""
    rows = text.split("\n")
    meta = {"encoding": encoding, "bom": text.startswith(BOM), "originalLineCount": len(rows)}
    if request.line is not None or request.limit is not None:
        start = max(0, (request.line or 1) - 1)
        end = None if request.limit is None else start + max(0, request.limit)
        text = "\n".join(rows[start:end])
    return {"content": text, "_meta": meta}
