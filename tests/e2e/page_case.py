"""The API's web page in a headless Chromium on this machine, which reaches nothing else.

class Example(PageCase):
    @on_loop
    async def test_it(self) -> None:
        page = await self.page()                 # Playwright's, ready for a message
        await self.say(page, "hello")
        await self.answered(page)
        await self.assert_calm(page)

The browser is CHROMIUM of the environment, or one of the usual names in PATH, or the one that
`make setup-browser` unpacks.
"""

from __future__ import annotations

import sys
import unittest
from collections import defaultdict
from typing import Any

from agent_case import ROOT
from api_case import ApiCase
from playwright.async_api import Browser, ConsoleMessage, Locator, Page, async_playwright, expect

sys.path.insert(0, ROOT)

from tools.browser import environment, program  # noqa: E402

# Whatever a page asks for, it is not asked of anybody else.
OPTIONS = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
# Milliseconds for a condition to become true on a busy machine.
PATIENCE = 60_000
# Tells of what the page's policy did not let happen.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (it) => violations.push(it.blockedURI));
"""

expect.set_options(timeout=PATIENCE)


@unittest.skipUnless(program(), "no Chromium found: put one into PATH")
class PageCase(ApiCase):
    # Seconds that a page may take to come back, on a busy machine.
    api: dict[str, Any] = {"grace": 20.0}
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.run_soon(cls.start_browser())

    @classmethod
    async def start_browser(cls) -> None:
        playwright = await async_playwright().start()
        cls.addClassCleanup(lambda: cls.run_soon(playwright.stop()))
        cls.browser = await playwright.chromium.launch(
            executable_path=program(),
            args=OPTIONS,
            env=environment(),
        )
        cls.addClassCleanup(lambda: cls.run_soon(cls.browser.close()))

    def setUp(self) -> None:
        super().setUp()
        # By page: addresses that it asked for; uncaught exceptions, and errors in the console.
        self.requests: dict[Page, list[str]] = defaultdict(list)
        self.complaints: dict[Page, list[str]] = defaultdict(list)

    async def open(self, url: str, language: str = "en-US") -> Page:
        """A tab with a storage of its own."""
        context = await self.browser.new_context(locale=language)
        context.set_default_timeout(PATIENCE)
        await context.add_init_script(WATCH)
        page = await context.new_page()
        page.on("request", lambda request: self.requests[page].append(request.url))
        page.on("pageerror", lambda error: self.complaints[page].append(str(error)))

        def hear(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.complaints[page].append(f"{message.text} {message.location}")

        page.on("console", hear)
        await page.goto(url)
        return page

    async def page(self, **more: Any) -> Page:
        """One that is ready for a message."""
        page = await self.open(f"{self.server.url}/#token={self.server.token}", **more)
        await expect(page.locator("#model option")).not_to_have_count(0)
        return page

    async def say(self, page: Page, message: str) -> None:
        await page.click("#message")
        await self.enter(page, message)

    async def enter(self, page: Page, text: str) -> None:
        """Into what has the focus."""
        await page.keyboard.insert_text(text)
        await page.keyboard.press("Enter")

    async def answered(self, page: Page) -> None:
        await expect(page.locator("article:last-of-type .usage")).to_be_attached()

    async def prose(self, page: Page, text: str) -> None:
        """Wait until the first answer is this text; blanks at its ends are not drawn. Of one that
        goes on, the last character comes with what follows."""
        await expect(page.locator(".prose").first).to_have_text(text)

    async def text(self, page: Page, selector: str) -> str:
        return await page.locator(selector).first.inner_text()

    async def count(self, page: Page, selector: str) -> int:
        """Of those that can be seen."""
        return await self.seen(page, selector).count()

    def seen(self, page: Page, selector: str) -> Locator:
        return page.locator(selector).locator("visible=true")

    async def assert_calm(self, page: Page) -> None:
        """Nothing was asked of anybody else, nothing thrown, nothing blocked."""
        mine = self.server.url + "/"
        others = [url for url in self.requests[page] if not url.startswith(mine)]
        self.assertEqual((others, self.complaints[page]), ([], []))
        self.assertEqual(await page.evaluate("violations"), [])
