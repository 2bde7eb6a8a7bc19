"""Makes libraries part of the package: their imports of each other become relative.

So nobody else's `import aiohttp` finds them, and they find no other version than their own.
"""

from __future__ import annotations

import ast
import re
from typing import Dict, FrozenSet, Iterator, List, Match, Tuple

# The Python from which on the newer set is imported; the oldest that all of it runs on.
NEW = (3, 11)
# What no server in an editor needs: tests, programs, and what only they use.
LEFT_OUT = re.compile(
    r"(^|/)(tests|benchmarks|__pycache__|\.hash)/|^jsonschema/(cli|__main__)\.py$"
    r"|^aiohttp/(test_utils|pytest_plugin|worker)\.py$|^idna/(__main__|cli)\.py$"
    # aiohttp's client: a third of the memory that the library takes.
    r"|^aiohttp/(client(?!_exceptions)\w*|connector|cookiejar|formdata|payload_streamer|resolver"
    r"|tracing)\.py$"
)
LICENSE = re.compile(r"\.dist-info/(.*/)?(LICEN[CS]E|COPYING|NOTICE)[^/]*$", re.IGNORECASE)
# jsonschema reads these out of its own folder, which is none inside of a package.
SCHEMAS = re.compile(r"^jsonschema/schemas/(.+?)(?:\.json)?$")
_LOADER = re.compile(r"^def load_schema\(name\):.*?(?=^\S)", re.MULTILINE | re.DOTALL)
# What aiohttp offers by that name is its client; its server's modules ask for the version alone.
_CLIENT = re.compile(r'\A(__version__ = "[^"\n]+"\n).*', re.DOTALL)
_RESOURCES = re.compile(
    r"^if sys\.version_info >= \(3, 9\):.*?import importlib_resources as resources[^\n]*\n",
    re.MULTILINE | re.DOTALL,
)
_VOCABULARIES = re.compile(
    r"^        package = _utils\.resources\.files\(.*?(?=^    return)", re.MULTILINE | re.DOTALL
)
NEW_VOCABULARIES = """        from ._schemas import SCHEMAS
        for name, text in SCHEMAS.items():
            if name.startswith("vocabularies/"):
                vocabulary = json.loads(text)
                _VOCABULARIES.append((vocabulary["$id"], vocabulary))
"""
# attrs writes code that imports attrs.
_OWN_NAME = re.compile(r"__import__\('attr\._make'\)\._make\.")
NEW_LOADER = '''def load_schema(name):
    """Load a schema that was put into the package as Python."""
    from ._schemas import SCHEMAS
    return json.loads(SCHEMAS[name])


'''


def carry_libraries(files: Dict[str, bytes], modules: FrozenSet[str]) -> Dict[str, bytes]:
    """The files of the libraries, by path, as they stand in the package."""
    found: Dict[str, bytes] = {}
    schemas: Dict[str, str] = {}
    for path in sorted(files):
        schema = SCHEMAS.match(path)
        if schema:
            schemas[schema.group(1)] = files[path].decode("utf-8")
        elif LICENSE.search(path):
            found["licenses/" + path.replace(".dist-info/", "/")] = files[path]
        elif path.endswith(".py") and path.split("/")[0].split(".")[0] in modules:
            if not LEFT_OUT.search(path):
                text = files[path].decode("utf-8")
                found[path] = make_relative(_adapt_source(path, text), path, modules).encode(
                    "utf-8"
                )
    if schemas:
        found["jsonschema/_schemas.py"] = b"SCHEMAS = " + _make_literal(schemas)
    return found


def _make_literal(schemas: Dict[str, str]) -> bytes:
    lines = [f"    {name!r}: {text!r},\n" for name, text in sorted(schemas.items())]
    return ("{\n" + "".join(lines) + "}\n").encode("utf-8")


def _adapt_source(path: str, text: str) -> str:
    """Read no file: the importers of older editors know only modules."""
    changes = {
        "aiohttp/__init__.py": ((_CLIENT, r"\1"),),
        "attr/_make.py": ((_OWN_NAME, "__import__(\" + repr(__name__) + \", fromlist=['_'])."),),
        "jsonschema/_utils.py": ((_RESOURCES, ""), (_LOADER, NEW_LOADER)),
        "jsonschema/validators.py": ((_VOCABULARIES, NEW_VOCABULARIES),),
    }
    for pattern, instead in changes.get(path, ()):
        text, count = pattern.subn(instead, text)
        if count != 1:
            raise ValueError(f"{path} reads its files in another way than expected")
    return text


def make_relative(text: str, path: str, modules: FrozenSet[str]) -> str:
    """The source of a module at `path` with relative imports of `modules`."""
    dots = "." * len(path.split("/"))
    # Python counts bytes, and its lines end at fewer characters than those of str.
    lines = text.encode("utf-8").splitlines(keepends=True)
    for node in reversed(list(_walk_statements(ast.parse(text)))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            if (node.module or "").split(".")[0] in modules:
                _rewrite_from(lines, node, dots)
        elif isinstance(node, ast.Import):
            if any(alias.name.split(".")[0] in modules for alias in node.names):
                _rewrite_import(lines, node, dots, modules)
    return b"".join(lines).decode("utf-8")


def _walk_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements below the node, in their order; what they are made of takes the most time to
    walk."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from _walk_statements(child)


def _rewrite_from(lines: List[bytes], node: ast.ImportFrom, dots: str) -> None:
    line, start = lines[node.lineno - 1], node.col_offset
    changed, count = re.subn(rb"^from\s+", b"from " + dots.encode(), line[start:], count=1)
    if count != 1:
        raise ValueError(f"an import that cannot be rewritten: {line!r}")
    lines[node.lineno - 1] = line[:start] + changed


def _rewrite_import(
    lines: List[bytes], node: ast.Import, dots: str, modules: FrozenSet[str]
) -> None:
    line = lines[node.lineno - 1]
    end = node.end_col_offset
    if node.end_lineno != node.lineno or end is None:
        raise ValueError(f"an import that cannot be rewritten: {line!r}")
    statements = "; ".join(_relative_import(alias, dots, modules) for alias in node.names)
    lines[node.lineno - 1] = line[: node.col_offset] + statements.encode() + line[end:]


def _relative_import(alias: ast.alias, dots: str, modules: FrozenSet[str]) -> str:
    top, _, rest = alias.name.partition(".")
    suffix = f" as {alias.asname}" if alias.asname else ""
    if top not in modules:
        return f"import {alias.name}{suffix}"
    if not rest:
        return f"from {dots} import {top}{suffix}"
    parent, _, last = alias.name.rpartition(".")
    if alias.asname:
        return f"from {dots}{parent} import {last}{suffix}"
    return f"from {dots}{parent} import {last} as _; from {dots} import {top}"


def with_carried(text: str, modules: Tuple[str, ...], folders: Tuple[str, str], depth: int) -> str:
    """The source of a module of ours that imports what is carried, and never what is installed.

    `depth` is how many folders below the package's own it lies; `folders` are those of the sets for
    Python older than NEW, and for that and newer."""
    block = _imports_of(text, modules)
    own = "".join("    " + line for line in block.group().splitlines(keepends=True))
    older, newer = (_import_from(own, "." * (depth + 1) + folder) for folder in folders)
    test = "import sys\n\nif sys.version_info < (%d, %d):\n" % NEW
    return text[: block.start()] + test + older + "else:\n" + newer + text[block.end() :]


def _import_from(lines: str, place: str) -> str:
    lines = re.sub(r"from (\S+) import", rf"from {place}.\1 import", lines)
    return re.sub(r"^    import (\S+)", rf"    from {place} import \1", lines, flags=re.M)


def _imports_of(text: str, modules: Tuple[str, ...]) -> Match[str]:
    tops = "|".join(modules)
    lines = re.compile(rf"^(?:from (?:{tops})(?:\.\S+)? import \S+.*\n|import (?:{tops})\n)+", re.M)
    block = lines.search(text)
    if block is None:
        raise ValueError(f"no import of {', '.join(modules)}")
    return block
