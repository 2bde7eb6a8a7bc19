"""What an agent tells of a session beside its answers: read, and put together."""

from __future__ import annotations

import unittest
from functools import partial
from types import SimpleNamespace
from typing import Any

from GeminiCompanion.companion.agent import elicitation, session_state
from GeminiCompanion.companion.agent.acp import messages
from GeminiCompanion.companion.agent.acp.acp_client import MAX_EARLY, EarlyUpdates
from GeminiCompanion.companion.agent.acp.agent_state import AgentState
from GeminiCompanion.companion.agent.acp.members import Unreadable
from GeminiCompanion.companion.agent.conversations.choices import Choices
from GeminiCompanion.companion.agent.conversations.conversation_state import ConversationState
from GeminiCompanion.companion.agent.elicitation import Field
from GeminiCompanion.companion.agent.session_state import (
    ConfigOption,
    ConfigOptions,
    ContextUsage,
    Cost,
    CurrentMode,
    OptionChoice,
    Plan,
    PlanEntry,
    SessionTitle,
)
from GeminiCompanion.companion.base import jsonrpc

HALF, NOTHING = "\ud83d", ContextUsage(0, 0)
MODE = {"id": "m", "name": "Mode", "category": "mode", "type": "select", "currentValue": "ask"}
MODE["options"] = [{"value": "ask", "name": "Ask"}, {"value": "code"}]  # type: ignore[assignment]
EFFORT = {
    "id": "effort",
    "name": "Effort",
    "category": "thought_level",
    "type": "select",
    "currentValue": "low",
    "options": [{"group": "g", "name": "Usual", "options": [{"value": "low"}, {"value": "high"}]}],
}
FAST = {"id": "fast", "type": "boolean", "currentValue": True}
OLD = {
    "models": {"availableModels": [{"modelId": "a", "name": "A"}], "currentModelId": "a"},
    "modes": {"availableModes": [{"id": "default"}, {"id": "plan"}], "currentModeId": "default"},
}


def update(**members: Any) -> Any:
    return messages.session_update({"sessionId": "s", "update": members})[1]


def opened(**members: Any) -> ConfigOptions:
    asked = messages.new_session(messages.SessionPlace("/w"))
    return asked.read({"sessionId": "s", **members}).options


class Read(unittest.TestCase):
    def test_each_update_is_what_it_tells(self) -> None:
        for name, members, expected in (
            (
                "plan",
                {"entries": [{"content": "Look", "priority": "high", "status": "completed"}]},
                Plan((PlanEntry("Look", "high", "completed"),)),
            ),
            # What nobody knows counts as what nobody has begun.
            (
                "plan",
                {"entries": [{"content": "a" + HALF, "priority": 5, "status": "lost"}, {}, 7]},
                Plan((PlanEntry("a\ufffd", "medium", "pending"),)),
            ),
            ("plan", {"entries": None}, Plan(())),
            ("usage_update", {"used": 5, "size": 10}, ContextUsage(5, 10)),
            (
                "usage_update",
                {"used": 5, "size": 10, "cost": {"amount": 0.25, "currency": "USD"}},
                ContextUsage(5, 10, Cost(0.25, "USD")),
            ),
            (
                "usage_update",
                {"used": -5, "size": True, "cost": {"amount": "1"}},
                ContextUsage(0, 0),
            ),
            (
                "usage_update",
                {"used": 1, "size": 2, "cost": {"amount": float("nan"), "currency": "USD"}},
                ContextUsage(1, 2),
            ),
            ("current_mode_update", {"currentModeId": "plan"}, CurrentMode("plan")),
            ("session_info_update", {"title": "Tests"}, SessionTitle("Tests")),
            ("session_info_update", {"title": None}, SessionTitle("")),
            (
                "session_info_update",
                {"updatedAt": "2026-01-01"},
                messages.UnusedUpdate("session_info_update"),
            ),
        ):
            with self.subTest(name, **members):
                self.assertEqual(update(sessionUpdate=name, **members), expected)
        with self.assertRaises(Unreadable):
            update(sessionUpdate="current_mode_update")

    def test_options_are_those_that_can_be_shown(self) -> None:
        unknown = {"id": "x", "type": "slider", "currentValue": 5}
        wrong = {"id": "y", "type": "boolean", "currentValue": "yes"}
        options = [MODE, EFFORT, FAST, unknown, wrong, {"type": "boolean", "currentValue": True}]
        told = update(sessionUpdate="config_option_update", configOptions=options)
        mode, effort, fast = told.options
        self.assertEqual(mode.choices, (OptionChoice("ask", "Ask"), OptionChoice("code", "code")))
        self.assertEqual([each.group for each in effort.choices], ["Usual", "Usual"])
        self.assertEqual((fast.name, fast.values, fast.current), ("fast", (False, True), True))

    def test_an_agent_without_config_options_has_its_model_and_its_mode(self) -> None:
        model, mode = opened(**OLD).options
        self.assertEqual((model.id, model.current, model.is_made), ("model", "a", True))
        self.assertEqual((mode.id, mode.values), ("mode", ("default", "plan")))

    def test_of_an_agent_with_both_the_config_option_counts(self) -> None:
        options = opened(**OLD, configOptions=[MODE])
        found = [(option.id, option.is_made) for option in options.options]
        self.assertEqual(found, [("m", False), ("model", True)])

    def test_an_option_is_chosen_as_the_agent_has_it(self) -> None:
        options = opened(**OLD, configOptions=[EFFORT, FAST])
        values: tuple[str | bool, ...] = ("high", False, "a", "plan")
        pairs = zip(options.options, values)
        asked = [messages.set_option_request("s", each, value) for each, value in pairs]
        self.assertEqual(
            [(request.method, {**request.params, "sessionId": ""}) for request in asked],
            [
                (
                    "session/set_config_option",
                    {"sessionId": "", "configId": "effort", "value": "high"},
                ),
                (
                    "session/set_config_option",
                    {"sessionId": "", "configId": "fast", "value": False, "type": "boolean"},
                ),
                ("session/set_model", {"sessionId": "", "modelId": "a"}),
                ("session/set_mode", {"sessionId": "", "modeId": "plan"}),
            ],
        )


class Fields(unittest.TestCase):
    def of(self, **told: Any) -> Field:
        schema = {"properties": {"f": told}, "required": ["f", 5]}
        params = {"mode": "form", "message": "m", "requestedSchema": schema}
        request = messages.agent_request(jsonrpc.Request(1, elicitation.METHOD, params))
        assert isinstance(request, elicitation.ElicitationRequest)
        (field,) = request.fields
        return field

    def test_each_takes_what_the_agent_may_get_and_nothing_else(self) -> None:
        titled = [{"const": "a", "title": "A"}, {"const": "b"}, {}]
        for told, takes, refuses in (
            ({"type": "string"}, ["", "x" * 9], [5, None, True, ["a"]]),
            ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
            ({"type": "string", "enum": ["a", "b"]}, ["a", "b"], ["c", "", ["a"]]),
            ({"type": "string", "oneOf": titled}, ["a", "b"], ["A"]),
            ({"type": "number", "minimum": 0, "maximum": 1.5}, [0, 1, 1.5], [-1, 2, "1", True]),
            ({"type": "number"}, [10**400, -5], [float("nan"), float("inf")]),
            ({"type": "integer"}, [0, 5], [1.5, True, "5"]),
            ({"type": "boolean"}, [True, False], [0, "true", None]),
            (
                {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1},
                [["a"], ["b", "a"]],
                [[], ["c"], "a", [5]],
            ),
            (
                {"type": "array", "items": {"anyOf": titled}, "maxItems": 1},
                [[], ["b"]],
                [["a", "b"]],
            ),
        ):
            field = self.of(**told)
            with self.subTest(told):
                self.assertEqual([value for value in takes if not field.takes_value(value)], [])
                self.assertEqual([value for value in refuses if field.takes_value(value)], [])

    def test_a_choice_says_what_it_means(self) -> None:
        titled = [{"const": "a", "title": "A", "description": "The first."}, {"const": "b"}]
        field = self.of(type="string", oneOf=titled)
        self.assertEqual([choice.name for choice in field.choices], ["A — The first.", "b"])

    def test_a_default_counts_where_the_field_takes_it(self) -> None:
        for told, default in (
            ({"type": "string", "default": "x"}, "x"),
            ({"type": "integer", "default": "x"}, None),
            ({"type": "array", "items": {"enum": ["a"]}, "default": ["a"]}, ("a",)),
            ({"type": "string", "enum": ["a"], "default": "b"}, None),
        ):
            with self.subTest(told):
                self.assertEqual(self.of(**told).default, default)

    def test_a_form_with_a_field_that_cannot_be_shown_is_not_read(self) -> None:
        for told in ({"type": "object"}, {"type": "array", "items": {}}, {}):
            with self.subTest(told), self.assertRaises(Unreadable):
                self.of(**told)


class State(unittest.TestCase):
    def setUp(self) -> None:
        self.state = AgentState()
        self.state.take_opened_session(opened(**OLD, configOptions=[EFFORT]), ())

    def of(self, id: str) -> Any:
        option = self.state.options.by_id(id)
        return None if option is None else option.current

    def told(self, *options: Any) -> ConfigOptions:
        return session_state.config_options({"configOptions": list(options)})

    def test_what_is_told_again_is_nothing_new(self) -> None:
        plan = Plan((PlanEntry("a", "low", "pending"),))
        for told in (plan, ContextUsage(1, 2), CurrentMode("plan")):
            self.assertEqual(
                (self.state.take_update(told), self.state.take_update(told)), (True, False), told
            )

    def test_an_update_leaves_what_it_cannot_tell(self) -> None:
        self.state.take_update(self.told({**EFFORT, "currentValue": "high"}))
        found = [self.of(id) for id in ("effort", "model", "mode")]
        self.assertEqual(found, ["high", "a", "default"])
        self.state.take_update(self.told())
        self.assertEqual((self.of("effort"), self.of("model")), (None, "a"))

    def test_the_mode_is_the_one_that_the_agent_tells(self) -> None:
        self.state.take_update(CurrentMode("plan"))
        self.assertEqual((self.state.mode, self.state.modes), ("plan", ("default", "plan")))
        self.state.take_update(self.told(MODE))
        self.assertEqual((self.state.mode, self.state.modes), ("ask", ("ask", "code")))

    def test_a_choice_changes_what_the_answer_tells_and_itself_where_it_tells_nothing(self) -> None:
        for id, value in (("mode", "plan"), ("effort", "high")):
            option = self.state.options.by_id(id)
            assert option is not None
            self.state.note_chosen_value(option, value, ConfigOptions())
            self.assertEqual(self.of(id), value)
        effort = self.state.options.by_id("effort")
        assert isinstance(effort, ConfigOption)
        self.state.note_chosen_value(
            effort, "low", self.told({**EFFORT, "currentValue": "low"}, FAST)
        )
        self.assertEqual((self.of("effort"), self.of("fast")), ("low", True))

    def test_what_came_before_the_session_was_known_is_not_lost(self) -> None:
        early = EarlyUpdates()
        early.keep_update("s", ContextUsage(1, 2))
        early.keep_update("s", ContextUsage(3, 4))
        early.keep_update("s", CurrentMode("plan"))
        self.state.take_opened_session(opened(**OLD), early.take_updates("s"))
        self.assertEqual((self.state.usage, self.state.mode), (ContextUsage(3, 4), "plan"))
        self.assertEqual(early.take_updates("s"), ())

    def test_sessions_that_nobody_ever_knows_fill_no_memory(self) -> None:
        early = EarlyUpdates()
        for number in range(MAX_EARLY + 50):
            early.keep_update(str(number), CurrentMode("plan"))
        self.assertEqual(len(early._told), MAX_EARLY)


class Chosen(unittest.TestCase):
    def test_a_mode_is_no_choice_any_more_where_the_agent_has_left_it_in_a_turn(self) -> None:
        for in_turn, mode, left in (
            (True, "default", ""),
            (True, "plan", "plan"),
            # A new session tells its first mode before it hears of the choice.
            (False, "default", "plan"),
        ):
            with self.subTest(mode, in_turn=in_turn):
                record: Any = SimpleNamespace(state=ConversationState(mode="plan"))
                record.change_state = partial(setattr, record, "state")
                state = AgentState()
                state.take_opened_session(opened(**OLD), ())
                Choices(record, state).take_update(CurrentMode(mode), in_turn)
                self.assertEqual((state.mode, record.state.mode), (mode, left))
