"""How each part of a conversation stands in its document."""

from __future__ import annotations

import json
import os
import unittest
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.elicitation import ACCEPT, FORM, URL, Field
from GeminiCompanion.companion.agent.sentence import sentence
from GeminiCompanion.companion.agent.session_state import ContextUsage, Cost, Plan, PlanEntry
from GeminiCompanion.companion.agent.turn_events import (
    ALWAYS,
    CANCEL,
    COMPLETED,
    EXECUTING,
    FAILED,
    MODIFY,
    ONCE,
    PENDING,
    Complete,
    Content,
    Diff,
    Message,
    Option,
    Resource,
    Thought,
    ToolCall,
    ToolConfirmation,
    ToolExecution,
    ToolOutput,
    ToolResult,
    TurnEvent,
    Usage,
)
from GeminiCompanion.companion.base.changes import changes_between, count_rows, rows_of
from GeminiCompanion.companion.base.shown_text import shown_line
from GeminiCompanion.companion.chat import amounts
from GeminiCompanion.companion.chat.attached import CONTEXT, SELECTION, Attached, outgoing_message
from GeminiCompanion.companion.chat.edit_counts import count_edit
from GeminiCompanion.companion.chat.question import MOST_REVIEWS
from GeminiCompanion.companion.chat.rendered import (
    ADDED,
    ANSWER,
    DECIDE,
    DECLINE,
    DIM,
    ERROR,
    HEADING,
    OPEN_ADDRESS,
    OPEN_CHANGES,
    OPEN_EDIT,
    OPEN_FILE,
    OPEN_PLACE,
    REMOVED,
    RETRY,
    SHOW_OUTPUT,
    STOP_SUBAGENT,
    WARNING,
    Fold,
    Link,
    Picture,
)
from GeminiCompanion.companion.chat.transcript import Transcript

from .drawing import Drawing
from .events import BEGIN, FOLDER, drawn, numbered

A_CONTEXT = Attached(CONTEXT, "of the editor", text="[From the editor] Open: b.py.")
IMAGE = os.path.join("/images", "i.png")
HELLO = "▎ Hello\n"
OPTIONS = (Option(CANCEL, "No"), Option(ALWAYS, "Always"), Option(ONCE, "Yes"))
EDIT = Diff(f"{FOLDER}/src/a.py", "a\nb\nc\n", "a\nx\nc\nd\n")


def below(drawing: Drawing) -> str:
    """The document below the user's message."""
    assert drawing.text.startswith(HELLO)
    return drawing.text[len(HELLO) :].lstrip("\n")


def unfolded(drawing: Drawing) -> str:
    """What is seen of that while the folds are closed."""
    text = drawing.text
    for fold in sorted(
        (each for each in drawing.items if isinstance(each, Fold)), key=lambda each: -each.end
    ):
        text = f"{text[: fold.start]}…{text[fold.end :]}"
    return text[len(HELLO) :].lstrip("\n")


def told(drawing: Drawing, link: Link) -> tuple[str, Any]:
    """The text of a link and its argument, which is of the one turn."""
    argument = json.loads(link.argument)
    assert argument.pop("turn") == "t1"
    return drawing.text[link.start : link.end], argument


def links(drawing: Drawing, action: str) -> list[tuple[str, Any]]:
    found = sorted(drawing.links(action), key=lambda link: link.start)
    return [told(drawing, link) for link in found]


def message(text: str, **more: Any) -> Drawing:
    transcript, drawing = Transcript(FOLDER), Drawing()
    transcript.add_event(TurnEvent(0, BEGIN, "s", "t1", Message(text, **more)))
    drawing.apply(transcript.take_patches())
    return drawing


def call(name: str = "read", display: str = "Read", args: Any = None, title: str = "") -> ToolCall:
    return ToolCall("c", name, display, title, args or {}, False)


def result(text: str = "", success: bool = True, **more: Any) -> ToolResult:
    """As the engine tells it: what nobody was asked about has been changed, too."""
    more.setdefault("changed", tuple(edit.path for edit in more.get("unasked", ())))
    return ToolResult("c", "read", more.pop("args", {}), text, "", success, **more)


def question(command: str = "", diff: Diff | None = None, **more: Any) -> ToolConfirmation:
    return ToolConfirmation("c", "shell", "Shell", "", command, {}, OPTIONS, diff, **more)


class Messages(unittest.TestCase):
    def test_the_first_line_is_the_heading(self) -> None:
        drawing = message("Rename it\nand test it\n")
        self.assertEqual(drawing.text, "▎ Rename it\nand test it\n")
        self.assertEqual(drawing.marked(HEADING), ["▎ Rename it"])

    def test_a_long_first_line_and_a_fence_stand_below_a_heading_of_their_own(self) -> None:
        long = "word " * 40
        self.assertRegex(message(long).text, r"\A▎ (word )+word…\n(word )+\n\Z")
        self.assertEqual(message("```py\na = 1").text, "▎ a = 1\n```py\na = 1\n```\n")

    def test_a_message_without_words_has_a_heading_as_well(self) -> None:
        self.assertEqual(message(" \n").text, "▎ Message\n")

    def test_what_went_with_it_stands_in_one_line(self) -> None:
        picture = events.Attachment("i", "n.png", "image/png", 12)
        drawing = message("See", files=(f"{FOLDER}/a.py", "/b.py"), attachments=(picture,))
        self.assertEqual(drawing.text, "▎ See\n▏ with a.py, /b.py, n.png\n")
        self.assertEqual(
            links(drawing, OPEN_FILE),
            [("a.py", {"path": f"{FOLDER}/a.py"}), ("/b.py", {"path": "/b.py"})],
        )

    def test_texts_that_went_with_it_have_their_names_there_and_are_folded_below(self) -> None:
        texts = (Attached(SELECTION, "of a.py (1 line)", text="@a.py#L1\n```\nx"), A_CONTEXT)
        sent = outgoing_message("See", texts)
        drawing = message(sent.text, additions=sent.additions)
        first = "▎ See\n▏ with selection of a.py (1 line), context of the editor"
        folded = "\n@a.py#L1\n```\nx\n```\n[From the editor] Open: b.py."
        self.assertEqual(drawing.text, f"{first}{folded}\n")
        (fold,) = (each for each in drawing.items if isinstance(each, Fold))
        self.assertEqual(drawing.text[fold.start : fold.end], folded)

    def test_one_of_texts_alone_is_called_as_they_are(self) -> None:
        sent = outgoing_message("", (A_CONTEXT,))
        drawing = message(sent.text, additions=sent.additions)
        self.assertTrue(drawing.text.startswith("▎ context of the editor\n▏ with context"))

    def test_a_message_that_is_passed_into_the_turn_is_one_too(self) -> None:
        sent = outgoing_message("Stop", (A_CONTEXT,))
        added = events.MessageAdded("q", sent.text, sent.additions)
        _transcript, drawing = drawn(Content("a"), added, Content("b"))
        told = f"▏ with context of the editor\n{A_CONTEXT.text}\n"
        self.assertEqual(below(drawing), f"a\n\n▎ Stop\n{told}\nb\n")


class Answers(unittest.TestCase):
    def test_what_is_open_is_closed_at_every_moment(self) -> None:
        transcript, drawing = drawn(Content("```py\ncode"))
        self.assertEqual(below(drawing), "```py\ncode\n```\n")
        for event in list(numbered([Message("Hello"), Content(""), Content("\n```\ntext")]))[2:]:
            transcript.add_event(event)
        drawing.apply(transcript.take_patches())
        self.assertEqual(below(drawing), "```py\ncode\n```\ntext\n")

    def test_a_piece_draws_no_more_than_itself_and_the_end(self) -> None:
        transcript, _drawing = drawn(Content("```py\n" + 10_000 * "code\n"))
        transcript.add_event(TurnEvent(2, BEGIN, "s", "t1", Content("more")))
        (patch,) = transcript.take_patches()
        self.assertEqual(patch.rendered.text, "\nmore\n```\n")

    def test_what_is_known_to_come_next_is_seen_before_it_comes(self) -> None:
        _, drawing = drawn(Content("Shall I", ahead="?"))
        self.assertEqual(below(drawing), "Shall I?\n")
        _, drawing = drawn(Content("Shall I\n", ahead="▏"))
        self.assertEqual(below(drawing), "Shall I\n ▏\n")
        _, drawing = drawn(Content("Shall I", ahead="?"), Content("?", is_partial=False))
        self.assertEqual(below(drawing), "Shall I?\n")

    def test_control_characters_of_an_answer_are_spelled_out_and_colours_dropped(self) -> None:
        _, drawing = drawn(Content("\x1b[31mred\x1b[0m \0 \u202egpj.exe\x1b[2J"))
        self.assertEqual(below(drawing), "red <U+0000> <U+202E>gpj.exe<U+001B>[2J\n")
        _, drawing = drawn(Thought("", "\x1b[31mred\u202e"))
        self.assertIn("red<U+202E>", below(drawing))

    def test_an_answer_without_end_is_cut(self) -> None:
        transcript, drawing = drawn(*[Content("a" * (1 << 20))] * 5)
        self.assertIn("… 1,048,576 more characters are not shown\n", drawing.text)
        self.assertLess(len(drawing.text), (4 << 20) + 1000)


class Thoughts(unittest.TestCase):
    def test_they_are_one_folded_line_with_the_last_subject(self) -> None:
        _transcript, drawing = drawn(Thought("Look", "I look."), Thought("Plan", "I plan."))
        self.assertEqual(unfolded(drawing), "▏ thinking: Plan…\n")
        self.assertIn("**Look**\nI look.\n\n**Plan**\nI plan.\n", drawing.text)

    def test_one_without_a_subject_shows_its_first_line(self) -> None:
        _transcript, drawing = drawn(Thought("", "**I wonder**\n"), Thought("", "and wonder"))
        self.assertEqual(unfolded(drawing), "▏ thinking: I wonder…\n")

    def test_those_without_a_subject_are_pieces_of_one_text(self) -> None:
        pieces = (Thought("Look", "I look."), Thought("", "I wo"), Thought("", "nder"))
        _transcript, drawing = drawn(*pieces)
        self.assertIn("I look.\n\nI wonder\n", drawing.text)

    def test_notices_and_our_own_sentences_are_not_folded(self) -> None:
        ours = sentence("It is asked again.")
        _transcript, drawing = drawn(Thought("Warning", "Careful"), Thought("Retrying", ours))
        self.assertEqual(unfolded(drawing), "▏ ! Careful\n▏ ! It is asked again.\n")
        self.assertEqual(drawing.marked(WARNING), ["Careful", "It is asked again."])

    def test_they_are_bounded(self) -> None:
        _transcript, drawing = drawn(*[Thought("", "a" * 10_000)] * 3)
        self.assertIn("… 14,000 more characters\n", drawing.text)


class Resources(unittest.TestCase):
    def test_a_link_leads_to_its_place_or_its_address(self) -> None:
        for uri, action, argument in (
            ("file:///project/a.py#L3", OPEN_PLACE, {"path": "/project/a.py", "line": 3}),
            ("file:///C:/p/a%20b.py", OPEN_PLACE, {"path": "C:/p/a b.py", "line": 0}),
            ("file://C:/p/a.py", OPEN_PLACE, {"path": "C:/p/a.py"}),
            ("FILE://localhost/project/a.py", OPEN_PLACE, {"path": "/project/a.py"}),
            ("file://host/a.py", OPEN_ADDRESS, {"url": "file://host/a.py"}),
            ("https://a.example/x", OPEN_ADDRESS, {"url": "https://a.example/x"}),
            ("mcp://server/x", OPEN_ADDRESS, {"url": "mcp://server/x"}),
        ):
            with self.subTest(uri):
                _, drawing = drawn(Resource("link", uri=uri, name="a\u202e.py"))
                (link,) = drawing.links(action)
                self.assertEqual(drawing.text[link.start : link.end], "a<U+202E>.py")
                found = json.loads(link.argument)
                self.assertEqual({name: found[name] for name in argument}, argument)
                self.assertIn(shown_line(uri), drawing.text)

    def test_a_text_is_folded_below_its_line(self) -> None:
        resource = Resource("text", uri="x:log", name="log", text="▎ Hi\n\x1b[2Jb")
        _, drawing = drawn(resource)
        self.assertEqual(unfolded(drawing), "▏ → log  2 lines…\n")
        self.assertIn("\n ▎ Hi\n<U+001B>[2Jb\n", drawing.text)
        _, drawing = drawn(Resource("text", name="log", text="a\n" * 20_000, size=99, is_long=True))
        self.assertEqual(unfolded(drawing), "▏ → log  99 bytes…\n")
        self.assertIn("▏   … the rest is left out here\n", drawing.text)

    def test_an_image_is_a_link_with_its_picture(self) -> None:
        image = Resource(
            "image", "", "", "p.png", "", "image/png", "", 70, False, "i", "i.png", 640, 480
        )
        _, drawing = drawn(image)
        self.assertEqual(below(drawing), "▏ → p.png  640 × 480, 70 bytes\n")
        self.assertEqual(links(drawing, OPEN_FILE), [("p.png", {"path": IMAGE})])
        (picture,) = [each for each in drawing.items if isinstance(each, Picture)]
        self.assertEqual((picture.path, picture.width, picture.height), (IMAGE, 640, 480))

    def test_what_the_editor_cannot_hold_or_draw_has_no_picture(self) -> None:
        image = Resource("image", media_type="image/png", size=70, image="i", width=9, height=9)
        for more in (
            {"size": 5 << 20},
            {"media_type": "image/webp"},
            {"media_type": "image/gif"},
            {"width": 0},
        ):
            with self.subTest(more):
                _, drawing = drawn(replace(image, **more))
                self.assertEqual(len(drawing.links(OPEN_FILE)), 1)
                self.assertFalse(
                    [picture for picture in drawing.items if isinstance(picture, Picture)]
                )

    def test_an_image_with_too_many_pixels_has_no_link_and_says_so(self) -> None:
        image = Resource("image", name="p", media_type="image/png", size=70, image="i")
        for width, height in ((20_000, 9), (9, 20_000), (10_000, 10_000)):
            with self.subTest(f"{width}x{height}"):
                _, drawing = drawn(replace(image, width=width, height=height))
                self.assertEqual(
                    below(drawing),
                    f"▏ → p  {width:,} × {height:,}, 70 bytes, too many pixels to open\n",
                )
                self.assertEqual(drawing.links(OPEN_FILE), [])
                self.assertFalse(
                    [picture for picture in drawing.items if isinstance(picture, Picture)]
                )

    def test_what_is_not_kept_or_not_known_says_so(self) -> None:
        _, drawing = drawn(
            Resource("image", name="p.svg", media_type="image/svg+xml", size=70),
            Resource("other", media_type="audio/wav", size=1),
            Resource("other", media_type="hologram"),
        )
        self.assertEqual(
            below(drawing),
            "▏ → p.svg  image/svg+xml, 70 bytes is not shown: it is too large, or not a PNG, JPEG,"
            " GIF or WebP\n▏ → audio/wav  audio/wav, 1 byte cannot be shown here\n"
            "▏ → hologram  hologram cannot be shown here\n",
        )

    def test_those_of_a_call_stand_below_its_line(self) -> None:
        links = [Resource("link", "c", f"file:///a{number}") for number in range(60)]
        _, drawing = drawn(call(), *links, result("done"))
        seen = unfolded(drawing).split("\n")
        self.assertEqual(seen[1], "▏   → file:///a0")
        self.assertEqual(seen[51], "▏   … 10 more…")

    def test_one_of_a_call_that_is_not_known_stands_alone(self) -> None:
        _, drawing = drawn(Resource("link", "c", "file:///a", "a"))
        self.assertEqual(below(drawing), "▏ → a\n")


class Plans(unittest.TestCase):
    def test_a_plan_is_drawn_anew_in_its_place(self) -> None:
        entries = [
            PlanEntry("Read\nit", "high", "completed"),
            PlanEntry("Write", "high", "pending"),
        ]
        running = PlanEntry("Write", "high", "in_progress")
        _transcript, drawing = drawn(
            Content("a"), Plan(tuple(entries)), Content("b"), Plan((entries[0], running))
        )
        self.assertEqual(below(drawing), "ab\n\n▏ plan\n▏ ✓ Read it\n▏ ● Write\n")


class Calls(unittest.TestCase):
    def test_each_state_has_its_sign(self) -> None:
        for sign, bodies in (
            ("○", [call()]),
            ("●", [call(), ToolExecution("c", "read", EXECUTING)]),
            ("✓", [call(), ToolExecution("c", "read", COMPLETED)]),
            ("✗", [call(), ToolExecution("c", "read", FAILED)]),
            ("⊘", [call(), ToolExecution("c", "read", FAILED, rejected=True)]),
            ("?", [call(), ToolExecution("c", "read", PENDING), question("a")]),
            ("–", [call(), Complete(events.CANCELLED, Usage())]),
        ):
            with self.subTest(sign):
                self.assertRegex(below(drawn(*bodies)[1]), rf"\A▏ {sign.replace('?', '[?]')} Read")

    def test_the_rule_that_allowed_a_call_has_a_line(self) -> None:
        allowed = ToolExecution("c", "read", EXECUTING, rule="read:src/\u202e")
        _transcript, drawing = drawn(call(), allowed, ToolExecution("c", "read", COMPLETED))
        self.assertIn("\n▏   allowed by your rule read:src/<U+202E>\n", below(drawing))

    def test_the_line_has_tool_object_and_time_and_the_rest_is_folded(self) -> None:
        args = {"file_path": f"{FOLDER}/src/a.py", "limit": 3}
        _transcript, drawing = drawn(call(args=args), result("text\n```\n", args=args))
        self.assertEqual(unfolded(drawing), "▏ ✓ Read src/a.py  1.0 s…\n")
        self.assertEqual(drawing.marked(DIM), ["  1.0 s"])
        self.assertEqual(links(drawing, OPEN_FILE), [("src/a.py", {"path": f"{FOLDER}/src/a.py"})])
        self.assertIn('```json\n{\n  "file_path"', drawing.text)
        self.assertIn("\n````\ntext\n```\n````\n", drawing.text)

    def test_a_result_that_is_a_block_of_code_is_shown_as_one(self) -> None:
        _transcript, drawing = drawn(call(), result("```console\nout\n```"))
        self.assertIn("\n```\nout\n```\n", drawing.text)
        self.assertNotIn("console", drawing.text)

    def test_the_time_is_counted_from_the_moment_that_it_runs(self) -> None:
        bodies = [call(), question("a"), Content("b"), ToolExecution("c", "read", EXECUTING)]
        _transcript, drawing = drawn(*bodies, result())
        self.assertEqual(drawing.marked(DIM), ["  1.0 s", "  allowed"])

    def test_a_failure_says_why_without_being_opened(self) -> None:
        _transcript, drawing = drawn(call(), result("no file", False, error="no file"))
        self.assertEqual(below(drawing), "▏ ✗ Read  1.0 s\n▏   no file\n")
        self.assertEqual(drawing.marked(ERROR), ["✗", "no file"])

    def test_a_result_without_a_beginning_is_shown(self) -> None:
        _transcript, drawing = drawn(result("text"))
        self.assertEqual(unfolded(drawing), "▏ ✓ read…\n")

    def test_a_second_call_with_an_id_that_was_used_is_another_one(self) -> None:
        _transcript, drawing = drawn(call(), result(), call(), result())
        self.assertEqual(below(drawing), "▏ ✓ Read  1.0 s\n" * 2)

    def test_a_short_command_stands_in_the_line(self) -> None:
        _transcript, drawing = drawn(call("shell", "Shell", {"command": "npm test"}))
        self.assertEqual(below(drawing), "▏ ○ Shell npm test\n")

    def test_what_a_command_puts_out_is_folded_below_it_while_it_runs(self) -> None:
        begun = (
            ToolCall("c", "shell", "Shell", "", {"command": "make"}, False),
            ToolExecution("c", "shell", EXECUTING),
        )
        output = ToolOutput("c", "▎ compiled\n```\x1b[0m\n", 12_345, 1_002)
        _, drawing = drawn(*begun, ToolOutput("c", "first\n", 0, 1), Content("Meanwhile "), output)
        lines = drawing.text.split("\n")
        self.assertIn("▏ ● Shell make  1,002 lines so far", lines)
        self.assertIn("▏   … 12,345 characters come before this", lines)
        self.assertIn(" ▎ compiled", lines)
        self.assertNotIn("first", drawing.text)
        (fold,) = (each for each in drawing.items if isinstance(each, Fold))
        self.assertIn("compiled", drawing.text[fold.start : fold.end])
        result = ToolResult("c", "shell", {}, "compiled, linked", "", True)
        _, drawing = drawn(*begun, output, result)
        self.assertNotIn("so far", drawing.text)
        self.assertIn("compiled, linked", drawing.text)

    def test_colours_of_what_a_call_puts_out_are_dropped_and_other_controls_spelled_out(
        self,
    ) -> None:
        coloured = "\x1b[1;38:5:2mok\x1b[m \x1b[2Kgone\x1b]0;a\x07 x\u202ey\n"
        plain = "ok <U+001B>[2Kgone<U+001B>]0;a<U+0007> x<U+202E>y\n"
        begun = (
            ToolCall("c", "shell", "Shell", "", {"command": "make"}, False),
            ToolExecution("c", "shell", EXECUTING),
        )
        failed = ToolResult("c", "shell", {}, "", "", False, error=coloured)
        for body in (
            ToolOutput("c", coloured, 0, 1),
            ToolResult("c", "shell", {}, coloured, "", True),
            failed,
        ):
            _, drawing = drawn(*begun, body)
            with self.subTest(type(body).__name__):
                self.assertIn(plain, drawing.text)

    def test_what_a_call_that_is_not_known_puts_out_is_not_shown(self) -> None:
        _, drawing = drawn(ToolOutput("c", "first\n", 0, 1))
        self.assertNotIn("first", drawing.text)

    def test_of_a_longer_command_every_line_is_seen(self) -> None:
        args = {"command": "echo a\nrm \u202eb"}
        _transcript, drawing = drawn(call("shell", "Shell", args), result("out", args=args))
        self.assertEqual(
            unfolded(drawing),
            "▏ ✓ Shell echo a  1.0 s\n```sh\necho a\nrm <U+202E>b\n```…\n",
        )

    def test_a_command_of_several_words_is_one_too(self) -> None:
        _transcript, drawing = drawn(call("x", "Shell", {"command": ["bash", "-c", "a b"]}))
        self.assertEqual(below(drawing), "▏ ○ Shell bash -c 'a b'\n")

    def test_a_hundred_megabytes_of_output_are_not_kept(self) -> None:
        _transcript, drawing = drawn(call(), result("a line\n" * 15_000_000))
        self.assertLess(len(drawing.text), 20_000)
        self.assertRegex(drawing.text, r"… 14,99\d,\d{3} lines are left out here  \[Show all\]\n")
        self.assertEqual(links(drawing, SHOW_OUTPUT), [("[Show all]", {"call": "c"})])

    def test_a_command_that_ran_is_kept_in_part_if_it_is_very_long(self) -> None:
        args = {"command": "row\n" * 1_000_000}
        _transcript, drawing = drawn(call("shell", "Shell", args))
        self.assertLess(len(drawing.text), 20_000)
        self.assertIn("lines are left out here", drawing.text)

    def test_long_arguments_are_cut(self) -> None:
        args = {"content": "x" * 1_000_000, "many": list(range(1000)), "in": {"it": "y" * 3000}}
        _transcript, drawing = drawn(call(args=args))
        self.assertLess(len(drawing.text), 8_000)
        self.assertIn("… 998,000 more characters", drawing.text)
        self.assertIn("… 900 more", drawing.text)

    def test_of_arguments_within_each_other_a_part_is_shown(self) -> None:
        deep: Any = "the innermost"
        for _ in range(5000):
            deep = {"in": deep}
        wide = [[["x"] * 100 for _ in range(100)] for _ in range(100)]
        for args in ({"deep": deep}, {"wide": wide}):
            _transcript, drawing = drawn(call(args=args))
            self.assertLess(len(drawing.text), 20_000)
            self.assertIn("…", drawing.text)


class Subagents(unittest.TestCase):
    def child(self, id: str, parent: str = "c") -> ToolCall:
        return ToolCall(id, "read", "Read", "", {"file_path": f"{FOLDER}/{id}.py"}, False, parent)

    def test_their_calls_are_folded_within_the_call_that_runs_them(self) -> None:
        running = ToolExecution("a", "read", EXECUTING)
        _, drawing = drawn(call("task", "Task", title="Look"), self.child("a"), running)
        self.assertEqual(unfolded(drawing), "▏ ○ Task Look  1 call…\n")
        self.assertIn("▏   ● Read a.py\n", drawing.text)
        ended = ToolResult("a", "read", {}, "", "", False, "It is gone.")
        _, drawing = drawn(
            call("task", "Task", title="Look"),
            self.child("a"),
            self.child("b", parent="a"),
            ended,
            result("done"),
        )
        self.assertEqual(
            unfolded(drawing),
            "▏ ✓ Task Look  4.0 s  2 calls…\n",
        )
        self.assertIn("▏   ✗ Read a.py  2.0 s  1 call\n▏     It is gone.\n", drawing.text)
        self.assertIn("▏     ○ Read b.py\n", drawing.text)

    def test_one_that_can_be_stopped_alone_has_a_link_for_that_while_it_works(self) -> None:
        task = ToolCall("c", "subagent", "Subagent", "Look", {}, False, can_stop=True)
        running = ToolExecution("c", "subagent", EXECUTING)
        _, drawing = drawn(task, running, self.child("a"))
        self.assertEqual(unfolded(drawing), "▏ ● Subagent Look  1 call  Stop…\n")
        self.assertEqual([told["call"] for _text, told in links(drawing, STOP_SUBAGENT)], ["c"])
        inner = replace(task, call_id="d", parent="c")
        _, drawing = drawn(task, running, inner, replace(running, call_id="d"))
        told = [told["call"] for _text, told in links(drawing, STOP_SUBAGENT)]
        self.assertEqual(told, ["c", "d"])
        for after in (result("done"), Complete(events.END_TURN, Usage())):
            _, drawing = drawn(task, running, after)
            self.assertEqual(links(drawing, STOP_SUBAGENT), [])
        _, drawing = drawn(replace(task, can_stop=False), running)
        self.assertEqual(links(drawing, STOP_SUBAGENT), [])

    def test_one_in_the_background_goes_on_within_its_call_until_the_turn_ends(self) -> None:
        task = call("task", "Task", {"subagent_type": "general"}, "Look")
        ended = ToolResult("a", "read", {}, "", "", True)
        story = [task, result("launched", args=task.args), self.child("a")]
        _, drawing = drawn(*story)
        self.assertIn("▏ ✓ Task Look  1.0 s  1 call", drawing.text)
        self.assertIn("▏   ○ Read a.py\n", drawing.text)
        _, drawing = drawn(*story, ended, Complete(events.END_TURN, Usage()))
        self.assertEqual(drawing.text.count("Task Look"), 1)
        self.assertIn("▏   ✓ Read a.py  1.0 s\n", drawing.text)
        _, drawing = drawn(*story, Complete(events.END_TURN, Usage()))
        self.assertIn("▏   – Read a.py\n", drawing.text)

    def test_what_they_do_after_the_call_is_over_is_drawn_within_it(self) -> None:
        ended = ToolResult("a", "read", {}, "", "", True)
        begun = call("task", "Task"), self.child("a"), result("done")
        _, drawing = drawn(*begun, ended, Complete(events.END_TURN, Usage()))
        self.assertEqual(drawing.text.count("Task"), 1)
        self.assertIn("▏   ✓ Read a.py  2.0 s\n", drawing.text)

    def test_one_of_a_call_that_is_not_known_stands_alone(self) -> None:
        _, drawing = drawn(self.child("a", parent="gone"))
        self.assertEqual(below(drawing), "▏ ○ Read a.py\n")
        _, drawing = drawn(self.child("c", parent="c"))
        self.assertEqual(below(drawing), "▏ ○ Read c.py\n")
        _, drawing = drawn(self.child("", parent=""), self.child("c", parent=""))
        self.assertEqual(below(drawing), "▏ ○ Read .py\n▏ ○ Read c.py\n")

    def test_of_very_many_the_last_ones_are_shown(self) -> None:
        calls = [self.child(f"x{number}") for number in range(130)]
        _, drawing = drawn(call("task", "Task"), *calls)
        self.assertIn("▏   … 30 calls before\n▏   ○ Read x30.py\n", drawing.text)

    def test_of_a_thousand_within_each_other_those_that_lie_deep_stand_below_each_other(
        self,
    ) -> None:
        chain = [
            self.child(f"x{number}", f"x{number - 1}" if number else "c") for number in range(1000)
        ]
        transcript, drawing = Transcript(FOLDER), Drawing()
        for event in numbered([Message("Hello"), call("task", "Task"), *chain]):
            transcript.add_event(event)
        drawing.apply(transcript.take_patches())
        self.assertEqual(unfolded(drawing), "▏ ○ Task  1,000 calls…\n")
        for depth, number in ((1, 0), (2, 1), (10, 998), (10, 999)):
            self.assertRegex(drawing.text, rf"\n▏ {'  ' * depth}○ Read x{number}\.py")

    def test_an_edit_that_they_ask_about_can_be_decided(self) -> None:
        transcript, drawing = drawn(
            call("task", "Task"),
            self.child("a"),
            ToolConfirmation("a", "replace", "Edit", "", "", {}, OPTIONS, EDIT),
        )
        self.assertEqual(len(transcript.waiting), 1)
        self.assertIn("▏   ? Read src/a.py", drawing.text)


class Edits(unittest.TestCase):
    def test_an_edit_counts_its_lines_and_opens_in_the_review(self) -> None:
        bodies = [call("replace", "Edit"), question("replace", EDIT)]
        _transcript, drawing = drawn(*bodies, ToolExecution("c", "replace", EXECUTING), result())
        self.assertEqual(below(drawing), "▏ ✓ Edit src/a.py  +2 -1  1.0 s  allowed\n")
        self.assertEqual((drawing.marked(ADDED), drawing.marked(REMOVED)), (["+2"], ["-1"]))
        self.assertEqual(
            links(drawing, OPEN_EDIT), [("src/a.py", {"call": "c", "path": EDIT.path})]
        )

    def test_an_edit_that_the_user_changed_counts_the_lines_that_were_written(self) -> None:
        mine = Diff(EDIT.path, EDIT.old_text, EDIT.old_text + "one\ntwo\nthree\n")
        done = result(written=(mine,), changed=(EDIT.path,))
        bodies = [call("replace", "Edit"), question("replace", EDIT)]
        _transcript, drawing = drawn(*bodies, ToolExecution("c", "replace", EXECUTING), done)
        self.assertEqual(below(drawing), "▏ ✓ Edit src/a.py  +3 -0  1.0 s  changed by you\n")

    def test_a_file_that_the_user_left_out_of_an_edit_is_not_counted(self) -> None:
        other = Diff("/b", "", "x\n")
        bodies = [call("x", "Patch"), question("", EDIT, more=(other,))]
        done = result(written=(EDIT,), changed=(EDIT.path,))
        _transcript, drawing = drawn(*bodies, ToolExecution("c", "x", EXECUTING), done)
        self.assertEqual(
            below(drawing),
            "▏ ✓ Patch 2 files  +2 -1  1.0 s  changed by you\n"
            "▏   src/a.py  +2 -1\n▏   /b  left out\n",
        )

    def test_what_a_command_has_changed_stands_below_it(self) -> None:
        done = result(args={"command": "make"}, unasked=(EDIT,))
        _transcript, drawing = drawn(call("shell", "Shell", {"command": "make"}), done)
        self.assertEqual(below(drawing), "▏ ✓ Shell make  1.0 s\n▏   src/a.py  +2 -1\n")

    def test_edits_of_several_files_are_listed(self) -> None:
        unasked = (EDIT, Diff("/b", "", "x\n"))
        _transcript, drawing = drawn(call("x", "Patch"), result(unasked=unasked))
        self.assertEqual(
            below(drawing),
            "▏ ✓ Patch 2 files  +3 -1  1.0 s\n▏   src/a.py  +2 -1\n▏   /b  +1 -0\n",
        )

    def test_a_question_about_too_many_files_says_why_they_have_no_reviews(self) -> None:
        for count, is_said in ((MOST_REVIEWS, False), (MOST_REVIEWS + 1, True)):
            edits = [Diff(f"/{number}", "", "x\n") for number in range(count)]
            _transcript, drawing = drawn(call(), question("", edits[0], more=tuple(edits[1:])))
            self.assertEqual("there are no reviews" in drawing.text, is_said)

    def test_a_turn_that_changed_files_says_so_at_its_end(self) -> None:
        edits = [call(), result(unasked=(EDIT,)), call(), result(unasked=(EDIT,))]
        for end in (Complete("end_turn", Usage()), events.Error("STREAM_ERROR", "It ended.")):
            _transcript, drawing = drawn(*edits, end)
            self.assertIn("\n\n▏ 1 file changed  [Show changes]\n\n", drawing.text)
            self.assertEqual(links(drawing, OPEN_CHANGES), [("[Show changes]", {})])

    def test_files_count_whoever_allowed_their_edits_and_each_once(self) -> None:
        many = [step for at in range(12) for step in (call(), result(changed=(f"/{at}", "/0")))]
        _transcript, drawing = drawn(*many, Complete("end_turn", Usage()))
        self.assertIn("▏ 12 files changed  [Show changes]", drawing.text)

    def test_a_turn_says_which_of_its_files_were_undone_or_made_again(self) -> None:
        edits = call(), result(changed=("/a", "/b")), Complete("end_turn", Usage())
        transcript, drawing = drawn(*edits)
        for undone, said in (
            (["/a"], "2 files changed, 1 of them undone  [Show changes]"),
            (["/a", "/b", "/other"], "2 files changed, then undone"),
            ([], "2 files changed, undone, and made again  [Show changes]"),
        ):
            transcript.undo_turn("t1", undone)
            drawing.apply(transcript.take_patches())
            self.assertIn(f"\n▏ {said}\n", drawing.text)
            self.assertEqual(drawing.text.count("2 files changed"), 1)

    def test_what_comes_after_the_end_of_a_turn_may_change_files_as_well(self) -> None:
        part = [call(), result(unasked=(EDIT,)), events.Error("STREAM_ERROR", "It ended.")]
        transcript, drawing = drawn(*part, *part)
        self.assertEqual(drawing.text.count("1 file changed"), 2)

    def test_an_edit_that_was_rejected_is_no_change(self) -> None:
        bodies = [call(), question("a", EDIT), result(success=False, rejected=True)]
        _transcript, drawing = drawn(*bodies, Complete("end_turn", Usage()))
        self.assertNotIn("changed", drawing.text)

    def test_a_link_leads_to_the_same_file_however_the_agent_names_it(self) -> None:
        for named in ("src/a.py", f"{FOLDER}/src/a.py"):
            with self.subTest(named):
                _transcript, drawing = drawn(call(args={"file_path": named}))
                told = [("src/a.py", {"path": os.path.join(FOLDER, "src/a.py")})]
                self.assertEqual(links(drawing, OPEN_FILE), told)

    def test_of_a_long_path_the_end_is_shown(self) -> None:
        path = "/" + "folder/" * 30 + "a.py"
        _transcript, drawing = drawn(call(args={"file_path": path}))
        self.assertRegex(below(drawing), r"\A▏ ○ Read …[a-z/]+/folder/a.py\n\Z")

    def test_of_a_large_file_the_rows_that_differ_are_counted(self) -> None:
        rows = [f"row {number}\n" for number in range(100_000)]
        near = [*rows[:50_000], "new\n", *rows[50_002:]]
        for new, told in ((near, "/b  +1 -2"), (["new\n", *near, "end"], "/b  large")):
            edit = Diff("/b", "".join(rows), "".join(new))
            _transcript, drawing = drawn(call("x", "Write"), result(unasked=(edit,)))
            self.assertIn(told, drawing.text)

    def test_the_same_is_counted_wherever_texts_begin_to_differ(self) -> None:
        chance = Random(1)
        for _ in range(2000):
            old, new = ("".join(chance.choices("ab\n", k=chance.randrange(12))) for _ in "on")
            expected = count_rows(changes_between(rows_of(old), rows_of(new)))
            found = count_edit(Diff("/b", old, new))
            self.assertEqual((found.added, found.removed), expected, (old, new))

    def test_a_very_large_edit_is_not_counted(self) -> None:
        large = Diff("/b", "", "x\n" * 600_000)
        _transcript, drawing = drawn(call("x", "Write"), result(unasked=(large,)))
        self.assertEqual(below(drawing), "▏ ✓ Write /b  large  1.0 s\n")


class Questions(unittest.TestCase):
    def test_each_decision_has_its_button_in_our_order(self) -> None:
        transcript, drawing = drawn(call("shell", "Shell"), question("rm a\nrm \u202eb"))
        self.assertEqual(
            below(drawing),
            "▏ ? Shell\n\n▏ ? May it use Shell?\n    rm a\n    rm <U+202E>b\n"
            "▏   [Yes]  [Always]  [No]\n",
        )
        self.assertEqual(
            links(drawing, DECIDE),
            [
                ("[Yes]", {"call": "c", "revision": "t1.2", "outcome": ONCE}),
                ("[Always]", {"call": "c", "revision": "t1.2", "outcome": ALWAYS}),
                ("[No]", {"call": "c", "revision": "t1.2", "outcome": CANCEL}),
            ],
        )
        (asked,) = transcript.waiting
        self.assertEqual((asked.id, asked.turn, asked.title), ("c", "t1", "Shell"))
        self.assertEqual(asked.text, "rm a\nrm <U+202E>b")
        self.assertEqual([option.outcome for option in asked.options], [ONCE, ALWAYS, CANCEL])

    def test_a_command_that_edits_is_shown_and_an_edit_is_not_named_twice(self) -> None:
        for command, is_shown in (("make && rm -r /", True), (f"shell {EDIT.path}", False)):
            with self.subTest(command):
                body = ToolConfirmation("c", "shell", "Shell", "", command, {}, (), EDIT)
                text = drawn(call(), body)[1].text
                self.assertEqual(f"    {command}\n" in text, is_shown)
                self.assertEqual(command in text, is_shown)

    def test_a_long_name_of_a_tool_does_not_push_the_buttons_away(self) -> None:
        body = ToolConfirmation("c", "x", "x" * 100_000, "", "make", {}, ())
        self.assertLess(len(drawn(call(), body)[1].text), 1000)

    def test_an_edit_can_be_changed_and_always_be_rejected(self) -> None:
        asked = ToolConfirmation(
            "c", "replace", "Edit", "", "", {}, (Option(MODIFY, "Edit"), Option(ONCE, "Yes")), EDIT
        )
        transcript, drawing = drawn(call("replace", "Edit"), asked)
        self.assertIn("\n▏   src/a.py  +2 -1\n▏   [Yes]  [Edit]  [Reject]\n", drawing.text)
        self.assertEqual(transcript.waiting[0].diffs, (EDIT,))

    def test_it_stays_below_what_is_said_meanwhile(self) -> None:
        _transcript, drawing = drawn(call(), question("a"), Content("b"), call())
        self.assertTrue(drawing.text.endswith("[No]\n"), drawing.text)

    def test_one_that_comes_after_all_were_decided_stands_below_what_came_meanwhile(self) -> None:
        decided = [call(), question("a"), ToolExecution("c", "shell", EXECUTING), result()]
        transcript, drawing = drawn(*decided, Content("b"), *decided[:2])
        self.assertTrue(drawing.text.endswith("[No]\n"), drawing.text)

    def test_it_goes_with_the_decision_and_with_the_turn(self) -> None:
        for end in (
            ToolExecution("c", "shell", EXECUTING),
            result(success=False, rejected=True),
            Complete(events.CANCELLED, Usage()),
            events.Error("STREAM_ERROR", "It ended."),
            Message("Next"),
        ):
            with self.subTest(type(end).__name__):
                transcript, drawing = drawn(call(), question("a"), end)
                self.assertEqual(transcript.waiting, ())
                self.assertNotIn("[Yes]", drawing.text)

    def test_several_wait_in_their_order(self) -> None:
        other = ToolConfirmation("d", "x", "Other", "", "b", {}, OPTIONS)
        transcript, drawing = drawn(question("a"), other)
        self.assertEqual([each.id for each in transcript.waiting], ["c", "d"])
        self.assertEqual(drawing.text.count("[Yes]"), 2)

    def test_of_a_command_longer_than_a_view_shows_at_once_it_says_what_is_left_out(self) -> None:
        transcript, drawing = drawn(question("x" * (1 << 20)))
        self.assertEqual(len(transcript.waiting[0].text), 1 << 20)
        self.assertIn("characters are left out here", drawing.text)
        self.assertEqual(links(drawing, SHOW_OUTPUT), [("[Show all]", {"call": "c"})])

    def test_an_elicitation_shows_its_fields_until_it_is_answered(self) -> None:
        fields = (Field("name", "string", "Your name"), Field("age", "integer"))
        asked = events.Elicitation("e", FORM, "Who\nare you?", fields)
        transcript, drawing = drawn(asked)
        form = "▏ ? Who\n▏   are you?\n▏   Your name\n▏   age\n▏   [Answer]  [Decline]\n"
        self.assertTrue(drawing.text.endswith("\n\n" + form), drawing.text)
        self.assertEqual(links(drawing, ANSWER), [("[Answer]", {"elicitation": "e"})])
        self.assertEqual(links(drawing, DECLINE), [("[Decline]", {"elicitation": "e"})])
        self.assertEqual(transcript.waiting[0].fields, fields)
        _transcript, drawing = drawn(asked, events.ElicitationAnswered("e", ACCEPT))
        self.assertEqual(below(drawing), "▏ ✓ Who\n▏   are you?\n▏   answered\n")

    def test_an_address_is_shown_before_it_is_opened(self) -> None:
        asked = events.Elicitation("e", URL, "Log in", url="https://a.example/\u202eb")
        transcript, drawing = drawn(asked)
        self.assertIn("▏   https://a.example/<U+202E>b\n", drawing.text)
        self.assertEqual((transcript.waiting[0].mode, transcript.waiting[0].url), (URL, asked.url))


class Ends(unittest.TestCase):
    def test_an_error_says_what_happened_and_can_be_tried_again(self) -> None:
        _transcript, drawing = drawn(events.Error("STREAM_ERROR", "It ended.", "exit code 1"))
        self.assertEqual(unfolded(drawing), "▏ ✗ It ended.\n▏   [Try again]…\n")
        self.assertEqual(links(drawing, RETRY), [("[Try again]", {})])
        self.assertIn("exit code 1", drawing.text)

    def test_a_turn_ends_with_a_line_of_what_the_agent_tells(self) -> None:
        transcript, drawing = Transcript(), Drawing()
        usage = ContextUsage(250, 1000, Cost(0.126, "USD"))
        end = Complete("end_turn", Usage(1234, 5), "Plan mode", "Flash")
        for event in numbered([Message("Hello"), usage, end]):
            transcript.add_event(event)
        drawing.apply(transcript.take_patches())
        time = amounts.clock_text(BEGIN)
        line = (
            f"{time} · 2.0 s · Plan mode · Flash · context 25% of 1,000 · 0.13 USD"
            " · 1,234 tokens in, 5 out"
        )
        self.assertEqual(below(drawing), f"▏ {line}\n")
        self.assertEqual(drawing.marked(DIM), [line])

    def test_a_turn_without_times_ends_without_a_line(self) -> None:
        transcript, drawing = Transcript(), Drawing()
        said: list[events.Body] = [Message("Hello"), Content("Hi."), Complete("end_turn", Usage())]
        for number, body in enumerate(said):
            transcript.add_event(TurnEvent(number, BEGIN, "s", "t", body))
        drawing.apply(transcript.take_patches())
        self.assertEqual(below(drawing), "Hi.\n")

    def test_one_token_is_no_plural(self) -> None:
        transcript, drawing = Transcript(), Drawing()
        end = Complete("end_turn", Usage(1, 5))
        for event in numbered([Message("Hello"), ContextUsage(1, 0), end]):
            transcript.add_event(event)
        drawing.apply(transcript.take_patches())
        self.assertIn(" · 1 token of context · 1 token in, 5 out", below(drawing))

    def test_a_turn_that_did_not_end_by_itself_says_so_first(self) -> None:
        _transcript, drawing = drawn(Complete(events.CANCELLED, Usage()))
        self.assertRegex(below(drawing), r"\A▏ Stopped · ")
        self.assertEqual(drawing.marked(WARNING), ["Stopped"])

    def test_a_stopped_turn_is_said_to_be_so_once(self) -> None:
        cut = result(success=False, rejected=True, error=str(events.CUT_SHORT))
        bodies = [call("shell", "Shell"), question("make"), cut]
        _transcript, drawing = drawn(*bodies, Complete(events.CANCELLED, Usage()))
        self.assertRegex(below(drawing), r"\A▏ – Shell\n\n▏ Stopped · \S+ · \S+ s\n\Z")

    def test_what_a_stopped_command_has_put_out_stays(self) -> None:
        cut = result("compiled a.c\n", success=False, error=str(events.CUT_SHORT))
        _transcript, drawing = drawn(
            call("shell", "Shell"), cut, Complete(events.CANCELLED, Usage())
        )
        self.assertIn("compiled a.c\n", below(drawing))
        self.assertNotIn(str(events.CUT_SHORT), below(drawing))

    def test_a_model_that_is_named_as_the_mode_is_is_said_once(self) -> None:
        for model, words in (("Default (recommended)", "Default"), ("Opus", "Default · Opus")):
            _transcript, drawing = drawn(Complete("end_turn", Usage(), mode="Default", model=model))
            self.assertTrue(below(drawing).endswith(f" s · {words}\n"))


class Amounts(unittest.TestCase):
    def test_how_long_ago_something_was_is_told_in_one_unit(self) -> None:
        for seconds, words in (
            (-1, "just now"),
            (59, "just now"),
            (60, "1 min ago"),
            (3599, "59 min ago"),
            (3600, "1 h ago"),
            (86399, "23 h ago"),
            (86400, "1 day ago"),
            (40 * 86400, "40 days ago"),
        ):
            with self.subTest(words):
                self.assertEqual(amounts.age_text(timedelta(seconds=seconds)), words)

    def test_durations_are_as_exact_as_somebody_reads_them(self) -> None:
        for seconds, words in (
            (0, "0.0 s"),
            (-1, "0.0 s"),
            (0.44, "0.4 s"),
            (9.96, "10 s"),
            (59.4, "59 s"),
            (59.6, "1 min 0 s"),
            (3599, "59 min 59 s"),
            (7800, "2 h 10 min"),
        ):
            with self.subTest(words):
                self.assertEqual(amounts.duration_text(timedelta(seconds=seconds)), words)
