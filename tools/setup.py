"""Makes what the Makefile's targets run on: `python tools/setup.py runtime`, or another of PARTS.

Runs on any CPython from 3.8. Does nothing where nothing changed since the last time.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Callable, Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
# What is installed into .venv for the package, for the API as a program, and for all else: files of
# requirements/, and the file in .venv that says that they are. Each has all of the one before. What
# users run is compared with known digests.
LAYERS = {
    "runtime": (("runtime-hashes.txt",), "stamp-runtime"),
    "api": (("runtime-hashes.txt", "api-hashes.txt"), "stamp-api"),
    "python": (("runtime-hashes.txt", "api-hashes.txt", "dev.txt"), "stamp"),
}
# Folders with a package.json: the real CLI for the tests, and others' clients of the API. Apart are
# the server that is measured against, and other agents: they take 1.5 GB, for some tests; and of
# one of them the newest version again, which does not go into the same folder.
NODE_FOLDERS = [
    os.path.join(ROOT, *path) for path in (("tests", "e2e"), ("tests", "e2e", "clients"))
]
BENCH = os.path.join(ROOT, "bench", "sdk_server")
AGENTS = [os.path.join(ROOT, "tests", "e2e", name) for name in ("agents", "newest_agents")]
# Others' clients of MCP, and the suite that says whether a server conforms to it.
OTHERS = os.path.join(ROOT, "tests", "others", "mcp")
CARRIED = os.path.join(VENV, "carried")
GEMINI_CLI = "@google/gemini-cli"
# Where it is for `make api` while nobody has installed it, and the list of what belongs to it.
CLI = os.path.join(VENV, "cli")
LOCKED_CLI = os.path.join(ROOT, "deploy", "cli")
# The oldest Python for tools that have a virtual environment of their own.
OLDEST_APART = (3, 11)
# Unpacks the browser that comes as an npm package into the temp folder, and the libraries that a
# machine without a desktop may lack.
UNPACK = """
import chromium, { inflate } from "@sparticuz/chromium";
await chromium.executablePath();
await inflate("node_modules/@sparticuz/chromium/bin/al2023.tar.br");
"""
CHROMIUM = os.path.join(ROOT, "tests", "e2e", "node_modules", ".chromium", "chromium")
# pip without a network says only that there is no matching distribution.
NO_INDEX = (
    "Not installed, see above. If pip finds no distribution or no connection: is there a network?"
    " Behind a proxy, set HTTPS_PROXY; for an index of your own, PIP_INDEX_URL."
)
PIP = ["--no-compile", "--disable-pip-version-check", "--progress-bar=off"]
# Not "ci", which fails where a registry lacks what other platforms need; "--no-save" leaves the
# lock file as it is.
NPM = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


def file_digest(paths: List[str], *more: str) -> str:
    whole = hashlib.sha256("\n".join(more).encode())
    for path in paths:
        with open(path, "rb") as file:
            whole.update(file.read())
    return whole.hexdigest()


def is_done(stamp: str, value: str) -> bool:
    try:
        with open(stamp, encoding="ascii") as file:
            return file.read() == value
    except OSError:
        return False


def set_done(stamp: str, value: str) -> None:
    with open(stamp, "w", encoding="ascii") as file:
        file.write(value)


def python_of(venv: str) -> str:
    """The interpreter of a virtual environment."""
    parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return os.path.join(venv, *parts)


def set_up_python(layer: str) -> None:
    """The layer in .venv, on top of what is there; anew where something there is outdated. It is of
    the Python that runs this, or that this .venv came from."""
    layers = list(LAYERS)
    stamps = {each: os.path.join(VENV, LAYERS[each][1]) for each in layers}
    values = {each: file_digest(read_requirements(each), sys.version) for each in layers}
    done = [each for each in layers if is_done(stamps[each], values[each])]
    if any(each in done for each in layers[layers.index(layer) :]):
        return
    if not done or done != [each for each in layers if os.path.exists(stamps[each])]:
        print("Making .venv with Python %d.%d ..." % sys.version_info[:2], flush=True)
        # On Windows the program of a venv is no link but a small starter of the one it came from.
        base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        shutil.rmtree(VENV, ignore_errors=True)
        run_command([base, "-m", "venv", VENV])
    install_layer(VENV, *read_requirements(layer))
    set_done(stamps[layer], values[layer])


def read_requirements(layer: str) -> List[str]:
    return [os.path.join(ROOT, "requirements", name) for name in LAYERS[layer][0]]


def install_layer(venv: str, *lists: str) -> None:
    """What the lists name, into the virtual environment; each library is said as pip takes it.
    Leaves with pip's status where it fails, and says what to look at. Most modules are never
    imported, so none is compiled."""
    names = " and ".join(os.path.relpath(each, ROOT) for each in lists)
    print("Installing %s into %s ..." % (names, os.path.relpath(venv, ROOT)), flush=True)
    for each in lists:
        # One at a time: pip wants digests for all of a call, as soon as it has one.
        install_list(venv, each)


def install_list(venv: str, path: str) -> None:
    command = [python_of(VENV), "-m", "pip"]
    if venv != VENV:
        command += ["--python", python_of(venv)]
    command += ["install", *PIP, "-r", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, universal_newlines=True) as pip:
        for line in pip.stdout or ():
            if line.startswith("Collecting "):
                print("  " + line.split()[1], flush=True)
    if pip.returncode:
        print(NO_INDEX, file=sys.stderr)
        sys.exit(pip.returncode)


def set_up_apart(name: str) -> None:
    """A virtual environment of its own for requirements/`name`.txt, whose libraries are many and
    have nothing to do with ours, where this Python is new enough: `schema` asks the API's server
    all that its description allows, `clients` are those that others wrote, `mcp` those of MCP,
    `deploy` looks at the files of that folder; see test_api_schema and test_api_clients in
    tests/e2e, tests/others, and tests/tools/test_deploy."""
    if sys.version_info < OLDEST_APART:
        print("requirements/%s.txt needs Python %d.%d or newer." % (name, *OLDEST_APART))
        return
    # Inside the other one, and so gone whenever that one is made anew.
    venv = os.path.join(VENV, name)
    wanted = os.path.join(ROOT, "requirements", name + ".txt")
    stamp, value = os.path.join(venv, "stamp"), file_digest([wanted], sys.version)
    if not is_done(stamp, value):
        print("Making .venv/%s ..." % name, flush=True)
        # The pip of .venv serves all: to unpack another one takes longer than most libraries.
        run_command([sys.executable, "-m", "venv", "--clear", "--without-pip", venv])
        install_layer(venv, wanted)
        set_done(stamp, value)


def set_up_carried() -> None:
    """The wheels of the libraries that the packages carry, so that the tests can build these
    without asking an index."""
    lists = [os.path.join(ROOT, "requirements", "carried.txt")]
    lists.append(os.path.join(ROOT, "tools", "closure.py"))
    stamp, value = os.path.join(CARRIED, "stamp"), file_digest(lists)
    if not is_done(stamp, value):
        print("Downloading .venv/carried ...", flush=True)
        shutil.rmtree(CARRIED, ignore_errors=True)
        code = "import sys; from tools import package; package.download_wheels(sys.argv[1])"
        subprocess.check_call([python_of(VENV), "-c", code, CARRIED], cwd=ROOT)
        set_done(stamp, value)


def set_up_node() -> None:
    """`npm install` where a package.json stands; without a fit Node, says what will not run."""
    install_modules([folder for folder in NODE_FOLDERS if os.path.exists(folder + "/package.json")])


def install_modules(folders: List[str]) -> None:
    if not has_node():
        sentence = "Node.js 20 or newer with npm was not found: tests with the real CLI cannot run."
        if os.environ.get("CI"):
            sys.exit(sentence)
        print(sentence)
        return
    # At once, for each waits for the registry.
    with ThreadPoolExecutor() as pool:
        list(pool.map(set_up_modules, folders))


def set_up_mcp() -> None:
    """What tests/others runs, with the Node of the end-to-end tests."""
    set_up_node()
    if has_node():
        set_up_modules(OTHERS)
    set_up_apart("mcp")


def set_up_modules(folder: str) -> None:
    modules = os.path.join(folder, "node_modules")
    stamp = os.path.join(modules, ".stamp")
    value = file_digest([os.path.join(folder, "package-lock.json")])
    if not is_done(stamp, value):
        print("Installing %s ..." % os.path.relpath(modules, ROOT), flush=True)
        npm_install(folder)
        set_done(stamp, value)


def npm_install(folder: str) -> None:
    # By its path: on Windows npm is a script, which is not found by its name alone.
    run_command([shutil.which("npm") or "npm", *NPM], folder)


def run_command(command: List[str], folder: str = ROOT) -> None:
    """Leaves with its status where it fails: it has said why."""
    status = subprocess.call(command, cwd=folder)
    if status:
        sys.exit(status)


def set_up_cli() -> None:
    """Gemini CLI alone, for this checkout, unless that of the tests is there; as the image of the
    API's server has it, with the digests of all that it needs."""
    if os.path.isdir(os.path.join(NODE_FOLDERS[0], "node_modules", *GEMINI_CLI.split("/"))):
        return
    lists = [os.path.join(LOCKED_CLI, name) for name in ("package.json", "package-lock.json")]
    stamp, value = os.path.join(CLI, "stamp"), file_digest(lists)
    if is_done(stamp, value):
        return
    if not has_node():
        sys.exit("Gemini CLI was not found, nor Node.js 20 or newer with npm, which it needs.")
    print("Gemini CLI was not found: installing it into .venv/cli ...", flush=True)
    os.makedirs(CLI, exist_ok=True)
    for path in lists:
        shutil.copy(path, CLI)
    npm_install(CLI)
    set_done(stamp, value)


def set_up_browser() -> None:
    """Unpacks the browser for the page's tests, where Node is. It is built for this kind of machine
    only; on others one in PATH serves."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64") or os.path.exists(CHROMIUM):
        return
    if not has_node():
        return
    print("Unpacking %s ..." % os.path.relpath(CHROMIUM, ROOT), flush=True)
    unfinished = os.path.dirname(CHROMIUM) + ".unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    os.mkdir(unfinished)
    node = ["node", "--input-type=module", "--eval", UNPACK]
    environment = {**os.environ, "TMPDIR": unfinished}
    subprocess.check_call(node, cwd=NODE_FOLDERS[0], env=environment)
    os.rename(unfinished, os.path.dirname(CHROMIUM))


def has_node() -> bool:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return False
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE).stdout.decode()
    return int(version.lstrip("v").split(".")[0]) >= 20


PARTS: Dict[str, Callable[[], None]] = {
    **{layer: partial(set_up_python, layer) for layer in LAYERS},
    "cli": set_up_cli,
    "node": set_up_node,
    "agents": partial(install_modules, AGENTS),
    "bench": partial(install_modules, [BENCH]),
    "browser": set_up_browser,
    "schema": partial(set_up_apart, "schema"),
    "clients": partial(set_up_apart, "clients"),
    "mcp": set_up_mcp,
    "deploy": partial(set_up_apart, "deploy"),
    "carried": set_up_carried,
}

if __name__ == "__main__":
    PARTS[sys.argv[1]]()
