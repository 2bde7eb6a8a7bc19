"""The API's web page in a real browser, with the real Gemini CLI behind it."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
import unittest
from contextlib import asynccontextmanager
from typing import AsyncIterator

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from agent_case import on_loop  # noqa: E402
from model_server import Failure, Gate, call, thought  # noqa: E402
from page_case import PageCase  # noqa: E402
from playwright.async_api import Locator, Page, Route, expect  # noqa: E402


def setUpModule() -> None:
    PageCase.start()


def tearDownModule() -> None:
    PageCase.stop()


class Chat(PageCase):
    @on_loop
    async def test_an_answer_appears_while_it_is_said_with_its_thoughts_folded(self) -> None:
        gate = Gate()
        self.model.will_play("hello", [thought("Planning", "a greeting"), "Hi ", gate, "there."])
        page = await self.page()
        await self.say(page, "hello")
        await self.prose(page, "Hi")
        self.assertEqual(await self.count(page, "#stop"), 1)
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
        await page.click(".changes summary")
        await expect(page.locator(".changed li")).to_contain_text("as this turn left it")
        await expect(page.locator("#to-end")).to_be_hidden()
        await self.assert_sound(page)
        await page.click(".changed button")
        await expect(page.locator(".changed li")).to_contain_text("as it was before")
        await expect(page.locator(".changed button")).to_have_count(0)
        self.assertEqual(self.read("a.txt"), "one\ntwo\nthree\n")

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
        await self.assert_sound(page)

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
        await self.assert_accessible(page)
        self.assertEqual(await self.count(page, "#send"), 1)


LONG = "\n\n".join(f"Paragraph {number}" for number in range(60))
HEIGHT = "scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop"


class InSight(PageCase):
    @on_loop
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

    @on_loop
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
        await page.keyboard.press("1")
        await self.answered(page)
        self.assertEqual(self.read("a.txt"), "new\n" * 300)
        await expect(page.locator("#message")).to_be_focused()
        await self.assert_sound(page)


class Editing(PageCase):
    @on_loop
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

    @on_loop
    async def test_what_a_field_would_hide_or_change_is_not_edited(self) -> None:
        path = self.write("a.txt", "old\n")
        content = "a\u202eb\n"
        self.model.will_play("no", [call("write_file", file_path=path, content=content)], ["Well."])
        page = await self.page()
        await self.say(page, "no")
        await expect(page.locator(".question .no")).to_be_visible()
        self.assertEqual(await self.count(page, ".question .edit"), 0)

    @on_loop
    async def test_a_command_is_asked_about_with_all_its_arguments(self) -> None:
        run = call("run_shell_command", command="touch greeting", description="Greets nobody")
        self.model.will_play("run it", [run], ["Done."])
        page = await self.page()
        await self.say(page, "run it")
        await expect(page.locator(".question .no")).to_be_visible()
        self.assertIn("Greets nobody", await self.text(page, ".args pre"))
        await self.assert_sound(page)
        self.assertEqual(await self.text(page, ".asked code"), "touch greeting")
        await page.click(".question .no")
        await self.answered(page)


class Markdown(PageCase):
    @on_loop
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


class Listed(PageCase):
    @on_loop
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

    @on_loop
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

    @on_loop
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

    @on_loop
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
    @on_loop
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

    @on_loop
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

    @on_loop
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
    @on_loop
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


class Elsewhere(PageCase):
    """What happens in another tab, as on another device."""

    @on_loop
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

    @on_loop
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

    @on_loop
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

    @on_loop
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
    @on_loop
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

    @on_loop
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

    @on_loop
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

    @on_loop
    async def test_a_file_that_is_refused_is_told_and_costs_no_other(self) -> None:
        page = await self.page()
        await self.bring(page, "drop", "text.png", b"no picture")
        await self.bring(page, "drop", "picture.png")
        await expect(page.locator(".trouble")).to_contain_text("this one is none")
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

    @on_loop
    async def test_a_conversation_is_begun_with_the_cli_that_was_chosen(self) -> None:
        page = await self.open_with_two()
        await self.enter(page, self.server.token)
        await expect(page.locator("#agent option")).to_have_text(["Gemini CLI", "Qwen Code"])
        async with page.expect_request(lambda it: it.url.endswith("/auth/status?agent=qwen")):
            await page.select_option("#agent", "qwen")
        await expect(page.locator(".trouble")).to_be_visible()

    @on_loop
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

    @on_loop
    async def test_who_is_not_logged_in_to_one_cli_can_choose_another(self) -> None:
        page = await self.open_with_two()
        told = (await self.get("/auth/status")).body
        told["data"].update(isAuthenticated=False)
        await page.route("**/auth/status*", lambda route: route.fulfill(json=told))
        await self.enter(page, self.server.token)
        async with page.expect_request(lambda it: it.url.endswith("/auth/status?agent=qwen")):
            await page.select_option("#agent", "qwen")
        await expect(page.locator("#model option")).to_have_count(0)


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
        await self.assert_sound(page)


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

    @on_loop
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

    @on_loop
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
        await self.assert_sound(page)

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
        after = await page.evaluate("sessionStorage.getItem('session')")
        self.assertNotEqual(after, before)


class Login(PageCase):
    @on_loop
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

    @on_loop
    async def test_it_speaks_the_language_of_the_browser(self) -> None:
        page = await self.page(language="zh-CN")
        self.assertEqual(await self.text(page, "#new"), "新会话")
        await self.assert_accessible(page)
        self.assertEqual(await page.evaluate("document.documentElement.lang"), "zh")


if __name__ == "__main__":
    unittest.main()
