"""Sentences about what changed in what all work trees of a repository share. Pure.

Whether an agent or the user changed it cannot be told apart, so no sentence says who did.
"""

from __future__ import annotations

import re
from typing import Callable, Collection, Iterator, Mapping

from .named import Named, shown_name
from .shared_state import SharedState

# Kinds of refs by their beginnings, one and many.
KINDS = (
    ("refs/heads/", "branch", "branches"),
    ("refs/tags/", "tag", "tags"),
    ("refs/remotes/", "branch of a remote", "branches of remotes"),
    ("refs/replace/", "replacement of an object", "replacements of objects"),
    ("refs/", "other ref", "other refs"),
)
# Settings that name a program which git starts, another file of settings, or another address.
REACHING = re.compile(
    r"(alias|browser|credential|difftool|filter|gpg|guitool|hook|include|includeif|interactive|man"
    r"|mergetool|pager|protocol|remote|sendemail|submodule|trailer|uploadpack|url|web)\..*"
    r"|core\.(alternaterefscommand|askpass|editor|fsmonitor|gitproxy|hookspath|pager|sshcommand"
    r"|worktree)"
    r"|diff\.(external|.*\.(command|textconv))|merge\..*\.driver|sequence\.editor|ssh\..*"
    r"|receive\..*|http\..*|extensions\..*",
    re.DOTALL,
)
ID = re.compile(r"[0-9a-f]{40,64}")
HOOKS, MODULES = "hooks/", "modules/"
NOT_WHOLE = "There is more in the git folder of the repository than is looked at."


def changed_rules(before: SharedState, now: SharedState) -> tuple[str, ...]:
    """A sentence for each kind of change of what git does in all work trees, also the user's."""
    return (
        *_changed_settings(before.settings, now.settings),
        *_changed_files(before.files, now.files),
        *([NOT_WHOLE] if before.is_whole and not now.is_whole else []),
    )


def changed_history(before: SharedState, now: SharedState) -> tuple[str, ...]:
    """A sentence for each kind of change of what is committed, stashed and checked out."""
    return (
        *_changed_heads(before.heads, now.heads),
        *_changed_refs(before.refs, now.refs),
        *_changed_stash(before.stash, now.stash),
    )


def _changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    reaching = {key for key in {*before, *now} if REACHING.fullmatch(key)}
    one = "setting that decides what git runs or reaches"
    many = "settings that decide what git runs or reaches"
    yield from _sentences(before, now, reaching, one, many)
    yield from _sentences(before, now, {*before, *now} - reaching, "setting", "settings")


def _changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    hooks = {name for name in {*before, *now} if name.startswith(HOOKS)}
    modules = {name for name in {*before, *now} if name.startswith(MODULES)}
    one, many = (
        "hook, which is a program that git runs,",
        "hooks, which are programs that git runs,",
    )
    yield from _sentences(before, now, hooks, one, many, lambda name: name[len(HOOKS) :])
    one, many = "file of a submodule's settings or hooks", "files of submodules' settings or hooks"
    yield from _sentences(before, now, modules, one, many, lambda name: name[len(MODULES) :])
    rest = {*before, *now} - hooks - modules
    yield from _sentences(before, now, rest, "file of the git folder", "files of the git folder")


def _changed_heads(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for path in sorted(before.keys() & now.keys()):
        if before[path] != now[path]:
            whose = f"HEAD of {shown_name(path)}" if path else "HEAD"
            yield f"{whose} was {_said(before[path])} and is {_said(now[path])}."
    # What HEAD says makes no other work tree of one.
    paths, others = dict.fromkeys(before, ""), dict.fromkeys(now, "")
    yield from _sentences(paths, others, {*paths, *others}, "work tree", "work trees")


def _changed_refs(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    left = {name for name in {*before, *now} if before.get(name) != now.get(name)}
    for beginning, one, many in KINDS:
        names = {name for name in left if name.startswith(beginning)}
        left -= names

        def show(name: str, beginning: str = beginning) -> str:
            ids = [_said(state[name]) for state in (before, now) if name in state]
            return f"{name[len(beginning) :]} ({' to '.join(ids)})"

        yield from _sentences(before, now, names, one, many, show)


def _changed_stash(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    def show(id: str) -> str:
        return now.get(id) or before.get(id) or _said(id)

    entries = {*before, *now}
    yield from _sentences(before, now, entries, "stash entry", "stash entries", show)


def _sentences(
    before: Mapping[str, str],
    now: Mapping[str, str],
    names: Collection[str],
    one: str,
    many: str,
    show: Callable[[str], str] = str,
) -> Iterator[str]:
    """What is new, changed or gone of these names."""
    new = [name for name in names if name not in before]
    gone = [name for name in names if name not in now]
    both = (name for name in names if name in before and name in now)
    changed = [name for name in both if before[name] != now[name]]
    for found, is_one, are_many in (
        (new, "is new", "are new"),
        (changed, "changed", "changed"),
        (gone, "is gone", "are gone"),
    ):
        if found:
            named = Named.of(map(show, sorted(found)))
            yield named.say(f"1 {one} {is_one}", f"{{}} {many} {are_many}")


def _said(content: str) -> str:
    """What a ref or HEAD says, in short."""
    if ID.fullmatch(content):
        return content[:7]
    if content.startswith("ref: "):
        return shown_name(content[len("ref: ") :].replace("refs/heads/", "", 1))
    return "nothing" if not content else "something unknown"
