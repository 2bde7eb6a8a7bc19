"""What the user's rules say about a call. A rule that denies or asks counts if it fits any part of
the call; what is allowed has to be allowed in all of its parts, and is never what is asked about
each time (`guarded_files`).

Source: docs/settings.md, "agent_rules".
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Iterable, Sequence

from ...base.agent_rules import COMMAND, EDIT, NAMES, OF_PATHS, READ, TOOL, AgentRules, split_rule
from ...base.path_patterns import IGNORE_CASE, is_matched
from ..events import tool_call
from ..events.tool_call import OF_SERVER, SHELL_NOTE, UNNAMED, Call
from .lasting_answers import (
    FOLDERS,
    NOTHING,
    READING,
    SAYING,
    SEARCH,
    Coverage,
    absolute_path,
    files_of,
)
from .simple_commands import is_allowed, is_like, is_named, may_be

DENY, ASK, ALLOW = NAMES
# What makes a path a pattern of paths.
PATTERN = re.compile(r"[*?\[{]")
# The arguments of a command that may be there where a rule allows it: others may change what runs.
KNOWN = {
    "command", "timeout", "timeout_ms", "is_background", "run_in_background", *SAYING, *FOLDERS,
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """`decision` is DENY, ASK or ALLOW, "" if no rule fits; `rule` is the one that decided."""

    decision: str = ""
    rule: str = ""


NO_VERDICT = Verdict()


def verdict_of(call: Call, rules: AgentRules, roots: Sequence[str], coverage: Coverage) -> Verdict:
    """`roots` are the session's folders, the workspace first. `coverage` is that of lasting
    answers: without any, nothing is allowed. Asks the disk."""
    names = _tool_names(call)
    places = [absolute_path(call, file, roots[0]) for file in files_of(call)]
    paths = [spelling for place in places for spelling in _path_spellings(place)]
    for decision, those in ((DENY, rules.deny), (ASK, rules.ask)):
        for rule in those:
            if _rule_fits(rule, call, names, paths, roots):
                return Verdict(decision, rule)
    for rule in (*rules.deny, *rules.ask):
        if _may_fit(rule, call):
            return Verdict(ASK, rule)
    allowed = _allowing_rules(call, rules.allow, places, roots) if coverage.needs else []
    return Verdict(ALLOW, ", ".join(dict.fromkeys(allowed))) if allowed else NO_VERDICT


def verdict_of_write(
    path: str, running: Iterable[Call], rules: AgentRules, roots: Sequence[str]
) -> Verdict:
    """What the rules say of a write about which the agent does not ask, while these calls run.
    Where the agent names no tool, it may be any but a server's, which writes by itself."""
    writes = [
        Call("", call.name, kind=EDIT, path=path)
        for call in running
        if call.path == path and may_write(call)
    ]
    is_told = bool(writes) and not any(call.name in (EDIT, *UNNAMED) for call in writes)
    writes = writes or [Call("", "", kind=EDIT, path=path)]
    found = [verdict_of(call, rules, roots, NOTHING) for call in writes]
    if not is_told:
        found += [Verdict(ASK, rule) for rule in (*rules.deny, *rules.ask) if _is_of_own_tool(rule)]
    return min(found, key=lambda verdict: (DENY, ASK, "").index(verdict.decision))


def _rule_fits(
    rule: str, call: Call, names: Iterable[str], paths: Iterable[str], roots: Sequence[str]
) -> bool:
    kind, pattern = split_rule(rule)
    if kind == TOOL:
        return any(is_like(name.casefold(), pattern.casefold()) for name in names)
    if kind == COMMAND:
        return call.is_command and is_named(call.shell_line, pattern)
    is_meant = kind in OF_PATHS and _may_act_on_files(kind, call)
    spellings = (*roots, *map(_real_path, roots))
    # Each may be a folder.
    places = [os.path.join(path, "") for path in paths]
    return is_meant and any(is_matched(place, spellings, (pattern,), True) for place in places)


def _may_fit(rule: str, call: Call) -> bool:
    """Whether nobody can say that it does not: of a command in other words, and of a search, which
    comes upon all that is below its folder, as does what reads by a pattern or tells no file."""
    kind, pattern = split_rule(rule)
    if kind == COMMAND:
        return call.is_command and may_be(call.shell_line, pattern)
    if kind != READ or call.is_command or call.kind not in READING:
        return False
    places = files_of(call)
    return call.kind == SEARCH or not places or any(map(PATTERN.search, places))


def _is_of_own_tool(rule: str) -> bool:
    """Whether it may be about a tool that belongs to no tool server."""
    kind, pattern = split_rule(rule)
    return kind == TOOL and not pattern.casefold().startswith(OF_SERVER)


def _may_act_on_files(kind: str, call: Call) -> bool:
    """Whether the call may do this to the files that it names. What a command names is where it
    runs, if it has no edits beside it."""
    if call.diffs or call.kind == tool_call.EDIT:
        return kind == EDIT
    return not call.is_command and (kind == READ or call.kind not in READING)


def may_write(call: Call) -> bool:
    """Whether it may be the one that has the files written that it names: a server's tool writes by
    itself."""
    return _may_act_on_files(EDIT, call) and not call.is_of_server


def _allowing_rules(
    call: Call, rules: Sequence[str], places: Sequence[str], roots: Sequence[str]
) -> list[str]:
    """The rules by which all of the call is allowed; none if a part of it is not."""
    by_kind = {
        kind: [rule for rule in rules if split_rule(rule)[0] == kind] for kind in (TOOL, COMMAND)
    }
    if call.is_command:
        # Where the agent tells more of it, it is more than its line.
        is_plain = set(call.args) <= KNOWN and _says_nothing(call)
        found = [
            rule for rule in by_kind[COMMAND] if is_allowed(call.shell_line, split_rule(rule)[1])
        ]
        return found[:1] if is_plain else []
    if call.kind == tool_call.EDIT or (call.kind in READING and places):
        kind = EDIT if call.kind == tool_call.EDIT else READ
        patterns = [rule for rule in rules if split_rule(rule)[0] == kind]
        fitting = [_first_match(patterns, _real_path(place), roots) for place in places]
        if all(fitting):
            return fitting
    if call.kind == tool_call.EDIT or call.name in UNNAMED:
        return []
    return [rule for rule in by_kind[TOOL] if is_like(call.name, split_rule(rule)[1])][:1]


def _first_match(rules: Sequence[str], path: str, roots: Sequence[str]) -> str:
    found = (rule for rule in rules if is_matched(path, roots, (split_rule(rule)[1],), IGNORE_CASE))
    return next(found, "")


def _tool_names(call: Call) -> set[str]:
    """What somebody may call its tool."""
    is_title = call.name in UNNAMED or (call.is_command and "command" not in call.args)
    return {call.name, call.display_name, *([call.title] if is_title else [])}


def _says_nothing(call: Call) -> bool:
    """Whether its text is only what it is for, or where it runs."""
    text = call.text
    return not text or text in map(call.args.get, SAYING) or SHELL_NOTE.fullmatch(text) is not None


def _path_spellings(path: str) -> Iterable[str]:
    """Some agents take a `~` for the user's folder, others for a name."""
    home = os.path.join("~", "")
    expanded = os.path.expanduser("~") + path[1:] if path.startswith(home) else path
    return os.path.abspath(path), _real_path(path), os.path.abspath(expanded), _real_path(expanded)


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
