"""Definitions of syntaxes: `.sublime-syntax` files, read into contexts of rules.

`parsing` follows them through a text. Patterns are Oniguruma's, translated for the module `regex`.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

MAIN, PROTOTYPE = "main", "prototype"
Scopes = Tuple[str, ...]


class Rule(NamedTuple):
    """One `match`. `kind` is push, set, embed, branch, pop, fail, or nothing.

    `pops` contexts go before `targets` come. `escape` and `protos` count for all that stands on
    the targets.
    """

    pattern: str
    scope: Scopes = ()
    captures: Tuple[Tuple[int, Scopes], ...] = ()
    kind: str = ""
    targets: Tuple["Context", ...] = ()
    pops: int = 0
    point: str = ""
    escape: Optional["Rule"] = None
    protos: Tuple["Context", ...] = ()


class Context:
    """A named context, or one without a name that stands in a rule; its rules are read late."""

    def __init__(self, grammar: "Grammar", name: str, entries: List[Any]) -> None:
        self.grammar = grammar
        self.name = name
        self.meta_scope: Scopes = ()
        self.content_scope: Scopes = ()
        self.clears: Any = 0
        self.takes_prototype = True
        self._entries = entries
        self._rules: Optional[List[Rule]] = None
        for entry in entries:
            self._read_meta(entry)

    def _read_meta(self, entry: Dict[str, Any]) -> None:
        if "meta_scope" in entry:
            self.meta_scope = scopes(entry["meta_scope"])
        if "meta_content_scope" in entry:
            self.content_scope = scopes(entry["meta_content_scope"])
        if "clear_scopes" in entry:
            self.clears = entry["clear_scopes"]
        if "meta_include_prototype" in entry:
            self.takes_prototype = bool(entry["meta_include_prototype"])

    @property
    def entries(self) -> List[Any]:
        return self._entries

    def rules(self) -> List[Rule]:
        if self._rules is None:
            self._rules = []
            first = self.grammar.prototype_of(self)
            self._rules = (first.own_rules(set()) if first else []) + self.own_rules(set())
        return self._rules

    def own_rules(self, seen: Set[int]) -> List[Rule]:
        """Without the prototype; what is included stands in its place."""
        if id(self) in seen:
            return []
        seen = seen | {id(self)}
        found: List[Rule] = []
        for entry in self._entries:
            if "match" in entry:
                found.append(self.grammar.rule(entry))
            elif "include" in entry:
                found += self._included(entry, seen)
        return found

    def _included(self, entry: Dict[str, Any], seen: Set[int]) -> List[Rule]:
        context = self.grammar.refer(entry["include"])
        if context is None:
            return []
        if entry.get("apply_prototype") and context.grammar is not self.grammar:
            return list(context.rules())
        return context.own_rules(seen)


def scopes(text: Any) -> Scopes:
    return tuple(str(text or "").split())


class Grammar:
    """One definition, those that it extends laid under it."""

    def __init__(self, library: "Library", path: str, content: Dict[str, Any]) -> None:
        self.library = library
        self.path = path
        self.scope = str(content.get("scope", ""))
        self.version = int(content.get("version", 1))
        self.variables: Dict[str, str] = {}
        self._raw: Dict[str, List[Any]] = {}
        self._contexts: Dict[str, Context] = {}
        self._apart: Optional[Set[str]] = None
        for parent in _listed(content.get("extends")):
            self._extend(library.grammar(parent))
        self.variables.update(content.get("variables") or {})
        for name, entries in (content.get("contexts") or {}).items():
            self._lay(name, list(entries or []))

    def _extend(self, parent: Optional["Grammar"]) -> None:
        if parent is not None:
            self.variables.update(parent.variables)
            self._raw.update(parent._raw)

    def _lay(self, name: str, entries: List[Any]) -> None:
        """Over what a parent has: in its place, before it or behind it."""
        below = self._raw.get(name, [])
        if any(entry.get("meta_prepend") for entry in entries):
            entries = entries + below
        elif any(entry.get("meta_append") for entry in entries):
            entries = below + entries
        self._raw[name] = entries

    def context(self, name: str) -> Optional[Context]:
        if name not in self._contexts:
            if name not in self._raw:
                sys.stderr.write("%s has no context %r\n" % (self.path, name))
                return None
            self._contexts[name] = Context(self, name, self._raw[name])
            if name == MAIN:
                main = self._contexts[name]
                main.content_scope = scopes(self.scope) + main.content_scope
        return self._contexts[name]

    def refer(self, reference: Any) -> Optional[Context]:
        """A context by name, by `scope:source.x#name`, by file, or written down in its place."""
        if isinstance(reference, list):
            return Context(self, "", reference)
        name = str(reference)
        if not name.startswith("scope:") and ".sublime-syntax" not in name:
            return self.context(name.lstrip("#"))
        place, _, inner = name.partition("#")
        grammar = self.library.grammar(place)
        return grammar.context(inner or MAIN) if grammar is not None else self._plain()

    def _plain(self) -> Context:
        """In the place of a syntax that is not there: text in which nothing is found."""
        return Context(self, "", [{"meta_include_prototype": False}])

    def prototype_of(self, context: Context) -> Optional[Context]:
        if not context.takes_prototype or PROTOTYPE not in self._raw:
            return None
        if self._apart is None:
            self._apart = {PROTOTYPE} | set(self._reached(PROTOTYPE, set()))
        return None if context.name in self._apart else self.context(PROTOTYPE)

    def _reached(self, name: str, seen: Set[str]) -> Iterator[str]:
        """The contexts that the prototype leads to do not get it."""
        for reference in _references(self._raw.get(name, [])):
            if reference in self._raw and reference not in seen:
                seen.add(reference)
                yield reference
                yield from self._reached(reference, seen)

    # Rules

    def rule(self, entry: Dict[str, Any]) -> Rule:
        kind = next((key for key in ("push", "set", "embed", "branch") if key in entry), "")
        return Rule(
            self.filled(entry["match"]),
            scopes(entry.get("scope")),
            _captures(entry.get("captures")),
            kind or ("fail" if "fail" in entry else "pop" if entry.get("pop") else ""),
            tuple(self._targets(entry, kind)),
            1 if kind == "set" and not entry.get("pop") else int(entry.get("pop") or 0),
            str(entry.get("fail") or entry.get("branch_point") or ""),
            self._escape(entry),
            self._protos(entry),
        )

    def _targets(self, entry: Dict[str, Any], kind: str) -> Iterator[Context]:
        wanted = entry.get(kind) if kind else []
        if isinstance(wanted, str) or (wanted and isinstance(wanted[0], dict)):
            wanted = [wanted]
        for reference in wanted or []:
            context = self.refer(reference)
            if context is None:
                context = self._plain()
            yield self._embedded(entry, context) if kind == "embed" else context

    def _embedded(self, entry: Dict[str, Any], context: Context) -> Context:
        """The same context under the scope that the embedding rule gives it."""
        scope = scopes(entry.get("embed_scope"))
        if not scope:
            return context
        copy = Context(context.grammar, context.name, context.entries)
        own = () if self.version >= 2 else context.content_scope
        copy.content_scope = scope + own
        return copy

    def _escape(self, entry: Dict[str, Any]) -> Optional[Rule]:
        if "escape" not in entry:
            return None
        captures = _captures(entry.get("escape_captures"))
        return Rule(self.filled(entry["escape"]), (), captures, "escape")

    def _protos(self, entry: Dict[str, Any]) -> Tuple[Context, ...]:
        entries = entry.get("with_prototype")
        return (Context(self, PROTOTYPE, entries),) if entries else ()

    def filled(self, pattern: Any) -> str:
        """With the variables in their places; one may hold others."""
        text = str(pattern)
        for _depth in range(20):
            fuller = _VARIABLE.sub(lambda match: str(self.variables.get(match.group(1), "")), text)
            if fuller == text:
                break
            text = fuller
        return text


_VARIABLE = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")


def _listed(value: Any) -> List[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _captures(value: Any) -> Tuple[Tuple[int, Scopes], ...]:
    return tuple(sorted((int(key), scopes(text)) for key, text in (value or {}).items()))


def _references(entries: List[Any]) -> Iterator[str]:
    for entry in entries:
        for key in ("include", "push", "set", "branch"):
            value = entry.get(key)
            for reference in [value] if isinstance(value, str) else value or []:
                if isinstance(reference, str):
                    yield reference
                elif isinstance(reference, dict):
                    yield from _references([reference])
                else:
                    yield from _references([each for each in reference if isinstance(each, dict)])


class Library:
    """The definitions that an editor's packages have, read when they are first asked for."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self._known: Dict[str, Tuple[Any, Optional[Grammar]]] = {}

    def grammar(self, place: str) -> Optional[Grammar]:
        """By path, by file name, or by `scope:source.x`; None where no package has it."""
        path = self._path(place)
        if path is None:
            return None
        state = self._editor.packages.state_of(path)
        known = self._known.get(path)
        if known is None or known[0] != state:
            self._known[path] = (state, None)  # one that extends itself ends here
            self._known[path] = (state, self._read(path))
        return self._known[path][1]

    def _path(self, place: str) -> Optional[str]:
        infos = self._editor.syntaxes.defined()
        if place.startswith("scope:"):
            found = [info.path for info in infos if info.scope == place[6:]]
        else:
            found = [info.path for info in infos if (info.path + "/").endswith(place + "/")]
        return next((path for path in found if path.endswith(".sublime-syntax")), None)

    def _read(self, path: str) -> Optional[Grammar]:
        content = definition(self._editor.packages.load(path))
        if content is None:
            sys.stderr.write("Error reading %s: expected YAML with contexts\n" % path)
            return None
        return Grammar(self, path, content)


def definition(data: bytes) -> Optional[Dict[str, Any]]:
    """The content of a `.sublime-syntax`, None where it is none, or PyYAML is not there."""
    try:
        import yaml
    except ImportError:
        return None
    text = data.decode("utf-8", "replace").replace("%YAML 1.2", "%YAML 1.1", 1)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = yaml.load(text, Loader=_plain_values(loader))
    except yaml.YAMLError:
        return None
    return content if isinstance(content, dict) else None


def _plain_values(loader: Any) -> Any:
    """YAML 1.2 has no other booleans than true and false, and `=` is a text."""
    cls: Any = type("Loader", (loader,), {})
    cls.yaml_implicit_resolvers = {
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag in ("tag:yaml.org,2002:null", "tag:yaml.org,2002:int")
        ]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    cls.add_implicit_resolver(
        "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"
    )
    return cls
