"""The API's web page in a headless Chromium on this machine, which reaches nothing else.

def setUpModule() -> None:
    PageCase.start()                             # one server, one CLI, one browser for the module

def tearDownModule() -> None:
    PageCase.stop()

class Example(PageCase):
    async def test_it(self) -> None:
        page = await self.page()                 # Playwright's, ready for a message
        await self.say(page, "hello")
        await self.answered(page)
        await self.assert_sound(page)

The browser is CHROMIUM of the environment, or the one that `make setup-browser` unpacks, or one of
the usual names in PATH.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import time
import unittest
from collections import defaultdict
from contextlib import ExitStack, suppress
from typing import Any, Awaitable, Callable, TypeVar

from agent_case import HERE, PROGRAM, ROOT
from api_case import ApiCase
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.api.serving.access import Access
from playwright.async_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Route,
    async_playwright,
    expect,
)

sys.path.insert(0, ROOT)

from tools.browser import browser_environment, find_browser  # noqa: E402

T = TypeVar("T")
# Whatever a page asks for, it is not asked of anybody else.
OPTIONS = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
# Milliseconds for a condition to become true on a busy machine.
PATIENCE = 150_000
# Tells of what the page's policy did not let happen.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (it) => violations.push(it.blockedURI));
"""

# What is asked for to see whether requests are passed on, and the answer then.
STYLES, PASSED_ON = "**/page.css", "passed on"
ASK_STYLES = "async () => (await fetch('/page.css', { cache: 'no-store' })).text()"

# What axe finds that keeps somebody from using the page: each rule with the elements that break it.
ASK_AXE = """
async (rules) => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"], ...(rules && { runOnly: rules }),
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => [id, ...nodes.map((it) => it.html + it.failureSummary)]);
}
"""

expect.set_options(timeout=PATIENCE)


@functools.lru_cache(maxsize=None)
def axe() -> str:
    path = os.path.join(HERE, "node_modules", "axe-core", "axe.min.js")
    with open(path, encoding="utf-8") as file:
        return file.read()


async def what_became_of(request: Request) -> str:
    """In a line."""
    told = f"{request.method} {request.url}"
    if request.failure:
        return f"{told} failed: {request.failure}"
    if request.timing["responseStart"] < 0:
        return f"{told} is not answered"
    response = await request.response()
    return f"{told} {response.status if response else 'ended'}"


@unittest.skipUnless(find_browser(), "no Chromium found: put one into PATH")
class PageCase(ApiCase):
    # A page may take as long to come back as anything else.
    api: dict[str, Any] = {"grace": PATIENCE / 1000, "access": Access(has_read_only_token=True)}
    browser: Browser
    shared = ExitStack()

    @classmethod
    def start(cls) -> None:
        """For all classes of a module: the CLI takes seconds to start, and a browser one."""
        if find_browser() and os.path.exists(PROGRAM):
            super().setUpClass()
            cls.run_soon(cls.start_browser())

    @classmethod
    def stop(cls) -> None:
        cls.shared.close()

    @classmethod
    def setUpClass(cls) -> None:
        """`start` has been there."""

    @classmethod
    def addClassCleanup(cls, function: Callable[..., Any], /, *args: Any, **more: Any) -> None:
        # Not with the class that happens to run: the next one goes on with all of it.
        cls.shared.callback(function, *args, **more)

    @classmethod
    async def start_browser(cls) -> None:
        playwright = await async_playwright().start()
        cls.addClassCleanup(lambda: cls.run_soon(playwright.stop()))
        cls.browser = await playwright.chromium.launch(
            executable_path=find_browser(),
            args=OPTIONS,
            env=browser_environment(),
        )
        cls.addClassCleanup(lambda: cls.run_soon(cls.browser.close()))

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.run_soon, self.forget_all())
        # By page: what it asked for; uncaught exceptions, and errors in the console.
        self.requests: dict[Page, list[Request]] = defaultdict(list)
        self.complaints: dict[Page, list[str]] = defaultdict(list)

    async def forget_all(self) -> None:
        """Nothing of a test is there for the next one: neither tabs nor conversations."""
        for context in self.browser.contexts:
            await context.close()
        await self.agent.turns.cancel_and_wait()
        while self.agent.list_sessions():
            for info in self.agent.list_sessions():
                # One whose session is just being opened can be removed a moment later.
                with suppress(AgentError):
                    await self.agent.remove_when_over(info.id)
            await asyncio.sleep(0.02)

    async def open(self, url: str, language: str = "en-US", **device: Any) -> Page:
        """A tab with a storage of its own, on a device as Playwright describes them."""
        context = await self.browser.new_context(locale=language, **device)
        context.set_default_timeout(PATIENCE)
        await context.add_init_script(WATCH)
        page = await context.new_page()
        page.on("request", lambda request: self.requests[page].append(request))
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
        try:
            await expect(page.locator("#model option")).not_to_have_count(0)
        except AssertionError as error:
            shown = await page.inner_text("body")
            asked = [await what_became_of(request) for request in self.requests[page][-12:]]
            raise AssertionError(f"{shown!r}, {self.complaints[page]}, {asked}") from error
        return page

    async def intercept(
        self, page: Page, url: str, handle: Callable[[Route], Awaitable[None]]
    ) -> None:
        """Let this answer what the page asks for from here on. Chromium says that it passes on
        requests a moment before it does, and one in between reaches the server: so it is tried."""

        async def say_so(route: Route) -> None:
            await route.fulfill(body=PASSED_ON)

        await page.route(url, handle)
        await page.route(STYLES, say_so)
        ends = time.monotonic() + PATIENCE / 1000
        while await page.evaluate(ASK_STYLES) != PASSED_ON:
            self.assertLess(time.monotonic(), ends, "no request is passed on")
        await page.unroute(STYLES, say_so)

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

    async def settled(self, page: Page) -> None:
        """Wait until the page has handled the answers that it has. Of two, the earlier is first."""
        await page.evaluate("fetch('/').then((it) => it.text())")

    async def until_equal(self, look: Callable[[], Awaitable[T]], expected: T) -> None:
        """Until this is what `look` gives; the failure says what it gave instead."""
        loop = asyncio.get_running_loop()
        ends, seen = loop.time() + PATIENCE / 1000, await look()
        while seen != expected and loop.time() < ends:
            await asyncio.sleep(0.01)
            seen = await look()
        self.assertEqual(seen, expected)

    async def text(self, page: Page, selector: str) -> str:
        return await page.locator(selector).first.inner_text()

    async def count(self, page: Page, selector: str) -> int:
        """Of those that can be seen."""
        return await self.visible(page, selector).count()

    def visible(self, page: Page, selector: str) -> Locator:
        return page.locator(selector).locator("visible=true")

    async def assert_sound(self, page: Page) -> None:
        """It is calm, and axe finds nothing serious, in the light and in the dark."""
        await self.assert_calm(page)
        await self.assert_accessible(page)
        await page.emulate_media(color_scheme="dark")
        await self.assert_accessible(page, ["color-contrast"])
        await page.emulate_media(color_scheme="light")

    async def assert_accessible(self, page: Page, rules: list[str] | None = None) -> None:
        """As the page looks now, by all rules of axe or by these."""
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(axe())
        self.assertEqual(await page.evaluate(ASK_AXE, rules), [])

    async def assert_calm(self, page: Page) -> None:
        """Nothing was asked of anybody else, nothing thrown, nothing blocked."""
        mine = self.server.url + "/"
        others = [each.url for each in self.requests[page] if not each.url.startswith(mine)]
        self.assertEqual((others, self.complaints[page]), ([], []))
        self.assertEqual(await page.evaluate("violations"), [])
