"""Counts what makes the package harder to find one's way in: `python -m tools.measure_house
[--list] [FOLDER ...]`. `--list` also prints where each of them is. Of other folders, such as
`tests` and `tools`, it counts the names and docstrings alone.

These are counts of names and texts, which a better name or a front of a room makes smaller; none of
them says by itself that something is wrong.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from typing import Dict, Iterator, List, Mapping, Set, Tuple

from tests.test_layout import (
    FRONTS,
    FUNCTIONS,
    ROOT,
    beside_the_front,
    inside,
    modules,
    name_of,
    python_files,
)

# Where the parts of the package are put together.
RUNNING = "ui/running"
# The beginnings of docstrings that leave out of what they are: "Those of the window."
WITHOUT_SUBJECT = re.compile(
    r"(Those|These|That of|The same|Of|As|With|Without|In|For|To|From|Like|By|At)\b"
)
# What is measured, and where each of it is.
Found = Dict[str, List[str]]
# The modules that are looked at, by their paths without the extension.
Trees = Mapping[str, ast.Module]


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.measure_house", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print where each of them is, too")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="instead of the package")
    options = parser.parse_args(arguments)
    try:
        trees = read_trees(options.folders) if options.folders else modules()
    except FileNotFoundError as error:
        parser.error(str(error))
    found = count_names(trees) if options.folders else measure_package()
    functions = sum(1 for _each in _list_functions(trees))
    for what, places in found.items():
        share = f" of {functions}" if what == ONE_WORD else ""
        print(f"{len(places):6}{share}  {what}")
        for place in places if options.list else ():
            print(" " * 9 + place)
    return 0


ONE_WORD = "functions named with one word"


def read_trees(folders: List[str]) -> Trees:
    """The modules below these folders of the checkout; raises FileNotFoundError."""
    found = {}
    for top in folders:
        if not os.path.isdir(os.path.join(ROOT, top)):
            raise FileNotFoundError(f"expected a folder of the checkout, got {top!r}")
        for path in sorted(python_files(top)):
            with open(path, encoding="utf-8") as file:
                found[name_of(path)] = ast.parse(file.read(), path)
    return found


def count_names(trees: Trees) -> Found:
    return {
        ONE_WORD: [where for where, name in _list_functions(trees) if "_" not in name.strip("_")],
        "uses of `it` as a name": list(_uses_of_it(trees)),
        "docstrings without a subject": list(_docstrings_without_subject(trees)),
    }


def measure_package() -> Found:
    found = {
        **count_names(modules()),
        "callbacks that another object sets": list(_callbacks_set_from_outside()),
        f"modules that {RUNNING} imports": sorted(set(inside(RUNNING, modules()[RUNNING]))),
    }
    for room, front in FRONTS.items():
        found[f"modules of the front of {room}"] = sorted(front)
        used_by: Dict[str, Set[str]] = {}
        for importer, used in beside_the_front(room).items():
            used_by.setdefault(importer.partition("/")[0], set()).update(used)
        for importer, used in sorted(used_by.items()) or [("any other room", set())]:
            found[f"modules of {room} that {importer} imports beside its front"] = sorted(used)
    return found


def _list_functions(trees: Trees) -> Iterator[Tuple[str, str]]:
    """Where each function is, and its name; without those that Python names."""
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS) and not node.name.startswith("__"):
                yield f"{module}:{node.lineno} {node.name}", node.name


def _uses_of_it(trees: Trees) -> Iterator[str]:
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == "it":
                yield f"{module}:{node.lineno}"
            elif isinstance(node, ast.arg) and node.arg == "it":
                yield f"{module}:{node.lineno}"


def _callbacks_set_from_outside() -> Iterator[str]:
    """The assignments to attributes of another object that some class declares as callables."""
    callbacks = _declared_callbacks()
    for module, tree in modules().items():
        for node in ast.walk(tree):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                several = target.elts if isinstance(target, ast.Tuple) else [target]
                for each in several:
                    if _attribute_of_another(each) in callbacks:
                        yield f"{module}:{each.lineno} {_attribute_of_another(each)}"


def _declared_callbacks() -> Set[str]:
    kinds = {"Callable"}
    for tree in modules().values():
        # Also the names that modules give to kinds of callables.
        aliases = [
            assignment
            for assignment in tree.body
            if isinstance(assignment, ast.Assign) and _names_in(assignment.value) & kinds
        ]
        kinds.update(
            target.id for each in aliases for target in each.targets if isinstance(target, ast.Name)
        )
    declared: Set[str] = set()
    others: Set[str] = set()
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign):
                name = getattr(node.target, "attr", "") or getattr(node.target, "id", "")
                (declared if _names_in(node.annotation) & kinds else others).add(name)
    # A name that is also that of something else tells nothing.
    return declared - others


def _names_in(expression: ast.expr) -> Set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def _attribute_of_another(target: ast.expr) -> str:
    """The attribute's name, if an object other than `self` has it; else empty."""
    if not isinstance(target, ast.Attribute):
        return ""
    return "" if getattr(target.value, "id", "") in ("self", "cls") else target.attr


def _docstrings_without_subject(trees: Trees) -> Iterator[str]:
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
                text = ast.get_docstring(node) or ""
                if WITHOUT_SUBJECT.match(text):
                    first = text.partition("\n")[0]
                    yield f"{module}:{getattr(node, 'lineno', 1)} {first}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
