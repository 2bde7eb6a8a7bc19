"""The syntaxes the editor knows by file name or first line; it parses none of them."""

from __future__ import annotations

import os
import re
from typing import List, NamedTuple, Optional, Tuple


class SyntaxInfo(NamedTuple):
    """A syntax definition and what it is chosen for."""

    path: str
    name: str
    scope: str
    extensions: Tuple[str, ...]
    first_line: str = ""


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


def by_path(path: str) -> Optional[SyntaxInfo]:
    """By resource path, or by selector in the form `scope:source.python`."""
    if path.startswith("scope:"):
        found = [info for info in ALL if info.scope == path[6:].strip()]
    else:
        found = [info for info in ALL if info.path == path]
    return found[0] if found else None


def for_file(path: str, first_line: str = "") -> SyntaxInfo:
    """By the file's name, else by its first line, else plain text."""
    name = os.path.basename(path).lower()
    extension = name.rsplit(".", 1)[-1]
    for info in ALL:
        if name in info.extensions or extension in info.extensions:
            return info
    for info in ALL:
        if info.first_line and first_line and re.search(info.first_line, first_line):
            return info
    return PLAIN
