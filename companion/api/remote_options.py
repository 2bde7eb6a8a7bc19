"""The program's options for access from other machines: read, and checked against each other before
anything starts."""

from __future__ import annotations

import argparse
import ipaddress
import os
import pathlib
import re
import socket
from typing import Any, Callable
from urllib.parse import urlsplit

from ..base.connection_shares import MAX_CONNECTIONS
from ..base.http_server import HOST
from ..base.private_files import is_within
from .operations.callers import Network
from .serving.access import CONNECTIONS, Access
from .serving.certificate import BadCertificate, Certificate
from .serving.guard import ANY

MAX_RATE = 1_000_000
# A host name or address as in a Host header; names of containers may contain "_".
NAME = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?"
)
UNENCRYPTED = (
    "expected --certificate with --host {0}, which other machines can reach. Use --without-tls only"
    " if nobody can read the network in between: the token and all texts are sent unencrypted."
    " Behind a proxy on this machine, leave --host out"
)


def add_to(parser: argparse.ArgumentParser) -> None:
    add: Callable[..., Any] = parser.add_argument_group("access from other machines").add_argument
    more: dict[str, Any] = {"action": "append", "default": []}
    host_help = f"the IP address to listen at; default {HOST}, this machine alone"
    add("--host", metavar="ADDRESS", type=_parse_address, default=HOST, help=host_help)
    name_help = "another host name under which clients reach the server; may be repeated"
    add("--allow-host", metavar="NAME[:PORT]", type=_parse_name, help=name_help, **more)
    origin_help = "the origin of a web page that may use the API with a token; may be repeated"
    add("--allow-origin", metavar="URL", type=_parse_origin, help=origin_help, **more)
    certificate_help = "for TLS: the certificate and its chain, in PEM"
    add("--certificate", metavar="FILE", default="", help=certificate_help)
    key_help = "the certificate's key, in PEM; default: in the same file"
    add("--key", metavar="FILE", default="", help=key_help)
    without_help = (
        "listen for other machines without encryption: anybody in between can read the token"
    )
    add("--without-tls", action="store_true", help=without_help)
    reads_help = "make a second token that can only read conversations, events and status"
    add("--read-only-token", action="store_true", help=reads_help)
    rate_help = "the most requests in a minute for each token, or each address without one"
    add("--rate-limit", metavar="N", type=_parse_rate, default=0, help=rate_help)
    most_help = f"the most connections of a token; default {CONNECTIONS}, of {MAX_CONNECTIONS}"
    add("--connections", metavar="N", type=_parse_connections, default=CONNECTIONS, help=most_help)
    audit_help = "append a line of JSON for each request: who did what, without texts"
    add("--audit-log", metavar="FILE", default="", help=audit_help)
    proxy_help = "a proxy or network whose X-Forwarded-For header is trusted; may be repeated"
    add("--proxy", metavar="ADDRESS[/BITS]", type=_parse_network, help=proxy_help, **more)


def access_of(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> Access:
    """The options as one value. Ends the program if they contradict each other."""
    on_loopback = ipaddress.ip_address(asked.host).is_loopback
    if asked.key and not asked.certificate:
        parser.error("expected --certificate with --key")
    if asked.certificate and asked.without_tls:
        parser.error("expected either --certificate or --without-tls, and got both")
    if not (on_loopback or asked.certificate or asked.without_tls):
        parser.error(UNENCRYPTED.format(asked.host))
    return Access(
        asked.host,
        tuple(asked.allow_host),
        _read_certificate(parser, asked),
        asked.read_only_token,
        asked.rate_limit,
        _audit_log(parser, asked),
        tuple(asked.proxy),
        asked.connections,
    )


def _read_certificate(
    parser: argparse.ArgumentParser, asked: argparse.Namespace
) -> Certificate | None:
    if not asked.certificate:
        return None
    path, key = os.path.abspath(asked.certificate), os.path.abspath(asked.key or asked.certificate)
    _check_apart(parser, asked, "--key" if asked.key else "--certificate", key)
    try:
        return Certificate(path, key)
    except BadCertificate as error:
        parser.error(f"argument --certificate: {error}")


def _audit_log(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> str:
    if not asked.audit_log:
        return ""
    path: str = os.path.abspath(asked.audit_log)
    _check_apart(parser, asked, "--audit-log", path)
    folder = os.path.dirname(path)
    if os.path.isdir(path) or not os.path.isdir(folder):
        parser.error(f"argument --audit-log: expected a file in a folder that is there; got {path}")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        parser.error(f"argument --audit-log: expected a file that can be written; got {path}")
    return path


def _check_apart(
    parser: argparse.ArgumentParser, asked: argparse.Namespace, option: str, path: str
) -> None:
    # If a folder above the file lies in a root, the model may replace it by a link.
    way = [path, *map(str, pathlib.PurePath(path).parents)]
    for root in (asked.workspace, *asked.root):
        if any(is_within(step, root) for step in way):
            parser.error(
                f"argument {option}: expected a file outside of {root}, where the model may read"
                f" and change it; got {path}"
            )


def _parse_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"expected an IP address, or a network as 10.0.0.0/8; got {text!r}"
        ) from error


def _parse_address(text: str) -> str:
    try:
        address = str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an IP address; got {text!r}") from None
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as one:
            one.bind((address, 0))
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"expected an address of this machine; got {address}: {error.strerror}"
        ) from None
    return address


def _parse_name(text: str) -> str:
    if not NAME.fullmatch(text) or not 0 < _port_of(text) < 1 << 16:
        raise argparse.ArgumentTypeError(
            "expected a name or an address, with a port or without, as example.com:8443;"
            f" got {text!r}"
        )
    return text


def _port_of(name: str) -> int:
    port = name.rpartition("]")[2].rpartition(":")
    return int(port[2]) if port[1] else 1


def _parse_origin(text: str) -> str:
    parts = urlsplit(text)
    is_origin = parts.scheme in ("http", "https") and parts.netloc and parts.path in ("", "/")
    if text != ANY and not (is_origin and not parts.query and not parts.fragment):
        raise argparse.ArgumentTypeError(f"{text} is no origin, as https://example.com is one")
    return text


def _parse_rate(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_RATE):
        raise argparse.ArgumentTypeError(
            f"expected a number of requests from 1 to {MAX_RATE}; got {text!r}"
        )
    return int(text)


def _parse_connections(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_CONNECTIONS):
        raise argparse.ArgumentTypeError(
            f"expected a number of connections from 1 to {MAX_CONNECTIONS}; got {text!r}"
        )
    return int(text)
