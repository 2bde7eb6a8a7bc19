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
    kinds = ["positional" if arg in args.posonlyargs else "plain" for arg in plain]
    found = [(kinds[at], arg.arg, at >= required) for at, arg in enumerate(plain)]
    keywords = zip(args.kwonlyargs, args.kw_defaults)
    found += [("keyword", arg.arg, default is not None) for arg, default in keywords]
    return found + [("rest", arg.arg, False) for arg in (args.vararg, args.kwarg) if arg]


def _functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    found = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in found if _public(node.name)}


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    found = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: node for node in found if _public(node.name)}


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
        public = {name: ours[name] for name in ours if name in stub or not name.startswith("__")}
        told, given = (
            {where + name: _signature(node) for name, node in each.items()}
            for each in (stub, public)
        )
        self.assertEqual(told, given)

    def test_every_function_and_method_has_the_signature_of_the_stub(self) -> None:
        for module in ("sublime", "sublime_plugin"):
            trees = self.trees(module)
            self.compare(_functions(trees[0].body), _functions(trees[1].body), "")
            stub, ours = map(_classes, trees)
            self.assertEqual(set(stub), set(ours))
            for name, node in stub.items():
                methods = _functions(node.body)
                if name in HANDLERS:
                    methods = {
                        method: methods[method]
                        for method in methods
                        if not method.startswith("on_")
                    }
                with self.subTest(name):
                    self.compare(methods, _functions(ours[name].body), name + ".")

    def test_every_constant_and_enumeration_has_the_values_of_the_stub(self) -> None:
        trees = self.trees("sublime")
        constants, known = (_constants(tree.body) for tree in trees)
        self.assertEqual(constants, {name: known[name] for name in known if _public(name)})
        stub, ours = map(_classes, trees)
        kinds = ("IntFlag", "IntEnum")
        for name, node in stub.items():
            if any(kind in ast.dump(base) for base in node.bases for kind in kinds):
                with self.subTest(name):
                    self.assertEqual(_constants(node.body), _constants(ours[name].body))

    def test_the_stubs_are_those_of_the_build_that_is_imitated(self) -> None:
        with open(_stub("sublime"), encoding="utf-8") as file:
            self.assertIn("build 4200", file.read(300))
