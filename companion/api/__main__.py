"""The server from a terminal, `python -m companion.api` or `gemini-cli-api`: its options, and its
end by a signal."""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import Any, Callable, Sequence

from .. import __version__
from ..agent.agent import Launch, Limits
from ..agent.failure import VALIDATION_ERROR, AgentError
from ..agent.launches import USUAL_VERSION, VERSIONS, launch_of
from ..agent.sentence import CHINESE, ENGLISH, sentence
from ..agent.supported import CLIS, USUAL
from ..base.log import logger
from ..base.private_files import NotPrivate
from . import remote_options, state_folder
from .operations.json_log import JsonLines
from .server import PortRefused, Server, ServerSettings

PORT = 8080
# A day.
MAX_SECONDS = 86_400
# Processes of one CLI, each of which takes 200 MiB and more.
MAX_PROCESSES = 64
# Seconds for running turns to end by themselves.
DRAINING = 30
TEXT, JSON = "text", "json"
NO_LOGIN = 'It has no key and no login yet: give it one under "Login" on its page.'
TWICE = sentence("Two agents would have the id {id}; leave one of them out.")
NO_PORT = (
    "The server cannot listen at {} ({}). Choose another port with --port; 0 takes any that is"
    " free."
)
# In the wheel alone; a checkout has docs/.
DOCUMENTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "documents")
# The exit code of a program that cannot do what it was asked for.
FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _argument_parser()
    asked = parser.parse_args(arguments)
    asked.access = remote_options.access_of(parser, asked)
    _start_log(asked.log_format)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The terminal may lack letters of the workspace's name.
        sys.stdout.reconfigure(errors="replace")
    try:
        return asyncio.run(_run_server(asked))
    except AgentError as error:
        return _print_failure(str(error), asked.log_format)
    except NotPrivate as error:
        return _print_failure(str(error), asked.log_format)
    except PortRefused as error:
        place = f"{asked.host}, port {asked.port}"
        return _print_failure(NO_PORT.format(place, error.strerror), asked.log_format)
    except OSError as error:
        return _print_failure(f"The server cannot be started: {error}.", asked.log_format)
    except KeyboardInterrupt:
        # On Windows a loop gets no signals.
        return 0


async def _run_server(asked: argparse.Namespace) -> int:
    folder = os.path.abspath(asked.state or state_folder.default_folder(os.environ))
    server = Server(_server_settings(asked, folder), folder)
    signals = _Signals()
    await server.start()
    try:
        _announce_server(server, asked)
        await signals.told.wait()
        await _drain_server(server, asked.drain_time, signals)
    finally:
        await server.stop()
    return 0


def _start_log(format: str) -> None:
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonLines() if format == JSON else plain)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if format == JSON:
        # Libraries log here as well.
        logging.getLogger().addHandler(handler)


def _announce_server(server: Server, asked: argparse.Namespace) -> None:
    if not asked.access.is_on_loopback:
        how = "unencrypted" if asked.without_tls else "with TLS"
        logger.warning("others reach the server, %s: it listens at %s", how, asked.host)
    if asked.log_format == JSON:
        # People keep such a log and send it around, so no token goes into it.
        logger.info("the server listens at %s", server.url)
        return
    print(f"The Gemini CLI API listens at {server.url}, for {asked.workspace}.")
    print(f"Its token is in {server.token_file}.")
    page = _page_of(server, asked) + "/"
    if sys.stdout.isatty():
        # A browser does not send the part after the "#" to a server.
        print(f"Its page (keep this link to yourself): {page}#token={server.token}", flush=True)
    else:
        # Others may read a file or a pipe later.
        print(f"Its page: {page}, which asks for that token.", flush=True)
    if asked.read_only_token:
        print(f"A token that only reads is in {server.read_only_file}.", flush=True)
    if not server.agent.account.auth_status().is_authenticated:
        print(NO_LOGIN, flush=True)


def _page_of(server: Server, asked: argparse.Namespace) -> str:
    """The page's URL, with a name that the certificate covers if one was given."""
    names = asked.access.host_headers(server.port)
    if not names or asked.access.is_on_loopback:
        return server.url
    return f"{asked.access.scheme}://{names[0]}"


def _server_settings(asked: argparse.Namespace, folder: str) -> ServerSettings:
    """Raises AgentError where the CLI is not found."""
    launch, *others = [
        _agent_launch(asked, named, is_first=not number)
        for number, named in enumerate(dict.fromkeys(asked.agent or [USUAL]))
    ]
    _check_ids([each.agent for each in (launch, *others)])
    agent = state_folder.agent_options(
        folder,
        launch,
        trusts_workspaces=asked.trust,
        others=tuple(others),
        cache=state_folder.index_folder(os.environ, folder, [asked.workspace, *asked.root]),
        limits=Limits(asked.decision_time, asked.turn_time),
    )
    return ServerSettings(
        agent,
        [asked.workspace, *asked.root],
        asked.port,
        asked.language,
        frozenset(asked.allow_origin),
        asked.allow_commands,
        asked.allow_tools,
        access=asked.access,
        new_tokens=asked.new_token,
        shows_chats=asked.show_chats,
    )


def _check_ids(ids: Sequence[str]) -> None:
    """Raises AgentError if two agents have the same one."""
    for id in ids:
        if ids.count(id) > 1:
            raise AgentError(VALIDATION_ERROR, TWICE.with_values(id=id))


def _agent_launch(asked: argparse.Namespace, named: str, is_first: bool) -> Launch:
    """Raises AgentError where the CLI is not found."""
    # A path to a program is for one CLI; a folder may contain all of them.
    path = asked.cli if is_first or os.path.isdir(asked.cli) else ""
    model = asked.model if is_first else ""
    version = asked.protocol_version
    more: dict[str, Any] = {"processes": asked.agents, "protocol_version": version}
    return launch_of(named, path, asked.gemini_url, model=model, **more)


class _Signals:
    """How the system asks the program to end. `told` is set by the first signal; `hurried` by a
    second one, by Ctrl+C, or when the terminal is closed, and then nothing is waited for."""

    def __init__(self) -> None:
        self.told, self.hurried = asyncio.Event(), asyncio.Event()
        self._add_handler(signal.SIGTERM, self._ask_to_end)
        self._add_handler(signal.SIGINT, self._end_at_once)
        # SIGHUP says that the terminal was closed; under nohup the program must ignore it.
        if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            self._add_handler(signal.SIGHUP, self._end_at_once)

    def _add_handler(self, number: int, heard: Callable[[], None]) -> None:
        # Windows has no such signals; there Ctrl+C ends the loop.
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, heard)

    def _ask_to_end(self) -> None:
        if self.told.is_set():
            self.hurried.set()
        self.told.set()

    def _end_at_once(self) -> None:
        self.hurried.set()
        self.told.set()


async def _drain_server(server: Server, seconds: float, signals: _Signals) -> None:
    waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(signals.hurried.wait())]
    if not signals.hurried.is_set():
        logger.info("the server takes no new turns and waits for those that run")
        waiting.append(asyncio.ensure_future(server.drain(seconds)))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()


def _print_failure(sentence: str, format: str) -> int:
    if format == JSON:
        logger.error("%s", sentence)
    else:
        print(sentence, file=sys.stderr)
    return FAILED


def _argument_parser() -> argparse.ArgumentParser:
    program = os.path.basename(sys.argv[0])
    parser = argparse.ArgumentParser(
        prog=program if program.startswith("gemini-cli-api") else "python -m companion.api",
        description="Gemini CLI as an HTTP server.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"Its documents: {DOCUMENTS}" if os.path.isdir(DOCUMENTS) else None,
    )
    add: Callable[..., Any] = parser.add_argument
    add("--version", action="version", version=__version__)
    add(
        "--workspace",
        metavar="DIR",
        type=_parse_folder,
        required=True,
        help="the folder to work in",
    )
    add("--port", type=_parse_port, default=PORT, help=f"default {PORT}; 0 takes any that is free")
    state_help = "the folder for token and credentials; default: in your cache folder"
    add("--state", metavar="DIR", default="", help=state_help)
    new_help = "make new tokens; clients with the old ones need the new ones"
    add("--new-token", action="store_true", help=new_help)
    languages = (CHINESE, ENGLISH)
    language_help = "the language for clients that do not ask for one; default zh"
    add("--language", choices=languages, default=CHINESE, help=language_help)
    _add_permissions(add)
    usual = Limits()
    decision_help = f"seconds for a decision on a tool call; default {usual.confirmation:g}"
    add(
        "--decision-time",
        metavar="N",
        type=_parse_seconds,
        default=usual.confirmation,
        help=decision_help,
    )
    turn_help = f"seconds for a whole turn; default {usual.turn:g}"
    add("--turn-time", metavar="N", type=_parse_seconds, default=usual.turn, help=turn_help)
    drain_help = f"seconds that running turns get after SIGTERM; default {DRAINING}"
    add("--drain-time", metavar="N", type=_parse_seconds, default=float(DRAINING), help=drain_help)
    formats = (TEXT, JSON)
    format_help = "how the log on standard error is written: as text, or as lines of JSON"
    add("--log-format", choices=formats, default=TEXT, help=format_help)
    _add_agents(add)
    url_help = "the URL of your own gateway to the Gemini API; it receives the API key"
    add("--gemini-url", metavar="URL", default="", help=url_help)
    remote_options.add_to(parser)
    return parser


def _add_agents(add: Callable[..., Any]) -> None:
    agent_help = (
        f"a CLI to offer: {', '.join(CLIS)}, or the command of another agent; may be repeated, the"
        f" first is the default; default {USUAL}"
    )
    add("--agent", metavar="NAME", action="append", default=[], help=agent_help)
    count_help = "the number of processes of each CLI that share its conversations; default 1"
    add("--agents", metavar="N", type=_parse_count, default=1, help=count_help)
    version_help = (
        f"the version of the protocol that each CLI is asked for; default {USUAL_VERSION}"
    )
    add("--protocol-version", type=int, choices=VERSIONS, default=USUAL_VERSION, help=version_help)
    cli_help = "the first CLI's program, or a folder with node_modules for all; default: PATH"
    add("--cli", metavar="PATH", default="", help=cli_help)
    add("--model", metavar="NAME", default="", help="the model of the first CLI's conversations")


def _add_permissions(add: Callable[..., Any]) -> None:
    more: dict[str, Any] = {"action": "append", "default": []}
    root_help = "another folder whose files may be read and written; may be repeated"
    add("--root", metavar="DIR", type=_parse_folder, help=root_help, **more)
    add("--allow-commands", action="store_true", help="switch POST /execute-command on")
    tools_help = "run tools that need a decision for clients of /v1, which cannot decide"
    add("--allow-tools", action="store_true", help=tools_help)
    chats_help = "show the conversations of the editor's chat that are in the same folder"
    add("--show-chats", action="store_true", help=chats_help)
    trust_help = "let Gemini CLI follow the settings that lie in the workspace"
    add("--trust", action="store_true", help=trust_help)


def _parse_folder(text: str) -> str:
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"expected a folder; got {text!r}")
    return os.path.realpath(text)


def _parse_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"expected a port from 0 to 65535; got {text!r}")
    return int(text)


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_PROCESSES):
        raise argparse.ArgumentTypeError(f"expected 1 to {MAX_PROCESSES}; got {text!r}")
    return int(text)


def _parse_seconds(text: str) -> float:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MAX_SECONDS):
        raise argparse.ArgumentTypeError(f"expected seconds from 1 to {MAX_SECONDS}; got {text!r}")
    return float(text)


if __name__ == "__main__":
    sys.exit(main())
