"""Reads an uploaded file from a form (multipart/form-data). Stores nothing.

Source: RFC 7578 and 2046. The HTTP library has a reader of its own. In its releases for Python 3.8
that reader never ends with some forms if assertions are off (CVE-2025-69227), as in the editor, and
does not limit headers (CVE-2026-34516).
"""

from __future__ import annotations

import email.message
import email.parser
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from aiohttp import web

from ...agent.attachments import MAX_BYTES
from ...agent.failure import VALIDATION_ERROR
from ...base import http_server
from ...base.background import in_thread
from ...base.memory_budget import MemoryShare
from ..contract.refusal import FILE_TOO_LARGE, Refusal
from ..contract.schemas import UPLOAD_FIELD

# Bytes that a form may have beside the file.
BESIDE = 64 * 1024
# The most members of a form, and bytes of the head of each. A head is parsed like that of an
# e-mail, which takes time quadratic in its length.
MAX_PARTS, MAX_HEAD = 20, 4096
# The most characters of a boundary, by RFC 2046.
MAX_BOUNDARY = 70


@dataclass(frozen=True)
class Upload:
    """`name` is what the client wrote, and may be empty."""

    name: str
    data: bytes


async def read_upload(request: web.BaseRequest, memory: MemoryShare) -> Upload:
    """The file of the form in the body. Raises Refusal and Refused."""
    boundary = _form_boundary(request.headers.get("Content-Type", ""))
    limit = MAX_BYTES + BESIDE
    body = await http_server.read_bytes(request, limit, memory)
    found = await in_thread(partial(_uploaded_file, body, boundary))
    if not found.data:
        raise Refusal(VALIDATION_ERROR, "upload_empty")
    if len(found.data) > MAX_BYTES:
        raise Refusal(FILE_TOO_LARGE, path=found.name[:100], limit=MAX_BYTES)
    return found


def _form_boundary(content_type: str) -> bytes:
    head = email.message.Message()
    head["Content-Type"] = content_type
    boundary = head.get_boundary()
    if not boundary or len(boundary) > MAX_BOUNDARY or not boundary.isascii():
        raise Refusal(VALIDATION_ERROR, "upload_no_form")
    return boundary.encode("ascii")


def _uploaded_file(body: bytes, boundary: bytes) -> Upload:
    """Raises Refusal if the body is no form, has too many members, or lacks the one file."""
    # No line need stand before the first boundary. If there are too many members, the rest stays in
    # the last part.
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary, MAX_PARTS + 2)
    if not 3 <= len(parts) <= MAX_PARTS + 2 or not parts[-1].startswith(b"--"):
        raise Refusal(VALIDATION_ERROR, "upload_no_form")
    files = [found for found in map(_part_as_file, parts[1:-1]) if found is not None]
    if len(files) != 1:
        raise Refusal(VALIDATION_ERROR, "upload_no_file", field=UPLOAD_FIELD)
    return files[0]


def _part_as_file(part: bytes) -> Upload | None:
    """The part as a file; None if it is another member of the form."""
    line_end, _blank, rest = part.partition(b"\r\n")
    head, end, data = rest.partition(b"\r\n\r\n")
    if line_end.strip() or not end:
        raise Refusal(VALIDATION_ERROR, "upload_no_form")
    if len(head) > MAX_HEAD:
        raise Refusal(VALIDATION_ERROR, "upload_long_head", limit=MAX_HEAD, size=len(head))
    headers = email.parser.HeaderParser().parsestr(head.decode("utf-8", "replace"))
    if headers.get_content_disposition() != "form-data":
        raise Refusal(VALIDATION_ERROR, "upload_no_form")
    if headers.get_param("name", header="content-disposition") != UPLOAD_FIELD:
        return None
    # Some clients percent-encode characters that a quoted string may not contain.
    return Upload(unquote(headers.get_filename() or ""), data)
