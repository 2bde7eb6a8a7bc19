"""The CLIs that speak the companion's protocol, one row each. To support another CLI, add its row.

Every value is a fact from the CLI's public source or documentation (docs/protocol.md 7). Pure: the
environment and the user's home folder are arguments, and no file is read.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Iterable, Mapping, NamedTuple

from .extension_forms import CLAUDE_PLUGIN, GEMINI_EXTENSION, QWEN_EXTENSION, ExtensionForm


class CliSession(NamedTuple):
    """A session as its CLI counts it, which has nothing to do with those of MCP."""

    cli_id: str
    id: str


@dataclass(frozen=True)
class Variables:
    """Names of environment variables, empty if the CLI has none: for the server's port, the folders
    of the window, the bearer token, and the editor's process."""

    port: str
    workspace: str
    token: str = ""
    pid: str = ""


@dataclass(frozen=True)
class DiscoveryForm:
    """Where a CLI searches for discovery files, and their form.

    `folder` has the parts of the path below the temp folder, or below the CLI's home folder if
    `in_home`. `name` is the file's name, with {pid} of the editor and {port}. `has_owner` says that
    the file names the editor and its process in members that the files of other CLIs do not have.
    """

    folder: tuple[str, ...]
    name: str
    in_home: bool = False
    has_owner: bool = False


@dataclass(frozen=True)
class Cli:
    """One CLI. `id` is a short name that never changes, `name` is what users call it, `short_name`
    the same where there is little room, `command` is what they type.

    `home_override` and `homes` are the folders that may be its home, with "~" for the user's home
    folder and "$NAME" for an environment variable; a folder whose variable is missing does not
    count. `enabled_key` and `asked_key` are paths into its settings file: whether it connects to
    editors, and whether it has asked the user about that. `rejected` is the notification for a
    rejection. `extension` describes how it takes up extensions with hooks, None if it does not.
    `package` is its npm package, empty if there is none. `node` is the oldest Node.js that it runs
    on, 0 if that is not known. `discovery` is None if no public source describes a file. `site`
    tells users where to get it. With `keeps_edits`, an edit that waits for a decision goes on
    waiting when the connection is lost, and a later connection may tell the decision. With
    `has_empty_text`, an accepted text that is empty is written.
    """

    id: str
    name: str
    short_name: str
    command: str
    package: str
    node: int
    site: str
    variables: Variables
    discovery: DiscoveryForm | None
    home_override: str
    homes: tuple[str, ...]
    enabled_key: tuple[str, ...] = ("ide", "enabled")
    asked_key: tuple[str, ...] = ("ide", "hasSeenNudge")
    settings_name: str = "settings.json"
    rejected: str = "ide/diffRejected"
    extension: ExtensionForm | None = field(default=None, hash=False)
    keeps_edits: bool = True
    has_empty_text: bool = False

    def possible_homes(self, environ: Mapping[str, str], user_home: str) -> list[str]:
        """Folders that may be its home, the likeliest first; a single one if the environment sets
        it."""
        override = _filled_in(self.home_override, environ, user_home)
        if override:
            return [override]
        found = [_filled_in(template, environ, user_home) for template in self.homes]
        return [path for path in found if path]

    def environment(self, port: int, workspace_path: str, token: str, pid: int) -> dict[str, str]:
        """The variables that lead the CLI to an endpoint. `token` is the endpoint's token;
        `workspace_path` is its folders in one string, as the CLI knows them."""
        values = (
            (self.variables.port, str(port)),
            (self.variables.workspace, workspace_path),
            (self.variables.token, self.token(token)),
            (self.variables.pid, str(pid)),
        )
        return {name: value for name, value in values if name}

    def token(self, endpoint_token: str) -> str:
        """The CLI's own token for an endpoint. All CLIs introduce themselves with the name of the
        same library (docs/protocol.md 7), so only the token shows which CLI is speaking."""
        if self == GEMINI_CLI:
            return endpoint_token
        digest = hmac.new(endpoint_token.encode(), self.id.encode(), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _filled_in(template: str, environ: Mapping[str, str], user_home: str) -> str:
    """The path that the template gives; empty if a value is missing."""
    first, slash, rest = template.partition("/")
    value = user_home if first == "~" else environ.get(first[1:], "")
    return value and value + slash + rest


GEMINI_CLI = Cli(
    id="gemini",
    name="Gemini CLI",
    short_name="Gemini",
    command="gemini",
    package="@google/gemini-cli",
    node=20,
    site="https://github.com/google-gemini/gemini-cli",
    variables=Variables(
        port="GEMINI_CLI_IDE_SERVER_PORT",
        workspace="GEMINI_CLI_IDE_WORKSPACE_PATH",
        token="GEMINI_CLI_IDE_AUTH_TOKEN",
        pid="GEMINI_CLI_IDE_PID",
    ),
    discovery=DiscoveryForm(("gemini", "ide"), "gemini-ide-server-{pid}-{port}.json"),
    home_override="$GEMINI_CLI_HOME/.gemini",
    homes=("~/.gemini",),
    extension=GEMINI_EXTENSION,
)

QWEN_CODE = Cli(
    id="qwen",
    name="Qwen Code",
    short_name="Qwen",
    command="qwen",
    package="@qwen-code/qwen-code",
    node=22,
    site="https://github.com/QwenLM/qwen-code",
    variables=Variables(port="QWEN_CODE_IDE_SERVER_PORT", workspace="QWEN_CODE_IDE_WORKSPACE_PATH"),
    discovery=DiscoveryForm(("ide",), "{port}.lock", in_home=True, has_owner=True),
    home_override="$QWEN_HOME",
    homes=("~/.qwen",),
    rejected="ide/diffClosed",
    extension=QWEN_EXTENSION,
)

LLXPRT = Cli(
    id="llxprt",
    name="LLxprt Code",
    short_name="LLxprt",
    command="llxprt",
    package="@vybestack/llxprt-code",
    node=24,
    site="https://github.com/vybestack/llxprt-code",
    variables=Variables(
        port="LLXPRT_CODE_IDE_SERVER_PORT",
        workspace="LLXPRT_CODE_IDE_WORKSPACE_PATH",
        token="LLXPRT_CODE_IDE_AUTH_TOKEN",
    ),
    discovery=DiscoveryForm(("llxprt", "ide"), "llxprt-ide-server-{pid}-{port}.json"),
    home_override="$LLXPRT_CONFIG_HOME",
    homes=(
        "$XDG_CONFIG_HOME/llxprt-code",
        "~/.config/llxprt-code",
        "~/Library/Preferences/llxprt-code",
        "$APPDATA/llxprt-code/Config",
        "~/.llxprt",
    ),
    enabled_key=("ui", "ideMode"),
    asked_key=("hasSeenIdeIntegrationNudge",),
    rejected="ide/diffClosed",
)

# Its source is not public. Its documentation names the variable for the port. It is built on
# Gemini CLI, so its other names and its settings are Gemini CLI's, renamed in the same way.
IBM_BOB = Cli(
    id="bob",
    name="IBM Bob",
    short_name="Bob",
    command="bob",
    package="",
    node=0,
    site="https://bob.ibm.com/docs/shell",
    variables=Variables(
        port="BOB_SHELL_CLI_IDE_SERVER_PORT",
        workspace="BOB_SHELL_CLI_IDE_WORKSPACE_PATH",
        token="BOB_SHELL_CLI_IDE_AUTH_TOKEN",
        pid="BOB_SHELL_CLI_IDE_PID",
    ),
    discovery=None,
    home_override="",
    homes=("~/.bob",),
)

# Speaks a protocol of its own (`claude`), which docs/protocol.md 11 describes.
CLAUDE_CODE = Cli(
    id="claude",
    name="Claude Code",
    short_name="Claude",
    command="claude",
    package="@anthropic-ai/claude-code",
    node=0,
    site="https://code.claude.com/docs",
    variables=Variables(port="CLAUDE_CODE_SSE_PORT", workspace=""),
    discovery=None,
    home_override="$CLAUDE_CONFIG_DIR",
    homes=("~/.claude",),
    extension=CLAUDE_PLUGIN,
    keeps_edits=False,
    has_empty_text=True,
)

# Those that speak the companion's protocol.
CLIS = (GEMINI_CLI, QWEN_CODE, LLXPRT, IBM_BOB)
# All that connect.
CONNECTING_CLIS = (*CLIS, CLAUDE_CODE)
VARIABLES = frozenset(name for cli in CONNECTING_CLIS for name in cli.environment(0, "", "", 0))
# Endings of programs; anything else after a dot is part of the name, such as a version.
ENDING = re.compile(r"(?<=.)\.(bat|cmd|com|exe|[cm]?js|ps1|py|sh)$")


def program_name(word: str) -> str:
    """A command without its folder and its ending.

    >>> program_name("C:\\\\bin\\\\gemini.cmd")
    'gemini'
    >>> program_name("/opt/gemini-0.61.0")
    'gemini-0.61.0'
    """
    return ENDING.sub("", re.split(r"[/\\]", word)[-1].lower())


def by_command(words: Iterable[str]) -> Cli | None:
    """The first CLI that a command line names, possibly after a program that starts it, such as
    npx, node, env or docker; None if it names none."""
    clis = CONNECTING_CLIS
    return next((cli for word in words for cli in clis if _names_cli(word, cli)), None)


def _names_cli(word: str, cli: Cli) -> bool:
    """Whether a word is the CLI's command, its npm package in any version, or a file in that."""
    if cli.command == program_name(word):
        return True
    parts = word.replace("\\", "/")
    package = rf"(^|[/=]){re.escape(cli.package)}(@[^/]*)?(/|$)"
    return bool(cli.package) and re.search(package, parts) is not None


def by_id(id: str) -> Cli:
    """The CLI with that id; Gemini CLI if there is none, because it knows the whole protocol."""
    return next((cli for cli in CONNECTING_CLIS if cli.id == id), GEMINI_CLI)


def by_label(label: str) -> Cli | None:
    """The CLI with that name, possibly with a number behind it; None if there is none."""
    return next((cli for cli in CONNECTING_CLIS if label.startswith(cli.name)), None)


def short_label(label: str) -> str:
    """The name of a CLI, possibly with a number behind it, where there is little room.

    >>> short_label("Qwen Code 2")
    'Qwen 2'
    """
    cli = by_label(label)
    return cli.short_name + label[len(cli.name) :] if cli is not None else label


def name_of(client: str) -> str:
    """The client's name for a sentence; one that gave none is taken for Gemini CLI."""
    return client or GEMINI_CLI.name
