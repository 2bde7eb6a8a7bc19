"""What agents tell beside their answers, on the API's web page: with an agent that is made to tell
it."""

from __future__ import annotations

import json
from unittest import mock

from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.agents.known_versions import KnownVersions
from page_words import PageTable
from scripted import VERSION
from test_agent_tells import EFFORT, FAST, FORM, PLACE, entry

from tests.tables import rows, word

ASKED, LOGIN = FORM, PLACE
LONG = {**FORM, "message": "How should it be done, and what of all of it should come first? " * 3}
SCRIPT = {"mode": "url", "message": "Run this.", "url": "javascript:document.title='owned'"}
BEGUN, DONE = (
    {"sessionUpdate": "plan", "entries": [entry("Look", first), entry("Mend <b>it</b>", second)]}
    for first, second in (("in_progress", "pending"), ("completed", "completed"))
)
USED = {"sessionUpdate": "usage_update", "used": 53_000, "size": 200_000}
COST = {**USED, "cost": {"amount": 0.25, "currency": "USD"}}
CHOICES = {"sessionUpdate": "config_option_update", "configOptions": [EFFORT, FAST]}
TITLE = {"sessionUpdate": "session_info_update", "title": "Mending"}
CALLED, EDITED = (
    {
        "sessionUpdate": event,
        "toolCallId": "edit__1",
        "title": "Edit files",
        "kind": "edit",
        "status": status,
        "content": [
            {"type": "diff", "path": "/nowhere/a.txt", "oldText": "", "newText": "as told\n"}
        ],
    }
    for event, status in (("tool_call", "in_progress"), ("tool_call_update", "completed"))
)
NEWER = (
    f"gemini {VERSION} is newer than 0.0.9, the newest version that was tested with this: it may"
    " ask and act in other ways."
)
LEFT = {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}


@rows("""
    a plan stands in its place while the text goes on
        one is open
        ; to mend the model says One_ + reports BEGUN + text. + ... + reports DONE + _Done.
        | mend is said
        | .plan li reads ◐being done: Look // ○to do: Mend <b>it</b>
        ; .plan [data-status=in_progress] tells Look; it is accessible
        | the gate opens
        | it is answered; .prose reads One text. Done.; there are 1 .plan
        ; there are 2 .plan [data-status=completed]; it is sound
        | it is loaded again
        | .prose reads One text. Done.; there are 2 .plan [data-status=completed]
    the line at the end says how full the context is and what was paid
        to count the model says reports COST + Done.; one is open
        | count is said
        | .usage tells Context: 53,000 of 200,000 (27 %) · Cost so far: $0.25
    what an agent does not tell is not shown
        to hello the model says Hi.; one is open
        | hello is said
        | it is answered; there is no .plan; .usage does not tell Context; there is no [data-option]
    options of the agent are chosen at the top
        to offer the model says reports CHOICES + Done.; one is open
        | offer is said
        | it is answered; [data-option=effort] select has the value low
        | [data-option=effort] select becomes high; [data-option=fast] input is clicked
        | the agent has effort high and fast on; it is sound
        | it is loaded again
        | [data-option=effort] select has the value high
    an edit that is not on disk as it was told is shown with what is there
        to mend the model says reports CALLED + reports EDITED + Done.; one is open
        | mend is said
        | it is answered; .call > .why tells does not hold what the agent reports
        ; .unasked tells Nobody was asked about this edit; .unasked figcaption reads /nowhere/a.txt
        ; .unasked .gone reads - as told; it is accessible; it is sound
    an agent that is newer than was tested is said to be so before its first answer
        the agent is newer than 0.0.9; to hello the model says Hi.; one is open; it is 390 by 800
        | hello is said
        | it is answered; there is 1 .notice; .notice is wholly in sight
        ; .notice reads {NEWER}
        ; it is sound
        | hello is said
        | it is answered 2 times; there is 1 .notice
    a title and a mode of the agent are shown as it tells them
        to name the model says reports TITLE + reports LEFT + Done.; one is open
        | name is said
        | it is answered; #title reads Mending; #mode has the value plan
    a form is filled in where decisions are made
        to ask the model says asks ASKED; one is open
        | ask is said
        | .question .command reads How should it be done?
        ; .question strong tells Gemini CLI asks you; it is accessible
        | .question .main is clicked
        | .question select is focused
        | .question select becomes fast; .question input is filled with 3
        ; .question .main is clicked
        | it is answered; there is no .question; .prose tells "times": 3
        ; .call .status reads answered; it is sound
    the words of a question have room on a phone
        to ask the model says asks LONG; one is open; it is 390 by 800
        | ask is said | .question select is seen; .call .what is at least 190 wide
    a form can be declined
        to ask the model says asks ASKED; one is open
        | ask is said; .question .no is clicked
        | it is answered; .prose tells decline; .call .status reads declined
    a form is there again after a reload and gone where the turn is stopped
        to ask the model says asks ASKED; one is open
        | ask is said | .question select is seen
        | it is loaded again | .question select is seen
        | #stop is clicked | there is no .question; .call .status reads not answered
    an address is shown whole and a script is none
        to log in the model says asks LOGIN; to trick the model says asks SCRIPT; one is open
        | log in is said
        | .question .command tells https://example.com/?id=1; .asked code reads example.com
        ; .question .main tells Open this address
        | .question .no is clicked | it is answered
        | trick is said | .question .no is seen; there is no .question .main
""")
class Told(PageTable):
    # Gemini CLI tells none of it.
    real = False

    @word(r"the agent is newer than (\S+)")
    def is_newer(self, tested: str) -> None:
        patch = mock.patch.object(GeminiCli, "tested", KnownVersions(tested))
        patch.start()
        self.addCleanup(patch.stop)

    @word(r"(\S+) does not tell (.+)")
    async def does_not_tell(self, selector: str, words: str) -> None:
        self.assertNotIn(words, await self.at(selector).inner_text())

    @word(r"the agent has effort (\w+) and fast (on|off)")
    async def agent_has(self, effort: str, fast: str) -> None:
        id = json.loads(await self.tab.evaluate("JSON.stringify(sessionStorage.session)"))
        expected = {"effort": effort, "fast": fast == "on"}
        while True:
            told = (await self.get(f"/sessions/{id}/state"))["options"]
            if expected.items() <= {each["id"]: each["value"] for each in told}.items():
                return
            await self.settled(self.tab)


def setUpModule() -> None:
    Told.start()


def tearDownModule() -> None:
    Told.stop()
