"""Our sentences for people: a template with values, so that it can be shown in their language.
Words of the CLI or the model are plain texts and stay unchanged."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Mapping, Union

from .wording.chinese import CHINESE_SENTENCES

CHINESE, ENGLISH = "zh", "en"
# By language and the English template.
TRANSLATIONS: Mapping[str, Mapping[str, str]] = {CHINESE: CHINESE_SENTENCES, ENGLISH: {}}
PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Sentence:
    """`template` is the English sentence with {names} in it. `values` are the texts, numbers and
    other sentences for these names."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return translated_text(self, ENGLISH)

    def with_values(self, **values: Any) -> Sentence:
        """This sentence with additional values."""
        return Sentence(self.template, {**self.values, **values})


Words = Union[str, Sentence]


def sentence(template: str, /, **values: Any) -> Sentence:
    """Must be called with a literal template: a test searches for those without a translation."""
    return Sentence(template, values)


def translated_text(words: Words, language: str) -> str:
    """The text in the language; in English if there is no translation."""
    if isinstance(words, str):
        return words
    translated = TRANSLATIONS[language].get(words.template, words.template)

    def fill_value(found: re.Match[str]) -> str:
        known = words.values.get(found.group(1), found.group())
        return translated_text(known, language) if isinstance(known, Sentence) else str(known)

    # Not by str.format: a template may come from a file, and a missing value must not be an error.
    return PLACE.sub(fill_value, translated)


def restore_words(value: Any) -> Words:
    """Makes the words again from the result of `dataclasses.asdict`. Raises KeyError, TypeError."""
    if isinstance(value, str):
        return value
    values = value["values"].items()
    known = {
        name: restore_words(value) if isinstance(value, dict) else value for name, value in values
    }
    return Sentence(str(value["template"]), known)
