"""What we say to people: a template with values, so that it can be told in their language. What the
CLI or the model says is a plain text, and stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from .chinese import CHINESE_SENTENCES

CHINESE, ENGLISH = "zh", "en"
# By language and the English template.
TRANSLATIONS: Mapping[str, Mapping[str, str]] = {CHINESE: CHINESE_SENTENCES, ENGLISH: {}}
PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Sentence:
    """`template` is the English sentence with {names} in it, `values` are what stands there: texts,
    numbers and other sentences."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return said(self, ENGLISH)

    def filled(self, **values: Any) -> Sentence:
        """The same with these values, too."""
        return Sentence(self.template, {**self.values, **values})


Words = Union[str, Sentence]


def sentence(template: str, /, **values: Any) -> Sentence:
    """To be called with a template that stands there as a text: tests look for those that have no
    translation."""
    return Sentence(template, values)


def said(words: Words, language: str) -> str:
    """In the language; in English where there is no translation."""
    if isinstance(words, str):
        return words
    translated = TRANSLATIONS[language].get(words.template, words.template)

    def value(found: re.Match[str]) -> str:
        known = words.values.get(found.group(1), found.group())
        return said(known, language) if isinstance(known, Sentence) else str(known)

    # Not by str.format: a template may come from a file, and a place without a value is no error.
    return PLACE.sub(value, translated)


def restored(value: Any) -> Words:
    """From what `dataclasses.asdict` has made of it. Raises KeyError, TypeError."""
    if isinstance(value, str):
        return value
    values = value["values"].items()
    known = {name: restored(it) if isinstance(it, dict) else it for name, it in values}
    return Sentence(str(value["template"]), known)
