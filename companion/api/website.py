"""The web page that the server has to offer: its files, and what a browser may do with them."""

from __future__ import annotations

import os
from typing import Mapping

from aiohttp import web

from .exchange import Asked, Desk
from .refusal import NOT_FOUND, Refusal

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
INDEX = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
# What a browser may load and do: this server's own files, and requests to it. No script stands in
# the page itself, so none can be slipped into it by what a model says.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def names(page: Mapping[str, bytes] | None) -> tuple[str, ...]:
    """The files of the page, whose paths are their names; the first stands at / too. `page` are
    those that were given, None for those in the folder."""
    try:
        found = sorted(os.listdir(FOLDER) if page is None else page)
    except FileNotFoundError:
        return ()
    others = [name for name in found if os.path.splitext(name)[1] in TYPES and name != INDEX]
    return (INDEX, *others)


async def serve(desk: Desk, asked: Asked) -> web.StreamResponse:
    name = os.path.basename(asked.request.path.lstrip("/") or INDEX)
    try:
        data = _read(name) if desk.page is None else desk.page[name]
    except (OSError, KeyError):
        raise Refusal(NOT_FOUND, path=asked.request.path) from None
    kind = TYPES[os.path.splitext(name)[1]]
    return web.Response(body=data, headers={**HEADERS, "Content-Type": kind, **asked.headers})


def _read(name: str) -> bytes:
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()
