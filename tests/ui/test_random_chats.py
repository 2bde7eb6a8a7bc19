"""Keys, other plugins and patches in random order: what is unsent and the transcript stay whole."""

from __future__ import annotations

import random
from typing import Callable
from unittest import mock

import sublime
from GeminiCompanion.companion.chat.rendered import Patch, Rendered
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.chat import drawn_transcript
from GeminiCompanion.companion.ui.chat.chat_tabs import ChatTabs
from GeminiCompanion.companion.ui.chat.chat_view import COMPOSER, ChatView

from ..support import patched
from .adapter import AdapterTestCase, text_of

WORDS = ("a", " ", "\n", "word", "two words", "▎ like a message\n", "é\U0001f600", COMPOSER)
STEPS = 40


class RandomChat:
    """What the user, other plugins and the agent do to a chat, and what it has to be: `blocks` are
    the transcript's, by their ids, `unsent` is the composer's. `seen` are all texts that it had."""

    def __init__(self, view: sublime.View, seed: int) -> None:
        self.chance = random.Random(seed)
        self.view = view
        self.chat = ChatView(view, "c", None, lambda _: None)
        self.blocks: list[tuple[str, str]] = []
        self.unsent = ""
        self.seen = {""}
        self.said: list[str] = []

    @property
    def transcript(self) -> str:
        return "".join(text for _, text in self.blocks)

    @property
    def start(self) -> int:
        return self.chat.composer.start

    @property
    def shown(self) -> str:
        """What of the transcript is there already, and what else stands before that."""
        document = self.chat.document
        drawn = len(document.text) - document.above_size
        return document.text[: document.above_size] + self.transcript[-drawn:] * bool(drawn)

    def step(self) -> None:
        act: Callable[[], None] = self.chance.choice(
            (
                self.type,
                self.type,
                self.type,
                self.delete,
                self.paste,
                self.type_elsewhere,
                self.type_above,
            )
            + (self.disturb, self.patch, self.patch, self.undo, self.native_undo, self.load)
            + (self.go_on, self.load_others)
        )
        self.said.append(act.__name__)
        act()

    # The user

    def carets(self, low: int, high: int, most: int = 3) -> list[tuple[int, int]]:
        """Selections that do not overlap, as the editor has them."""
        points = sorted(self.chance.randint(low, high) for _ in range(2 * most))
        pairs = list(zip(points[::2], points[1::2]))[: self.chance.randint(1, most)]
        self.view.sel().clear()
        self.view.sel().add_all([sublime.Region(*pair) for pair in pairs])
        self.chat.composer.follow_carets(self.view)
        return [(region.begin(), region.end()) for region in self.view.sel()]

    def replaced(self, regions: list[tuple[int, int]], text: str) -> None:
        """In what has to be."""
        for begin, end in reversed(regions):
            begin, end = begin - self.start, end - self.start
            self.unsent = self.unsent[:begin] + text + self.unsent[end:]

    def type(self) -> None:
        regions = self.carets(self.start, self.view.size())
        character = self.chance.choice("ab \n")
        self.view.run_command("insert", {"characters": character})
        self.replaced(regions, character)

    def paste(self) -> None:
        regions, text = self.carets(self.start, self.view.size()), self.chance.choice(WORDS)
        sublime.set_clipboard(text)
        self.view.run_command("paste")
        self.replaced(regions, text)

    def delete(self) -> None:
        ((begin, end),) = self.carets(self.start, self.view.size(), 1)
        # At the composer's first character it would be what is before it, and does nothing.
        if begin < end or begin > self.start:
            self.view.run_command("left_delete")
            self.replaced([(begin - (begin == end), end)], "")

    def type_elsewhere(self) -> None:
        """As an input method does, which no key binding sees."""
        self.carets(0, self.start - 1, 1)
        for name in ("cut", "left_delete", "right_delete"):
            self.view.run_command(name)
        self.view.run_command("insert", {"characters": "x"})
        self.unsent += "x"

    def type_above(self) -> None:
        """What is typed there goes into what is unsent, and all of that stays."""
        self.carets(0, self.view.size())
        if self.chat.composer.is_left(self.view):
            self.chat.composer.type(self.view, "y")
            found, old = self.chat.composer.text, self.unsent
            if any(found == f"{old[:at]}y{old[at:]}" for at in range(len(old) + 1)):
                self.unsent = found

    def undo(self) -> None:
        act = self.chance.choice((self.chat.composer.undo, self.chat.composer.redo))
        act(self.view)
        self.unsent = self.chat.composer.text

    def native_undo(self) -> None:
        self.view.run_command(self.chance.choice(("undo", "redo")))
        self.unsent = self.chat.composer.text

    # Another plugin

    def disturb(self) -> None:
        """Ranges anywhere are replaced in one command. What touches the transcript is taken back,
        and what is written there goes behind what is unsent."""
        points = sorted(self.chance.randint(0, self.view.size()) for _ in range(4))
        regions = [(points[0], points[1]), (points[2], points[3])][: self.chance.randint(1, 2)]
        text, before = self.chance.choice(("", *WORDS)), self.unsent
        below = [region for region in regions if region[0] >= self.start]
        self.replaced(below, text)
        texts.pending.put_parts(self.view, [(sublime.Region(*region), text) for region in regions])
        if len(below) < len(regions):
            self.chat.catch_up()
            found = self.chat.composer.text
            # Beside the same characters nobody can tell what of them was written, least of all of
            # the line that is above what is unsent.
            if found.startswith((before, self.unsent)) or text == COMPOSER:
                self.unsent = found

    # The agent

    def patch(self) -> None:
        text = self.chance.choice(("", "line\n", "some\nlines\n"))
        place = self.chance.randrange(len(self.blocks) + 1)
        begin = sum(len(piece) for _, piece in self.blocks[:place])
        if place == len(self.blocks) or self.chance.random() < 0.3:
            id, start, end = f"b{len(self.said)}", begin, begin
            self.blocks.insert(place, (id, text))
        else:
            id, old = self.blocks[place]
            first = self.chance.randint(0, len(old))
            last = self.chance.randint(first, len(old))
            self.blocks[place] = (id, old[:first] + text + old[last:])
            start, end = begin + first, begin + last
        self.chat.draw_patches([Patch(id, start, end, Rendered(text))])

    def go_on(self) -> None:
        self.chat.go_on()

    def load_others(self) -> None:
        """Somebody else has gone on with the conversation."""
        place = self.chance.randrange(len(self.blocks) + 1)
        new = [
            (f"o{len(self.said)}.{number}", f"other {number}\n")
            for number in range(self.chance.randint(0, 9))
        ]
        self.blocks[place:] = new
        self.load()

    def load(self) -> None:
        patches, at = [], 0
        for id, text in self.blocks:
            patches.append(Patch(id, at, at, Rendered(text)))
            at += len(text)
        self.chat.reset_transcript(patches)


class RandomChats(AdapterTestCase):
    def test_what_is_typed_is_there_and_the_transcript_is_its_document(self) -> None:
        patched(self, mock.patch.object(drawn_transcript, "BLOCKS", 2))
        # The tabs of this test have one owner.
        patched(self, mock.patch.object(ChatTabs, "adopt_view"))
        for seed in range(90):
            view = self.window.new_file()
            played = RandomChat(view, seed)
            for _ in range(STEPS):
                played.step()
                # What Sublime's queue would do next.
                played.chat.catch_up()
                self.check(view, played, f"seed {seed}: {played.said}")
            while not played.chat.is_whole:
                played.chat.go_on()
            self.assertEqual(played.shown, played.transcript)
            self.check(view, played, f"seed {seed}: {played.said}, all of it")
            played.chat.close()
            view.close()

    def check(self, view: sublime.View, played: RandomChat, steps: str) -> None:
        wanted = played.shown + COMPOSER + played.unsent
        self.assertEqual(text_of(view), wanted, steps)
        self.assertEqual(played.chat.composer.text, played.unsent, steps)
        # Undo brings nothing that was never there.
        is_undo = played.said[-1] in ("undo", "native_undo")
        self.assertTrue(not is_undo or played.unsent in played.seen, steps)
        played.seen.add(played.unsent)
