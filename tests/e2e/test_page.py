"""The API's web page in a real browser, most of it as tables; once with the real Gemini CLI."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import unittest
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timezone
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, AsyncIterator, Iterator

from agent_case import HERE, KEY, NO_CHANGES, PROGRAM
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.conversations.transcripts import Transcripts
from model_server import Failure, Gate, call, serve, thought
from page_case import PageCase
from page_words import PageTable
from playwright.async_api import Error, Locator, Page, Route, expect

from tests.tables import rows, word

LONG = "\n\n".join(f"Paragraph {number}" for number in range(60))
LONGER = f"\n\n{LONG}\n\nThe end."
OLD_300, NEW_300 = "old/" * 299 + "old", "new/" * 299 + "new"
# A line that is folded, more lines than are shown, and an end.
FOLDED = 1500 * "z" + "/" + 2000 * "line/" + "the end"
WIDE = "x" + 300 * " " + "y/" + FOLDED
SHOW = "/memory show "
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>1</script> [a](javascript:1)"
WORDS = " ".join(["next"] * 40)
BLANKS, ONE_TWO = "  ", "one\ntwo"
TURNED, PADDED = "\u202e", "ls -la" + 41 * "\n"
PAD_60, PAD_300 = ("ls -la\n" + count * ": padding\n" for count in (60, 300))
WIDE_COMMAND = ": " + 9000 * "x" + "; touch wide"
ZS = 1500 * "z"
HIDDEN_SIGN = "a\u202eb"
ATTACKED = f"```\n{MARKUP}\n```"
CODE = "```python\nprint()\n```\n\n| a |\n|---|\n| b |"


def setUpModule() -> None:
    PageCase.start()


def tearDownModule() -> None:
    PageCase.stop()


@rows("""
    an answer appears while it is said, with its thoughts folded
        to hello the model says thinks Planning: a greeting + Hi_ + ... + there.; one is open
        | hello is said
        | .prose reads Hi; #stop is seen; #state reads At work…; it is accessible
        | the gate opens
        | it is answered; .prose reads Hi there.; .mine reads hello
        ; .thoughts summary tells Planning; .thoughts p is hidden
        | .thoughts summary is clicked | .thoughts p is seen; #send is seen; it is sound
    a file is written once its diff was allowed
        a.txt is the file one/two/three; one is open
        ; to change it the model says writes a.txt as one/2/three then Done.
        | change it is said
        | .question button >> nth=0 is there
        ; the lines of .diff are __one // - two // + 2 // __three
        ; figcaption reads {a.txt}; a.txt holds one/two/three
        | .question .main is clicked
        | it is answered; a.txt holds one/2/three; there is no .question; .call .status reads done
        | .changes summary is clicked
        | .changed li tells as this turn left it; #to-end is hidden; it is sound
        | .changed button is clicked
        | .changed li tells as it was before; there is no .changed button
        ; a.txt holds one/two/three
    what is rejected is not written
        a.txt is the file old; to no the model says writes a.txt as new then Well.; one is open
        | no is said; .question .no is clicked
        | it is answered; a.txt holds old; .call .status reads rejected
        ; .call .why reads Rejected by the user.; it is sound
    a turn can be stopped
        to for ever the model says Begun._ + ...; one is open
        | for ever is said | .prose reads Begun. | #stop is clicked
        | it is answered; #stop is hidden; #send is seen; there are 1 .notice; #state reads nothing
    an error of the model is told
        to fail the model says fails 400 the model is on holiday; one is open
        | fail is said
        | .trouble tells on holiday; there is no .trouble summary; it is accessible; #send is seen
    a reload shows the turn that runs from its beginning
        to wait the model says Half_ + ... + and half.; one is open
        | wait is said | .prose reads Half
        | it is loaded again | .prose reads Half; .mine reads wait
        | the gate opens | it is answered; .prose reads Half and half.; it is sound
    a question is there again after a reload
        a.txt is the file old; to ask the model says writes a.txt as new then Done.; one is open
        | ask is said | .question button >> nth=0 is there
        | it is loaded again; .question .main is clicked | it is answered; a.txt holds new
""")
class Chat(PageTable):
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


@rows("""
    after a refused key a new tab goes on with the conversation
        to no the model says fails 403 Forbidden; to once more the model says Yes.
        ; to third the model says fails 403 Forbidden; one is open
        | no is said | .trouble is seen; the data-ok of #account-button is false
        | it is loaded again | .mine reads no
        | once more is said | .prose reads Yes.
        | third is said | the data-ok of #account-button is false
        | two is open; once more is said | it is answered
    what is sent before there is a conversation goes once there is one
        to early the model says Yes.; one is open with no token; POST /sessions is held
        | {TOKEN} is entered; early is said | #works-in tells The CLI starts
        | early waits, for as soon as the conversation is open; it is accessible
        | it goes on
        | .prose reads Yes.; #message has the value nothing; #unsent reads nothing; it is sound
    what is sent while an answer comes waits in a list and goes after it
        to first the model says One._ + ... + Two.; to second the model says Three.; one is open
        | first is said | .prose reads One.
        | second is said
        | #queue .text reads second; #message has the value nothing; #unsent reads nothing
        ; #message is focused; it is accessible
        | the gate opens
        | .prose reads One. Two. // Three.; .mine reads first // second; #queue-box is hidden
    what waits is edited and moved and taken back and sent now
        to first the model says One._ + ...; to third the model says Three.; one is open
        ; to fifth the model says Five.
        | first is said | .prose reads One.
        | second is said; third is said; fourth is said
        | #queue .text reads second // third // fourth
        | [aria-label="Move up “third”"] is clicked | #queue .text reads third // second // fourth
        | [aria-label="Take back “second”"] is clicked | #queue .text reads third // fourth
        | [aria-label="Edit “fourth”"] is clicked | #queue textarea is focused
        | #queue textarea is filled with fifth; Enter is pressed
        | #queue .text reads third // fifth; #message is focused; it is sound
        | it is loaded again | #queue .text reads third // fifth; .prose reads One.
        | #queue li:nth-child(2) >> text=Send now is clicked
        | .mine reads first // fifth // third; .prose reads One. // Five. // Three.
        ; #queue-box is hidden; it is calm
    what waits for an answer that fails is held until it is sent
        to fail the model says Half_ + ... + runs ls then fails 403 No.; one is open
        ; to next the model says Yes.
        | fail is said | .prose reads Half
        | next is said | #queue .text reads next; #queue-note reads nothing
        | the gate opens | .trouble is seen; #queue-note tells Not sent by itself; it is accessible
        | #queue >> text=Send now is clicked
        | it is answered; .mine reads fail // next; #queue-box is hidden
    what waits in one conversation is not sent in another
        to apples the model says One._ + ... + Two.; to second the model says Three.; one is open
        | apples is said | .prose reads One.
        | second is said | #queue .text reads second
        | #new is clicked | #queue-box is hidden; there is no .mine
        | the gate opens; text=apples is clicked
        | .prose reads One. Two. // Three.; .mine reads apples // second
    what is sent while a new conversation begins goes there
        to first the model says One.; to second the model says Two.; one is open
        | first is said | it is answered
        | POST /sessions is held; #new is clicked; second is said
        | second waits, for as soon as the conversation is open
        | it goes on | .mine reads second; .prose reads Two.
    one that is opened while a new one begins stays
        to apples the model says Red.; to pears the model says Green.; one is open
        ; to more the model says Redder.
        | apples is said | it is answered
        | #new is clicked | there is no article
        | pears is said | it is answered
        | POST /sessions is held; #new is clicked; text=apples is clicked | .prose reads Red.
        | more is said | .prose reads Red. // Redder.
        | it goes on; what is there is handled
        | .mine reads apples // more; there are 2 #conversations li; it is sound
        | text=pears is clicked | .prose reads Green.
    one that is opened while the models of a new one come is shown without trouble
        to apples the model says Red.; one is open
        | apples is said | it is answered
        | GET /models* is held; #new is clicked | there is no article
        | text=apples is clicked | .prose reads Red.
        | it goes on; what is there is handled | #model option is there; there is no .notice
        | what is there is handled | it is calm
    what was sent for a new conversation does not go to one that is opened meanwhile
        to apples the model says Red.; to pears the model says Green.; one is open
        | apples is said | it is answered
        | #new is clicked | there is no article
        | pears is said | it is answered
        | POST /sessions is held; #new is clicked; second is said
        | second waits, for as soon as the conversation is open
        | text=apples is clicked | second is kept; .mine reads apples
        | it goes on; what is there is handled | second is kept; .mine reads apples
    what is sent while a conversation opens comes below what it holds
        to first the model says One.; to second the model says Two.; one is open
        | first is said | it is answered
        | GET /messages is held; it is loaded again; second is said
        | second waits, for as soon as the conversation is open
        | it goes on | .mine reads first // second; .prose reads One. // Two.
    what is sent goes along with the files that are on their way
        to look the model says A picture.; one is open; POST /attachments is held
        | a picture is brought; look is said | look waits, for as soon as its files are there
        | it goes on | it is answered; .enclosed li reads a.png
        | POST /attachments is held; no picture is brought; look is said
        | look waits, for as soon as its files are there
        | it goes on | .trouble tells this file has other content; look is kept
    who is not logged in is asked to, and what was sent goes then
        to hello the model says Hi.; nobody is logged in
        | one is opened | #account is seen
        | Escape is pressed; hello is said
        | #account is seen; hello waits, for as soon as you are logged in
        | Escape is pressed | hello waits, for as soon as you are logged in
        | #account-button is clicked; #api-key is clicked; another-key is entered
        | .prose reads Hi.; .mine reads hello
    without the server the text stays and goes when it is back
        to hello the model says Hi.; one is open; /chat fails
        | hello is said
        | there are 1 .trouble; .trouble tells Is it still running?; hello is kept
        ; there is no .mine
        | Enter is pressed
        | there are 1 .trouble; .trouble tells Is it still running?; hello is kept
        ; there is no .mine
        | /chat works again; Enter is pressed
        | it is answered; .mine reads hello; #unsent reads nothing
    a page that learned of no CLI starts again with the message
        to hello the model says Hi.; one is open with no token; /agents fails
        | {TOKEN} is entered | .trouble tells Is it still running?
        | hello is said | hello is kept
        | /agents works again; Enter is pressed | it is answered; .mine reads hello
    a page that could begin no conversation starts again with the message
        to hello the model says Hi.; one is open with no token; /sessions fails
        | {TOKEN} is entered | .trouble tells Is it still running?
        | hello is said | hello is kept
        | /sessions works again; Enter is pressed | it is answered; .mine reads hello
    a conversation that was deleted elsewhere leaves the text
        to hello the model says Hi.; one is open
        | hello is said | it is answered
        | its conversation is deleted; hello is said
        | .notice tells a new one has begun; hello is kept
        | Enter is pressed | it is answered; .mine reads hello
    a token that is refused leaves the text for the next one
        to hello the model says Hi.; one is open; /chat is refused
        | hello is said | #token-form is seen; #scroller is hidden
        | /chat works again; {TOKEN} is entered | #message has the value hello; #message is focused
        ; #scroller is seen
        | Enter is pressed | it is answered
    a refusal that comes late takes away no token that was given meanwhile
        to hello the model says Hi.; one is open; /chat is refused; GET /auth/status* is held
        | hello is said | #token-form is seen
        | /chat works again; {TOKEN} is entered | #composer is seen
        | it goes on; what is there is handled | #token-form is hidden; #message is focused
        | Enter is pressed | it is answered
    a refusal that comes late keeps no message from being sent with the next token
        to hello the model says Hi.; one is open; /chat is refused; GET /auth/status* is held
        | hello is said | #token-form is seen
        | /chat works again; {TOKEN} is entered | #composer is seen
        | Enter is pressed | #unsent tells Sent as soon as the conversation is open.
        | it goes on | it is answered
    the title of the open conversation has the room of the list
        to hello the model says Hi.; one is open
        | hello is said
        | it is answered; #conversations .open[aria-current] is at least 200 wide
    an empty conversation says where it is and what can be asked
        to Mine. the model says Yes.; one is open
        | #empty is looked at | #empty tells Gemini CLI works in {ROOT}.; it is sound
        | #empty button >> nth=0 is clicked | #message has the text of #empty button >> nth=0
        | #empty button >> nth=1 is clicked
        | #message has the text of #empty button >> nth=1; #message is focused
        | #message is filled with Mine.; #empty button >> nth=0 is clicked
        | #message has Mine. and the text of #empty button >> nth=0
        | Enter is pressed | it is answered; #empty is hidden
        | #new is clicked | #empty is seen
        | text=Mine. is clicked | .prose reads Yes.; #empty is hidden
    without a message it says so
        one is open | {BLANKS} is said | #unsent reads Type a message first.
        | a is typed | #unsent reads nothing
        | #message is filled with nothing; #send is clicked
        | #unsent reads Type a message first.; #message is focused
""")
class Sending(PageTable):
    """Enter sends, now or as soon as it can, or the page says what is missing. The text stays."""

    @word("(a|no) picture is brought")
    async def is_chosen(self, what: str) -> None:
        data = PNG if what == "a" else b"no picture"
        file = {"name": f"{what}.png", "mimeType": "image/png", "buffer": data}
        await self.tab.set_input_files("#files", [file])  # type: ignore[arg-type]

    @word("#message has (.*)the text of (.+)")
    async def has_the_text(self, before: str, selector: str) -> None:
        text = before.replace(" and ", "\n") + await self.at(selector).inner_text()
        await expect(self.at("#message")).to_have_value(text)

    @word("nobody is logged in")
    async def logged_out(self) -> None:
        await self.post("/auth/logout")

    @word("one is opened")
    async def is_opened(self) -> None:
        """Not ready for a message."""
        self.tab = await self.open(f"{self.server.url}/#token={self.server.token}")

    @word("its conversation is deleted")
    async def is_deleted(self) -> None:
        session = await self.tab.evaluate("sessionStorage.getItem('session')")
        await self.ask("DELETE", f"/sessions/{session}")


HEIGHT = "scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop"


@rows("""
    decisions are in sight below a long diff on a phone and with keys
        a.txt is the file {OLD_300}; one is open; it is 390 by 600
        ; to change it the model says {LONG} + writes a.txt as {NEW_300} then Done.
        | change it is said
        | .choices button >> nth=0 is wholly in sight; .choices button >> nth=-1 is wholly in sight
        ; it is accessible; #composer is wholly in sight
        | 1 is pressed | #message has the value 1; a.txt holds {OLD_300}
        | Escape is pressed | #decisions is focused
        | .diff is scrolled to its end | .question .main is enabled
        | 1 is pressed
        | it is answered; a.txt holds {NEW_300}; #message is focused; it is sound
    what a field would hide or change is not edited
        a.txt is the file old; to no the model says writes a.txt as {HIDDEN_SIGN} then Well.
        ; one is open
        | no is said | .question .no is seen; there is no .question .edit
    an edit is allowed once it is unfolded and its end was in sight
        a.txt is the file nothing; to yes the model says writes a.txt as {FOLDED} then Done.
        ; one is open
        | yes is said | .question .rest tells Unfold it; .question .no is enabled
        | Escape is pressed; 1 is pressed; what is there is handled
        | .question .main is disabled; it is sound
        | text=500 more characters is clicked; what is there is handled
        | .question .main is disabled
        | .diff .more is clicked; what is there is handled | .question .main is disabled
        | .diff is scrolled to its end | .question .main is enabled; .question .rest is hidden
        | .question .main is clicked | it is answered; a.txt holds {FOLDED}
    an edit below what is read is not allowed before its end was in sight
        a.txt is the file {OLD_300}; one is open
        ; to change it the model says {LONG} + ... + writes a.txt as {NEW_300} then Done.
        | change it is said | .prose p >> nth=58 is in sight
        | the wheel turns by -600 | #to-end is seen
        | the gate opens | .question .rest tells read to its end; .question .main is disabled
        | #to-end is clicked; .diff is scrolled to its end | .question .main is enabled
    a long edit is changed only once its end was in sight
        a.txt is the file nothing; to yes the model says writes a.txt as {FOLDED} then Done.
        ; one is open
        | yes is said | .question .rest tells Unfold it; .question .no is enabled
        | .question .edit is disabled
        | text=500 more characters is clicked | .diff .more is clicked
        | what is there is handled | .question .edit is disabled
        | .diff is scrolled to its end | .question .edit is enabled
        | .question .edit is clicked
        | .editor is seen; .question .rest is hidden
        | .question .main is clicked | it is answered; a.txt holds {FOLDED}; it is sound
    the end of an answer stays in sight until one scrolls up
        to explain the model says {LONG} + ... + {LONGER}; one is open
        | explain is said | .prose p >> nth=58 is in sight
        | the wheel turns by -600 | #to-end is seen
        | the gate opens
        | it is answered; the end is far below; header is wholly in sight
        ; #composer is wholly in sight
        | #to-end is clicked | .prose p >> nth=-1 is wholly in sight; #to-end is hidden
        | the wheel turns by 5000 | the page itself stands still
""")
class InSight(PageTable):
    @word("the end is far below")
    async def far_below(self) -> None:
        await self.until_equal(lambda: self.tab.evaluate(f"{HEIGHT} > 1000"), True)

    @word("the page itself stands still")
    async def stands_still(self) -> None:
        self.assertEqual(await self.tab.evaluate("document.scrollingElement.scrollTop"), 0)

    async def test_an_edit_is_changed_before_it_is_written(self) -> None:
        path = self.write("a.txt", "one\r\ntwo\r\n")
        written = call("write_file", file_path=path, content="one\r\n2\r\n")
        self.model.will_play("change it", [written], ["Done."])
        page = await self.page()
        await self.say(page, "change it")
        await page.click(".question .edit")
        await expect(page.locator(".editor")).to_have_value("one\n2\n")
        await page.click(".question .back")
        await expect(page.locator(".diff").first).to_contain_text("+ 2")
        await page.click(".question .edit")
        await self.assert_accessible(page)
        await page.fill(".editor", "one\nzwei\n")
        await page.click(".question .main")
        await self.answered(page)
        with open(path, newline="") as file:
            self.assertEqual(file.read(), "one\r\nzwei\r\n")
        await expect(page.locator(".written")).to_contain_text("Written as the user changed it")
        await expect(page.locator(".diff")).to_have_count(1)
        await expect(page.locator(".diff").first).to_contain_text("+ zwei")
        await self.assert_sound(page)


@rows("""
    a command stands once in its question with what it is for
        one is open; {touch_greeting} is wanted for Greets nobody
        | .question .main is enabled
        ; the lines of .question .command are
        command: {touch_greeting} // description: Greets nobody
        ; {touch_greeting} stands there once; it is sound
        | .question .main is clicked
        | it is answered; greeting is made; .call .command reads {touch_greeting}
        ; .call .what reads Greets nobody; it is sound
    where a command runs is seen too
        sub is a folder; one is open; touch here is wanted in {sub} for Touches
        | .question .command tells description: Touches; .question .command tells dir_path: {sub}
        | .question .main is clicked | it is answered; sub/here is made
    a padded command is seen whole
        one is open; {PADDED}{touch_padded}{TURNED} is wanted
        | the lines of .question .command are ls -la // <40 blank lines> // {touch_padded}<U+202E>
        ; .asked tells 42 lines; .question .rest is hidden
        | .question .no is clicked | it is answered; padded is not made
    a long command is allowed once its end was in sight
        one is open; it is 390 by 700; {PAD_300}{touch_long} is wanted
        | .question .rest tells more lines; .question .main is disabled
        ; allowing it has to wait for its end; .question .no is enabled
        | Escape is pressed; 1 is pressed; what is there is handled
        | there is 1 .question; .choices button >> nth=0 is wholly in sight
        ; .choices button >> nth=-1 is wholly in sight; it is sound
        | .question .command is scrolled half way | .question .main is disabled
        | .question .command is scrolled to its end
        | .question .main is enabled; .question .rest is hidden
        | .question .main is clicked | it is answered; long is made
    a question that the agent changes is decided anew
        the agent is scripted
        ; to swap the model says wants make test + ... + wants rm -r / + Well.; one is open
        | swap is said
        | .question .main is enabled; .question .command reads make test; .asked .what reads nothing
        | the gate opens
        | .question .command reads rm -r /; there is 1 .question
        ; .asked .what reads The agent has changed what it asks.; it is sound
        | .question .main is clicked
        | it is answered; main tells make test: cancelled.; main tells rm -r /: allowed.
    a wide command has nothing beyond its edge
        one is open; {WIDE_COMMAND} is wanted
        | .question .main is disabled; .question .command has nothing beyond its edge
        | .question .command is scrolled to its end | .question .main is enabled
        | .question .no is clicked | it is answered
    a command that nobody was asked about stands there too
        to look the model says runs pwd then Done.; one is open
        | look is said
        | it is answered; .call .command reads pwd; .call .status reads done
        ; there is no .call .args
    a large difference can be unfolded and has nothing beyond its edge
        a.txt is the file nothing; to no the model says writes a.txt as {WIDE} then Well.
        ; one is open
        | no is said
        | .question .no is seen; .diff has nothing beyond its edge; .diff does not show {ZS}
        | text=500 more characters is clicked | .diff tells {ZS}
        | text=503 more lines is clicked
        | .diff is focused; .diff tells the end; there is no .diff button; it is sound
""")
class Commands(PageTable):
    """What is allowed was seen."""

    @word("the agent is scripted")
    def is_scripted(self) -> None:
        if self.real:
            self.skipTest(NO_CHANGES)

    @word(r"(\S+) is a folder")
    def is_folder(self, name: str) -> None:
        os.mkdir(self.path(name))

    @word(r"(.+?) is wanted(?: in (\S+))?(?: for (.+))?")
    async def wanted(self, command: str, folder: str | None, purpose: str | None) -> None:
        args = {"dir_path": self.fill(folder or ""), "description": purpose}
        args = {name: value for name, value in args.items() if value}
        run = call("run_shell_command", command=self.fill(command), **args)
        self.model.will_play("run it", [run], ["Done."])
        await self.say(self.tab, "run it")
        await expect(self.at(".question .no")).to_be_visible()

    @word("(.+) stands there once")
    async def stands_once(self, words: str) -> None:
        async def times() -> int:
            return (await self.text(self.tab, "body")).count(self.fill(words))

        await self.until_equal(times, 1)

    @word("(.+) does not show (.+)")
    async def does_not_show(self, selector: str, words: str) -> None:
        await expect(self.at(selector)).not_to_contain_text(self.fill(words))

    @word("(.+) has nothing beyond its edge")
    async def nothing_beyond(self, selector: str) -> None:
        async def is_inside() -> bool:
            fits = "it => it.scrollWidth <= it.clientWidth"
            return bool(await self.at(selector).evaluate(fits))

        await self.until_equal(is_inside, True)

    @word("allowing it has to wait for its end")
    async def allowing(self) -> None:
        for allowing in await self.at(".choices button:not(.no)").all():
            await expect(allowing).to_be_disabled()
            self.assertIn("end", await allowing.get_attribute("title") or "")

    @word(r"(\S+) is (not )?made")
    def is_made(self, name: str, is_not: str | None) -> None:
        self.assertEqual(os.path.exists(self.path(name)), not is_not)

    async def test_the_end_of_a_long_command_is_reached_by_keys_alone(self) -> None:
        self.tab = page = await self.page()
        await self.wanted("{PAD_60}{touch_keys}", None, None)
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
            if await turn.is_hidden():
                break
            await page.keyboard.press("Enter")
            await self.settled(page)
        await expect(page.locator(".question .command")).to_be_focused()
        # Only a moment after the end came in sight (companion/api/page/decisions.js).
        await expect(main).to_be_enabled()
        await page.keyboard.press("1")
        await self.answered(page)
        self.assertTrue(os.path.exists(self.path("keys")))


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
        await expect(page.locator(".prose h3").first).to_have_text("Plan")
        await expect(page.locator(".prose li strong").first).to_have_text("one")
        link = page.locator(".prose a")
        self.assertEqual(
            [await link.get_attribute(name) for name in ("href", "target", "rel")],
            ["https://example.org", "_blank", "noopener noreferrer"],
        )
        self.assertEqual(await page.locator(".code code").text_content(), code)
        await expect(page.locator(".hljs-keyword").first).to_have_text("def")
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
            r"$a_1*b_2$", r"\{x_{1}\}", r"y_{2}*z", "a_1\n- b_1 \\\\\n= *c*", "x_1 < *y_2*",
        ]  # fmt: skip
        found = await page.locator(".formula").all_text_contents()
        self.assertEqual(found, formulas)
        await expect(page.locator(".prose em")).to_have_text(["and", "each"])
        # Between single dollars it may be something else, which loses nothing.
        await expect(page.locator(".prose code")).to_have_text(
            [*formulas[1:3], "$a$", *formulas[3:]]
        )
        await self.assert_sound(page)

    async def test_what_an_agent_sends_beside_its_words_is_named_and_nothing_is_loaded(
        self,
    ) -> None:
        page = await self.page()
        shown = {"uri": "https://a.example/p.png", "name": "p.png", "description": "", "text": ""}
        found = await page.evaluate(
            RESOURCES,
            [
                {"mediaType": "image/png", "shown": shown},
                {"mediaType": "", "shown": {**shown, "uri": "", "name": "log", "text": "one"}},
                {"mediaType": "audio/wav", "shown": {**shown, "uri": "", "name": ""}},
            ],
        )
        texts = ["p.png  https://a.example/p.png", "logone", "audio/wav"]
        self.assertEqual(found, [texts, 0])
        await self.assert_sound(page)


# What a turn shows of these resources, as text.
RESOURCES = """
async (all) => {
  const { Turn } = await import("/turn.js");
  const box = document.body.appendChild(document.createElement("div"));
  const turn = new Turn(box, { text: "" }, null, () => {});
  for (const data of all) turn.show({ type: "resource", data });
  const loaded = box.querySelectorAll("img, a, iframe").length;
  const text = [...box.querySelectorAll(".answer > *")].map((each) => each.textContent);
  box.remove();
  return [text, loaded];
}
"""
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


@rows("""
    conversations are found, renamed, opened and deleted
        to apples the model says Red.; to pears the model says Green.; one is open
        | apples is said | it is answered
        | #new is clicked | there is no article
        | pears is said | it is answered; #conversations .open span reads pears // apples
        | #search is filled with APP | #conversations .open span reads apples
        | #conversations .rename is clicked; fruit is entered; #search is filled with nothing
        | #conversations .open span reads pears // fruit
        | text=fruit is clicked | .prose reads Red.
        | it is loaded again | .prose reads Red.; [aria-current] span reads fruit
        | [aria-label="Delete “pears”"] is clicked | it is accessible
        | #remove-yes is clicked | #conversations .open span reads fruit
        | [aria-label="Delete “fruit”"] is clicked; #remove-yes is clicked
        | there is no article; #message is focused; it is sound
    one is copied and the copy goes its own way
        to apples the model says Red.; to more the model says Redder.; one is open
        | apples is said | it is answered
        | [aria-label="Copy “apples” into a new conversation"] is clicked
        | #title reads Copy of apples; .prose reads Red.; there are 2 #conversations li
        | more is said | .prose reads Red. // Redder.; it is sound
        | #conversations .open:not([aria-current]) is clicked
        | #title reads apples; .prose reads Red.
    a turn goes on while another conversation is looked at
        to slowly the model says One._ + ... + Two.; one is open
        | slowly is said | .prose reads One.
        | #new is clicked | there is no article
        | the gate opens; text=slowly is clicked | it is answered; .prose reads One. Two.
""")
class Listed(PageTable):
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

    async def test_what_was_said_is_saved_as_a_file(self) -> None:
        self.model.will_play("a/b: why?", ["Because."])
        page = await self.page()
        await self.say(page, "a/b: why?")
        await self.answered(page)
        async with page.expect_download() as coming:
            await page.click("[aria-label='Save “a/b: why?” as a file']")
        download = await coming.value
        self.assertEqual(download.suggested_filename, "a b  why.md")
        with open(await download.path(), encoding="utf-8") as file:
            self.assertIn("> a/b: why?\n", file.read())
        await self.assert_sound(page)

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
        async with page.expect_response("**/sessions?limit=*") as told:
            yield
        await (await told.value).finished()
        await self.settled(page)


class Many(PageCase):
    async def test_the_list_loads_what_is_in_sight_and_a_search_finds_the_rest(self) -> None:
        count, folder = 300, self.another_folder()
        os.makedirs(os.path.join(folder, "agent"), mode=0o700)
        transcripts = Transcripts(os.path.join(folder, "agent", "conversations"))
        for number in range(count):
            id, turn = f"{number:032x}", f"turn {number}"
            transcript = transcripts.file_of(id)
            transcript.begin_file(self.workspace, datetime.now(timezone.utc))
            transcript.add_message(turn, events.Message(f"question {number}"))
            said = events.TurnEvent(1, datetime.now(timezone.utc), id, turn,
                                    events.Content(f"the answer is {number}."))  # fmt: skip
            transcript.add_event(said)
        transcripts.write_all()
        server = await self.another_server(folder)
        page = await self.open(f"{server.url}/#token={server.token}")
        items = page.locator("#conversations .open span")
        await page.click("#account-close")
        await expect(items.last).to_contain_text("question")
        first = await items.count()
        self.assertLess(first, 150)
        await page.evaluate("document.querySelector('#conversations').scrollTop = 1e9")
        await expect(items.nth(first)).to_be_attached()
        self.assertLess(await items.count(), count)
        await page.fill("#search", "ANSWER is 7.")
        await expect(items).to_have_text(["question 7"])
        await expect(page.locator("#conversations .excerpt")).to_have_text(["the answer is 7."])
        await page.fill("#search", "nobody said it")
        await expect(page.locator("#nothing-found")).to_contain_text("No conversation")
        await page.fill("#search", "")
        await expect(items.nth(first)).to_be_attached()
        asked = [request.url for request in self.requests[page]]
        pages = [url for url in asked if "/sessions?" in url]
        self.assertTrue(all("limit=50" in url for url in pages), pages)
        self.assertEqual([url for url in asked if url.endswith("/sessions")], [])
        for loaded in range(await items.count(), count, 50):
            await expect(items.nth(loaded - 1)).to_be_attached()
            await page.evaluate("document.querySelector('#conversations').scrollTop = 1e9")
        await expect(items).to_have_count(count)
        self.assertEqual(len(set(await items.all_text_contents())), count)

    async def test_earlier_messages_come_when_the_reader_gets_there_and_move_nothing(self) -> None:
        self.model.will_play("", ["Yes."])
        page = await self.page()
        session = await page.evaluate("sessionStorage.getItem('session')")
        for number in range(22):
            asked = {"message": f"question {number}", "sessionId": session}
            self.assertEqual((await self.post("/chat", asked)).status, 200)
        await page.reload()
        await expect(page.locator(".mine")).to_have_count(20)
        first = page.locator(".mine", has_text="question 2").first
        await expect(first).not_to_be_in_viewport()
        await page.evaluate("document.querySelector('#scroller').scrollTop = 1")
        await expect(page.locator(".mine")).to_have_text([f"question {n}" for n in range(22)])
        await expect(first).to_be_in_viewport()
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


# All that can be hit and is too small for a finger. Links within a text are as small as it is.
SMALL = """
() => [...document.querySelectorAll("button, input, select, textarea, summary, [role=option]")]
  .filter((it) => it.checkVisibility())
  .map((it) => [it, it.getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 44 || height < 44)
  .map(([it, { width, height }]) => `${it.outerHTML.slice(0, 80)} ${width} ${height}`)
"""


@rows("""
    all can be hit by a finger and the header is one row
        a.txt is the file old; to explain the model says thinks Planning: it + {CODE}
        ; to change the model says writes a.txt as new then Done.; one is open on a phone
        | it is looked at | it fits
        | #message is filled with explain; #send is tapped | it is answered; it fits
        | #message is filled with change; #send is tapped | .question .no is seen
        | #message is filled with {WORDS}; #send is tapped
        | #queue .text reads {WORDS}; #queue button >> nth=3 is wholly in sight
        ; it fits; #state reads Your decision is needed.
        ; kbd >> nth=0 is hidden
        | #queue button >> nth=3 is tapped; .question .main is tapped
        | it is answered 2 times
        | .changes summary is tapped | .changed button is seen; it fits
        | #list-button is tapped | #conversations .remove is seen; it fits
        | #conversations .remove is tapped | it fits
    folder, model, mode and login are behind a button
        one is open on a phone | it is looked at | #mode is hidden
        | #settings-button is tapped | it fits
        | #mode becomes plan; the mode is default again; #account-button is tapped | it fits
        | #account-close is tapped | #account-button is seen
        | Escape is pressed | #settings is hidden; #settings-button is focused
        | #settings-button is tapped; a tap falls beside it | #settings is hidden
        | it is 1440 by 900 | #mode is seen; #settings-button is hidden
    enter begins a line where fingers type and the button sends
        to one the model says Yes.; one is open on a phone
        | #message is tapped; one is typed; Enter is pressed; two is typed
        | #message has the value one/two
        | #send is tapped | .mine reads {ONE_TWO}; it is answered
        | #message is tapped; one is typed; a keyboard sends it | it is answered 2 times
""")
class Phone(PageTable):
    @word("it fits")
    async def it_fits(self) -> None:
        await self.assert_fits(self.tab)

    @word("the mode is default again")
    async def default_again(self) -> None:
        async with self.tab.expect_response(lambda response: response.request.method == "PATCH"):
            await self.tab.select_option("#mode", "default")

    @word("a tap falls beside it")
    async def conversation_tapped(self) -> None:
        await self.tab.tap("#scroller", position={"x": 100, "y": 700})

    @word("a keyboard sends it")
    async def keyboard_sends(self) -> None:
        """One that was attached to the phone has the key."""
        await self.tab.keyboard.press("Control+Enter")

    async def assert_fits(self, page: Page) -> None:
        """All can be hit, in one row at the top, and nothing is wider than the screen."""
        self.assertEqual(await page.evaluate(SMALL), [])
        self.assertLess(await page.evaluate("document.querySelector('header').offsetHeight"), 60)
        self.assertEqual(await page.evaluate("document.documentElement.scrollWidth"), 390)
        await self.assert_sound(page)


@rows("""
    a second tab sees what happens and can decide
        a.txt is the file old; to apples the model says Yes.; one is open
        ; to change it the model says Half._ + ... + writes a.txt as new then Done.
        | apples is said | it is answered
        | two is open; text=apples is clicked | .prose reads Yes.
        | in one; change it is said; in two
        | .mine reads apples // change it; .prose reads Yes. // Half.; #stop is seen
        | the gate opens; .question .main is clicked
        | it is answered 2 times; there is no .question; #send is seen
        ; .prose reads Yes. // Half. // Done.
        | in one
        | it is answered 2 times; there is no .question; #send is seen
        ; .prose reads Yes. // Half. // Done.; a.txt holds new
        | in two; apples is said; in one
        | .mine reads apples // change it // apples; it is answered 3 times
        | in two | it is sound
    a tab that was out of sight makes up for what it missed
        to apples the model says Yes.; to second the model says And yes.; one is open
        | apples is said | it is answered
        | two is open; text=apples is clicked | .prose reads Yes.
        | it is hidden from sight; in one; second is said | it is answered 2 times
        | in two | .mine reads apples
        | it is in sight again | .prose reads Yes. // And yes.
    one that only reads shows what is said and offers nothing else
        to apples the model says Red.; one is open; two is open as it only reads
        | in two | #composer is hidden; #state tells only
        | in one; apples is said; in two; text=apples is clicked | .prose reads Red.
        | in one; apples is said; in two
        | .prose reads Red. // Red.; there is no .trouble; it is accessible
    one that only reads shows a turn that runs to its end
        to apples the model says Half_ + ... + and half.; one is open
        | apples is said | .prose reads Half
        | two is open as it only reads; text=apples is clicked | .prose reads Half
        | the gate opens | .prose reads Half and half.; it is answered 1 times
    without the token there is a field and nothing else
        one is open with no token
        | #token is seen | #token is focused
        ; it is accessible; there is no #composer; there is no #new
        | wrong is entered | #token-form p >> nth=0 tells refused this token
        | its whole address is given
        | #model option is there; there is no #token-form; #composer is seen
""")
class Elsewhere(PageTable):
    """What happens in another tab, as on another device."""

    @word("it is hidden from sight")
    async def is_hidden(self) -> None:
        # The page ends its stream itself, and can hear of nothing from then on.
        ended = self.tab.expect_event(
            "requestfailed", lambda request: request.url.endswith("/events")
        )
        async with ended:
            await self.tab.evaluate(HIDE, True)

    @word("it is in sight again")
    async def is_back(self) -> None:
        await self.tab.evaluate(HIDE, False)

    @word("its whole address is given")
    async def address(self) -> None:
        await self.enter(self.tab, f"{self.server.url}/#token={self.server.token}")

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

        await self.intercept(two, "**/messages", hold)
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
        await self.intercept(two, "**/chat/*/events", hold)
        await two.click("text=apples")
        await self.answered(one)
        await self.say(one, "pears")
        await expect(one.locator(".usage")).to_have_count(2)
        is_over.set()
        await expect(two.locator(".prose")).to_have_text(["Half and half.", "Green."])
        await expect(two.locator("#state")).to_have_text("")

    async def test_it_is_taken_out_of_the_address(self) -> None:
        page = await self.page()
        self.assertEqual(await page.evaluate("location.href"), self.server.url + "/")
        stored = await page.evaluate("JSON.stringify([{...localStorage}, document.cookie])")
        self.assertEqual(stored, '[{},""]')

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

        await self.intercept(page, "**/sessions?limit=*", refuse)
        await self.say(one, "apples")
        # At the beginning and at the end of the turn.
        await both.acquire()
        await both.acquire()
        await self.settled(page)
        await expect(page.locator("#token-form")).to_be_visible()
        await page.unroute("**/sessions?limit=*")
        await self.enter(page, self.server.token)
        await expect(page.locator("#workspace")).to_be_enabled()


# A headless browser shows all its tabs.
HIDE = """
(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}
"""


@rows("""
    files are completed by the keys, folder by folder
        files to complete are there; one is open; its folder is the workspace
        | #message is clicked; look at @s is typed
        | #suggestions li reads so.txt // sources/; it is sound
        | ArrowDown is pressed | the aria-selected of #suggestions>li:nth-child(2) is true
        | Enter is pressed | #suggestions li reads other.py // with blank.txt
        | bl is typed | #suggestions li reads with blank.txt
        | Tab is pressed | #message names the file; #suggestions is hidden
        | and @ is typed | #suggestions li >> nth=0 is seen
        | Escape is pressed | #suggestions is hidden; #message is focused
    the commands of the agent are completed
        one is open
        | #message is clicked; /memory s is typed | #suggestions li span reads memory show
        | #suggestions li is clicked | #message has the value {SHOW}; #message is focused
        | Enter is pressed | it is answered; it is calm
    who the user is can be seen and changed
        one is open
        | #account-button is seen | #account-button reads Login: Gemini API key
        | #account-button is clicked | it is sound
        | #logout is clicked
        | the data-ok of #account-button is false; #account-button reads Login: Not logged in
        | #api-key is clicked; another-key is entered
        | the data-ok of #account-button is true; #api-key has the value nothing
        ; #account is hidden; it is sound
    it speaks the language of the browser
        one is open in zh-CN | #new is seen
        | #new tells 新会话; it is accessible; the lang of html is zh
    what a model says is text and nothing else
        a.txt is the file old; one is open; to attack the model says an attack then {ATTACKED}
        | attack is said | .question button >> nth=0 is there; .diff tells <U+202E>
        | .question .main is clicked
        | it is answered; .prose >> nth=0 reads {MARKUP}; there is nothing of it on the page
        ; it is sound
""")
class Completing(PageTable):
    @word("files to complete are there")
    def some_files(self) -> None:
        os.mkdir(self.path("sources"))
        for name in ("sources/with blank.txt", "sources/other.py", ".hidden", "so.txt"):
            self.write(name, "")

    @word("its folder is the workspace")
    async def in_the_workspace(self) -> None:
        await self.tab.fill("#workspace", self.workspace)
        await self.tab.keyboard.press("Enter")
        await expect(self.at("#workspace")).to_have_attribute("title", self.workspace)

    @word("#message names the file")
    async def is_completed(self) -> None:
        await expect(self.at("#message")).to_have_value("look at @sources/with\\ blank.txt ")

    def reply(self, words: str) -> Any:
        if words != "an attack":
            return super().reply(words)
        content = MARKUP + "\u202e\n"
        written = call("write_file", file_path=self.path("a.txt"), content=content)
        return [thought(MARKUP, MARKUP), MARKUP, written]

    @word("there is nothing of it on the page")
    async def nothing_of_it(self) -> None:
        count = "document.querySelectorAll('#log img, #log script, #log a').length"
        self.assertEqual(await self.tab.evaluate(count), 0)
        self.assertNotIn("owned", await self.tab.evaluate("document.title"))


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


@rows("""
    files that are dropped, pasted or chosen go along with the message
        to look the model says A picture.; one is open
        | dropped.png comes by dragover | #drop-here is seen
        | dropped.png comes by drop | #drop-here is hidden; #attached span reads dropped.png
        | pasted.png comes by paste | #attached span reads dropped.png // pasted.png
        | chosen.pdf is brought | #attached span reads dropped.png // pasted.png // chosen.pdf
        | [aria-label="Remove “pasted.png”"] is clicked
        | #attached span reads dropped.png // chosen.pdf; it is sound
        | look is said | it is answered; #attached is hidden; the model has the picture
        | it is loaded again | .enclosed li reads dropped.png // chosen.pdf; it is sound
    a file that is refused is told and costs no other
        one is open
        | text.png comes by drop; picture.png comes by drop
        | .trouble tells this file has other content; #attached span reads picture.png
""")
class Attaching(PageTable):
    @word(r"(\S+) comes by (\w+)")
    async def comes(self, name: str, event: str) -> None:
        content = b"no picture" if name == "text.png" else PNG
        await self.tab.evaluate(BRING, [event, name, content.decode("latin-1")])

    @word("chosen.pdf is brought")
    async def is_brought(self) -> None:
        file = {"name": "chosen.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4"}
        await self.tab.set_input_files("#files", [file])  # type: ignore[arg-type]

    @word("the model has the picture")
    def has_picture(self) -> None:
        self.assertIn(base64.b64encode(PNG).decode(), self.model.received())


@rows("""
    a conversation is begun with the cli that was chosen
        two are offered
        | {TOKEN} is entered | #agent option reads Gemini CLI // Qwen Code
        | the other is chosen | .trouble is seen
    what is sent while another cli is chosen goes to none of them
        two are offered; nobody is logged in to the other, which is told late
        | {TOKEN} is entered | #model option is there
        | the other is chosen; hello is said | #hold is seen
        | it goes on | #account is seen
        | Escape is pressed | #agent has the value gemini; hello is kept; there is no .mine
    another cli can be chosen only once there is a conversation
        two are offered; POST /sessions is held
        | {TOKEN} is entered | #agent option reads Gemini CLI // Qwen Code; #agent is disabled
        | it goes on | #agent is enabled
    who is not logged in to one cli can choose another
        two are offered; nobody is logged in to any
        | {TOKEN} is entered | #account is seen
        | Escape is pressed; the other is chosen | there is no #model option
""")
class Agents(PageTable):
    @word("two are offered")
    async def two_offered(self) -> None:
        """Another CLI, too, which this server does not offer in truth; no token is given yet."""
        usual = (await self.get("/agents"))["agents"]
        other = {**usual[0], "id": "qwen", "name": "Qwen Code", "isDefault": False}
        self.tab = await self.open(self.server.url)
        told = {"success": True, "agents": [*usual, other]}
        await self.intercept(self.tab, "**/agents", lambda route: route.fulfill(json=told))

    @word("nobody is logged in to (any|the other, which is told late)")
    async def logged_out(self, whom: str) -> None:
        told = (await self.get("/auth/status")).body
        told["data"].update(isAuthenticated=False, authType=None)
        if whom == "any":
            self.may_go_on.set()

        async def tell(route: Route) -> None:
            await self.may_go_on.wait()
            await route.fulfill(json=told)

        pattern = f"**/auth/status{'*' if whom == 'any' else '?agent=qwen'}"
        await self.intercept(self.tab, pattern, tell)

    @word("the other is chosen")
    async def is_chosen(self) -> None:
        async with self.tab.expect_request(
            lambda request: request.url.endswith("/auth/status?agent=qwen")
        ):
            await self.tab.select_option("#agent", "qwen")


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
        serve(server)
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()

    async def test_a_page_that_was_named_talks_by_the_client_of_openai_and_no_other(self) -> None:
        self.model.will_play("hello", ["Hi."])
        with self.somebody() as origin:
            server = await self.another_server(origins=frozenset([origin]))
            await server.agent.account.configure_credentials(KEY)
            page = await self.open(f"{origin}/README.md")
            talk = [server.url, server.token]
            self.assertEqual(await page.evaluate(TALK, talk), ["Hi.", "Hi.", "mine"])
            with self.assertRaisesRegex(Error, "Connection error"):
                await page.evaluate(TALK, [self.server.url, self.server.token])


class RealThing(PageCase):
    @unittest.skipUnless(os.path.exists(PROGRAM), "the CLI is not installed: make setup")
    async def test_gemini_cli_answers_asks_and_writes(self) -> None:
        command = GeminiCli.program.find_command(HERE)
        server = await self.another_server(command=command, fallback=KEY)
        write = call("write_file", file_path=self.path("a.txt"), content="new\n")
        self.model.will_play("write it", [thought("Planning", "it"), "Well. ", write], ["Done."])
        page = await self.open(f"{server.url}/#token={server.token}")
        await expect(page.locator("#model option")).not_to_have_count(0)
        await self.say(page, "write it")
        await page.click(".question .main")
        await self.answered(page)
        await expect(page.locator(".prose")).to_have_text(["Well.", "Done."])
