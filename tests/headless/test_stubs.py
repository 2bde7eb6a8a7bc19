"""The API against the package sublime-text-stubs: names, parameters and which have a default."""

from __future__ import annotations

import ast
import os
import sys
import unittest
from typing import List, Tuple

from headless.bridge import API_FOLDER

# What the stubs list only to type the handlers: the genuine base classes have none of them, and
# the editor asks a listener what it has.
HANDLERS = ("EventListener", "ViewEventListener", "TextChangeListener")
Signature = List[Tuple[str, str, bool]]


def _stub(module: str) -> str:
    for folder in sys.path:
        path = os.path.join(folder, module + "-stubs", "__init__.pyi")
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"sublime-text-stubs is not installed: no {module}-stubs")


def _tree(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def _public(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def _signature(function: ast.FunctionDef) -> Signature:
    args = function.args
    plain = args.posonlyargs + args.args
    required = len(plain) - len(args.defaults)
    found = [
        ("positional" if arg in args.posonlyargs else "plain", arg.arg, at >= required)
        for at, arg in enumerate(plain)
    ]
    found += [
        ("keyword", arg.arg, default is not None)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults)
    ]
    found += [("rest", arg.arg, False) for arg in (args.vararg, args.kwarg) if arg]
    return found


def _functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    return {
        node.name: node for node in body if isinstance(node, ast.FunctionDef) and _public(node.name)
    }


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and _public(node.name)
    }


def _constants(body: list[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and _public(target.id) and value is not None:
            found[target.id] = ast.dump(value)
    return found


class Stubs(unittest.TestCase):
    maxDiff = None

    def trees(self, module: str) -> tuple[ast.Module, ast.Module]:
        return _tree(_stub(module)), _tree(os.path.join(API_FOLDER, module + ".py"))

    def compare(
        self, stub: dict[str, ast.FunctionDef], ours: dict[str, ast.FunctionDef], where: str
    ) -> None:
        self.assertEqual(
            {where + name: _signature(node) for name, node in stub.items()},
            {
                where + name: _signature(node)
                for name, node in ours.items()
                if name in stub or not name.startswith("__")
            },
        )

    def test_every_function_of_sublime_has_the_signature_of_the_stub(self) -> None:
        stub, ours = self.trees("sublime")
        self.compare(_functions(stub.body), _functions(ours.body), "")

    def test_every_method_of_sublime_has_the_signature_of_the_stub(self) -> None:
        stub, ours = (_classes(tree) for tree in self.trees("sublime"))
        self.assertEqual(set(stub), set(ours))
        for name, node in stub.items():
            with self.subTest(name):
                self.compare(_functions(node.body), _functions(ours[name].body), name + ".")

    def test_every_class_of_sublime_plugin_has_the_methods_of_the_stub(self) -> None:
        stub, ours = (_classes(tree) for tree in self.trees("sublime_plugin"))
        self.assertEqual(set(stub), set(ours))
        for name, node in stub.items():
            methods = _functions(node.body)
            if name in HANDLERS:
                methods = {each: methods[each] for each in methods if not each.startswith("on_")}
            with self.subTest(name):
                self.compare(methods, _functions(ours[name].body), name + ".")

    def test_every_function_of_sublime_plugin_has_the_signature_of_the_stub(self) -> None:
        stub, ours = self.trees("sublime_plugin")
        self.compare(_functions(stub.body), _functions(ours.body), "")

    def test_every_constant_has_the_value_of_the_stub(self) -> None:
        stub, ours = self.trees("sublime")
        self.assertEqual(
            {name: value for name, value in _constants(stub.body).items()},
            {name: value for name, value in _constants(ours.body).items() if _public(name)},
        )

    def test_every_enumeration_has_the_members_of_the_stub(self) -> None:
        stub, ours = (_classes(tree) for tree in self.trees("sublime"))
        for name, node in stub.items():
            if any(
                "IntFlag" in ast.dump(base) or "IntEnum" in ast.dump(base) for base in node.bases
            ):
                with self.subTest(name):
                    self.assertEqual(_constants(node.body), _constants(ours[name].body))

    def test_the_stubs_are_those_of_the_build_that_is_imitated(self) -> None:
        with open(_stub("sublime"), encoding="utf-8") as file:
            self.assertIn("build 4200", file.read(300))
