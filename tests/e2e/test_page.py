"""The API's web page in a real browser, with the real Gemini CLI behind it."""

from __future__ import annotations

import os
import sys
import unittest
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import on_loop  # noqa: E402
from api_case import ApiCase  # noqa: E402
from browser import Browser, Page, program  # noqa: E402
from model_server import Failure, Gate, call, thought  # noqa: E402


@unittest.skipUnless(program(), "no Chromium in PATH: apt-get install chromium")
class PageCase(ApiCase):
    # Seconds that a page may take to come back, on a busy machine.
    api: dict[str, Any] = {"grace": 20.0}

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.browser = Browser()
        cls.run_soon(cls.browser.start())
        cls.addClassCleanup(lambda: cls.run_soon(cls.browser.stop()))

    async def page(self, **more: Any) -> Page:
        """One that is ready for a message."""
        page = await self.browser.open(f"{self.server.url}/#token={self.server.token}", **more)
        await page.until("document.querySelector('#model').options.length > 0")
        return page

    async def say(self, page: Page, message: str) -> None:
        await page.click("#message")
        await page.type(message)
        await page.press("Enter")

    async def answered(self, page: Page) -> None:
        await page.until("document.querySelector('article:last-of-type .usage')")

    async def assert_calm(self, page: Page) -> None:
        """Nothing was asked of anybody else, nothing thrown, nothing blocked."""
        others = [url for url in page.requests if not url.startswith(self.server.url + "/")]
        self.assertEqual((others, page.complaints), ([], []))
        self.assertEqual(await page.run("violations"), [])


class Chat(PageCase):
    @on_loop
    async def test_an_answer_appears_while_it_is_said_with_its_thoughts_folded(self) -> None:
        gate = Gate()
        self.model.will_play("hello", [thought("Planning", "a greeting"), "Hi ", gate, "there."])
        page = await self.page()
        await self.say(page, "hello")
        await page.until("document.querySelector('.prose').textContent === 'Hi '")
        self.assertEqual(await page.count("#stop"), 1)
        gate.set()
        await self.answered(page)
        self.assertEqual(await page.text(".prose"), "Hi there.")
        self.assertEqual(await page.text(".mine"), "hello")
        self.assertIn("Planning", await page.text(".thoughts summary"))
        self.assertEqual(await page.count(".thoughts p"), 0)
        await page.click(".thoughts summary")
        self.assertEqual(await page.count(".thoughts p"), 1)
        self.assertEqual(await page.count("#send"), 1)
        await self.assert_calm(page)

    @on_loop
    async def test_a_file_is_written_once_its_diff_was_allowed(self) -> None:
        path = self.write("a.txt", "one\ntwo\nthree\n")
        content = "one\n2\nthree\n"
        written = call("write_file", file_path=path, content=content)
        self.model.will_play("change it", [written], ["Done."])
        page = await self.page()
        await self.say(page, "change it")
        await page.until("document.querySelector('.question button')")
        self.assertEqual(
            (await page.text(".diff")).split("\n"), ["  one", "- two", "+ 2", "  three"]
        )
        self.assertEqual(await page.text("figcaption"), path)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")
        await page.click(".question .main")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), content)
        self.assertEqual(await page.count(".question"), 0)
        self.assertEqual(await page.text(".call .status"), "done")
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
        self.assertEqual(await page.text(".call .status"), "failed")
        await self.assert_calm(page)

    @on_loop
    async def test_a_turn_can_be_stopped(self) -> None:
        self.model.will_play("for ever", ["Begun. ", Gate()])
        page = await self.page()
        await self.say(page, "for ever")
        await page.until("document.querySelector('.prose').textContent === 'Begun. '")
        await page.click("#stop")
        await self.answered(page)
        self.assertEqual((await page.count("#stop"), await page.count("#send")), (0, 1))
        self.assertEqual(await page.count(".notice"), 1)

    @on_loop
    async def test_an_error_of_the_model_is_told(self) -> None:
        self.model.will_play("fail", Failure(400, "the model is on holiday"))
        page = await self.page()
        await self.say(page, "fail")
        await page.until("document.querySelector('.trouble')")
        self.assertIn("on holiday", await page.text(".trouble"))
        self.assertEqual(await page.count("#send"), 1)


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
        await page.until("document.querySelector('.question button')")
        self.assertIn("<U+202E>", await page.text(".diff"))
        await page.click(".question .main")
        await self.answered(page)
        self.assertEqual(await page.text(".prose"), markup)
        self.assertEqual(
            await page.run("document.querySelectorAll('#log img, #log script').length"), 0
        )
        self.assertEqual(await page.run("document.querySelectorAll('#log a').length"), 0)
        self.assertNotIn("owned", await page.run("document.title"))
        await self.assert_calm(page)


class Token(PageCase):
    @on_loop
    async def test_it_is_taken_out_of_the_address(self) -> None:
        page = await self.page()
        self.assertEqual(await page.run("location.href"), self.server.url + "/")
        stored = await page.run("JSON.stringify([{...localStorage}, document.cookie])")
        self.assertEqual(stored, '[{},""]')

    @on_loop
    async def test_without_it_there_is_a_field_and_nothing_else(self) -> None:
        page = await self.browser.open(self.server.url + "/")
        await page.until("document.querySelector('#token').checkVisibility()")
        self.assertEqual((await page.count("#composer"), await page.count("#new")), (0, 0))
        await page.type("wrong")
        await page.press("Enter")
        await page.until("document.querySelector('#token-form p').textContent.includes('not take')")
        await page.type(f"{self.server.url}/#token={self.server.token}")
        await page.press("Enter")
        await page.until("document.querySelector('#model').options.length > 0")
        self.assertEqual((await page.count("#token-form"), await page.count("#composer")), (0, 1))


class ComingBack(PageCase):
    @on_loop
    async def test_a_reload_shows_the_turn_that_runs_from_its_beginning(self) -> None:
        gate = Gate()
        self.model.will_play("wait", ["Half ", gate, "and half."])
        page = await self.page()
        await self.say(page, "wait")
        await page.until("document.querySelector('.prose').textContent === 'Half '")
        await page.reload()
        await page.until("document.querySelector('.prose').textContent === 'Half '")
        self.assertEqual(await page.text(".mine"), "wait")
        gate.set()
        await self.answered(page)
        self.assertEqual(await page.text(".prose"), "Half and half.")
        await self.assert_calm(page)

    @on_loop
    async def test_a_question_is_there_again_after_a_reload(self) -> None:
        path = self.write("a.txt", "old\n")
        self.model.will_play(
            "ask", [call("write_file", file_path=path, content="new\n")], ["Done."]
        )
        page = await self.page()
        await self.say(page, "ask")
        await page.until("document.querySelector('.question button')")
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
        before = await page.run("sessionStorage.getItem('session')")
        await page.click("#new")
        await page.until("!document.querySelector('article')")
        await page.until(f"sessionStorage.getItem('session') !== {before!r}")


class Login(PageCase):
    @on_loop
    async def test_who_the_user_is_can_be_seen_and_changed(self) -> None:
        page = await self.page()
        self.assertEqual(await page.text("#account-button"), "Login: Gemini API key")
        await page.click("#account-button")
        await page.click("#logout")
        await page.until("document.querySelector('#account-button').dataset.ok === 'false'")
        self.assertEqual(await page.text("#account-button"), "Login: Not logged in")
        await page.click("#api-key")
        await page.type("another-key")
        await page.press("Enter")
        await page.until("document.querySelector('#account-button').dataset.ok === 'true'")
        self.assertEqual(await page.run("document.querySelector('#api-key').value"), "")
        await page.until("!document.querySelector('#account').open")
        await self.assert_calm(page)

    @on_loop
    async def test_it_speaks_the_language_of_the_browser(self) -> None:
        page = await self.page(language="zh-CN")
        self.assertEqual(await page.text("#new"), "新会话")
        self.assertEqual(await page.run("document.documentElement.lang"), "zh")


if __name__ == "__main__":
    unittest.main()
