"""The package's settings, typed. Only this module reads and checks them. UI thread only.

A project's own settings, `"settings": {"GeminiCompanion": {...}}` in its .sublime-project, override
the user's. An invalid value is ignored: the one below it counts, and a sentence says what was
expected.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Callable, Mapping, NamedTuple

import sublime

from ..base.agent_rules import NO_RULES, AgentRules, are_rules, problem_of_rule, rules_of
from ..base.path_maps import PathMap
from ..base.path_patterns import problem_of
from ..ide.clis import CLIS
from ..ide.sharing import SECRETS, UNREADABLE

FILE = "GeminiCompanion.sublime-settings"
PROJECT_KEY = "GeminiCompanion"
# Where diffs are: below the user's groups, in columns beside them, or below them in one view that
# has both texts.
DIFF_LAYOUTS = ("below", "columns", "inline")
LOG_LEVELS = ("debug", "info", "warning", "error")
# The beginning of an absolute path, on any system.
ROOTED = re.compile(r"/|[A-Za-z]:[/\\]|\\\\[^\\]")
# The id of an agent: also the name of a folder.
AGENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
# Words of a command that only make it speak the chat's protocol.
OF_PROTOCOL = ("acp", "--acp", "--experimental-acp")
# Characters of a value in a sentence.
SHOWN = 60


class AgentCommand(NamedTuple):
    """An agent of chat and API, the words that start it, which are known if there are none, and its
    variables by name; one with None is taken away. `args` are further arguments. `own_login` says
    whether it has the user's own login, None that they choose it elsewhere. `protocol_version` is
    the one of the Agent Client Protocol that it is asked for."""

    id: str
    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    args: tuple[str, ...] = ()
    own_login: bool | None = None
    protocol_version: int = 1


AGENT_MEMBERS = ("command", "args", "env", "own_login", "protocol_version")
PROTOCOL_VERSIONS = (1, 2)


@dataclass(frozen=True)
class Settings:
    """The settings with their defaults, as docs/settings.md describes them."""

    diffs: bool = True
    focus_diff: bool = False
    diff_layout: str = "below"
    diff_word_wrap: bool = False
    accept_on_save: bool = True
    keep_goes_on: bool = True
    show_unasked_edits: bool = True
    ask_for_edits: bool = False
    diagnostics_after_edits: bool = True
    claude_code: bool = True
    cli_command: tuple[str, ...] = ("gemini",)
    terminal_command: tuple[str, ...] = ()
    terminus_env: bool = True
    status_bar: bool = True
    messages: bool = True
    desktop_notices: bool = False
    is_trusted: bool | None = None
    exclude: tuple[str, ...] = SECRETS
    only_project_files: bool = False
    path_maps: tuple[PathMap, ...] = ()
    extra_bind_address: str = ""
    extra_discovery_folder: str = ""
    api_port: int = 8080
    api_shows_chats: bool = False
    agents: tuple[AgentCommand, ...] = ()
    usual_agent: str = "gemini"
    chat_context: bool = False
    worktree_folder: str = ""
    trusted_folders: tuple[str, ...] = ()
    agent_rules: AgentRules = NO_RULES
    log_level: str = "info"

    @property
    def terminal_cli(self) -> tuple[str, ...]:
        """What starts the CLI of `cli_command` in a terminal. If that has only the CLI's name, the
        command of the agent counts, which is where its program is."""
        name, *options = self.cli_command
        agent = next((cli.id for cli in CLIS if cli.command == name), "")
        command = self.agent(agent).command
        return (*in_terminal(command), *options) if command else self.cli_command

    def agent(self, id: str) -> AgentCommand:
        """Its entry; an empty one if there is none."""
        return next((each for each in self.agents if each.id == id), AgentCommand(id))


def in_terminal(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command of an agent without the words by which it speaks the chat's protocol."""
    return (*command[:1], *(word for word in command[1:] if word not in OF_PROTOCOL))


DEFAULTS = Settings()


@dataclass(frozen=True)
class SettingKind:
    """`fits` checks a value as Sublime gives it, of one of JSON's types."""

    expected: str
    fits: Callable[[Any], bool]
    # Whether it counts for all windows, so that a project cannot set it.
    is_global: bool = False
    # The value in place of an invalid one; with None, the value below it counts.
    instead: Any = None
    # Combines the user's value and the project's.
    both: Callable[[Any, Any], Any] = lambda user, project: project
    # The end of the sentence about a value that does not fit.
    came: Callable[[Any], str] = lambda value: f"is {_shown_value(value)}."


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_port(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 16


def _is_interface(value: Any) -> bool:
    """An interface that connections can come in by, but not all interfaces."""
    if not isinstance(value, str) or not value:
        return value == ""
    with suppress(ValueError):
        address = ipaddress.ip_address(value)
        return not (address.is_unspecified or address.is_multicast or "%" in value)
    return False


def _is_folder_path(value: Any) -> bool:
    return isinstance(value, str) and (not value or os.path.isabs(os.path.expanduser(value)))


def _are_path_maps(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_path_map, value))


def _is_path_map(value: Any) -> bool:
    """Each side may be of another system than this one."""
    if not isinstance(value, Mapping) or set(value) != {"local", "remote"}:
        return False
    local, remote = value["local"], value["remote"]
    if not isinstance(local, str) or not isinstance(remote, str):
        return False
    return all(ROOTED.match(path) for path in (os.path.expanduser(local), remote))


def _path_map(value: Mapping[str, str]) -> PathMap:
    return PathMap(os.path.expanduser(value["local"]), value["remote"])


def _is_agent(id: str, value: Any) -> bool:
    """Its members may be left out."""
    if not AGENT.fullmatch(id) or not isinstance(value, Mapping):
        return False
    if not set(value) <= set(AGENT_MEMBERS):
        return False
    command, env = value.get("command", ["known"]), value.get("env", {})
    if not isinstance(env, Mapping) or not all(map(_is_variable, env, env.values())):
        return False
    if not _are_arguments(value.get("args", [])) or not _is_switch(value.get("own_login", True)):
        return False
    if not _is_version(value.get("protocol_version", 1)):
        return False
    return _is_words(command) and bool(command) and bool(command[0].strip())


def _is_version(value: Any) -> bool:
    return value in PROTOCOL_VERSIONS and not isinstance(value, bool)


def _are_arguments(value: Any) -> bool:
    """Whether a system takes them as arguments of a program."""
    return _is_words(value) and not any("\0" in word for word in value)


def _is_variable(name: str, value: Any) -> bool:
    """Whether a system takes it as a variable's value; null takes the variable away."""
    if not name or "=" in name or "\0" in name:
        return False
    return value is None or isinstance(value, str) and "\0" not in value


def _bad_agent(value: Any) -> str:
    """The end of the sentence; never has the value of a variable, which may be a key."""
    if not isinstance(value, Mapping):
        return f"is {_shown_value(value)}."
    id = next(id for id, entry in value.items() if not _is_agent(id, entry))
    entry = value[id]
    if not AGENT.fullmatch(id):
        return (
            f"has the name {_shown_value(id)}, which has to be of small letters, digits, . _ and -."
        )
    if not isinstance(entry, Mapping):
        return f"has {_shown_value(entry)} for {_shown_value(id)}."
    unknown = [name for name in entry if name not in AGENT_MEMBERS]
    if unknown:
        return f"has {_shown_value(unknown[0])} in {_shown_value(id)}."
    if not _are_arguments(entry.get("args", [])):
        return f'has "args" in {_shown_value(id)} that are no list of words.'
    if not _is_switch(entry.get("own_login", True)):
        shown = _shown_value(entry["own_login"])
        return f'has {shown} as "own_login" of {_shown_value(id)}, which is true or false.'
    if not _is_version(entry.get("protocol_version", 1)):
        shown = _shown_value(entry["protocol_version"])
        return f'has {shown} as "protocol_version" of {_shown_value(id)}, which is 1 or 2.'
    env = entry.get("env", {})
    if not isinstance(env, Mapping):
        return f'has an "env" in {_shown_value(id)} that is no object of texts and null.'
    bad = [name for name in env if not _is_variable(name, env[name])]
    if bad:
        shown = _shown_value(bad[0])
        return f'has {shown} in the "env" of {_shown_value(id)} with no text and no null.'
    return f"has {_shown_value(entry['command'])} as the command of {_shown_value(id)}."


def _agent_commands(value: Mapping[str, Any]) -> tuple[AgentCommand, ...]:
    return tuple(
        AgentCommand(
            id,
            tuple(entry.get("command", ())),
            tuple(entry.get("env", {}).items()),
            tuple(entry.get("args", ())),
            entry.get("own_login"),
            int(entry.get("protocol_version", 1)),
        )
        for id, entry in value.items()
    )


def _are_patterns(value: Any) -> bool:
    return isinstance(value, list) and not any(map(problem_of, value))


def _bad_pattern(value: Any) -> str:
    bad = [pattern for pattern in value if problem_of(pattern)] if isinstance(value, list) else []
    which = f"{_shown_value(bad[0])} {problem_of(bad[0])}" if bad else f"is {_shown_value(value)}"
    return which + ". Until that is corrected, no CLI is told of any file."


def _bad_rule(value: Any) -> str:
    lists = value.values() if isinstance(value, Mapping) else ()
    bad = [
        rule for each in lists if isinstance(each, list) for rule in each if problem_of_rule(rule)
    ]
    which = (
        f"{_shown_value(bad[0])} {problem_of_rule(bad[0])}" if bad else f"is {_shown_value(value)}"
    )
    return which + ". Until that is corrected, you are asked about each call."


def _one_of(words: tuple[str, ...]) -> str:
    return " or ".join(map(json.dumps, words))


def _is_switch(value: Any) -> bool:
    return isinstance(value, bool)


_SWITCH = SettingKind("true or false", _is_switch)
_MORE = SettingKind("true or false", _is_switch, both=lambda user, project: user or project)
KINDS: dict[str, SettingKind] = {
    "diffs": _SWITCH,
    "focus_diff": _SWITCH,
    "diff_layout": SettingKind(_one_of(DIFF_LAYOUTS), lambda value: value in DIFF_LAYOUTS),
    "diff_word_wrap": _SWITCH,
    "accept_on_save": _SWITCH,
    "keep_goes_on": _SWITCH,
    # A project, which may be somebody else's, cannot hide what CLIs do.
    "show_unasked_edits": _MORE,
    "ask_for_edits": _MORE,
    "diagnostics_after_edits": _SWITCH,
    "claude_code": _SWITCH,
    "cli_command": SettingKind(
        "a list of words with at least one", lambda value: _is_words(value) and any(value[:1])
    ),
    "terminal_command": SettingKind("a list of words", _is_words),
    "terminus_env": _SWITCH,
    "status_bar": _SWITCH,
    "messages": _SWITCH,
    "desktop_notices": _SWITCH,
    "is_trusted": SettingKind(
        "true, false or null", lambda value: value is None or isinstance(value, bool)
    ),
    # A project, which may be somebody else's, can hold back more than the user does, but never
    # less. The last pattern that matches decides, so the user's come last.
    "exclude": SettingKind(
        'a list of patterns, such as "*.pem" or "secrets/"',
        _are_patterns,
        instead=list(UNREADABLE),
        both=lambda user, project: [*project, *user],
        came=_bad_pattern,
    ),
    "only_project_files": SettingKind(
        "true or false", _is_switch, instead=True, both=lambda user, project: user or project
    ),
    "path_maps": SettingKind(
        'a list of folders by two names, such as {"local": "C:\\\\", "remote": "/mnt/c/"}',
        _are_path_maps,
    ),
    "extra_bind_address": SettingKind(
        'the IP address of one interface, such as "172.17.0.1", or ""',
        _is_interface,
        is_global=True,
    ),
    "extra_discovery_folder": SettingKind(
        'the path of a folder, beginning with "/", "~" or a drive, or ""',
        _is_folder_path,
        is_global=True,
    ),
    "api_port": SettingKind("a whole number from 0 to 65535", _is_port, is_global=True),
    "api_shows_chats": SettingKind("true or false", _is_switch, is_global=True),
    # A project, which may be somebody else's, starts no programs.
    "agents": SettingKind(
        'an object of agents, such as {"my-agent": {"command": ["my-agent", "acp"], "env": {}}}',
        lambda value: isinstance(value, Mapping) and all(map(_is_agent, value, value.values())),
        is_global=True,
        came=_bad_agent,
    ),
    "usual_agent": SettingKind(
        'the name of an agent, such as "gemini" or "claude"',
        lambda value: isinstance(value, str) and AGENT.fullmatch(value) is not None,
        is_global=True,
    ),
    # A project can hold back more than the user does, but never less.
    "chat_context": SettingKind(
        "true or false", _is_switch, both=lambda user, project: user and project
    ),
    # A project, which may be somebody else's, does not say where files are made.
    "worktree_folder": SettingKind(
        'the path of a folder, beginning with "/", "~" or a drive, or ""',
        _is_folder_path,
        is_global=True,
    ),
    # A project, which may be somebody else's, cannot call itself trusted.
    "trusted_folders": SettingKind(
        'a list of paths of folders, such as "~/projects/mine"',
        lambda value: _is_words(value) and all(path and _is_folder_path(path) for path in value),
        is_global=True,
    ),
    # A project, which may be somebody else's, allows no agent anything.
    "agent_rules": SettingKind(
        'an object of lists, such as {"deny": ["edit:*.lock"], "allow": ["command:make test"]}',
        are_rules,
        is_global=True,
        instead={"ask": ["tool:*"]},
        came=_bad_rule,
    ),
    "log_level": SettingKind(
        _one_of(LOG_LEVELS), lambda value: value in LOG_LEVELS, is_global=True
    ),
}


def parse_settings(
    user: Mapping[str, Any], project: Any = None
) -> tuple[Settings, tuple[str, ...]]:
    """The settings that count, and a sentence for each invalid value. `user` has the values that
    are set. `project` is the value of the package's name in the project, None if there is none.

    >>> parse_settings({"focus_diff": True}, {"focus_diff": 1})[1]
    ('"focus_diff" in the project has to be true or false, and is 1.',)
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    for name, value in user.items():
        values.update(_check_value(name, "settings", value, problems))
    if project is not None and not isinstance(project, Mapping):
        problems.append(
            f'"{PROJECT_KEY}" in the project has to be an object, and is {_shown_value(project)}.'
        )
    for name, value in project.items() if isinstance(project, Mapping) else ():
        if name not in KINDS:
            problems.append(f'"{name}" in the project is not a setting of Gemini Companion.')
        elif KINDS[name].is_global:
            problems.append(f'"{name}" counts for all windows: a project cannot set it.')
        else:
            below = values.get(name, getattr(DEFAULTS, name))
            for good in _check_value(name, "project", value, problems).values():
                values[name] = KINDS[name].both(below, good)
    lists: dict[str, Any] = {
        name: tuple(value) for name, value in values.items() if isinstance(value, list)
    }
    lists["path_maps"] = tuple(map(_path_map, lists.get("path_maps", ())))
    lists["agents"] = _agent_commands(values.get("agents", {}))
    lists["agent_rules"] = rules_of(values.get("agent_rules", {}))
    return Settings(**{**values, **lists}), tuple(problems)


def _check_value(name: str, place: str, value: Any, problems: list[str]) -> dict[str, Any]:
    """The value by its name; empty if the one below it counts."""
    kind = KINDS[name]
    if kind.fits(value):
        return {name: value}
    expected = f'"{name}" in the {place} has to be {kind.expected}'
    problems.append(f"{expected}, and {kind.came(value)}")
    return {} if kind.instead is None else {name: kind.instead}


def _shown_value(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + " ..."


def current_settings(window: sublime.Window | None = None) -> Settings:
    """The settings of a window; without one, those for all windows."""
    return read_settings(window)[0]


def read_settings(window: sublime.Window | None = None) -> tuple[Settings, tuple[str, ...]]:
    """The settings of a window, or without one those for all windows, and a sentence for each
    invalid value."""
    # All at once, because each call to Sublime goes to another process (docs/sublime.md 6.6).
    stored = sublime.load_settings(FILE).to_dict()
    user = {name: stored[name] for name in KINDS if name in stored}
    project: Any = window.project_data() if window is not None else None
    ours = project.get("settings") if isinstance(project, Mapping) else None
    mine = ours.get(PROJECT_KEY) if isinstance(ours, Mapping) else None
    return _parse_cached(json.dumps([user, mine]))


@lru_cache(maxsize=16)
def _parse_cached(user_and_project: str) -> tuple[Settings, tuple[str, ...]]:
    """Parses the values, given as JSON; equal ones are checked only once, because every command
    asks for them."""
    return parse_settings(*json.loads(user_and_project))
