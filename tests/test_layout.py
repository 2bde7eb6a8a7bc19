"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import unittest
from typing import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# docs/architecture.md, "The ladder".
RANKS = {
    "jsonrpc": 0, "context": 0, "status": 0, "editor": 0, "log": 0, "private": 0,
    "excerpt": 0, "gate": 0, "aside": 0, "missing": 0,
    "discovery": 1, "original": 1, "state": 1,
    "sessions": 2, "unwritten": 2,
    "mcp": 3,
    "transport": 4,
    "workspace": 5,
    "windows": 6,
    "service": 7,
    "sublime_view": 8, "sublime_layout": 8, "sublime_terminal": 8,
    "sublime_diff": 9,
    "sublime_editor": 10, "sublime_kept": 10,
    "sublime_host": 11,
    "sublime_api": 14,
    "plugin": 15,
    "agent/events": 0, "agent/surrogates": 0, "agent/failure": 1,
    "agent/wire": 1, "agent/home": 1, "agent/process": 1, "agent/recording": 1,
    "agent/cli": 2, "agent/prompt": 2, "agent/auth": 2, "agent/acp": 2, "agent/calls": 2,
    "agent/outcomes": 3, "agent/runner": 3,
    "agent/turn": 4, "agent/login": 4,
    "agent/conversation": 5,
    "agent/agent": 6,
    "api/texts": 0, "api/state": 1, "api/commands": 2,
    "api/refusal": 2, "api/schemas": 4, "api/audience": 5,
    "api/guard": 5, "api/forms": 5, "api/files": 5,
    "api/exchange": 7,
    "api/account": 8, "api/disk": 8, "api/openapi": 8, "api/stream": 8, "api/website": 8,
    "api/connection": 8,
    "api/talk": 9,
    "api/routes": 10,
    "api/dispatch": 11,
    "api/server": 12,
    "api/__main__": 13, "api/service": 13,
}  # fmt: skip
# What the agent's and the API's modules may use of their neighbours: nouns that know nothing of the
# companion. The API may use all of the agent.
SHARED = {"jsonrpc", "log", "private", "gate", "aside", "missing"}
FOLDERS = ("", "agent", "api")
# The only way from the editor to the API, and what it leads to.
DOOR, BEHIND_IT = "sublime_api", {"api/service", "api/state"}
# Where a catch-all may stand: a request, a message in it, a UI callback, a call from the editor,
# a thread, one for one piece of work, a look at a window, a turn of the agent, the way to it.
BOUNDARIES = {
    "transport": 2, "sublime_editor": 1, "service": 2, "original": 1, "aside": 1, "windows": 1,
    "agent/acp": 1, "agent/turn": 1, "api/dispatch": 1, "api/service": 1,
}  # fmt: skip
NEEDS_LIBRARIES = {"mcp", "transport", "workspace", "windows"}


def modules() -> dict[str, ast.Module]:
    """The package's own modules by name, parsed as Python 3.8 reads them."""
    paths = {"plugin": os.path.join(ROOT, "plugin.py")}
    for place in FOLDERS:
        folder = os.path.join(ROOT, "companion", place)
        prefix = place + "/" if place else ""
        for name in os.listdir(folder):
            if name.endswith(".py") and name != "__init__.py":
                paths[prefix + name[:-3]] = os.path.join(folder, name)
    trees = {}
    for name, path in paths.items():
        with open(path, encoding="utf-8") as file:
            trees[name] = ast.parse(file.read(), path, feature_version=(3, 8))
    return trees


def outside(tree: ast.Module) -> Iterator[str]:
    """The first part of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0]


def inside(name: str, tree: ast.Module) -> Iterator[str]:
    """Every module of the package that the module imports, types only included."""
    here = [] if name == "plugin" else ["companion", *name.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            path = here[: len(here) - node.level + 1] + (node.module or "").split(".")
            place = "/".join(part for part in path[1:] if part)
            if place in FOLDERS:
                known = ("/".join(filter(None, (place, alias.name))) for alias in node.names)
                yield from (module for module in known if module in RANKS)
            else:
                yield place


def place_of(name: str) -> str:
    return name.rpartition("/")[0]


class Layout(unittest.TestCase):
    def test_the_root_holds_one_python_file(self) -> None:
        files = [name for name in os.listdir(ROOT) if name.endswith(".py")]
        self.assertEqual(files, ["plugin.py"])

    def test_every_module_has_a_rank(self) -> None:
        self.assertEqual(sorted(modules()), sorted(RANKS))

    def test_imports_point_down_the_ladder(self) -> None:
        for name, tree in modules().items():
            for imported in inside(name, tree):
                if place_of(name) != place_of(imported) and imported in SHARED:
                    continue
                with self.subTest(f"{name} imports {imported}"):
                    self.assertLess(RANKS[imported], RANKS[name])

    def test_agent_and_companion_do_not_know_each_other_and_only_the_api_knows_both(self) -> None:
        for name, tree in modules().items():
            for imported in inside(name, tree):
                if place_of(name) != place_of(imported):
                    with self.subTest(f"{name} imports {imported}"):
                        is_shared = imported in SHARED and place_of(name) != ""
                        is_agents = (place_of(name), place_of(imported)) == ("api", "agent")
                        is_door = name == DOOR and imported in BEHIND_IT
                        self.assertTrue(is_shared or is_agents or is_door)

    def test_only_the_adapter_knows_the_editor(self) -> None:
        for name, tree in modules().items():
            if not name.startswith("sublime_") and name != "plugin":
                with self.subTest(name):
                    self.assertFalse({"sublime", "sublime_plugin"} & set(outside(tree)))

    def test_each_library_has_one_importer_beside_the_api(self) -> None:
        for library, importer in (("aiohttp", "transport"), ("jsonschema", "mcp")):
            importers = [name for name, tree in modules().items() if library in outside(tree)]
            self.assertEqual([it for it in importers if place_of(it) != "api"], [importer])

    def test_in_the_api_one_module_checks_requests_and_few_know_the_http_library(self) -> None:
        api = {name: set(outside(tree)) for name, tree in modules().items() if "api/" in name}
        users = sorted(name[4:] for name, used in api.items() if "aiohttp" in used)
        known = "connection dispatch exchange routes server stream talk website"
        self.assertEqual(users, known.split())
        self.assertEqual([name for name in api if "jsonschema" in api[name]], ["api/forms"])

    def test_imports_within_the_package_are_relative(self) -> None:
        for name, tree in modules().items():
            with self.subTest(name):
                self.assertNotIn("GeminiCompanion", set(outside(tree)))
                self.assertNotIn("companion", set(outside(tree)))

    def test_each_core_module_imports_alone(self) -> None:
        if "python" not in os.path.basename(sys.executable).lower():
            self.skipTest("an editor's host is no interpreter that could be started")
        code = (
            "import sys, types; package = types.ModuleType('GeminiCompanion');"
            "package.__path__ = [sys.argv[1]]; sys.modules['GeminiCompanion'] = package;"
            "import importlib; importlib.import_module('GeminiCompanion.companion.' + sys.argv[2])"
        )
        core = [
            name.replace("/", ".")
            for name in RANKS
            if not name.startswith("sublime_") and name != "plugin"
        ]
        running = {
            name: subprocess.Popen([sys.executable, "-c", code, ROOT, name]) for name in core
        }
        self.assertEqual(
            {name: each.wait(60) for name, each in running.items() if each.wait(60)}, {}
        )

    def test_catch_alls_stand_at_the_named_boundaries_only(self) -> None:
        found: dict[str, int] = {}
        for name, tree in modules().items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ExceptHandler):
                    caught = "" if node.type is None else ast.dump(node.type)
                    if not caught or "'Exception'" in caught or "'BaseException'" in caught:
                        found[name] = found.get(name, 0) + 1
        self.assertEqual(found, BOUNDARIES)

    def test_nothing_leans_on_assert_which_does_nothing_in_the_host(self) -> None:
        for name, tree in modules().items():
            with self.subTest(name):
                self.assertFalse([n for n in ast.walk(tree) if isinstance(n, ast.Assert)])

    def test_functions_fit_on_a_screen(self) -> None:
        for name, tree in modules().items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    with self.subTest(f"{name}.{node.name}"):
                        self.assertLessEqual((node.end_lineno or 0) - node.lineno + 1, 40)

    def test_the_listener_has_every_handler_in_its_own_body(self) -> None:
        tree = modules()["plugin"]
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        bases = [ast.dump(base) for base in classes["GeminiCompanionListener"].bases]
        self.assertEqual(len(bases), 1)
        self.assertIn("EventListener", bases[0])
