"""The API's web page in a real browser, with the real Gemini CLI behind it."""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import on_loop  # noqa: E402
from model_server import Failure, Gate, call, thought  # noqa: E402
from page_case import PageCase  # noqa: E402
from playwright.async_api import expect  # noqa: E402


class Chat(PageCase):
    @on_loop
    async def test_an_answer_appears_while_it_is_said_with_its_thoughts_folded(self) -> None:
        gate = Gate()
        self.model.will_play("hello", [thought("Planning", "a greeting"), "Hi ", gate, "there."])
        page = await self.page()
        await self.say(page, "hello")
        await self.prose(page, "Hi")
        self.assertEqual(await self.count(page, "#stop"), 1)
        gate.set()
        await self.answered(page)
        self.assertEqual(await self.text(page, ".prose"), "Hi there.")
        self.assertEqual(await self.text(page, ".mine"), "hello")
        self.assertIn("Planning", await self.text(page, ".thoughts summary"))
        self.assertEqual(await self.count(page, ".thoughts p"), 0)
        await page.click(".thoughts summary")
        self.assertEqual(await self.count(page, ".thoughts p"), 1)
        self.assertEqual(await self.count(page, "#send"), 1)
        await self.assert_calm(page)

    @on_loop
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
        await self.assert_calm(page)

    @on_loop
    async def test_what_is_rejected_is_not_written(self) -> None:
        path = self.write("a.txt", "old\n")
        self.model.will_play("no", [call("write_file", file_path=path, content="new\n")], ["Well."])
        page = await self.page()
        await self.say(page, "no")
        await page.click(".question .no")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), "old\n")
        self.assertEqual(await self.text(page, ".call .status"), "failed")
        await self.assert_calm(page)

    @on_loop
    async def test_a_turn_can_be_stopped(self) -> None:
        self.model.will_play("for ever", ["Begun. ", Gate()])
        page = await self.page()
        await self.say(page, "for ever")
        await self.prose(page, "Begun.")
        await page.click("#stop")
        await self.answered(page)
        self.assertEqual((await self.count(page, "#stop"), await self.count(page, "#send")), (0, 1))
        self.assertEqual(await self.count(page, ".notice"), 1)

    @on_loop
    async def test_an_error_of_the_model_is_told(self) -> None:
        self.model.will_play("fail", Failure(400, "the model is on holiday"))
        page = await self.page()
        await self.say(page, "fail")
        await expect(page.locator(".trouble").first).to_be_attached()
        self.assertIn("on holiday", await self.text(page, ".trouble"))
        self.assertEqual(await self.count(page, "#send"), 1)


class Hostile(PageCase):
    @on_loop
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
        await self.assert_calm(page)


class Token(PageCase):
    @on_loop
    async def test_it_is_taken_out_of_the_address(self) -> None:
        page = await self.page()
        self.assertEqual(await page.evaluate("location.href"), self.server.url + "/")
        stored = await page.evaluate("JSON.stringify([{...localStorage}, document.cookie])")
        self.assertEqual(stored, '[{},""]')

    @on_loop
    async def test_without_it_there_is_a_field_and_nothing_else(self) -> None:
        page = await self.open(self.server.url + "/")
        await expect(page.locator("#token")).to_be_visible()
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


class ComingBack(PageCase):
    @on_loop
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
        await self.assert_calm(page)

    @on_loop
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

    @on_loop
    async def test_a_new_conversation_begins_empty(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.page()
        await self.say(page, "hello")
        await self.answered(page)
        before = await page.evaluate("sessionStorage.getItem('session')")
        await page.click("#new")
        await expect(page.locator("article")).to_have_count(0)
        await page.wait_for_function(
            "before => sessionStorage.getItem('session') !== before", arg=before
        )


class Login(PageCase):
    @on_loop
    async def test_who_the_user_is_can_be_seen_and_changed(self) -> None:
        page = await self.page()
        self.assertEqual(await self.text(page, "#account-button"), "Login: Gemini API key")
        await page.click("#account-button")
        await page.click("#logout")
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "false")
        self.assertEqual(await self.text(page, "#account-button"), "Login: Not logged in")
        await page.click("#api-key")
        await self.enter(page, "another-key")
        await expect(page.locator("#account-button")).to_have_attribute("data-ok", "true")
        self.assertEqual(await page.evaluate("document.querySelector('#api-key').value"), "")
        await expect(page.locator("#account")).not_to_have_attribute("open", "")
        await self.assert_calm(page)

    @on_loop
    async def test_it_speaks_the_language_of_the_browser(self) -> None:
        page = await self.page(language="zh-CN")
        self.assertEqual(await self.text(page, "#new"), "新会话")
        self.assertEqual(await page.evaluate("document.documentElement.lang"), "zh")


if __name__ == "__main__":
    unittest.main()
