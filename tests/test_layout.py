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
    "excerpt": 0, "gate": 0, "aside": 0,
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
    "plugin": 12,
    "agent/events": 0, "agent/failure": 0, "agent/surrogates": 0,
    "agent/cli": 1, "agent/wire": 1, "agent/prompt": 1, "agent/home": 1, "agent/auth": 1,
    "agent/process": 1, "agent/recording": 1,
    "agent/acp": 2, "agent/calls": 2,
    "agent/outcomes": 3, "agent/runner": 3,
    "agent/turn": 4, "agent/login": 4,
    "agent/conversation": 5,
    "agent/agent": 6,
}  # fmt: skip
# What the agent's modules may use of their neighbours: nouns that know nothing of the companion.
SHARED = {"jsonrpc", "log", "private"}
# Where a catch-all may stand: a request, a message in it, a UI callback, a call from the editor,
# the thread, a thread for one piece of work, a look at a window, a turn of the agent.
BOUNDARIES = {
    "transport": 2, "sublime_editor": 1, "service": 2, "original": 1, "aside": 1, "windows": 1,
    "agent/turn": 1,
}  # fmt: skip
NEEDS_LIBRARIES = {"mcp", "transport", "workspace", "windows"}


def modules() -> dict[str, ast.Module]:
    """The package's own modules by name, parsed as Python 3.8 reads them."""
    paths = {"plugin": os.path.join(ROOT, "plugin.py")}
    for prefix in ("", "agent/"):
        folder = os.path.join(ROOT, "companion", prefix)
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
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            own = "agent/" if name.startswith("agent/") and node.level == 1 else ""
            path = (node.module or "").split(".")
            if path in ([""], ["companion"]):
                modules = (own + alias.name for alias in node.names)
                yield from (module for module in modules if module in RANKS)
            else:
                yield own + path[-1]


class Layout(unittest.TestCase):
    def test_the_root_holds_one_python_file(self) -> None:
        files = [name for name in os.listdir(ROOT) if name.endswith(".py")]
        self.assertEqual(files, ["plugin.py"])

    def test_every_module_has_a_rank(self) -> None:
        self.assertEqual(sorted(modules()), sorted(RANKS))

    def test_imports_point_down_the_ladder(self) -> None:
        for name, tree in modules().items():
            for imported in inside(name, tree):
                if imported == "companion" or (name.startswith("agent/") and imported in SHARED):
                    continue
                with self.subTest(f"{name} imports {imported}"):
                    self.assertLess(RANKS[imported], RANKS[name])

    def test_the_agent_and_the_companion_do_not_know_each_other(self) -> None:
        for name, tree in modules().items():
            for imported in inside(name, tree):
                if name.startswith("agent/") != imported.startswith("agent/"):
                    with self.subTest(f"{name} imports {imported}"):
                        self.assertTrue(name.startswith("agent/") and imported in SHARED)

    def test_only_the_adapter_knows_the_editor(self) -> None:
        for name, tree in modules().items():
            if not name.startswith("sublime_") and name != "plugin":
                with self.subTest(name):
                    self.assertFalse({"sublime", "sublime_plugin"} & set(outside(tree)))

    def test_each_library_has_one_importer(self) -> None:
        for library, importer in (("aiohttp", "transport"), ("jsonschema", "mcp")):
            importers = [name for name, tree in modules().items() if library in outside(tree)]
            self.assertEqual(importers, [importer])

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
