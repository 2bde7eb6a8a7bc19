"""The API's server as a wheel of its own: three rooms of the package, the page, and the documents.

    python -m tools.api_wheel [FOLDER]   into dist/ or that folder

It has the command `gemini-cli-api`. It is made of what is committed, and is byte for byte the same
each time, wherever zlib is the same. No tool that builds wheels is needed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from typing import Dict, List

from . import closure, package

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROJECT, TOP, COMMAND = "gemini-cli-api", "gemini_cli_api", "gemini-cli-api"
ROOMS = ("base", "agent", "api")
DOCUMENTS = ("api.md", "remote-api.md", "mobile.md", "agents.md", "gemini-cli-acp.md")
# What its programs are called in a checkout, and from the wheel.
CALLS = (
    ("python -m companion.api.client", f"python -m {TOP}.api.client"),
    ("companion.api.client", f"{TOP}.api.client"),
    ("python -m companion.api", COMMAND),
)
INIT = '''"""The Gemini CLI API: `api` serves the engine in `agent` over HTTP; `base` is below."""

__version__ = "%s"
'''
DESCRIPTION = f"""# The Gemini CLI API

Gemini CLI, or another agent, as an HTTP server on your machine: chat with streamed answers,
thoughts and tool calls, decisions on tools, logins, files, and a page to chat in a browser.

    {COMMAND} --workspace path/to/your/project

The agent itself needs Node.js 20 or newer: `npm install -g @google/gemini-cli`.
`{COMMAND} --help` has all options, and says where the documents are.
"""


def main(folder: str = package.DIST) -> int:
    """The exit status."""
    os.makedirs(folder, exist_ok=True)
    try:
        data = build_wheel()
    except package.NoCheckout as error:
        print(f"No wheel was made: {error}")
        return 1
    package.write_data(os.path.join(folder, file_name(closure.package_version())), data)
    return 0


def file_name(version: str) -> str:
    return f"{TOP}-{version}-py3-none-any.whl"


def build_wheel() -> bytes:
    """Raises package.NoCheckout."""
    exported = package.export_files()
    committed = {name: _read_document(name) for name in DOCUMENTS}
    return package.zip_files(wheel_files(exported, committed, closure.package_version()))


def wheel_files(
    exported: Dict[str, bytes], documents: Dict[str, str], version: str
) -> Dict[str, bytes]:
    """What is in the wheel, by path; from the package's files by theirs, and the documents."""
    found = {f"{TOP}/__init__.py": (INIT % version).encode()}
    for room in ROOMS:
        start = f"companion/{room}/"
        found.update(
            (f"{TOP}/{room}/{path[len(start) :]}", data)
            for path, data in exported.items()
            if path.startswith(start)
        )
    for name, text in documents.items():
        found[f"{TOP}/documents/{name}"] = adapt_document(text, list(documents)).encode()
    info = f"{TOP}-{version}.dist-info"
    found[f"{info}/LICENSE"] = exported["LICENSE"]
    found[f"{info}/METADATA"] = wheel_metadata(version).encode()
    found[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tools.api_wheel\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n"
    )
    entry = f"[console_scripts]\n{COMMAND} = {TOP}.api.__main__:main\n"
    found[f"{info}/entry_points.txt"] = entry.encode()
    record = f"{info}/RECORD"
    found[record] = "".join([*map(record_line, found, found.values()), f"{record},,\n"]).encode()
    return found


def record_line(path: str, data: bytes) -> str:
    """A file's line in the record."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def wheel_metadata(version: str) -> str:
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {PROJECT}",
        f"Version: {version}",
        "Summary: Gemini CLI and other agents as an HTTP server",
        "License: MIT",
        "License-File: LICENSE",
        "Requires-Python: >=3.8",
        *(f"Requires-Dist: {library}" for library in needed_libraries()),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", DESCRIPTION])


def needed_libraries() -> List[str]:
    """What the rooms import of others, from the oldest version on that is tested."""
    names = ("aiohttp", "jsonschema")
    with open(os.path.join(ROOT, "requirements", "api.txt"), encoding="utf-8") as file:
        oldest = re.findall(r'(?m)^(\S+)==(\S+); python_version < "3.9"$', file.read())
    known = [(library.name, str(library.old)) for library in closure.TABLE if library.name in names]
    return [f"{name}>={version}" for name, version in (*known, *oldest)]


def adapt_document(text: str, names: List[str]) -> str:
    """A document for those who have the wheel only: with its programs as they are called there, and
    without links to other files."""
    for before, after in CALLS:
        text = text.replace(before, after)
    kept = "|".join(map(re.escape, names))
    return re.sub(rf"\[([^]]+)\]\((?!https?:|#|(?:{kept})[#)])[^)]*\)", r"\1", text)


def _read_document(name: str) -> str:
    """A document as it is committed. Raises NoCheckout."""
    command = ["git", "show", f"HEAD:docs/{name}"]
    try:
        return subprocess.check_output(command, cwd=ROOT).decode("utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        raise package.NoCheckout(f"docs/{name} is not committed: {error}") from error


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
