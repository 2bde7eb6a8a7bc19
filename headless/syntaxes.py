"""The syntaxes the editor knows: those that its packages define, and what Sublime brings by name.

Of a syntax that no package defines only the scope of the whole text is known.
"""

from __future__ import annotations

import os
import plistlib
import re
import time
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple
from weakref import WeakKeyDictionary

from . import grammars, parsing, patterns

YAML, PLISTS = (".sublime-syntax",), (".tmLanguage", ".hidden-tmLanguage")
_AGAIN = 0.5  # seconds after which files that came are looked for
_HEAD = re.compile(
    r"^(?:name|scope|hidden|file_extensions|hidden_file_extensions|first_line_match)\b"
)


class SyntaxInfo(NamedTuple):
    """A syntax definition and what it is chosen for."""

    path: str
    name: str
    scope: str
    extensions: Tuple[str, ...]
    first_line: str = ""
    hidden: bool = False


def _syntax(package: str, name: str, scope: str, extensions: str, first: str = "") -> SyntaxInfo:
    path = "Packages/%s/%s.sublime-syntax" % (package, name)
    return SyntaxInfo(path, name, scope, tuple(extensions.split()), first)


PLAIN = SyntaxInfo("Packages/Text/Plain text.tmLanguage", "Plain Text", "text.plain", ("txt",))

ALL: List[SyntaxInfo] = [
    PLAIN,
    _syntax(
        "ShellScript",
        "Bash",
        "source.shell.bash",
        "sh bash .bashrc .profile",
        r"^#!.*\b(bash|sh|zsh|dash)\b",
    ),
    _syntax("Batch File", "Batch File", "source.dosbatch", "bat cmd"),
    _syntax("C++", "C", "source.c", "c"),
    _syntax("C++", "C++", "source.c++", "cpp cc cxx h hpp hh"),
    _syntax("C#", "C#", "source.cs", "cs"),
    _syntax("CSS", "CSS", "source.css", "css"),
    _syntax("Diff", "Diff", "source.diff", "diff patch"),
    _syntax("Go", "Go", "source.go", "go"),
    _syntax("Groovy", "Groovy", "source.groovy", "groovy gradle"),
    _syntax("Haskell", "Haskell", "source.haskell", "hs"),
    _syntax("HTML", "HTML", "text.html.basic", "html htm xhtml", r"(?i)^<!doctype html"),
    _syntax("Java", "Java", "source.java", "java"),
    _syntax("JavaScript", "JavaScript", "source.js", "js mjs cjs", r"^#!.*\b(node|js)\b"),
    _syntax("JavaScript", "JSX", "source.jsx", "jsx"),
    _syntax("JavaScript", "TypeScript", "source.ts", "ts mts cts"),
    _syntax("JavaScript", "TSX", "source.tsx", "tsx"),
    _syntax(
        "JSON",
        "JSON",
        "source.json",
        "json sublime-settings sublime-menu sublime-keymap sublime-commands sublime-project",
    ),
    _syntax("Lua", "Lua", "source.lua", "lua"),
    _syntax("Makefile", "Makefile", "source.makefile", "makefile mk", r"^#!.*\bmake\b"),
    _syntax("Markdown", "Markdown", "text.html.markdown", "md markdown mdown"),
    _syntax("Perl", "Perl", "source.perl", "pl pm", r"^#!.*\bperl\b"),
    _syntax("PHP", "PHP", "embedding.php", "php", r"^<\?php"),
    _syntax("Python", "Python", "source.python", "py pyw pyi", r"^#!.*\bpython"),
    _syntax("R", "R", "source.r", "r"),
    _syntax("Ruby", "Ruby", "source.ruby", "rb rake gemspec", r"^#!.*\bruby\b"),
    _syntax("Rust", "Rust", "source.rust", "rs"),
    _syntax("Scala", "Scala", "source.scala", "scala"),
    _syntax("SQL", "SQL", "source.sql", "sql"),
    _syntax("TOML", "TOML", "source.toml", "toml"),
    _syntax("XML", "XML", "text.xml", "xml xsd svg", r"^<\?xml"),
    _syntax("YAML", "YAML", "source.yaml", "yaml yml"),
]


class Syntaxes:
    """All syntaxes of one editor."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self._library = grammars.Library(editor)
        self._defined: Dict[str, Tuple[Any, SyntaxInfo]] = {}
        self._looked = 0.0
        self._packages: Any = None
        self._parsed: "WeakKeyDictionary[Any, Tuple[Any, parsing.Parsed]]" = WeakKeyDictionary()

    def defined(self) -> List[SyntaxInfo]:
        """Those that packages define, in the order of their resources."""
        packages = self._editor.packages
        packages.refresh()
        stale = time.monotonic() - self._looked > _AGAIN
        if stale or self._packages is not packages.by_name:
            self._look()
        return [info for _state, info in self._defined.values()]

    def _look(self) -> None:
        packages, before = self._editor.packages, self._defined
        self._defined = {}
        for path in packages.find_resources("*.*"):
            if path.endswith(YAML + PLISTS):
                state = packages.state_of(path)
                known = before.get(path)
                if known is None or known[0] != state:
                    known = (state, _read(path, packages.load(path)))
                self._defined[path] = known
        self._looked, self._packages = time.monotonic(), packages.by_name

    def all(self) -> List[SyntaxInfo]:
        """The defined ones, and of Sublime's own those that nobody defines."""
        defined = self.defined()
        paths = {info.path for info in defined}
        return defined + [info for info in ALL if info.path not in paths]

    def by_path(self, path: str) -> Optional[SyntaxInfo]:
        """By resource path or file name, or by scope in the form `scope:source.python`."""
        if path.startswith("scope:"):
            found = self.where(lambda info: info.scope == path[6:].strip())
        else:
            found = self.where(lambda info: ("/" + info.path).endswith("/" + path))
        return found[0] if found else None

    def where(self, suits: Callable[[SyntaxInfo], bool]) -> List[SyntaxInfo]:
        """Where none suits, what came in the meantime is looked at."""
        found = [info for info in self.all() if suits(info)]
        if not found:
            self._look()
            found = [info for info in self.all() if suits(info)]
        return found

    def for_file(self, path: str, first_line: str = "") -> SyntaxInfo:
        """By the file's name, else by its first line, else plain text."""
        name = os.path.basename(path).lower()
        known = [info for info in self.all() if not info.hidden]
        for info in known:
            if _suits(info, name):
                return info
        for info in known:
            if info.first_line and first_line and _begins(info.first_line, first_line):
                return info
        return PLAIN

    def symbols(self) -> Tuple[List[str], List[str]]:
        """The selectors of what belongs into a list of symbols, and of what does not although one
        of these says so."""
        packages = self._editor.packages
        wanted: Tuple[List[str], List[str]] = ([], [])
        for path in packages.find_resources("*.tmPreferences"):
            content = _plist(packages.load(path))
            shown = (content.get("settings") or {}).get("showInSymbolList")
            if shown is not None:
                wanted[0 if shown else 1].append(str(content.get("scope", "")))
        return wanted

    def grammar(self, place: str) -> Optional[grammars.Grammar]:
        """By path or scope; None where no package defines it, or `regex` is not there."""
        return self._library.grammar(place) if patterns.is_available() else None

    def parsed(self, view: Any) -> parsing.Parsed:
        """The scopes of a view's text; one for all of it where no more can be known."""
        info = view.syntax
        grammar = self.grammar(info.path)
        if grammar is None:
            return parsing.Parsed([0], [(info.scope,)])
        state = (view.buffer.change_count, grammar)
        known = self._parsed.get(view)
        if known is None or known[0] != state:
            known = (state, parsing.parse(grammar, view.text.characters))
            self._parsed[view] = known
        return known[1]


def _suits(info: SyntaxInfo, name: str) -> bool:
    return any(
        name == each.lower() or name.endswith("." + each.lower()) for each in info.extensions
    )


def _begins(pattern: str, line: str) -> bool:
    compiled = patterns.compiled(pattern) if patterns.is_available() else None
    return compiled is not None and compiled.match(line) is not None


def _read(path: str, data: bytes) -> SyntaxInfo:
    """What its head says, without its contexts: these are long."""
    head = _plist(data) if path.endswith(PLISTS) else _yaml_head(data)
    extensions = tuple(str(each) for key in _EXTENSIONS for each in head.get(key) or ())
    return SyntaxInfo(
        path,
        str(head.get("name") or os.path.splitext(path.rsplit("/", 1)[-1])[0]),
        str(head.get("scope") or head.get("scopeName") or ""),
        extensions,
        str(head.get("first_line_match") or head.get("firstLineMatch") or ""),
        bool(head.get("hidden")) or path.endswith(".hidden-tmLanguage"),
    )


_EXTENSIONS = ("file_extensions", "hidden_file_extensions", "fileTypes")


def _yaml_head(data: bytes) -> Dict[str, Any]:
    text = data.decode("utf-8", "replace")
    blocks = re.split(r"^(?=[A-Za-z_]+:)", text, flags=re.MULTILINE)
    head = "".join(block for block in blocks if _HEAD.match(block))
    return grammars.definition(head.encode()) or {}


def _plist(data: bytes) -> Dict[str, Any]:
    try:
        content = plistlib.loads(data)
    except Exception:  # plistlib raises whatever its parser does
        traceback.print_exc()
        return {}
    return content if isinstance(content, dict) else {}
