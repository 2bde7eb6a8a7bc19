"""The API's web page in a real browser, with the real Gemini CLI behind it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import threading
import unittest
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import AsyncIterator, Iterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import HERE, KEY  # noqa: E402
from model_server import Failure, Gate, call, thought  # noqa: E402
from page_case import PageCase  # noqa: E402
from playwright.async_api import Error, Locator, Page, Route, expect  # noqa: E402


def setUpModule() -> None:
    PageCase.start()


def tearDownModule() -> None:
    PageCase.stop()


class Chat(PageCase):
    async def test_an_answer_appears_while_it_is_said_with_its_thoughts_folded(self) -> None:
        gate = Gate()
        self.model.will_play("hello", [thought("Planning", "a greeting"), "Hi ", gate, "there."])
        page = await self.page()
        await self.say(page, "hello")
        await self.prose(page, "Hi")
        self.assertEqual(await self.count(page, "#stop"), 1)
        await expect(page.locator("#state")).to_have_text("At work…")
        await self.assert_accessible(page)
        gate.set()
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose"), "Hi there.")
        self.assertEqual(await self.text(page, ".mine"), "hello")
        self.assertIn("Planning", await self.text(page, ".thoughts summary"))
        self.assertEqual(await self.count(page, ".thoughts p"), 0)
        await page.click(".thoughts summary")
        self.assertEqual(await self.count(page, ".thoughts p"), 1)
        self.assertEqual(await self.count(page, "#send"), 1)
        await self.assert_sound(page)

    async def test_a_file_is_written_once_its_diff_was_allowed(self) -> None:
        path = self.write("a.txt", "one\ntwo\nthree\n")
        content = "one\n2\nthree\n"
        written = call("write_file", file_path=path, content=content)
        self.model.will_play("change it", [written], ["Done."])
        page = await self.page()
        await self.say(page, "change it")
        await expect(page.locator(".question button").first).to_be_attached()
        self.assertEqual(
            (await self.text(page, ".diff")).split("\n"), ["  one", "- two", "+ 2", "  three"]
        )
        self.assertEqual(await self.text(page, "figcaption"), path)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")
        await page.click(".question .main")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), content)
        self.assertEqual(await self.count(page, ".question"), 0)
        self.assertEqual(await self.text(page, ".call .status"), "done")
        await page.click(".changes summary")
        await expect(page.locator(".changed li")).to_contain_text("as this turn left it")
        await expect(page.locator("#to-end")).to_be_hidden()
        await self.assert_sound(page)
        await page.click(".changed button")
        await expect(page.locator(".changed li")).to_contain_text("as it was before")
        await expect(page.locator(".changed button")).to_have_count(0)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

    async def test_what_is_rejected_is_not_written(self) -> None:
        path = self.write("a.txt", "old\n")
        self.model.will_play("no", [call("write_file", file_path=path, content="new\n")], ["Well."])
        page = await self.page()
        await self.say(page, "no")
        await page.click(".question .no")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), "old\n")
        self.assertEqual(await self.text(page, ".call .status"), "rejected")
        self.assertEqual(await self.text(page, ".call .why"), "Rejected by the user.")
        await self.assert_sound(page)

    async def test_a_turn_can_be_stopped(self) -> None:
        self.model.will_play("for ever", ["Begun. ", Gate()])
        page = await self.page()
        await self.say(page, "for ever")
        await self.prose(page, "Begun.")
        await page.click("#stop")
        await self.answered(page)
        self.assertEqual((await self.count(page, "#stop"), await self.count(page, "#send")), (0, 1))
        self.assertEqual(await self.count(page, ".notice"), 1)

    async def test_an_error_of_the_model_is_told(self) -> None:
        self.model.will_play("fail", Failure(400, "the model is on holiday"))
        page = await self.page()
        await self.say(page, "fail")
        await expect(page.locator(".trouble").first).to_be_attached()
        self.assertIn("on holiday", await self.text(page, ".trouble"))
        await expect(page.locator(".trouble summary")).to_have_count(0)
        await self.assert_accessible(page)
        self.assertEqual(await self.count(page, "#send"), 1)

    async def test_the_details_of_an_error_are_what_was_told_beside_its_sentence(self) -> None:
        inner = {"code": 400, "message": "No such key.", "status": "INVALID_ARGUMENT"}
        inner["details"] = [{"reason": "API_KEY_INVALID"}]
        self.model.will_play("key", Failure(400, json.dumps({"error": inner})))
        self.model.will_play("no", Failure(403, "Not you.", "PERMISSION_DENIED"))
        page = await self.page()
        await self.say(page, "key")
        await page.click(".trouble summary")
        details = '[\n  {\n    "reason": "API_KEY_INVALID"\n  }\n]'
        told = page.locator(".trouble pre")
        lines = ["code: 400", "status: INVALID_ARGUMENT", f"details: {details}"]
        await expect(told).to_have_text("\n".join(lines))
        await self.say(page, "no")
        await expect(told.last).to_have_text("code: 403\nstatus: PERMISSION_DENIED")


class Sending(PageCase):
    """Enter sends, now or as soon as it can, or the page says what is missing. The text stays."""

    async def held(self, page: Page, url: str, method: str = "GET") -> asyncio.Event:
        """Requests of this kind get no further until what comes back is set."""
        opened = asyncio.Event()
        self.addCleanup(opened.set)

        async def hold(route: Route) -> None:
            if route.request.method == method:
                await opened.wait()
            await route.continue_()

        await page.route(url, hold)
        return opened

    async def assert_waits(self, page: Page, why: str, text: str) -> None:
        await expect(page.locator("#unsent")).to_contain_text(why)
        await expect(page.locator("#hold")).to_be_visible()
        await expect(page.locator("#message")).to_have_value(text)

    async def assert_kept(self, page: Page, text: str) -> None:
        await expect(page.locator("#unsent")).to_have_text("Not sent yet.")
        await expect(page.locator("#hold")).to_be_hidden()
        await expect(page.locator("#message")).to_have_value(text)

    async def test_after_a_refused_key_a_new_tab_goes_on_with_the_conversation(self) -> None:
        self.model.will_play("no", Failure(403, "Forbidden"))
        self.model.will_play("once more", ["Yes."])
        page = await self.page()
        await self.say(page, "no")
        await expect(page.locator(".trouble")).to_be_visible()
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "false")
        await page.reload()
        await expect(page.locator(".mine")).to_have_text(["no"])
        await self.say(page, "once more")
        await expect(page.locator(".prose")).to_have_text("Yes.")
        self.model.will_play("third", Failure(403, "Forbidden"))
        await self.say(page, "third")
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "false")
        other = await self.page()
        await self.say(other, "once more")
        await self.answered(other)

    async def test_what_is_sent_before_there_is_a_conversation_goes_once_there_is_one(self) -> None:
        self.model.will_play("early", ["Yes."])
        page = await self.open(self.server.url)
        opened = await self.held(page, "**/sessions", "POST")
        await self.enter(page, self.server.token)
        await self.say(page, "early")
        await self.assert_waits(page, "as soon as the conversation is open", "early")
        await self.assert_accessible(page)
        opened.set()
        await expect(page.locator(".prose")).to_have_text("Yes.")
        await expect(page.locator("#message")).to_have_value("")
        await expect(page.locator("#unsent")).to_have_text("")
        await self.assert_sound(page)

    async def test_what_is_sent_while_an_answer_comes_goes_after_it(self) -> None:
        gate = Gate()
        self.model.will_play("first", ["One. ", gate, "Two."])
        self.model.will_play("second", ["Three."])
        page = await self.page()
        await self.say(page, "first")
        await self.prose(page, "One.")
        await self.say(page, "sec")
        await self.assert_waits(page, "as soon as the answer above is complete", "sec")
        # What is changed does not go by itself.
        await page.keyboard.type("o")
        await expect(page.locator("#hold")).to_be_hidden()
        await self.enter(page, "nd")
        await self.assert_waits(page, "as soon as", "second")
        await page.click("#hold")
        await expect(page.locator("#unsent")).to_have_text("")
        await expect(page.locator("#message")).to_be_focused()
        await page.keyboard.press("Enter")
        gate.set()
        await expect(page.locator(".prose")).to_have_text(["One. Two.", "Three."])
        await expect(page.locator(".mine")).to_have_text(["first", "second"])

    async def test_what_waits_for_an_answer_that_fails_is_kept(self) -> None:
        gate = Gate()
        looks = call("glob", pattern="*")
        self.model.will_play("fail", ["Half ", gate, looks], Failure(403, "No."))
        page = await self.page()
        await self.say(page, "fail")
        await self.prose(page, "Half")
        await self.say(page, "next")
        await self.assert_waits(page, "as soon as", "next")
        gate.set()
        await expect(page.locator(".trouble")).to_be_visible()
        await self.assert_kept(page, "next")

    async def test_what_waits_in_one_conversation_is_not_sent_in_another(self) -> None:
        gate = Gate()
        self.model.will_play("apples", ["One. ", gate, "Two."])
        page = await self.page()
        await self.say(page, "apples")
        await self.prose(page, "One.")
        await self.say(page, "second")
        await self.assert_waits(page, "as soon as", "second")
        await page.click("#new")
        await self.assert_kept(page, "second")
        gate.set()
        await page.click("text=apples")
        await expect(page.locator(".prose")).to_have_text(["One. Two."])
        await expect(page.locator(".mine")).to_have_text(["apples"])

    async def test_what_is_sent_while_a_new_conversation_begins_goes_there(self) -> None:
        self.model.will_play("first", ["One."])
        self.model.will_play("second", ["Two."])
        page = await self.page()
        await self.say(page, "first")
        await self.answered(page)
        opened = await self.held(page, "**/sessions", "POST")
        await page.click("#new")
        await self.say(page, "second")
        await self.assert_waits(page, "as soon as the conversation is open", "second")
        opened.set()
        await expect(page.locator(".mine")).to_have_text(["second"])
        await expect(page.locator(".prose")).to_have_text(["Two."])

    async def test_what_is_sent_while_a_conversation_opens_comes_below_what_it_holds(self) -> None:
        self.model.will_play("first", ["One."])
        self.model.will_play("second", ["Two."])
        page = await self.page()
        await self.say(page, "first")
        await self.answered(page)
        opened = await self.held(page, "**/messages")
        await page.reload()
        await self.say(page, "second")
        await self.assert_waits(page, "as soon as the conversation is open", "second")
        opened.set()
        await expect(page.locator(".mine")).to_have_text(["first", "second"])
        await expect(page.locator(".prose")).to_have_text(["One.", "Two."])

    async def test_what_is_sent_goes_along_with_the_files_that_are_on_their_way(self) -> None:
        self.model.will_play("look", ["A picture."])
        page = await self.page()
        opened = await self.held(page, "**/attachments", "POST")
        picture = {"name": "a.png", "mimeType": "image/png", "buffer": PNG}
        await page.set_input_files("#files", [picture])  # type: ignore[arg-type]
        await self.say(page, "look")
        await self.assert_waits(page, "as soon as its files are there", "look")
        opened.set()
        await self.answered(page)
        await expect(page.locator(".enclosed li")).to_have_text(["a.png"])
        no_picture = {"name": "b.png", "mimeType": "image/png", "buffer": b"no picture"}
        opened.clear()
        await page.set_input_files("#files", [no_picture])  # type: ignore[arg-type]
        await self.say(page, "look")
        await self.assert_waits(page, "as soon as its files are there", "look")
        opened.set()
        await expect(page.locator(".trouble")).to_contain_text("this file has other content")
        await self.assert_kept(page, "look")

    async def test_who_is_not_logged_in_is_asked_to_and_what_was_sent_goes_then(self) -> None:
        self.model.will_play("hello", ["Hi."])
        await self.post("/auth/logout")
        page = await self.open(f"{self.server.url}/#token={self.server.token}")
        await expect(page.locator("#account")).to_be_visible()
        await page.keyboard.press("Escape")
        await self.say(page, "hello")
        await expect(page.locator("#account")).to_be_visible()
        await self.assert_waits(page, "as soon as you are logged in", "hello")
        await page.keyboard.press("Escape")
        await self.assert_waits(page, "as soon as you are logged in", "hello")
        await page.click("#account-button")
        await page.click("#api-key")
        await self.enter(page, "another-key")
        await expect(page.locator(".prose")).to_have_text("Hi.")
        await expect(page.locator(".mine")).to_have_text(["hello"])

    async def test_without_the_server_the_text_stays_and_goes_when_it_is_back(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.page()
        await page.route("**/chat", lambda route: route.abort())
        for _ in range(2):
            await self.say(page, "" if _ else "hello")
            await expect(page.locator(".trouble")).to_have_count(1)
            await expect(page.locator(".trouble")).to_contain_text("Is it still running?")
            await self.assert_kept(page, "hello")
            await expect(page.locator(".mine")).to_have_count(0)
        await page.unroute("**/chat")
        await page.keyboard.press("Enter")
        await self.answered(page)
        await expect(page.locator(".mine")).to_have_text(["hello"])
        await expect(page.locator("#unsent")).to_have_text("")

    async def test_a_page_whose_start_failed_starts_again_with_the_message(self) -> None:
        self.model.will_play("hello", ["Hi."])
        for path in ("/agents", "/sessions"):
            with self.subTest(path):
                page = await self.open(self.server.url)
                await page.route(f"**{path}", lambda route: route.abort())
                await self.enter(page, self.server.token)
                await expect(page.locator(".trouble")).to_contain_text("Is it still running?")
                await self.say(page, "hello")
                await self.assert_kept(page, "hello")
                await page.unroute(f"**{path}")
                await page.keyboard.press("Enter")
                await self.answered(page)
                await expect(page.locator(".mine")).to_have_text(["hello"])

    async def test_a_conversation_that_was_deleted_elsewhere_leaves_the_text(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.page()
        await self.say(page, "hello")
        await self.answered(page)
        session = await page.evaluate("sessionStorage.getItem('session')")
        await self.ask("DELETE", f"/sessions/{session}")
        await self.say(page, "hello")
        await expect(page.locator(".notice")).to_contain_text("a new one has begun")
        await self.assert_kept(page, "hello")
        await page.keyboard.press("Enter")
        await self.answered(page)
        await expect(page.locator(".mine")).to_have_text(["hello"])

    async def test_a_token_that_is_refused_leaves_the_text_for_the_next_one(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.page()
        refused = {"error": "Unauthorized", "code": "UNAUTHORIZED"}
        await page.route("**/chat", lambda route: route.fulfill(status=401, json=refused))
        await self.say(page, "hello")
        await expect(page.locator("#token-form")).to_be_visible()
        await page.unroute("**/chat")
        await self.enter(page, self.server.token)
        await expect(page.locator("#message")).to_have_value("hello")
        await expect(page.locator("#message")).to_be_focused()
        await page.keyboard.press("Enter")
        await self.answered(page)

    async def test_without_a_message_it_says_so(self) -> None:
        page = await self.page()
        await self.say(page, "  ")
        await expect(page.locator("#unsent")).to_have_text("Type a message first.")
        await page.keyboard.type("a")
        await expect(page.locator("#unsent")).to_have_text("")
        await page.fill("#message", "")
        await page.click("#send")
        await expect(page.locator("#unsent")).to_have_text("Type a message first.")
        await expect(page.locator("#message")).to_be_focused()


class Empty(PageCase):
    async def test_an_empty_conversation_says_where_it_is_and_what_can_be_asked(self) -> None:
        page = await self.page()
        empty = page.locator("#empty")
        await expect(empty).to_contain_text(f"Gemini CLI works in {self.root}.")
        await self.assert_sound(page)
        examples = empty.locator("button")
        for index in (0, 1):
            await examples.nth(index).click()
            text = await examples.nth(index).inner_text()
            await expect(page.locator("#message")).to_have_value(text)
        await expect(page.locator("#message")).to_be_focused()
        await page.fill("#message", "Mine.")
        await examples.first.click()
        first = await examples.first.inner_text()
        await expect(page.locator("#message")).to_have_value(f"Mine.\n{first}")
        self.model.will_play("Mine.", ["Yes."])
        await page.keyboard.press("Enter")
        await self.answered(page)
        await expect(empty).to_be_hidden()
        await page.click("#new")
        await expect(empty).to_be_visible()
        await page.click("text=Mine.")
        await expect(page.locator(".prose")).to_have_text("Yes.")
        await expect(empty).to_be_hidden()


LONG = "\n\n".join(f"Paragraph {number}" for number in range(60))
HEIGHT = "scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop"


class InSight(PageCase):
    async def test_the_end_of_an_answer_stays_in_sight_until_one_scrolls_up(self) -> None:
        gate = Gate()
        self.model.will_play("explain", [LONG, gate, "\n\n" + LONG + "\n\nThe end."])
        page = await self.page()
        await self.say(page, "explain")
        await expect(page.locator(".prose p").nth(58)).to_be_in_viewport()
        await page.hover("#scroller")
        await page.mouse.wheel(0, -600)
        await expect(page.locator("#to-end")).to_be_visible()
        gate.set()
        await self.answered(page)
        self.assertGreater(await page.evaluate(HEIGHT), 1000)
        for fixed in ("header", "#composer"):
            await expect(page.locator(fixed)).to_be_in_viewport(ratio=1)
        await page.click("#to-end")
        await expect(page.locator(".prose p").last).to_be_in_viewport(ratio=1)
        await expect(page.locator("#to-end")).to_be_hidden()
        await page.mouse.wheel(0, 5000)
        self.assertEqual(await page.evaluate("document.scrollingElement.scrollTop"), 0)

    async def test_decisions_are_in_sight_below_a_long_diff_on_a_phone_and_with_keys(self) -> None:
        path = self.write("a.txt", "old\n" * 300)
        written = call("write_file", file_path=path, content="new\n" * 300)
        self.model.will_play("change it", [LONG, written], ["Done."])
        page = await self.page()
        await page.set_viewport_size({"width": 390, "height": 600})
        await self.say(page, "change it")
        buttons = page.locator(".choices button")
        await expect(buttons.first).to_be_visible()
        for index in range(await buttons.count()):
            await expect(buttons.nth(index)).to_be_in_viewport(ratio=1)
        await self.assert_accessible(page)
        await expect(page.locator("#composer")).to_be_in_viewport(ratio=1)
        # In the message a digit is a digit.
        await page.keyboard.press("1")
        self.assertEqual(await page.locator("#message").input_value(), "1")
        self.assertEqual(self.read("a.txt"), "old\n" * 300)
        await page.keyboard.press("Escape")
        await expect(page.locator("#decisions")).to_be_focused()
        await page.locator(".diff").evaluate("it => it.scrollTop = it.scrollHeight")
        await expect(page.locator(".question .main")).to_be_enabled()
        await page.keyboard.press("1")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), "new\n" * 300)
        await expect(page.locator("#message")).to_be_focused()
        await self.assert_sound(page)


class Editing(PageCase):
    async def test_an_edit_is_changed_before_it_is_written(self) -> None:
        path = self.write("a.txt", "one\r\ntwo\r\n")
        written = call("write_file", file_path=path, content="one\r\n2\r\n")
        self.model.will_play("change it", [written], ["Done."])
        page = await self.page()
        await self.say(page, "change it")
        await page.click(".question .edit")
        await expect(page.locator(".editor")).to_have_value("one\n2\n")
        await page.click(".question .back")
        self.assertIn("+ 2", await self.text(page, ".diff"))
        await page.click(".question .edit")
        await self.assert_accessible(page)
        await page.fill(".editor", "one\nzwei\n")
        await page.click(".question .main")
        await self.answered(page)
        with open(path, newline="") as file:
            self.assertEqual(file.read(), "one\r\nzwei\r\n")
        self.assertIn("+ zwei", await self.text(page, ".diff"))
        await self.assert_sound(page)

    async def test_what_a_field_would_hide_or_change_is_not_edited(self) -> None:
        path = self.write("a.txt", "old\n")
        content = "a\u202eb\n"
        self.model.will_play("no", [call("write_file", file_path=path, content=content)], ["Well."])
        page = await self.page()
        await self.say(page, "no")
        await expect(page.locator(".question .no")).to_be_visible()
        self.assertEqual(await self.count(page, ".question .edit"), 0)

    async def test_a_large_difference_can_be_unfolded_and_has_nothing_beyond_its_edge(self) -> None:
        path = self.write("a.txt", "")
        content = "x" + 300 * " " + "y\n" + 1500 * "z" + "\n" + 2000 * "line\n" + "the end\n"
        self.model.will_play("no", [call("write_file", file_path=path, content=content)], ["Well."])
        page = await self.page()
        await self.say(page, "no")
        await expect(page.locator(".question .no")).to_be_visible()
        box = page.locator(".diff")
        self.assertLessEqual(*await box.evaluate("it => [it.scrollWidth, it.clientWidth]"))
        self.assertNotIn(1500 * "z", await self.text(page, ".diff"))
        await page.get_by_role("button", name="500 more characters").click()
        self.assertIn(1500 * "z", await self.text(page, ".diff"))
        await page.get_by_role("button", name="503 more lines").click()
        await expect(box).to_be_focused()
        self.assertIn("the end", await self.text(page, ".diff"))
        self.assertEqual(await self.count(page, ".diff button"), 0)
        await self.assert_sound(page)

    async def test_an_edit_is_allowed_once_it_is_unfolded_and_its_end_was_in_sight(self) -> None:
        path = self.write("a.txt", "")
        content = 1500 * "z" + "\n" + 2000 * "line\n" + "the end\n"
        written = call("write_file", file_path=path, content=content)
        self.model.will_play("yes", [written], ["Done."])
        page = await self.page()
        await self.say(page, "yes")
        main = page.locator(".question .main")
        await expect(page.locator(".question .rest")).to_contain_text("unfolded")
        await expect(page.locator(".question .no")).to_be_enabled()
        await page.keyboard.press("Escape")
        await page.keyboard.press("1")
        await self.settled(page)
        await expect(main).to_be_disabled()
        await self.assert_sound(page)
        await page.get_by_role("button", name="500 more characters").click()
        await self.settled(page)
        await expect(main).to_be_disabled()
        await page.locator(".diff .more").click()
        await self.settled(page)
        await expect(main).to_be_disabled()
        await page.locator(".diff").evaluate("it => it.scrollTop = it.scrollHeight")
        await expect(main).to_be_enabled()
        await expect(page.locator(".question .rest")).to_be_hidden()
        await main.click()
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), content)

    async def test_an_edit_below_what_is_read_is_not_allowed_before_its_end_was_in_sight(
        self,
    ) -> None:
        gate = Gate()
        path = self.write("a.txt", "old\n" * 100)
        written = call("write_file", file_path=path, content="new\n" * 100)
        self.model.will_play("change it", [LONG, gate, written], ["Done."])
        page = await self.page()
        await self.say(page, "change it")
        await expect(page.locator(".prose p").nth(58)).to_be_in_viewport()
        await page.hover("#scroller")
        await page.mouse.wheel(0, -600)
        await expect(page.locator("#to-end")).to_be_visible()
        gate.set()
        main = page.locator(".question .main")
        await expect(page.locator(".question .rest")).to_contain_text("in sight")
        await expect(main).to_be_disabled()
        await page.click("#to-end")
        await page.locator(".diff").evaluate("it => it.scrollTop = it.scrollHeight")
        await expect(main).to_be_enabled()


class Commands(PageCase):
    """What is allowed was seen."""

    def touch(self, name: str) -> str:
        return f"touch '{self.path(name)}'"

    async def asked(self, page: Page, command: str, **args: str) -> None:
        word = f"run it {self.id()}"
        self.model.will_play(word, [call("run_shell_command", command=command, **args)], ["Done."])
        await self.say(page, word)
        await expect(page.locator(".question .no")).to_be_visible()

    async def test_a_command_stands_once_in_its_question_with_what_it_is_for(self) -> None:
        touch = self.touch("greeting")
        page = await self.page()
        await self.asked(page, touch, description="Greets nobody")
        main = page.locator(".question .main")
        await expect(main).to_be_enabled()
        self.assertEqual(await self.text(page, ".question .command"), touch)
        self.assertEqual(await self.text(page, ".asked .what"), "Greets nobody")
        shown = await page.locator("body").inner_text()
        self.assertEqual(shown.count(touch), 1)
        await self.assert_sound(page)
        await main.click()
        await self.answered(page)
        self.assertTrue(os.path.exists(self.path("greeting")))
        self.assertEqual(await self.text(page, ".call .command"), touch)
        self.assertEqual(await self.text(page, ".call .what"), "Greets nobody")
        await self.assert_sound(page)

    async def test_where_a_command_runs_is_seen_too(self) -> None:
        os.mkdir(self.path("sub"))
        page = await self.page()
        await self.asked(page, "touch here", dir_path=self.path("sub"), description="Touches")
        about = await self.text(page, ".asked .what")
        self.assertEqual(about, f"Touches · dir_path: {self.path('sub')}")
        await page.click(".question .main")
        await self.answered(page)
        self.assertTrue(os.path.exists(self.path("sub/here")))

    async def test_a_padded_command_is_seen_whole(self) -> None:
        page = await self.page()
        await self.asked(page, "ls -la" + 41 * "\n" + self.touch("padded") + "\u202e")
        lines = (await self.text(page, ".question .command")).split("\n")
        self.assertEqual(lines[:-1], ["ls -la", "<40 blank lines>"])
        self.assertTrue(lines[-1].endswith("padded'<U+202E>"), lines)
        self.assertIn("42 lines", await self.text(page, ".asked"))
        await expect(page.locator(".question .rest")).to_be_hidden()
        await page.click(".question .no")
        await self.answered(page)
        self.assertFalse(os.path.exists(self.path("padded")))

    async def test_a_long_command_is_allowed_once_its_end_was_in_sight(self) -> None:
        page = await self.page()
        await page.set_viewport_size({"width": 390, "height": 700})
        await self.asked(page, "\n".join(["ls -la", *(300 * [": padding"]), self.touch("long")]))
        main, text = page.locator(".question .main"), page.locator(".question .command")
        await expect(page.locator(".question .rest")).to_contain_text("more lines")
        await expect(main).to_be_disabled()
        for allowing in await page.locator(".choices button:not(.no)").all():
            await expect(allowing).to_be_disabled()
            self.assertIn("end", await allowing.get_attribute("title") or "")
        await expect(page.locator(".question .no")).to_be_enabled()
        await page.keyboard.press("Escape")
        await page.keyboard.press("1")
        await self.settled(page)
        self.assertEqual(await self.count(page, ".question"), 1)
        for each in await page.locator(".choices button").all():
            await expect(each).to_be_in_viewport(ratio=1)
        await self.assert_sound(page)
        await text.evaluate("it => it.scrollTop = it.scrollHeight / 2")
        await expect(main).to_be_disabled()
        await text.evaluate("it => it.scrollTop = it.scrollHeight")
        await expect(main).to_be_enabled()
        await expect(page.locator(".question .rest")).to_be_hidden()
        await main.click()
        await self.answered(page)
        self.assertTrue(os.path.exists(self.path("long")))

    async def test_the_end_of_a_long_command_is_reached_by_keys_alone(self) -> None:
        page = await self.page()
        await self.asked(page, "\n".join(["ls -la", *(60 * [": padding"]), self.touch("keys")]))
        main, turn = page.locator(".question .main"), page.locator(".question .rest button")
        await expect(turn).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Tab")
        await expect(page.locator(".question .command")).to_be_focused()
        await page.keyboard.press("Tab")
        await expect(turn).to_be_focused()
        before = await turn.inner_text()
        await page.keyboard.press("Enter")
        await expect(turn).not_to_have_text(before)
        await expect(main).to_be_disabled()
        for _ in range(20):
            if await main.is_enabled():
                break
            await page.keyboard.press("Enter")
            await self.settled(page)
        await expect(page.locator(".question .command")).to_be_focused()
        await page.keyboard.press("1")
        await self.answered(page)
        self.assertTrue(os.path.exists(self.path("keys")))

    async def test_a_wide_command_has_nothing_beyond_its_edge(self) -> None:
        page = await self.page()
        await self.asked(page, ": " + 9000 * "x" + "; touch wide")
        await expect(page.locator(".question .main")).to_be_disabled()
        box = page.locator(".question .command")
        self.assertLessEqual(*await box.evaluate("it => [it.scrollWidth, it.clientWidth]"))
        await box.evaluate("it => it.scrollTop = it.scrollHeight")
        await expect(page.locator(".question .main")).to_be_enabled()
        await page.click(".question .no")
        await self.answered(page)

    async def test_a_command_that_nobody_was_asked_about_stands_there_too(self) -> None:
        page = await self.page()
        self.model.will_play("look", [call("run_shell_command", command="pwd")], ["Done."])
        await self.say(page, "look")
        await self.answered(page)
        self.assertEqual(await self.text(page, ".call .command"), "pwd")
        self.assertEqual(await self.text(page, ".call .status"), "done")
        self.assertEqual(await self.count(page, ".call .args"), 0)


class Markdown(PageCase):
    async def test_an_answer_is_drawn_as_markdown_with_colours_and_copy_buttons(self) -> None:
        code = "def f():\n    return 1\n"
        said = (
            f"# Plan\n\n1. **one**\n2. [two](https://example.org)\n\n```python\n{code}```\n\nEnd."
        )
        self.model.will_play("explain", [said[:9], said[9:40], said[40:]])
        page = await self.page()
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await self.say(page, "explain")
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose h3"), "Plan")
        self.assertEqual(await self.text(page, ".prose li strong"), "one")
        link = page.locator(".prose a")
        self.assertEqual(
            [await link.get_attribute(name) for name in ("href", "target", "rel")],
            ["https://example.org", "_blank", "noopener noreferrer"],
        )
        self.assertEqual(await page.locator(".code code").text_content(), code)
        self.assertEqual(await self.text(page, ".hljs-keyword"), "def")
        await page.click(".copy")
        await expect(page.locator(".copy")).to_have_text("Copied")
        self.assertEqual(await page.evaluate("navigator.clipboard.readText()"), code)
        await self.assert_sound(page)

    async def test_columns_are_aligned_and_tasks_have_their_box_alone(self) -> None:
        table = "| a | b | c | d |\n|---|:--|--:|:-:|\n| 1 | 2 | 3 | 4 |"
        lists = "- [x] one\n- [ ] two\n- three\n\n3. third"
        self.model.will_play("explain", [f"{table}\n\n{lists}"])
        page = await self.page()
        await self.say(page, "explain")
        await self.answered(page)
        aligned = "all => all.map((it) => getComputedStyle(it).textAlign.replace('-webkit-', ''))"
        found = await page.locator(".prose :is(th, td)").evaluate_all(aligned)
        start = ["left", "left", "right", "center"]
        self.assertEqual(found[:4], start)
        self.assertEqual(found[4:], ["start", *start[1:]])
        items = page.locator(".prose ul li")
        await expect(items).to_have_text(["☑ one", "☐ two", "three"])
        await expect(page.locator(".prose ol")).to_have_attribute("start", "3")
        marks = "all => all.map((it) => getComputedStyle(it).listStyleType)"
        self.assertEqual(await items.evaluate_all(marks), ["none", "none", "disc"])
        await self.assert_sound(page)

    async def test_formulas_stay_as_they_were_written_and_prices_are_none(self) -> None:
        said = (
            r"Let $a_1*b_2$ be $$\{x_{1}\}$$ or \(y_{2}*z\) *and* `$a$`, for $5 or $6 *each*."
            "\n\n$$\na_1\n- b_1 \\\\\n= *c*\n$$\n\nThen\n\\[\nx_1 < *y_2*\n\\]\nEnd."
        )
        self.model.will_play("explain", [said[:30], said[30:120], said[120:]])
        page = await self.page()
        await self.say(page, "explain")
        await self.answered(page)
        formulas = [
            r"$a_1*b_2$", r"$$\{x_{1}\}$$", r"\(y_{2}*z\)",
            "$$\na_1\n- b_1 \\\\\n= *c*\n$$", "\\[\nx_1 < *y_2*\n\\]",
        ]  # fmt: skip
        found = await page.locator(".formula").all_text_contents()
        self.assertEqual(found, formulas)
        await expect(page.locator(".prose em")).to_have_text(["and", "each"])
        await expect(page.locator(".prose code")).to_have_text("$a$")
        await self.assert_sound(page)


# How many nodes come into the page while an answer of so many lines is said, five of them a frame.
TOUCHED = """
async (count) => {
  const { Turn } = await import("/turn.js");
  const box = document.body.appendChild(document.createElement("div"));
  const turn = new Turn(box, { text: "" }, null, () => {});
  let touched = 0;
  new MutationObserver((all) => all.forEach(({ addedNodes }) => {
    for (const each of addedNodes) {
      touched += 1 + document.createNodeIterator(each).root.childNodes.length;
    }
  })).observe(box, { childList: true, subtree: true });
  for (let at = 0; at < count; at += 5) {
    const text = `Some lines of a *long* paragraph, number ${at}\\n`.repeat(5);
    turn.show({ type: "content", data: { text, isPartial: true } });
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  }
  box.remove();
  return touched;
}
"""
# What the page makes of a text that comes in pieces of these sizes, as elements and as words; and
# the words of its blocks where each is drawn whole.
DRAWN = """
async ([text, sizes]) => {
  const { Prose } = await import("/prose.js");
  const { blocks, elements } = await import("/markdown.js");
  const box = document.createElement("div");
  const run = new Prose(box);
  for (let at = 0, count = 0; at < text.length; count += 1) {
    const size = sizes[count % sizes.length];
    run.add(text.slice(at, at + size));
    at += size;
    while (run.step());
  }
  run.close();
  await run.drawn;
  for (const each of box.querySelectorAll(".code-head")) each.remove();
  return [box.innerHTML, box.textContent, elements(blocks(text)).textContent];
}
"""


def lines(count: int, line: str) -> str:
    return "\n".join(line.format(number) for number in range(count))


class Long(PageCase):
    blocks = {
        "paragraph": lines(200, "Line {} of a *long* paragraph with `code`, and so on"),
        "indented paragraph": lines(200, "  [{}] of a *long* paragraph with `code`, and so on"),
        "one line": "word *and* " * 900,
        "one word": "😀" * 5000,
        "list": lines(300, "- item {} of a *list*"),
        "numbers": lines(300, "1. item {} of a *list*"),
        "one item": "1. Do\n   ```\n" + lines(300, "   the code of line {}") + "\n   ```\n2. Then",
        "table": "| a | b |\n|---|--:|\n" + lines(300, "| cell | of row {} |"),
        "code": "```python\n" + lines(300, "first_{0} = {0}\n\n") + "```\nEnd *of* it",
        "code without an end": "~~~\n" + lines(300, "```\nline {}"),
        "indented code": "Code:\n\n" + lines(300, "    first = {}\n\n    second = 2") + "\n\nEnd",
        "one line of code": "```\nshort\n" + "y" * 9000 + "\n```",
        "formulas": lines(300, "Let $a_{{{}}}*b_2$ be *it*"),
        "quote": lines(300, "> line {} of a *quote*"),
        "blanks": "a" + "\n" * 9000 + "b",
    }

    async def test_a_long_block_is_drawn_the_same_however_it_comes(self) -> None:
        page = await self.page()
        for name, text in self.blocks.items():
            with self.subTest(name):
                whole, drawn, meant = await page.evaluate(DRAWN, [text, [len(text)]])
                self.assertEqual("".join(drawn.split()), "".join(meant.split()))
                for sizes in ([1500], [397, 71], [4000, 1]):
                    pieces = (await page.evaluate(DRAWN, [text, sizes]))[0]
                    self.assertEqual(_plain(pieces), _plain(whole), sizes)

    async def test_the_lines_of_long_code_and_of_its_copy_are_those_that_were_said(self) -> None:
        page = await self.page()
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        code = lines(300, "first_{0} = {0}\n\n") + "\n"
        self.model.will_play("code", ["```python\n" + code[:999], code[999:] + "```\nEnd."])
        await self.say(page, "code")
        await expect(page.locator(".prose p")).to_have_text("End.")
        self.assertEqual(await page.locator(".code code").text_content(), code)
        await page.click(".copy")
        await expect(page.locator(".copy")).to_have_text("Copied")
        self.assertEqual(await page.evaluate("navigator.clipboard.readText()"), code)

    async def test_what_a_growing_paragraph_touches_grows_with_its_length_alone(self) -> None:
        page = await self.page()
        short = await page.evaluate(TOUCHED, 300)
        long = await page.evaluate(TOUCHED, 600)
        self.assertLess(long, 3 * short)


def _plain(markup: str) -> str:
    """Without the line ends between blocks."""
    return markup.replace("\n<", "<")


class Listed(PageCase):
    async def test_conversations_are_found_renamed_opened_and_deleted(self) -> None:
        self.model.will_play("apples", ["Red."])
        self.model.will_play("pears", ["Green."])
        page = await self.page()
        await self.say(page, "apples")
        await self.answered(page)
        await page.click("#new")
        await expect(page.locator("article")).to_have_count(0)
        await self.say(page, "pears")
        await self.answered(page)
        titles = page.locator("#conversations .open span")
        await expect(titles).to_have_text(["pears", "apples"])
        await page.fill("#search", "APP")
        await expect(titles).to_have_text(["apples"])
        await page.click("#conversations .rename")
        await page.keyboard.insert_text("fruit")
        await page.keyboard.press("Enter")
        await page.fill("#search", "")
        await expect(titles).to_have_text(["pears", "fruit"])
        await page.click("text=fruit")
        await expect(page.locator(".prose")).to_have_text("Red.")
        await page.reload()
        await expect(page.locator(".prose")).to_have_text("Red.")
        await expect(page.locator("[aria-current] span")).to_have_text("fruit")
        await page.click("[aria-label='Delete “pears”']")
        await self.assert_accessible(page)
        await page.click("#remove-yes")
        await expect(titles).to_have_text(["fruit"])
        await page.click("[aria-label='Delete “fruit”']")
        await page.click("#remove-yes")
        await expect(page.locator("article")).to_have_count(0)
        await expect(page.locator("#message")).to_be_focused()
        await self.assert_sound(page)

    async def test_a_press_opens_one_though_the_list_changes_before_it_ends(self) -> None:
        gate = Gate()
        self.model.will_play("apples", ["Half ", gate, "and half."])
        one, two = await self.page(), await self.page()
        at_work = two.locator("#conversations small", has_text="at work")
        await self.say(one, "apples")
        await expect(at_work).to_have_count(1)
        await two.hover("text=apples")
        await two.mouse.down()
        async with self.list_told(two):
            gate.set()
        await expect(at_work).to_have_count(1)
        await two.mouse.up()
        await expect(two.locator(".prose")).to_have_text(["Half and half."])
        await expect(at_work).to_have_count(0)

    async def test_the_focus_stays_in_the_list_though_it_changes(self) -> None:
        self.model.will_play("apples", ["Red."])
        self.model.will_play("pears", ["Green."])
        one, two = await self.page(), await self.page()
        await self.say(one, "apples")
        await self.answered(one)
        remove = two.locator("[aria-label='Delete “apples”']")
        await remove.focus()
        async with self.list_told(two):
            await self.say(one, "pears")
        await expect(remove).to_be_focused()
        await expect(one.locator(".usage")).to_have_count(2)
        await two.keyboard.press("Enter")
        async with self.list_told(two):
            await self.say(one, "pears")
        await expect(two.locator("#remove")).to_be_visible()
        await two.keyboard.press("Escape")
        await expect(two.locator("#remove")).to_be_hidden()
        await expect(remove).to_be_focused()

    async def test_a_press_on_another_one_ends_the_typing_of_a_title_and_opens_it(self) -> None:
        self.model.will_play("apples", ["Red."])
        self.model.will_play("pears", ["Green."])
        page = await self.page()
        await self.say(page, "apples")
        await self.answered(page)
        await page.click("#new")
        await expect(page.locator("article")).to_have_count(0)
        await self.say(page, "pears")
        await self.answered(page)
        await page.click("[aria-label='Rename “pears”']")
        await page.keyboard.insert_text("fruit")
        opens = page.locator("#conversations .open")
        await opens.click(position={"x": 20, "y": 50})
        await expect(page.locator(".prose")).to_have_text(["Red."])
        await expect(opens.filter(has_text="fruit")).to_have_count(1)
        await page.click("[aria-label='Rename “apples”']")
        await page.click("#message")
        await expect(page.locator("#message")).to_be_focused()

    @asynccontextmanager
    async def list_told(self, page: Page) -> AsyncIterator[None]:
        """Waits at its end until the page has the list that the server told meanwhile."""
        async with page.expect_response("**/sessions") as told:
            yield
        await (await told.value).finished()
        await self.settled(page)


class Many(PageCase):
    async def test_a_turn_goes_on_while_another_conversation_is_looked_at(self) -> None:
        gate = Gate()
        self.model.will_play("slowly", ["One. ", gate, "Two."])
        page = await self.page()
        await self.say(page, "slowly")
        await self.prose(page, "One.")
        await page.click("#new")
        await expect(page.locator("article")).to_have_count(0)
        gate.set()
        await page.click("text=slowly")
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose"), "One. Two.")

    async def test_earlier_messages_are_shown_on_demand_where_they_belong(self) -> None:
        self.model.will_play("", ["Yes."])
        page = await self.page()
        session = await page.evaluate("sessionStorage.getItem('session')")
        for number in range(22):
            asked = {"message": f"question {number}", "sessionId": session}
            self.assertEqual((await self.post("/chat", asked)).status, 200)
        await page.reload()
        await expect(page.locator(".mine")).to_have_count(20)
        await page.click("#earlier-button")
        await expect(page.locator(".mine")).to_have_text([f"question {n}" for n in range(22)])
        await expect(page.locator("#earlier-button")).to_be_hidden()

    async def test_a_refused_folder_leaves_models_and_a_mode_is_chosen(self) -> None:
        page = await self.page()
        before = await page.locator("#workspace").input_value()
        await page.fill("#workspace", "/")
        await page.keyboard.press("Enter")
        await expect(page.locator(".trouble").first).to_be_visible()
        await expect(page.locator("#workspace")).to_have_value(before)
        await expect(page.locator("#model option")).not_to_have_count(0)
        await page.evaluate("sessionStorage.setItem('workspace', '/')")
        await page.evaluate("sessionStorage.removeItem('session')")
        await page.reload()
        await expect(page.locator("#model option")).not_to_have_count(0)
        # The CLI lets nothing run unasked in a folder that it does not trust.
        await page.select_option("#mode", "autoEdit")
        await expect(page.locator(".trouble").first).to_be_visible()
        await expect(page.locator("#mode")).to_have_value("default")
        await page.select_option("#mode", "plan")
        await self.say(page, "plan it")
        await self.answered(page)
        await page.reload()
        await self.answered(page)
        await expect(page.locator("#mode")).to_have_value("plan")

    @unittest.skipUnless(hasattr(Locator, "aria_snapshot"), "needs Playwright 1.49, Python 3.9")
    async def test_each_control_has_a_name_for_those_who_do_not_see_it(self) -> None:
        page = await self.page()
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 700})
            tree = await page.locator("body").aria_snapshot()
            nameless = [
                line
                for line in tree.splitlines()
                if line.split('"')[0].strip(" -:") in ("button", "combobox", "textbox", "searchbox")
            ]
            self.assertEqual([line for line in nameless if '"' not in line], [], tree)
            self.assertIn('log "Conversation"', tree)
            self.assertIn("- status", tree)
        await page.click("#list-button")
        await expect(page.locator("#search")).to_be_focused()
        await self.assert_sound(page)


PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
# All that can be hit and is too small for a finger. Links within a text are as small as it is.
SMALL = """
() => [...document.querySelectorAll("button, input, select, textarea, summary, [role=option]")]
  .filter((it) => it.checkVisibility())
  .map((it) => [it, it.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44)
  .map(([it, { width, height }]) => `${it.outerHTML.slice(0, 80)} ${width} ${height}`)
"""


class Phone(PageCase):
    async def assert_fits(self, page: Page) -> None:
        """All can be hit, in one row at the top, and nothing is wider than the screen."""
        self.assertEqual(await page.evaluate(SMALL), [])
        self.assertLess(await page.evaluate("document.querySelector('header').offsetHeight"), 60)
        self.assertEqual(await page.evaluate("document.documentElement.scrollWidth"), 390)
        await self.assert_sound(page)

    async def test_all_can_be_hit_by_a_finger_and_the_header_is_one_row(self) -> None:
        path = self.write("a.txt", "old\n")
        code = "```python\nprint()\n```\n\n| a |\n|---|\n| b |"
        self.model.will_play("explain", [thought("Planning", "it"), code])
        self.model.will_play(
            "change", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        page = await self.page(**PHONE)
        await self.assert_fits(page)
        await page.fill("#message", "explain")
        await page.tap("#send")
        await self.answered(page)
        await self.assert_fits(page)
        await page.fill("#message", "change")
        await page.tap("#send")
        await expect(page.locator(".question .no")).to_be_visible()
        await page.fill("#message", "next")
        await page.tap("#send")
        await expect(page.locator("#hold")).to_be_visible()
        await self.assert_fits(page)
        # There is neither an Escape nor a row of digits.
        await expect(page.locator("#state")).to_have_text("Your decision is wanted.")
        await expect(page.locator("kbd").first).to_be_hidden()
        await page.tap("#hold")
        await page.tap(".question .main")
        await expect(page.locator(".usage")).to_have_count(2)
        await page.tap(".changes summary")
        await expect(page.locator(".changed button")).to_be_visible()
        await self.assert_fits(page)
        await page.tap("#list-button")
        await expect(page.locator("#conversations .remove")).to_be_visible()
        await self.assert_fits(page)
        await page.tap("#conversations .remove")
        await self.assert_fits(page)

    async def test_folder_model_mode_and_login_are_behind_a_button(self) -> None:
        page = await self.page(**PHONE)
        await expect(page.locator("#mode")).to_be_hidden()
        await page.tap("#settings-button")
        await self.assert_fits(page)
        await page.select_option("#mode", "plan")
        async with page.expect_response(lambda it: it.request.method == "PATCH"):
            await page.select_option("#mode", "default")
        await page.tap("#account-button")
        await self.assert_fits(page)
        await page.tap("#account-close")
        await expect(page.locator("#account-button")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#settings")).to_be_hidden()
        await expect(page.locator("#settings-button")).to_be_focused()
        await page.tap("#settings-button")
        await page.tap("#scroller", position={"x": 100, "y": 700})
        await expect(page.locator("#settings")).to_be_hidden()
        await page.set_viewport_size({"width": 1440, "height": 900})
        await expect(page.locator("#mode")).to_be_visible()
        await expect(page.locator("#settings-button")).to_be_hidden()

    async def test_enter_begins_a_line_where_fingers_type_and_the_button_sends(self) -> None:
        self.model.will_play("one", ["Yes."])
        page = await self.page(**PHONE)
        await page.tap("#message")
        await page.keyboard.type("one")
        await page.keyboard.press("Enter")
        await page.keyboard.type("two")
        await expect(page.locator("#message")).to_have_value("one\ntwo")
        await page.tap("#send")
        await expect(page.locator(".mine")).to_have_text("one\ntwo")
        await self.answered(page)
        # A keyboard that was attached to it has the key.
        await page.tap("#message")
        await page.keyboard.type("one")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".usage")).to_have_count(2)


class Elsewhere(PageCase):
    """What happens in another tab, as on another device."""

    async def test_a_second_tab_sees_what_happens_and_can_decide(self) -> None:
        path = self.write("a.txt", "old\n")
        gate = Gate()
        written = call("write_file", file_path=path, content="new\n")
        self.model.will_play("apples", ["Yes."])
        self.model.will_play("change it", ["Half. ", gate, written], ["Done."])
        one = await self.page()
        await self.say(one, "apples")
        await self.answered(one)
        two = await self.page()
        await two.click("text=apples")
        await expect(two.locator(".prose")).to_have_text(["Yes."])
        await self.say(one, "change it")
        await expect(two.locator(".mine")).to_have_text(["apples", "change it"])
        await expect(two.locator(".prose")).to_have_text(["Yes.", "Half."])
        await expect(two.locator("#stop")).to_be_visible()
        gate.set()
        await two.click(".question .main")
        for page in (one, two):
            await self.answered(page)
            await expect(page.locator(".question")).to_have_count(0)
            await expect(page.locator("#send")).to_be_visible()
            await expect(page.locator(".prose")).to_have_text(["Yes.", "Half.", "Done."])
            await expect(page.locator(".usage")).to_have_count(2)
        self.assertEqual(self.read("a.txt"), "new\n")
        await self.say(two, "apples")
        await expect(one.locator(".mine")).to_have_count(3)
        await expect(one.locator(".usage")).to_have_count(3)
        await self.assert_sound(two)

    async def test_a_tab_that_was_out_of_sight_makes_up_for_what_it_missed(self) -> None:
        self.model.will_play("apples", ["Yes."])
        self.model.will_play("second", ["And yes."])
        one = await self.page()
        await self.say(one, "apples")
        await self.answered(one)
        two = await self.page()
        await two.click("text=apples")
        await expect(two.locator(".prose")).to_have_text(["Yes."])
        # The page ends its stream itself, and can hear of nothing from then on.
        async with two.expect_event("requestfailed", lambda it: it.url.endswith("/events")):
            await two.evaluate(HIDE, True)
        await self.say(one, "second")
        await expect(one.locator(".usage")).to_have_count(2)
        await expect(two.locator(".mine")).to_have_count(1)
        await two.evaluate(HIDE, False)
        await expect(two.locator(".prose")).to_have_text(["Yes.", "And yes."])

    async def test_an_answer_that_ends_while_it_is_opened_is_shown_whole(self) -> None:
        gate, is_over = Gate(), asyncio.Event()
        self.model.will_play("apples", ["Half ", gate, "and half."])
        one = await self.page()
        two = await self.page()
        await self.say(one, "apples")
        await self.prose(one, "Half")

        async def hold(route: Route) -> None:
            response = await route.fetch()
            gate.set()
            await is_over.wait()
            await route.fulfill(response=response)

        await two.route("**/messages", hold)
        await two.click("text=apples")
        await self.answered(one)
        await expect(two.locator("#conversations small", has_text="at work")).to_have_count(0)
        is_over.set()
        await expect(two.locator(".prose")).to_have_text(["Half and half."])

    async def test_one_that_the_server_plays_no_more_is_shown_by_its_messages(self) -> None:
        gate, is_over = Gate(), asyncio.Event()
        self.model.will_play("apples", ["Half ", gate, "and half."])
        self.model.will_play("pears", ["Green."])
        one = await self.page()
        two = await self.page()
        await self.say(one, "apples")
        await self.prose(one, "Half")

        async def hold(route: Route) -> None:
            gate.set()
            await is_over.wait()
            await route.continue_()

        # A turn is played again only until the next one begins.
        await two.route("**/chat/*/events", hold)
        await two.click("text=apples")
        await self.answered(one)
        await self.say(one, "pears")
        await expect(one.locator(".usage")).to_have_count(2)
        is_over.set()
        await expect(two.locator(".prose")).to_have_text(["Half and half.", "Green."])
        await expect(two.locator("#state")).to_have_text("")


# A headless browser shows all its tabs.
HIDE = """
(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""


class Completing(PageCase):
    async def test_files_are_completed_by_the_keys_folder_by_folder(self) -> None:
        os.mkdir(self.path("sources"))
        for name in ("sources/with blank.txt", "sources/other.py", ".hidden", "so.txt"):
            self.write(name, "")
        page = await self.page()
        await page.fill("#workspace", self.workspace)
        await page.keyboard.press("Enter")
        await expect(page.locator("#workspace")).to_have_attribute("title", self.workspace)
        await page.click("#message")
        await page.keyboard.type("look at @s")
        items = page.locator("#suggestions li")
        await expect(items).to_have_text(["so.txt", "sources/"])
        await self.assert_sound(page)
        await page.keyboard.press("ArrowDown")
        await expect(items.nth(1)).to_have_attribute("aria-selected", "true")
        await page.keyboard.press("Enter")
        await expect(items).to_have_text(["other.py", "with blank.txt"])
        await page.keyboard.type("bl")
        await expect(items).to_have_text(["with blank.txt"])
        await page.keyboard.press("Tab")
        message = page.locator("#message")
        await expect(message).to_have_value("look at @sources/with\\ blank.txt ")
        await expect(page.locator("#suggestions")).to_be_hidden()
        await page.keyboard.type("and @")
        await expect(items.first).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#suggestions")).to_be_hidden()
        await expect(message).to_be_focused()

    async def test_the_commands_of_the_agent_are_completed(self) -> None:
        page = await self.page()
        await page.click("#message")
        await page.keyboard.type("/memory s")
        await expect(page.locator("#suggestions li span")).to_have_text(["memory show"])
        await page.locator("#suggestions li").click()
        await expect(page.locator("#message")).to_have_value("/memory show ")
        await expect(page.locator("#message")).to_be_focused()
        await page.keyboard.press("Enter")
        await self.answered(page)
        await self.assert_calm(page)


PNG = b"\x89PNG\r\n\x1a\n and a picture"
# A file as it comes with a drag or out of the clipboard.
BRING = """
([type, name, text]) => {
  const transfer = new DataTransfer();
  const bytes = Uint8Array.from(text, (it) => it.charCodeAt(0));
  transfer.items.add(new File([bytes], name, { type: "image/png" }));
  const how = { bubbles: true, cancelable: true };
  const event = type === "paste"
    ? new ClipboardEvent(type, { ...how, clipboardData: transfer })
    : new DragEvent(type, { ...how, dataTransfer: transfer });
  document.getElementById("message").dispatchEvent(event);
}
"""


class Attaching(PageCase):
    async def bring(self, page: Page, event: str, name: str, content: bytes = PNG) -> None:
        await page.evaluate(BRING, [event, name, content.decode("latin-1")])

    async def test_files_that_are_dropped_pasted_or_chosen_go_along_with_the_message(self) -> None:
        self.model.will_play("look", ["A picture."])
        page = await self.page()
        await self.bring(page, "dragover", "dropped.png")
        await expect(page.locator("#drop-here")).to_be_visible()
        await self.bring(page, "drop", "dropped.png")
        await expect(page.locator("#drop-here")).to_be_hidden()
        names = page.locator("#attached span")
        await expect(names).to_have_text(["dropped.png"])
        await self.bring(page, "paste", "pasted.png")
        await expect(names).to_have_text(["dropped.png", "pasted.png"])
        chosen = {"name": "chosen.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4"}
        await page.set_input_files("#files", [chosen])  # type: ignore[arg-type]
        await expect(names).to_have_text(["dropped.png", "pasted.png", "chosen.pdf"])
        await page.click("[aria-label='Remove “pasted.png”']")
        await expect(names).to_have_text(["dropped.png", "chosen.pdf"])
        await self.assert_sound(page)
        await self.say(page, "look")
        await self.answered(page)
        await expect(page.locator("#attached")).to_be_hidden()
        self.assertIn(base64.b64encode(PNG).decode(), self.model.received())
        await page.reload()
        enclosed = page.locator(".enclosed li")
        await expect(enclosed).to_have_text(["dropped.png", "chosen.pdf"])
        await self.assert_sound(page)

    async def test_a_file_that_is_refused_is_told_and_costs_no_other(self) -> None:
        page = await self.page()
        await self.bring(page, "drop", "text.png", b"no picture")
        await self.bring(page, "drop", "picture.png")
        await expect(page.locator(".trouble")).to_contain_text("this file has other content")
        await expect(page.locator("#attached span")).to_have_text(["picture.png"])


class Agents(PageCase):
    async def open_with_two(self) -> Page:
        """The page offers another CLI, too, which this server does not offer in truth; no token is
        given yet."""
        usual = (await self.get("/agents"))["agents"]
        other = {**usual[0], "id": "qwen", "name": "Qwen Code", "isDefault": False}
        page = await self.open(self.server.url)
        told = {"success": True, "agents": [*usual, other]}
        await page.route("**/agents", lambda route: route.fulfill(json=told))
        return page

    async def test_a_conversation_is_begun_with_the_cli_that_was_chosen(self) -> None:
        page = await self.open_with_two()
        await self.enter(page, self.server.token)
        await expect(page.locator("#agent option")).to_have_text(["Gemini CLI", "Qwen Code"])
        async with page.expect_request(lambda it: it.url.endswith("/auth/status?agent=qwen")):
            await page.select_option("#agent", "qwen")
        await expect(page.locator(".trouble")).to_be_visible()

    async def test_what_is_sent_while_another_cli_is_chosen_goes_to_none_of_them(self) -> None:
        page = await self.open_with_two()
        await self.enter(page, self.server.token)
        await expect(page.locator("#model option")).not_to_have_count(0)
        known = asyncio.Event()
        told = (await self.get("/auth/status")).body
        told["data"].update(isAuthenticated=False, authType=None)

        async def hold(route: Route) -> None:
            await known.wait()
            await route.fulfill(json=told)

        await page.route("**/auth/status?agent=qwen", hold)
        await page.select_option("#agent", "qwen")
        await self.say(page, "hello")
        await expect(page.locator("#hold")).to_be_visible()
        known.set()
        await expect(page.locator("#account")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#agent")).to_have_value("gemini")
        await expect(page.locator("#message")).to_have_value("hello")
        await expect(page.locator("#unsent")).to_have_text("Not sent yet.")
        await expect(page.locator(".mine")).to_have_count(0)

    async def test_another_cli_can_be_chosen_only_once_there_is_a_conversation(self) -> None:
        page = await self.open_with_two()
        may_begin = asyncio.Event()

        async def hold(route: Route) -> None:
            if route.request.method == "POST":
                await may_begin.wait()
            await route.continue_()

        await page.route("**/sessions", hold)
        async with page.expect_request(lambda it: it.method == "POST"):
            await self.enter(page, self.server.token)
        await expect(page.locator("#agent option")).to_have_count(2)
        await expect(page.locator("#agent")).to_be_disabled()
        may_begin.set()
        await expect(page.locator("#agent")).to_be_enabled()

    async def test_who_is_not_logged_in_to_one_cli_can_choose_another(self) -> None:
        page = await self.open_with_two()
        told = (await self.get("/auth/status")).body
        told["data"].update(isAuthenticated=False, authType=None)
        await page.route("**/auth/status*", lambda route: route.fulfill(json=told))
        await self.enter(page, self.server.token)
        await expect(page.locator("#account")).to_be_visible()
        await page.keyboard.press("Escape")
        async with page.expect_request(lambda it: it.url.endswith("/auth/status?agent=qwen")):
            await page.select_option("#agent", "qwen")
        await expect(page.locator("#model option")).to_have_count(0)


class Hostile(PageCase):
    async def test_what_a_model_says_is_text_and_nothing_else(self) -> None:
        markup = (
            "<img src=x onerror=\"document.title='owned'\"><script>1</script> [a](javascript:1)"
        )
        path = self.write("a.txt", "old\n")
        content = markup + "\u202e\n"
        written = call("write_file", file_path=path, content=content)
        said = [thought(markup, markup), markup, written]
        self.model.will_play("attack", said, ["```\n" + markup + "\n```"])
        page = await self.page()
        await self.say(page, "attack")
        await expect(page.locator(".question button").first).to_be_attached()
        self.assertIn("<U+202E>", await self.text(page, ".diff"))
        await page.click(".question .main")
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose"), markup)
        self.assertEqual(
            await page.evaluate("document.querySelectorAll('#log img, #log script').length"), 0
        )
        self.assertEqual(await page.evaluate("document.querySelectorAll('#log a').length"), 0)
        self.assertNotIn("owned", await page.evaluate("document.title"))
        await self.assert_sound(page)


class Token(PageCase):
    async def test_it_is_taken_out_of_the_address(self) -> None:
        page = await self.page()
        self.assertEqual(await page.evaluate("location.href"), self.server.url + "/")
        stored = await page.evaluate("JSON.stringify([{...localStorage}, document.cookie])")
        self.assertEqual(stored, '[{},""]')

    async def test_without_it_there_is_a_field_and_nothing_else(self) -> None:
        page = await self.open(self.server.url + "/")
        await expect(page.locator("#token")).to_be_visible()
        await self.assert_accessible(page)
        self.assertEqual(
            (await self.count(page, "#composer"), await self.count(page, "#new")), (0, 0)
        )
        await self.enter(page, "wrong")
        await expect(page.locator("#token-form p").first).to_contain_text("not take")
        await self.enter(page, f"{self.server.url}/#token={self.server.token}")
        await expect(page.locator("#model option")).not_to_have_count(0)
        self.assertEqual(
            (await self.count(page, "#token-form"), await self.count(page, "#composer")), (0, 1)
        )

    async def test_one_that_only_reads_shows_what_is_said_and_offers_nothing_else(self) -> None:
        self.model.will_play("apples", ["Red."])
        one = await self.page()
        with open(self.server.read_only_file) as file:
            page = await self.open(f"{self.server.url}/#token={file.read().strip()}")
        await expect(page.locator("#composer")).to_be_hidden()
        await expect(page.locator("#state")).to_contain_text("only")
        await self.say(one, "apples")
        await page.click("text=apples")
        await expect(page.locator(".prose")).to_have_text(["Red."])
        await self.say(one, "apples")
        await expect(page.locator(".prose")).to_have_text(["Red.", "Red."])
        await expect(page.locator(".trouble")).to_have_count(0)
        await self.assert_accessible(page)

    async def test_one_that_only_reads_shows_a_turn_that_runs_to_its_end(self) -> None:
        gate = Gate()
        self.model.will_play("apples", ["Half ", gate, "and half."])
        one = await self.page()
        await self.say(one, "apples")
        await self.prose(one, "Half")
        with open(self.server.read_only_file) as file:
            page = await self.open(f"{self.server.url}/#token={file.read().strip()}")
        await page.click("text=apples")
        await expect(page.locator(".prose")).to_have_text(["Half"])
        gate.set()
        await expect(page.locator(".prose")).to_have_text(["Half and half."])
        await expect(page.locator(".usage")).to_have_count(1)

    async def test_after_one_that_only_reads_the_whole_one_opens_everything(self) -> None:
        self.model.will_play("apples", ["Red."])
        one = await self.page()
        with open(self.server.read_only_file) as file:
            page = await self.open(f"{self.server.url}/#token={file.read().strip()}")
        await expect(page.locator("#state")).to_contain_text("only")
        refused = {"error": "Unauthorized", "code": "UNAUTHORIZED"}
        both = asyncio.Semaphore(0)

        async def refuse(route: Route) -> None:
            await route.fulfill(status=401, json=refused)
            both.release()

        await page.route("**/sessions", refuse)
        await self.say(one, "apples")
        # At the beginning and at the end of the turn.
        await both.acquire()
        await both.acquire()
        await self.settled(page)
        await expect(page.locator("#token-form")).to_be_visible()
        await page.unroute("**/sessions")
        await self.enter(page, self.server.token)
        await expect(page.locator("#workspace")).to_be_enabled()


class ComingBack(PageCase):
    async def test_a_reload_shows_the_turn_that_runs_from_its_beginning(self) -> None:
        gate = Gate()
        self.model.will_play("wait", ["Half ", gate, "and half."])
        page = await self.page()
        await self.say(page, "wait")
        await self.prose(page, "Half")
        await page.reload()
        await self.prose(page, "Half")
        self.assertEqual(await self.text(page, ".mine"), "wait")
        gate.set()
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose"), "Half and half.")
        await self.assert_sound(page)

    async def test_a_question_is_there_again_after_a_reload(self) -> None:
        path = self.write("a.txt", "old\n")
        self.model.will_play(
            "ask", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        page = await self.page()
        await self.say(page, "ask")
        await expect(page.locator(".question button").first).to_be_attached()
        await page.reload()
        await page.click(".question .main")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), "new\n")

    async def test_a_new_conversation_begins_empty(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.page()
        await self.say(page, "hello")
        await self.answered(page)
        before = await page.evaluate("sessionStorage.getItem('session')")
        await page.click("#new")
        await expect(page.locator("article")).to_have_count(0)
        after = await page.evaluate("sessionStorage.getItem('session')")
        self.assertNotEqual(after, before)


# What a page of somebody else does with OpenAI's own client.
TALK = """
async ([url, apiKey]) => {
  const { default: OpenAI } = await import("/index.mjs");
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, dangerouslyAllowBrowser: true });
  const messages = [{ role: "user", content: "hello" }];
  const asked = { headers: { "X-Request-Id": "mine", "Idempotency-Key": "once" } };
  const { data, request_id } =
    await client.chat.completions.create({ model: "gemini", messages }, asked).withResponse();
  let said = "";
  const stream = await client.chat.completions.create({ model: "gemini", messages, stream: true });
  for await (const { choices: [one] } of stream) said += one?.delta?.content ?? "";
  return [data.choices[0].message.content, said, request_id];
}
"""


class OtherPages(PageCase):
    @contextmanager
    def somebody(self) -> Iterator[str]:
        """The origin of another server, which has OpenAI's client."""

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

        modules = os.path.join(HERE, "clients", "node_modules", "openai")
        if not os.path.exists(modules):
            self.skipTest("the clients are not installed: make setup")
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=modules))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    async def test_a_page_that_was_named_talks_by_the_client_of_openai_and_no_other(self) -> None:
        self.model.will_play("hello", ["Hi."])
        with self.somebody() as origin:
            server = await self.another_server(origins=frozenset([origin]))
            await server.agent.account.configure(KEY)
            page = await self.open(f"{origin}/README.md")
            talk = [server.url, server.token]
            self.assertEqual(await page.evaluate(TALK, talk), ["Hi.", "Hi.", "mine"])
            with self.assertRaisesRegex(Error, "Connection error"):
                await page.evaluate(TALK, [self.server.url, self.server.token])


class Login(PageCase):
    async def test_who_the_user_is_can_be_seen_and_changed(self) -> None:
        page = await self.page()
        self.assertEqual(await self.text(page, "#account-button"), "Login: Gemini API key")
        await page.click("#account-button")
        await self.assert_sound(page)
        await page.click("#logout")
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "false")
        self.assertEqual(await self.text(page, "#account-button"), "Login: Not logged in")
        await page.click("#api-key")
        await self.enter(page, "another-key")
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "true")
        self.assertEqual(await page.evaluate("document.querySelector('#api-key').value"), "")
        await expect(page.locator("#account")).not_to_have_attribute("open", "")
        await self.assert_sound(page)

    async def test_it_speaks_the_language_of_the_browser(self) -> None:
        page = await self.page(language="zh-CN")
        self.assertEqual(await self.text(page, "#new"), "新会话")
        await self.assert_accessible(page)
        self.assertEqual(await page.evaluate("document.documentElement.lang"), "zh")


if __name__ == "__main__":
    unittest.main()
