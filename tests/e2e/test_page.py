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
from model_server import Gate, call, thought  # noqa: E402


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


if __name__ == "__main__":
    unittest.main()
