"""Each answer is in one language: whatever we say has a translation, and says the same there."""

from __future__ import annotations

import ast
import dataclasses
import functools
import glob
import json
import os
import unittest
from datetime import datetime, timezone
from typing import Any

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent import wire
from GeminiCompanion.companion.agent.sentence import (
    CHINESE,
    ENGLISH,
    PLACE,
    restore_words,
    sentence,
    translated_text,
)
from GeminiCompanion.companion.agent.wording.chinese import CHINESE_SENTENCES

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("agent", "api")
# What is handed to people, by name: the position and the name of the argument that is words.
SPOKEN = {"AgentError": (1, "message"), "Thought": (1, "description"), "Error": (1, "message")}


@functools.lru_cache(maxsize=None)
def calls() -> list[tuple[str, ast.Call, str]]:
    """Each call in the rooms: where it stands, itself, the name of what is called."""
    found = []
    for room in ROOMS:
        paths = glob.glob(os.path.join(ROOT, "companion", room, "**", "*.py"), recursive=True)
        for path in sorted(paths):
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read(), path)
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    place = f"{os.path.relpath(path, ROOT)}:{node.lineno}"
                    holder = "." if isinstance(node.func, ast.Attribute) else ""
                    name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
                    found.append((place, node, holder + name))
    return found


def places(template: str) -> set[str]:
    return set(PLACE.findall(template))


class Sentences(unittest.TestCase):
    def test_each_one_is_written_where_it_is_said_and_fills_places_that_it_has(self) -> None:
        for place, call, name in calls():
            if name != "sentence":
                continue
            with self.subTest(place):
                (template,) = call.args
                self.assertIsInstance(template, ast.Constant, "Expected the sentence itself.")
                assert isinstance(template, ast.Constant)
                given = {keyword.arg for keyword in call.keywords}
                self.assertLessEqual(given, places(template.value))

    def test_each_one_has_a_translation_and_each_translation_a_sentence(self) -> None:
        written = {
            call.args[0].value
            for place, call, name in calls()
            if name == "sentence" and call.args and isinstance(call.args[0], ast.Constant)
        }
        self.assertEqual(written - set(CHINESE_SENTENCES), set(), "without a translation")
        self.assertEqual(set(CHINESE_SENTENCES) - written, set(), "translated, and never said")

    def test_translations_have_the_places_of_their_sentences(self) -> None:
        for template, translated in CHINESE_SENTENCES.items():
            self.assertEqual(places(template), places(translated), template)

    def test_what_is_handed_to_people_is_no_text_of_our_own(self) -> None:
        for place, call, name in calls():
            at, keyword = SPOKEN.get(name.lstrip("."), (0, ""))
            given = [each.value for each in call.keywords if each.arg == keyword]
            for words in [*call.args[at : at + 1], *given] if keyword else ():
                with self.subTest(place):
                    self.assertNotIsInstance(
                        words, (ast.Constant, ast.JoinedStr), "Expected a sentence(...)."
                    )

    def test_values_stand_where_the_language_wants_them(self) -> None:
        told = sentence("{path} cannot be written: {reason}.", path="a {reason} b", reason=7)
        self.assertEqual(translated_text(told, ENGLISH), "a {reason} b cannot be written: 7.")
        self.assertEqual(translated_text(told, CHINESE), "无法写入 a {reason} b：7。")

    def test_a_sentence_within_another_is_in_the_same_language(self) -> None:
        reason = sentence("the disk does not answer")
        told = sentence("{path} cannot be written: {reason}.", path="a", reason=reason)
        self.assertEqual(translated_text(told, CHINESE), "无法写入 a：磁盘没有响应。")
        self.assertEqual(str(told), "a cannot be written: the disk does not answer.")

    def test_what_the_cli_says_stays_as_it_is(self) -> None:
        self.assertEqual(translated_text("Reject", CHINESE), "Reject")

    def test_one_comes_back_from_a_file_whole_and_an_unknown_one_is_told_in_english(self) -> None:
        reason = sentence("the disk does not answer")
        told = sentence("{path} cannot be written: {reason}.", path="a", reason=reason)
        self.assertEqual(restore_words(json.loads(json.dumps(dataclasses.asdict(told)))), told)
        later = {"template": "A later release {verb} this.", "values": {"verb": "says"}}
        self.assertEqual(
            translated_text(restore_words(later), CHINESE), "A later release says this."
        )


class Wire(unittest.TestCase):
    def test_a_chinese_event_has_no_english_of_ours(self) -> None:
        option = events.Option("proceed_once", "Allow")
        rejected = sentence("Rejected by the user.")
        bodies: list[events.Body] = [
            events.Thought("Warning", sentence("The conversation cannot be read.")),
            events.ToolExecution("1", "t", events.EXECUTING),
            events.ToolConfirmation("1", "t", "T", "", "t", {}, (option,)),
            events.ToolResult("1", "t", {}, "", "", False, rejected),
            events.ToolResult("1", "read_file", {"file_path": "/a"}, "", "", True),
            events.Complete(events.CANCELLED, events.Usage()),
            events.Error("STREAM_ERROR", sentence("{cli} ended unexpectedly.", cli="Qwen Code")),
        ]
        told = [self.told(body, CHINESE) for body in bodies]
        spoken = ("message", "description", "prompt", "displayResult", "error")
        for data in told:
            for name in spoken:
                if data.get(name):
                    self.assertFalse(data[name].isascii(), (name, data))
        self.assertEqual([each["label"] for each in told[2]["options"]], ["允许一次"])
        self.assertEqual(told[3]["error"], "用户已拒绝。")

    def test_an_english_one_has_the_labels_of_the_cli(self) -> None:
        option = events.Option("proceed_once", "Allow")
        asked = events.ToolConfirmation("1", "t", "T", "", "t", {}, (option,))
        data = self.told(asked, ENGLISH)
        self.assertEqual([each["label"] for each in data["options"]], ["Allow"])
        self.assertEqual(data["prompt"], "Run the tool t?")

    def told(self, body: events.Body, language: str) -> dict[str, Any]:
        event = events.TurnEvent(1, datetime.now(timezone.utc), "s", "t", body)
        data: dict[str, Any] = wire.as_seed(event, language)["data"]
        return data
