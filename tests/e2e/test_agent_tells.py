"""What agents tell beside their answers, through the API: with an agent that is made to tell it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from api_case import LINES, ApiCase, data, said, types

EFFORT = {
    "id": "effort",
    "name": "Effort",
    "category": "thought_level",
    "type": "select",
    "currentValue": "low",
    "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}],
}
FAST = {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False}


def tells(kind: str, **members: Any) -> dict[str, Any]:
    return {"tells": {"sessionUpdate": kind, **members}}


def entry(content: str, status: str) -> dict[str, str]:
    return {"content": content, "priority": "high", "status": status}


class Tells(ApiCase):
    # Gemini CLI tells none of it.
    real = False

    async def told(self, *parts: Any) -> tuple[str, list[dict[str, Any]]]:
        """A conversation in which the agent told this, and the events of its turn."""
        self.model.will_play("tell", [*parts, "Done."])
        id = (await self.post("/sessions", {"workspacePath": self.workspace}))["sessionId"]
        return id, await self.story("tell", sessionId=id)

    async def state(self, id: str) -> Any:
        return (await self.get(f"/sessions/{id}/state")).body

    async def values(self, id: str) -> dict[str, Any]:
        return {each["id"]: each["value"] for each in (await self.state(id))["options"]}

    async def followed(self, id: str, kind: str) -> asyncio.Future[dict[str, Any]]:
        """The next event of the kind in the stream of the conversation."""
        path, lines = f"/sessions/{id}/events", {"Accept": LINES}
        response = await self.sent("GET", path, headers=lines)
        self.addCleanup(response.close)

        async def read() -> dict[str, Any]:
            async for line in response.content:
                event: dict[str, Any] = json.loads(line)
                self.contract.check_event(event)
                if event["type"] == kind:
                    return event
            raise AssertionError(f"no {kind} came")

        return asyncio.ensure_future(read())

    async def test_a_plan_is_told_as_it_changes_and_breaks_no_text(self) -> None:
        steps = [[entry("Look", "in_progress")], [entry("Look", "completed")]]
        first, second = (tells("plan", entries=each) for each in steps)
        id, story = await self.told("One ", first, "text.", second)
        self.assertEqual(said(story), "One text.Done.")
        self.assertEqual(sum(not each["isPartial"] for each in data(story, "content")), 1)
        plans = [each["entries"] for each in data(story, "plan")]
        self.assertEqual([each[0]["status"] for each in plans], ["in_progress", "completed"])
        self.assertEqual((await self.state(id))["plan"], plans[-1])

    async def test_usage_and_cost_are_told_once_each(self) -> None:
        usage = tells("usage_update", used=5, size=10, cost={"amount": 0.5, "currency": "USD"})
        id, story = await self.told(usage, usage)
        (told,) = data(story, "context_usage")
        self.assertEqual((told["used"], told["size"]), (5, 10))
        self.assertEqual(told["cost"], {"amount": 0.5, "currency": "USD"})
        self.assertEqual((await self.state(id))["context"]["used"], 5)

    async def test_what_an_agent_does_not_tell_is_null_or_empty(self) -> None:
        id, story = await self.told()
        self.assertEqual(types(story), ["content", "complete"])
        state = await self.state(id)
        self.assertEqual((state["plan"], state["context"]), (None, None))
        self.assertEqual([each["id"] for each in state["options"]], ["model", "mode"])

    async def test_plan_and_usage_stay_with_their_turn(self) -> None:
        plan = tells("plan", entries=[entry("Look", "pending")])
        id, story = await self.told("Half ", plan, tells("usage_update", used=1, size=2), "whole. ")
        page = await self.get(f"/sessions/{id}/messages")
        events = page["messages"][0]["events"]
        self.assertEqual(said(events), "Half whole. Done.")
        self.assertEqual(len(data(events, "content")), 1)
        self.assertEqual(data(events, "plan"), data(story, "plan"))

    async def test_an_option_of_the_agent_is_chosen_and_told_to_all(self) -> None:
        id, _story = await self.told(tells("config_option_update", configOptions=[EFFORT, FAST]))
        told = await self.followed(id, "config_options")
        reply = await self.post(f"/sessions/{id}/options", {"id": "effort", "value": "high"})
        self.assertEqual(reply.status, 200, reply)
        event = (await told)["data"]
        self.assertEqual((event["options"], event["turnId"]), (reply["options"], ""))
        await self.post(f"/sessions/{id}/options", {"id": "fast", "value": True})
        await self.post(f"/sessions/{id}/options", {"id": "mode", "value": "plan"})
        chosen = {"effort": "high", "fast": True, "model": "gemini-2.5-flash", "mode": "plan"}
        self.assertEqual(await self.values(id), chosen)
        infos = (await self.get("/sessions"))["sessions"]
        self.assertEqual([info["mode"] for info in infos if info["sessionId"] == id], ["plan"])

    async def test_what_the_agent_does_not_offer_is_refused(self) -> None:
        id, _story = await self.told(tells("config_option_update", configOptions=[EFFORT, FAST]))
        other, unknown = (400, "VALIDATION_ERROR"), (404, "OPTION_NOT_FOUND")
        for option, value, expected in (
            ("effort", "most", other),
            ("fast", "true", other),
            ("effort", True, other),
            ("x", "low", unknown),
        ):
            with self.subTest(option, value=value):
                asked = {"id": option, "value": value}
                reply = await self.post(f"/sessions/{id}/options", asked)
                self.assertEqual((reply.status, reply["code"]), expected)

    async def test_the_agents_title_is_the_conversations_until_the_user_gives_one(self) -> None:
        title = tells("session_info_update", title="Its title")
        id, _story = await self.told(title)

        async def shown() -> Any:
            infos = (await self.get("/sessions"))["sessions"]
            return next(info["title"] for info in infos if info["sessionId"] == id)

        self.assertEqual(await shown(), "Its title")
        await self.ask("PATCH", f"/sessions/{id}", {"title": "Mine"})
        self.model.will_play("again", [title, "Done."])
        await self.story("again", sessionId=id)
        self.assertEqual(await shown(), "Mine")

    async def test_a_mode_that_the_agent_changes_by_itself_is_the_one_that_is_told(self) -> None:
        id, _story = await self.told()
        await self.post(f"/sessions/{id}/options", {"id": "mode", "value": "plan"})
        told = await self.followed(id, "config_options")
        left = tells("current_mode_update", currentModeId="default")
        self.model.will_play("again", [left, "Done."])
        await self.story("again", sessionId=id)
        await told
        self.assertEqual((await self.values(id))["mode"], "default")


FORM = {
    "mode": "form",
    "message": "How should it be done?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "way": {"type": "string", "title": "Way", "enum": ["slow", "fast"]},
            "times": {"type": "integer", "minimum": 1, "default": 2},
        },
        "required": ["way"],
    },
}
PLACE = {"mode": "url", "message": "Log in there.", "url": "https://example.com/?id=1"}
TIMES = {"way": "fast", "times": 3}


class Asks(ApiCase):
    real = False

    async def ended(self, asked: dict[str, Any], *answers: Any) -> tuple[list[dict[str, Any]], Any]:
        """The events of a turn in which the agent asked this, and what it got. `answers` are
        actions with contents, and the statuses that these requests get."""
        self.model.will_play("ask", [{"asks": asked}])
        story = []
        async with self.stream({"message": "ask"}) as stream:
            async for event in stream:
                story.append(event)
                if event["type"] == "elicitation":
                    id = event["data"]["elicitationId"]
                    waiting = (await self.get("/elicitations"))["elicitations"]
                    self.assertEqual(
                        [elicitation["data"] for elicitation in waiting], [event["data"]]
                    )
                    for action, content, status in answers:
                        body = {"elicitationId": id, "action": action, "content": content}
                        reply = await self.post("/elicitation", body)
                        self.assertEqual(reply.status, status, reply)
        self.assertEqual((await self.get("/elicitations"))["elicitations"], [])
        return story, json.loads(said(story) or "null")

    async def test_a_form_is_answered_with_values_that_it_takes_and_once(self) -> None:
        refused = [
            ("accept", content, 400)
            for content in (None, {}, {"way": "best"}, {**TIMES, "more": 1}, {**TIMES, "times": 0})
        ]
        answers = [*refused, ("accept", TIMES, 200), ("decline", None, 404)]
        story, got = await self.ended(FORM, *answers)
        self.assertEqual(got, {"action": "accept", "content": TIMES})
        (asked,) = data(story, "elicitation")
        self.assertEqual([field["name"] for field in asked["fields"]], ["way", "times"])
        self.assertEqual(
            [value["value"] for value in asked["fields"][0]["values"]], ["slow", "fast"]
        )
        self.assertEqual(asked["fields"][1]["default"], 2)
        self.assertEqual(
            [answered["action"] for answered in data(story, "elicitation_answered")], ["accept"]
        )
        # What was answered is nobody else's.
        self.assertNotIn("content", data(story, "elicitation_answered")[0])

    async def test_a_user_may_decline_and_an_address_is_only_accepted(self) -> None:
        self.assertEqual((await self.ended(FORM, ("decline", None, 200)))[1], {"action": "decline"})
        story, got = await self.ended(PLACE, ("accept", {"x": 1}, 200))
        self.assertEqual(got, {"action": "accept"})
        self.assertEqual(data(story, "elicitation")[0]["url"], PLACE["url"])

    async def test_where_nobody_can_answer_the_agent_does_not_wait(self) -> None:
        self.model.will_play("ask", [{"asks": FORM}])
        reply = await self.post("/chat", {"message": "ask", "workspacePath": self.workspace})
        self.assertEqual(json.loads(reply["response"]), {"action": "cancel"})

    async def test_a_turn_that_is_cancelled_leaves_no_question(self) -> None:
        self.model.will_play("ask", [{"asks": FORM}, "x"])
        async with self.stream({"message": "ask"}) as stream:
            await stream.until("elicitation")
            await self.post("/cancel")
            rest = await stream.rest()
        self.assertEqual(
            [answered["action"] for answered in data(rest, "elicitation_answered")], ["cancel"]
        )
        self.assertEqual((await self.get("/elicitations"))["elicitations"], [])

    async def test_a_question_that_cannot_be_shown_is_no_question(self) -> None:
        for asked in ({**FORM, "mode": "voice"}, {"mode": "url", "message": "Where?"}):
            with self.subTest(asked["mode"]):
                self.model.will_play("ask", [{"asks": asked}])
                story = await self.story("ask")
                self.assertEqual(json.loads(said(story))["error"]["code"], -32602)
                self.assertEqual(data(story, "elicitation"), [])

    async def test_questions_are_there_again_in_the_messages(self) -> None:
        story, _got = await self.ended(FORM, ("accept", TIMES, 200))
        id = story[0]["data"]["sessionId"]
        events = (await self.get(f"/sessions/{id}/messages"))["messages"][-1]["events"]
        self.assertEqual(data(events, "elicitation"), data(story, "elicitation"))
