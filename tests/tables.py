"""Tests as tables: a row is a sentence, with what is given, what happens and what is seen then.

    @rows('''
        a decision waits for a CLI whose stream comes back
            given a connects; a proposes; a leaves
            when  a is accepted as mine; a returns
            then  a heard accepted mine
    ''')
    class Decisions(InAWindow): ...

Each row is a test of the class. Each step is a word of the class: a method under `word`, with the
pattern of the steps that it takes. A word may be a coroutine or a generator, as the test runner of
its class has it. A step that no word takes, or that several take, is an error of the import.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import textwrap
import unittest
from typing import Any, Callable, Generator, Iterator, NamedTuple, Tuple, Type, TypeVar

from .support import InLoop, in_loop

PARTS = ("given", "when", "then", "and")
T = TypeVar("T", bound=Type[unittest.TestCase])
F = TypeVar("F", bound=Callable[..., Any])
Word = Tuple["re.Pattern[str]", str]


class Step(NamedTuple):
    """`part` is the one that it stands in, and `text` its words; the method gets `arguments`."""

    part: str
    text: str
    method: str
    arguments: tuple[Any, ...]


def word(*patterns: str) -> Callable[[F], F]:
    """The method takes the steps that one of the patterns matches, and gets the groups."""

    def mark(method: F) -> F:
        method.patterns = patterns  # type: ignore[attr-defined]
        return method

    return mark


def rows(text: str) -> Callable[[T], T]:
    """Gives the class a test for each row."""

    def fill(cls: T) -> T:
        words = list(_words(cls))
        for sentence, steps in _rows(text):
            name = "test_" + re.sub(r"\W+", "_", sentence.lower())
            if name in vars(cls):
                raise ValueError(f"there are two rows of this name: {sentence}")
            setattr(cls, name, _test(cls, sentence, [_step(words, *each) for each in steps]))
        return cls

    return fill


def _words(cls: type[Any]) -> Iterator[Word]:
    for name in dir(cls):
        for pattern in getattr(getattr(cls, name), "patterns", ()):
            yield re.compile(pattern), name


def _rows(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sentence of each row, and its steps, each with its part."""
    sentence, part = "", ""
    steps: list[tuple[str, str]] = []
    for line in textwrap.dedent(text).strip().splitlines():
        first, _, rest = line.strip().partition(" ")
        if line and not line.startswith(" "):
            if sentence:
                yield sentence, steps
            sentence, steps, part = line, [], ""
            continue
        if first in PARTS:
            part, line = (part if first == "and" else first), rest
        steps += [(part, each.strip()) for each in line.split(";") if each.strip()]
    yield sentence, steps


def _step(words: list[Word], part: str, text: str) -> Step:
    found = [(name, it) for pattern, name in words for it in [pattern.fullmatch(text)] if it]
    if len(found) != 1 or not part:
        raise ValueError(f"{part} {text!r}: {[name for name, _ in found]}")
    ((name, match),) = found
    return Step(part, text, name, match.groups())


def _test(cls: type[Any], sentence: str, steps: list[Step]) -> Callable[..., Any]:
    methods = [getattr(cls, step.method) for step in steps]

    def test(self: Any) -> None:
        with _named(self):
            for _ in _taken(self, steps):
                pass

    async def in_a_loop(self: Any) -> None:
        with _named(self):
            for made in _taken(self, steps):
                if inspect.isawaitable(made):
                    await made

    def deferred(self: Any) -> Generator[Any, Any, None]:
        with _named(self):
            for made in _taken(self, steps):
                if inspect.isgenerator(made):
                    yield from made

    found: Callable[..., Any] = test
    if issubclass(cls, InLoop):
        found = in_loop(in_a_loop)
    elif any(map(inspect.isgeneratorfunction, methods)):
        found = deferred
    found.__doc__ = sentence
    return found


@contextlib.contextmanager
def _named(self: Any) -> Iterator[None]:
    """A failure says at which step."""
    try:
        yield
    except unittest.SkipTest:
        raise
    except Exception as error:
        failed = f"{self.step.part} {self.step.text!r}: {type(error).__name__}: {error}"
        raise AssertionError(failed) from error


def _taken(self: Any, steps: list[Step]) -> Iterator[Any]:
    """What the words make of their steps, one by one; `self.step` is the one that is taken."""
    before = ""
    for step in steps:
        if step.part != before:
            before = step.part
            yield self.begins(step.part) if hasattr(self, "begins") else None
        self.step = step
        yield getattr(self, step.method)(*step.arguments)
