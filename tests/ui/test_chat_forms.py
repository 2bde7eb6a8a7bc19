"""Forms and addresses of agents, asked for in panels that the test answers."""

from __future__ import annotations

from typing import Any

import sublime
from GeminiCompanion.companion.agent.elicitation import (
    BOOLEAN,
    CHOICE,
    CHOICES,
    FORM,
    INTEGER,
    NUMBER,
    STRING,
    URL,
    Field,
)
from GeminiCompanion.companion.agent.session_state import OptionChoice
from GeminiCompanion.companion.agent.turn_events import Elicitation, ElicitationAnswered
from GeminiCompanion.companion.chat.requests import AnswerElicitation
from GeminiCompanion.companion.ui.chat import forms, replies

from .reviewing import Steps
from .test_chat_questions import QuestionCase

COLOURS = (OptionChoice("r", "Red"), OptionChoice("g", "Green"), OptionChoice("b", "Blue"))
NAME = Field("name", STRING, "Name", "as it is written", is_required=True, most=8)
AGE = Field("age", INTEGER, "Age", least=1, most=120)
SURE = Field("sure", BOOLEAN, "Sure", is_required=True)
COLOUR = Field("colour", CHOICE, "Colour", choices=COLOURS, default="g")
SOME = Field("some", CHOICES, "Some", choices=COLOURS, is_required=True, least=1, most=2)
BACK = None


class FormCase(QuestionCase):
    """`shown` has every panel as it opened: its caption or placeholder, and its items or text."""

    def setUp(self) -> None:
        super().setUp()
        self.shown: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        case = self

        def choose(
            _window: sublime.Window, items: Any, done: Any, *_args: Any, **options: Any
        ) -> None:
            case.shown.append((options["placeholder"], items))
            case.asked.append((items, done, options.get("selected_index", -1)))

        def type_in(
            _window: sublime.Window, caption: str, text: str, done: Any, _change: Any, cancel: Any
        ) -> None:
            case.shown.append((caption, text))
            case.asked.append(
                (None, lambda answer: cancel() if answer is BACK else done(answer), -1)
            )

        self.replace(sublime.Window, "show_quick_panel", choose)
        self.replace(sublime.Window, "show_input_panel", type_in)

    def form(self, *fields: Field, **members: Any) -> Steps:
        """The agent asks for these, and the user begins to answer."""
        self.view = yield from self.chat()
        asked = Elicitation("e", FORM, "Tell me about it:", fields)
        yield from self.tell(self.view, members.get("asked", asked))
        self.moments += 1
        self.run_command("allow")
        yield lambda: self.asked

    def answer(self, *words: Any) -> Steps:
        """One panel after the other: a text, a row by its first words, or BACK."""
        for each in words:
            yield lambda: self.asked
            items, done, _ = self.asked.pop(0)
            if items is None:
                done(each)
            else:
                names = [item if isinstance(item, str) else item[0] for item in items]
                done(-1 if each is BACK else [name.startswith(each) for name in names].index(True))
            yield from self.until_turn()
            yield from self.until_turn()

    def given(self) -> list[Any]:
        """What the agent is answered."""
        found = [
            elicitation
            for elicitation in self.requests()
            if isinstance(elicitation, AnswerElicitation)
        ]
        return [(request.action, request.content) for request in found]


class Fields(FormCase):
    def test_each_field_is_asked_for_and_all_of_them_are_shown_before_they_are_sent(self) -> Steps:
        yield from self.form(NAME, AGE, SURE, COLOUR, SOME)
        yield from self.answer("Ada", "36", "Yes", "Blue", "☐ Red", "☐ Blue", "Done")
        captions = [caption for caption, _ in self.shown]
        self.assertEqual(captions[0], "Name (1 of 5): as it is written")
        self.assertEqual(captions[-1], forms.REVIEW)
        rows = [["Name", "Ada"], ["Age", "36"], ["Sure", "Yes"], ["Colour", "Blue"]]
        self.assertEqual(self.shown[-1][1][1:-1], [*rows, ["Some", "Red, Blue"]])
        self.assertEqual(self.given(), [])
        yield from self.answer(forms.SEND)
        content = {"name": "Ada", "age": 36, "sure": True, "colour": "b", "some": ["r", "b"]}
        self.assertEqual(self.given(), [("accept", content)])

    def test_one_field_is_sent_at_once(self) -> Steps:
        yield from self.form(NAME)
        yield from self.answer("Ada")
        self.assertEqual(self.given(), [("accept", {"name": "Ada"})])

    def test_what_is_left_empty_is_left_out_and_what_is_needed_is_asked_again(self) -> Steps:
        yield from self.form(NAME, AGE)
        yield from self.answer("")
        yield from self.until_told("Name needs an answer")
        yield from self.answer("Ada", "", forms.SEND)
        self.assertEqual(self.given(), [("accept", {"name": "Ada"})])

    def test_what_a_field_does_not_take_is_told_and_can_be_mended(self) -> Steps:
        yield from self.form(NAME, AGE)
        yield from self.answer("Ada Lovelace")
        yield from self.until_told("Name does not take that: a text, at most 8 characters.")
        self.assertEqual(self.shown[-1][1], "Ada Lovelace")
        yield from self.answer("Ada", "many")
        yield from self.until_told("Age does not take that: a whole number, at least 1")
        yield from self.answer("0")
        self.assertEqual(len([panel for panel in self.shown if panel[0].startswith("Age")]), 3)

    def test_a_number_is_a_number(self) -> Steps:
        yield from self.form(Field("n", NUMBER, "N", least=0))
        yield from self.answer("nan", "-1", "2.5")
        self.assertEqual(self.given(), [("accept", {"n": 2.5})])

    def test_what_the_agent_suggests_is_chosen_at_first(self) -> Steps:
        yield from self.form(COLOUR, Field("who", STRING, default="me"))
        self.assertEqual(self.asked[0][2], 1)
        yield from self.answer("Green")
        self.assertEqual(self.shown[-1][1], "me")

    def test_too_many_choices_are_not_sent(self) -> Steps:
        yield from self.form(SOME)
        yield from self.answer("Done")
        yield from self.until_told("Some does not take that: at least 1 chosen")
        yield from self.answer("☐ Red", "☐ Green", "☐ Blue", "Done", "☑ Green", "Done")
        self.assertEqual(self.given(), [("accept", {"some": ["r", "b"]})])

    def test_a_form_without_fields_is_a_question_of_yes_or_no(self) -> Steps:
        yield from self.form()
        self.assertEqual([item[0] for item in self.shown[-1][1]], [forms.SEND, forms.DECLINE_IT])
        yield from self.answer(forms.SEND)
        self.assertEqual(self.given(), [("accept", {})])

    def test_captions_of_the_agent_cannot_hide_anything(self) -> Steps:
        yield from self.form(Field("x", STRING, "a\u202eb", "c\nd"), NAME)
        self.assertEqual(self.shown[0][0], "a<U+202E>b (1 of 2): c d")


class Leaving(FormCase):
    def test_escape_goes_back_by_one_field_and_keeps_what_was_said(self) -> Steps:
        yield from self.form(NAME, SURE)
        yield from self.answer("Ada", BACK)
        self.assertEqual(self.shown[-1], ("Name (1 of 2): as it is written", "Ada"))
        yield from self.answer("Bob", "No", BACK, "Yes", forms.SEND)
        self.assertEqual(self.given(), [("accept", {"name": "Bob", "sure": True})])

    def test_one_answer_can_be_changed_before_all_are_sent(self) -> Steps:
        yield from self.form(NAME, SURE)
        yield from self.answer("Ada", "No", "Name", "Eva", forms.SEND)
        self.assertEqual(self.given(), [("accept", {"name": "Eva", "sure": False})])

    def test_escape_at_the_first_field_leaves_the_question_open(self) -> Steps:
        yield from self.form(NAME, SURE)
        yield from self.answer(BACK)
        self.assertEqual(self.given(), [])
        yield from self.until_told(replies.STILL)
        self.run_command("allow")
        yield from self.answer("Ada", "Yes", forms.SEND)
        self.assertEqual(len(self.given()), 1)

    def test_all_can_be_declined_at_the_end_or_without_a_panel(self) -> Steps:
        yield from self.form(NAME, SURE)
        yield from self.answer("Ada", "Yes", forms.DECLINE_IT)
        self.assertEqual(self.given(), [("decline", None)])
        view = yield from self.chat()
        yield from self.tell(view, Elicitation("f", FORM, "Who?", (NAME,)))
        yield from self.follow(view, "[Decline]")
        self.assertEqual(self.given()[1:], [("decline", None)])

    def test_a_question_that_the_agent_withdraws_closes_its_panel(self) -> Steps:
        yield from self.form(NAME, SURE)
        yield from self.answer("Ada")
        yield from self.tell(self.view, ElicitationAnswered("e", "cancel"))
        yield from self.until_turn()
        yield from self.until_told(replies.OVER)
        yield from self.answer("Yes")
        self.assertEqual((self.asked, self.given()), ([], []))


class Addresses(FormCase):
    def asks_for(self, url: str) -> Steps:
        self.commands: list[Any] = []
        run = sublime.Window.run_command

        def run_command(window: sublime.Window, name: str, args: Any = None) -> None:
            if name == "open_url":
                self.commands.append(args["url"])
            else:
                run(window, name, args)

        self.replace(sublime.Window, "run_command", run_command)
        asked = Elicitation("e", URL, "Log in there:", url=url)
        yield from self.form(asked=asked)

    def test_an_address_is_shown_whole_and_opened_only_then(self) -> Steps:
        url = "https://gemini.example@evil.example/\u200blogin"
        yield from self.asks_for(url)
        first = self.shown[-1][1][0]
        self.assertEqual(first[0], "Open evil.example in the browser")
        self.assertEqual(first[1], "https://gemini.example@evil.example/<U+200B>login")
        self.assertEqual(self.commands, [])
        yield from self.answer("Open")
        self.assertEqual((self.commands, self.given()), ([url], [("accept", None)]))

    def test_the_host_that_is_named_is_the_one_that_a_browser_would_open(self) -> Steps:
        yield from self.asks_for("http://evil.example\\@good.example/login")
        self.assertEqual(self.shown[-1][1][0][0], "Open evil.example in the browser")
        yield from self.answer("Open")
        self.assertEqual(self.commands, ["http://evil.example/@good.example/login"])

    def test_an_address_with_an_unclear_host_is_not_opened(self) -> Steps:
        yield from self.asks_for("http://good.example\u2215.evil.example/")
        self.assertEqual([item[0] for item in self.shown[-1][1]], [forms.COPY, forms.DECLINE_IT])

    def test_an_address_can_be_declined_or_left(self) -> Steps:
        yield from self.asks_for("https://example.com")
        yield from self.answer(BACK)
        self.assertEqual(self.given(), [])
        self.run_command("allow")
        yield from self.answer(forms.DECLINE_IT)
        self.assertEqual((self.commands, self.given()), ([], [("decline", None)]))

    def test_nothing_but_the_web_is_opened(self) -> Steps:
        yield from self.asks_for("file:///etc/passwd")
        names = [item[0] for item in self.shown[-1][1]]
        self.assertEqual(names, [forms.COPY, forms.DECLINE_IT])
        yield from self.answer(forms.COPY)
        self.assertEqual((self.commands, self.given()), ([], [("accept", None)]))
        self.assertEqual(sublime.get_clipboard(), "file:///etc/passwd")
