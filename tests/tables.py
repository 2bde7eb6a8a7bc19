"""Tests as tables: a row is a sentence, and under it what is given, what happens, what is seen.

    @rows('''
        a decision waits for a CLI whose stream comes back
            c connects & proposes & leaves | c is accepted as mine; c returns
            | c heard accepted mine
    ''')
    class Decisions(InAWindow): ...

Each row is a test of the class. Of two columns the first is what happens; two more columns are what
happens next, and what is seen then. A step is a word of the class: a row of its `words`, by the
pattern of its text, or a method under `word`; `&` joins what one does in a row. What is looked at
is a row of `seen`: the rest of the step is the value, as `told` says it; a class with `compare` may
wait for it. A word may be a coroutine or a generator, as the test runner of its class has it; a
class with a loop of its own has `on_its_loop`. A step that no word takes, or that several take, is
an error of the import.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import textwrap
import unittest
from typing import Any, Callable, Generator, Iterator, NamedTuple, TypeVar

from .support import InLoop, in_loop

T = TypeVar("T", bound=Callable[..., Any])


class Step(NamedTuple):
    """`part` is the one that it stands in, and `text` its words."""

    part: str
    text: str
    take: Callable[[Any], Any]


def word(*patterns: str) -> Callable[[T], T]:
    """The method takes the steps that one of the patterns matches, and gets the groups."""

    def mark(method: T) -> T:
        method.patterns = patterns  # type: ignore[attr-defined]
        return method

    return mark


def rows(text: str) -> Callable[[Any], Any]:
    """Gives the class a test for each row."""

    def fill(cls: Any) -> Any:
        words = list(_words(cls))
        for sentence, steps in _rows(text):
            name = "test_" + re.sub(r"\W+", "_", sentence.lower())
            if name in vars(cls):
                raise ValueError(f"there are two rows of this name: {sentence}")
            test = _test(cls, words, [_step(words, *each) for each in steps])
            test.__doc__ = sentence
            setattr(cls, name, test)
        return cls

    return fill


def told(value: Any) -> str:
    """As the rows have it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, set)):
        value = ", ".join(map(told, sorted(value) if isinstance(value, set) else value))
    return "nothing" if value is None or value == "" else str(value)


def _words(cls: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(cls):
        method = getattr(cls, name)
        for pattern in getattr(method, "patterns", ()):
            yield pattern, method
    found: dict[str, Callable[..., Any]] = {}
    # What a class says is before what its base says.
    for each in reversed(cls.__mro__):
        found.update(vars(each).get("words", {}))
        looks = vars(each).get("seen", {}).items()
        found.update({pattern + " (.+)": _compared(look) for pattern, look in looks})
    yield from found.items()


def _compared(look: Callable[..., Any]) -> Callable[..., Any]:
    def compare(self: Any, *arguments: Any) -> Any:
        if hasattr(self, "compare"):
            return self.compare(lambda: look(self, *arguments[:-1]), arguments[-1])
        return self.assertEqual(told(look(self, *arguments[:-1])), arguments[-1])

    return compare


def _rows(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sentence of each row, and its steps, each with its part."""
    for row in re.split(r"\n(?=\S)", textwrap.dedent(text).strip("\n")):
        sentence, _, rest = row.partition("\n")
        columns = " ".join(rest.split()).split("|")
        # From the end: what is seen, what happened, and so on; the first of three is what is given.
        parts = ["then" if (len(columns) - at) % 2 else "when" for at in range(len(columns))]
        if len(columns) % 2 and len(columns) > 1:
            parts[0] = "given"
        steps = [(part, step) for part, column in zip(parts, columns) for step in _steps(column)]
        yield sentence.strip(), steps


def _steps(column: str) -> Iterator[str]:
    for step in filter(None, map(str.strip, column.split(";"))):
        first, *others = step.split(" & ")
        yield first
        yield from (f"{first.partition(' ')[0]} {each}" for each in others)


def _step(words: list[tuple[str, Callable[..., Any]]], part: str, text: str) -> Step:
    found = [(whole, take) for p, take in words for whole in [re.fullmatch(p, text)] if whole]
    if len(found) != 1:
        raise ValueError(f"{part} {text!r}: {[whole.re.pattern for whole, _ in found]}")
    ((match, take),) = found
    return Step(part, text, lambda self: take(self, *match.groups()))


def _test(cls: Any, words: list[tuple[str, Callable[..., Any]]], steps: list[Step]) -> Any:
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

    if hasattr(cls, "on_its_loop"):
        return cls.on_its_loop(in_a_loop)
    if issubclass(cls, InLoop):
        return in_loop(in_a_loop)
    return deferred if any(inspect.isgeneratorfunction(take) for _, take in words) else test


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
    for self.step in steps:
        if self.step.part != before:
            before = self.step.part
            yield self.begins(before) if hasattr(self, "begins") else None
        yield self.step.take(self)
