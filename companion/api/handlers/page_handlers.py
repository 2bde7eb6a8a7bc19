"""The handler of the web page's files, and what a browser may do with them."""

from __future__ import annotations

import os

from aiohttp import web

from ...base import http_server
from ..files.page_files import INDEX, TYPES
from .handler_types import Inputs, Services

# A browser may load this server's own files and send requests to it. Scripts in the page itself are
# forbidden, so a model's text cannot bring one in.
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
        # The only way from text to markup: everything goes through this sanitizer.
        "trusted-types dompurify",
    )
)
# Permissions that this page never needs.
REFUSED = ", ".join(
    f"{feature}=()"
    for feature in (
        *("accelerometer", "bluetooth", "camera", "display-capture", "geolocation", "gyroscope"),
        *("hid", "idle-detection", "magnetometer", "microphone", "midi", "payment"),
        *("publickey-credentials-get", "screen-wake-lock", "serial", "usb"),
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": REFUSED,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


async def serve_page_file(services: Services, inputs: Inputs) -> web.StreamResponse:
    name = inputs.request.path.lstrip("/") or INDEX
    headers = {**inputs.headers, **HEADERS, "Content-Type": TYPES[os.path.splitext(name)[1]]}
    body = http_server.in_pieces(services.page[name])
    return await http_server.send_pieces(inputs.request, 200, headers, body, may_compress=True)
