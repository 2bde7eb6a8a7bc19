"""The words of tables of the page in a browser.

A selector is one of Playwright's. In a text `{a.txt}` is the path of that file of the workspace,
`{TOKEN}` the server's token, `{touch_a}` a command that makes the file `a`, and the name of a
constant of the class's module its value; a file's text `a/b` is the lines "a" and "b". What is seen
is waited for.

What the model says to a message: pieces between " + ", several answers between " then ".

    ...                     it waits until the gate opens
    thinks Subject: more    a thought
    writes a.txt as b       a call of the tool; so does `runs ls`
    reports PLAN, asks FORM  an agent tells, or asks, what the constant of the class's module has
    wants make              it is asked whether that may run, and the agent goes on
    fails 403 Forbidden     the whole answer
    Half_                   a text; `_` is a blank
"""

from __future__ import annotations

import asyncio
import copy
import re
import sys
from typing import Any

from model_server import Failure, Gate, call, thought, wants
from page_case import PageCase
from playwright.async_api import Locator, Page, Route, expect

from tests.tables import word

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
DEVICES: dict[str, Any] = {"in zh-CN": {"language": "zh-CN"}, "on a phone": PHONE}
REFUSED = {"error": "Unauthorized", "code": "UNAUTHORIZED"}


def text(words: str) -> str:
    """What a row means by the text of a file."""
    return "" if words == "nothing" else words.replace("/", "\n") + "\n"


class PageTable(PageCase):
    """`tab` is the one that the words are about, `tabs` are all by their names."""

    tab: Page

    def setUp(self) -> None:
        super().setUp()
        self.tabs: dict[str, Page] = {}
        self.gate = Gate()
        self.addCleanup(self.gate.set)
        self.may_go_on = asyncio.Event()

    def fill(self, words: str) -> str:
        """With what stands between braces."""

        def value(found: re.Match[str]) -> str:
            name = found.group(1)
            known = vars(sys.modules[type(self).__module__])
            if name in ("TOKEN", "ROOT"):
                return self.server.token if name == "TOKEN" else self.root
            if name.startswith("touch_"):
                return f"touch '{self.path(name[len('touch_') :])}'"
            return str(known[name]) if name in known else self.path(name)

        return re.sub(r"\{([\w.]+)\}", value, words)

    def at(self, selector: str) -> Locator:
        return self.tab.locator(self.fill(selector))

    def constant(self, name: str) -> Any:
        return copy.deepcopy(vars(sys.modules[type(self).__module__])[name])

    # What is given.

    @word(r"to (.+?) the model says (.+)")
    def model_says(self, message: str, replies: str) -> None:
        self.model.will_play(message, *map(self.reply, replies.split(" then ")))

    def reply(self, words: str) -> Any:
        failed = re.fullmatch(r"fails (\d+) (.+)", words)
        if failed:
            return Failure(int(failed.group(1)), failed.group(2))
        return [self.piece(each) for each in words.split(" + ")]

    def piece(self, words: str) -> Any:
        for pattern, made in (
            (r"\.\.\.", lambda: self.gate),
            (r"thinks (.+): (.+)", thought),
            (
                r"writes (\S+) as (.+)",
                lambda name, new: call(
                    "write_file", file_path=self.path(name), content=text(self.fill(new))
                ),
            ),
            (r"reports ([A-Z_]+)", lambda name: {"tells": self.constant(name)}),
            (r"asks ([A-Z_]+)", lambda name: {"asks": self.constant(name)}),
            (r"wants (.+)", lambda line: wants(self.fill(line))),
            (r"runs (.+)", lambda line: call("run_shell_command", command=self.fill(line))),
        ):
            found = re.fullmatch(pattern, words)
            if found:
                return made(*found.groups())
        return self.fill(words.replace("_", " "))

    @word(r"(\S+) is the file (.+)")
    def given_file(self, name: str, words: str) -> None:
        self.write(name, text(self.fill(words)))

    @word(r"(\w+) is open( in zh-CN| on a phone| as it only reads| with no token)?")
    async def is_open(self, name: str, how: str | None) -> None:
        how = (how or "").strip()
        url = self.server.url
        if how == "as it only reads":
            with open(self.server.read_only_file) as file:
                tab = await self.open(f"{url}/#token={file.read().strip()}")
        elif how == "with no token":
            tab = await self.open(url)
        else:
            tab = await self.page(**DEVICES.get(how, {}))
        self.tab = self.tabs[name] = tab

    # What happens.

    @word(r"in (\w+)")
    def turn_to(self, name: str) -> None:
        self.tab = self.tabs[name]

    @word("(.+) is said")
    async def is_said(self, message: str) -> None:
        await self.say(self.tab, self.fill(message))

    @word("(.+) is entered")
    async def is_entered(self, words: str) -> None:
        await self.enter(self.tab, self.fill(words))

    @word("(.+) is typed")
    async def is_typed(self, words: str) -> None:
        await self.tab.keyboard.type(words)

    @word(r"(\w+) is pressed")
    async def is_pressed(self, key: str) -> None:
        await self.tab.keyboard.press(key)

    @word("(.+) is clicked")
    async def is_clicked(self, selector: str) -> None:
        await self.tab.click(self.fill(selector))

    @word("(.+) is tapped")
    async def is_tapped(self, selector: str) -> None:
        await self.tab.tap(selector)

    @word(r"(.+) is filled with (.+)")
    async def is_filled(self, selector: str, words: str) -> None:
        await self.tab.fill(selector, "" if words == "nothing" else self.fill(words))

    @word(r"(.+) becomes (\S+)")
    async def becomes(self, selector: str, value: str) -> None:
        await self.tab.select_option(selector, value)

    @word("(.+) is scrolled (to its end|half way)")
    async def is_scrolled(self, selector: str, where: str) -> None:
        part = 1 if where == "to its end" else 2
        await self.at(selector).evaluate(f"it => it.scrollTop = it.scrollHeight / {part}")

    @word("(.+) is looked at")
    def is_looked_at(self, what: str) -> None:
        """Nothing happens."""

    @word(r"the wheel turns by (-?\d+)")
    async def wheel(self, by: str) -> None:
        await self.tab.hover("#scroller")
        await self.tab.mouse.wheel(0, int(by))

    @word(r"it is (\d+) by (\d+)")
    async def resized(self, width: str, height: str) -> None:
        await self.tab.set_viewport_size({"width": int(width), "height": int(height)})

    @word("the gate opens")
    def gate_opens(self) -> None:
        self.gate.set()

    @word("it is loaded again")
    async def loaded_again(self) -> None:
        await self.tab.reload()

    @word("what is there is handled")
    async def handled(self) -> None:
        await self.settled(self.tab)

    @word(r"(GET|POST) (\S+) is held")
    async def is_held(self, method: str, url: str) -> None:
        """Requests get no further until they go on."""
        self.addCleanup(self.may_go_on.set)
        self.may_go_on.clear()

        async def hold(route: Route) -> None:
            if route.request.method == method:
                await self.may_go_on.wait()
            await route.continue_()

        await self.intercept(self.tab, f"**{url}", hold)

    @word("it goes on")
    def goes_on(self) -> None:
        self.may_go_on.set()

    @word(r"(\S+) fails")
    async def url_fails(self, url: str) -> None:
        await self.intercept(self.tab, f"**{url}", lambda route: route.abort())

    @word(r"(\S+) is refused")
    async def url_refused(self, url: str) -> None:
        await self.intercept(
            self.tab, f"**{url}", lambda route: route.fulfill(status=401, json=REFUSED)
        )

    @word(r"(\S+) works again")
    async def url_works(self, url: str) -> None:
        await self.tab.unroute(f"**{url}")

    # What is seen.

    @word("it is (sound|accessible|calm)")
    async def it_is(self, what: str) -> None:
        if what == "sound":
            await self.assert_sound(self.tab)
        elif what == "calm":
            await self.assert_calm(self.tab)
        else:
            await self.assert_accessible(self.tab)

    @word(r"it is answered(?: (\d) times)?")
    async def is_answered(self, times: str | None) -> None:
        await self.answered(self.tab)
        if times:
            await expect(self.at(".usage")).to_have_count(int(times))

    @word("(.+) is (seen|hidden|enabled|disabled|focused|there|in sight|wholly in sight)")
    async def is_so(self, selector: str, how: str) -> None:
        seen, at = expect(self.at(selector)), self.at(selector)
        if how == "there":
            await expect(at.first).to_be_attached()
        elif how.endswith("in sight"):
            await seen.to_be_in_viewport(ratio=1 if how.startswith("wholly") else None)
        else:
            state = "visible" if how == "seen" else how
            await getattr(seen, f"to_be_{state}")()

    @word(r"there (?:are|is) (no|\d+) (.+)")
    async def count_is(self, count: str, selector: str) -> None:
        seen = self.at(selector).locator("visible=true")
        await expect(seen).to_have_count(0 if count == "no" else int(count))

    @word("(.+?) reads (.+)")
    async def reads(self, selector: str, words: str) -> None:
        """Of several elements, all that they read, between " // "."""
        expected = [] if words == "nothing" else self.fill(words).split(" // ")
        at = self.at(selector)
        if expected:
            await expect(at).to_have_text(expected)
        else:
            await expect(at).to_have_text("")

    @word(r"(.+?) is at least (\d+) wide")
    async def is_wide(self, selector: str, least: str) -> None:
        # The page draws its list again at any time, so one look may find an element that is gone.
        is_so = "([at, w]) => document.querySelector(at)?.getBoundingClientRect().width >= w"
        await self.tab.wait_for_function(is_so, arg=[self.fill(selector), int(least)])

    @word("(.+?) tells (.+)")
    async def tells(self, selector: str, words: str) -> None:
        await expect(self.at(selector)).to_contain_text(self.fill(words))

    @word("(.+?) has the value (.+)")
    async def value_is(self, selector: str, words: str) -> None:
        value = "" if words == "nothing" else self.fill(words.replace("/", "\n"))
        await expect(self.at(selector)).to_have_value(value)

    @word(r"the (\S+) of (\S+) is (\S+)")
    async def attribute_is(self, name: str, selector: str, value: str) -> None:
        await expect(self.at(selector)).to_have_attribute(name, self.fill(value))

    @word(r"the lines of (.+) are (.+)")
    async def lines_are(self, selector: str, rows: str) -> None:
        """Between " // "; a `_` at the beginning is a blank."""
        expected = [
            re.sub("^_+", lambda match: len(match[0]) * " ", row) for row in rows.split(" // ")
        ]

        async def lines() -> list[str]:
            return (await self.text(self.tab, selector)).split("\n")

        await self.until_equal(lines, [*map(self.fill, expected)])

    @word(r"(\S+) holds (.+)")
    def holds(self, name: str, words: str) -> None:
        self.assertEqual(self.read(name), text(self.fill(words)))

    @word("(.+) waits, for (.+)")
    async def waits(self, words: str, why: str) -> None:
        """A message that is sent as soon as it can be."""
        await expect(self.at("#unsent")).to_contain_text(why)
        await expect(self.at("#hold")).to_be_visible()
        await expect(self.at("#message")).to_have_value(words)

    @word("(.+) is kept")
    async def is_kept(self, words: str) -> None:
        """A message that was not sent."""
        await expect(self.at("#unsent")).to_have_text("Not sent yet.")
        await expect(self.at("#hold")).to_be_hidden()
        await expect(self.at("#message")).to_have_value(words)
