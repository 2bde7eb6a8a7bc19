"""The diffs that wait, over all windows, and the words that go with a rejection."""

from __future__ import annotations

import os
from typing import Any, Iterator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.hooks import hook_desk
from GeminiCompanion.companion.ui.review import (
    comments,
    marks,
    next_edit,
    open_diffs,
    pace,
    queue,
    record,
)
from GeminiCompanion.companion.ui.review.sight import caret_row

from ..tables import rows, word
from .adapter import text_of
from .desk import DeskCase, decisions
from .reviewing import Steps


class QueueCase(DeskCase):
    @word("three proposals wait")
    def three(self) -> Steps:
        """Three diffs of one CLI, oldest first."""
        yield from self.connects("c")
        for name in "abc":
            yield from self.proposes("c", f"new.{name}", None, name)
            yield from self.until_computed(self.view("+" + name))

    @word("another window has a proposal")
    def another(self) -> Steps:
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        self.other = self.window = next(
            window for window in sublime.windows() if window.id() != here.id()
        )
        self.by_name["d"] = yield from self.connect()
        yield from self.proposes("d", "new", None, "other")
        self.window = here
        here.bring_to_front()
        yield lambda: self.review(self.view("+other")).comparison is not None

    @word("the other window is closed")
    def close(self) -> Steps:
        self.other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    @word(r"\+b is rejected from elsewhere")
    def reject_elsewhere(self) -> Steps:
        self.run_command("reject_diff", id=self.review(self.view("+b")).id)
        yield lambda: not self.view("+b").is_valid()

    @word("the first row tells the change, the folder, the CLI and since when")
    def first_row(self) -> None:
        item = self.asked[0]["items"][0]
        self.assertEqual((item.annotation, item.details[0]), ("+1 -1", self.folder))
        self.assertIn("Gemini CLI", item.details[1])
        self.assertIn("since ", item.details[2])

    words = {"row 0 is highlighted": lambda t: t.asked[0]["on_highlight"](0)}
    seen = {
        "the other window is in front with": lambda t: (
            sublime.active_window() == t.other and t.name_of(t.other.active_view())
        ),
        "a proposal has the keyboard:": lambda t: record.is_diff(t.window.active_view()),
        "one waits:": lambda t: len(list(open_diffs.undecided_diffs(t.window))) == 1,
        "all three were heard of:": lambda t: (
            sorted(decisions(t.cli)) == [f"{letter} accepted new.{letter}" for letter in "abc"]
        ),
        "the list is": lambda t: [item.trigger for item in t.asked[0]["items"]],
        "the text in front has the change:": lambda t: (
            "-old\n+new\n" in text_of(t.window.active_view())
        ),
        r"there is a tab (.+):": lambda t, name: name in t.tabs(),
    }


@rows("""
    the next one is shown and after the last the first
        three proposals wait; +a has the keyboard | run next_diff | the keyboard is in +b
        | run next_diff | the keyboard is in +c | run next_diff | the keyboard is in +a
        | run previous_diff | the keyboard is in +c
    one in another window is gone to
        c connects & proposes new for a; +a has the keyboard; another window has a proposal
        | run next_diff | the other window is in front with +other; the other window is closed
    without another one that is said
        c connects | run next_diff | the user was told: queue.NONE
        | c proposes new for a; +a has the keyboard; run next_diff
        | the user was told: queue.ONLY
    beyond the last change the next diff of the window is shown
        three proposals wait; +a has the keyboard | run next_change | the keyboard is in +b
    three are decided one after the other
        three proposals wait; +a has the keyboard
        | run accept_diff_and_next | what waits is +b, +c; a proposal has the keyboard: yes
        | run accept_diff_and_next | one waits: yes; a proposal has the keyboard: yes
        | run accept_diff_and_next | what waits is nothing
        | c has heard all | all three were heard of: yes
    the next one may be in another window
        c connects & proposes new for a; another window has a proposal; +a has the keyboard
        | run accept_diff_and_next
        | c heard a accepted new; the other window is in front with +other
        | the other window is closed
    the list has all windows diffs with what they change and who asks
        three proposals wait; another window has a proposal | run show_diffs
        | the list is a, b, c, other
        | the first row tells the change, the folder, the CLI and since when
        | the other window is closed
    a highlighted one is shown and leaving the list brings back what was there
        typing.py is open; three proposals wait; +b has the keyboard; typing.py has the keyboard
        | +b is in sight: yes
        | run show_diffs; row 0 is highlighted | +a is in sight: yes
        | the answer is none | +b is in sight: yes; the keyboard is in typing.py
    one of another window is shown as text in a tab that goes again
        typing.py is open; another window has a proposal; typing.py has the keyboard
        | run show_diffs; row 0 is highlighted
        | the keyboard is in other (proposed in another window)
        | the text in front has the change: yes
        | the answer is none | there is a tab other (proposed in another window): no
        | the other window is closed | the keyboard is in typing.py
    the chosen one is gone to
        three proposals wait | run show_diffs; the answer is b | the keyboard is in +b
    one that was decided meanwhile is not gone to and that is said
        three proposals wait | run show_diffs; +b is rejected from elsewhere; the answer is b
        | the user was told: queue.DECIDED; +a is a proposal: yes
""")
class Going(QueueCase):
    pass


@rows("""
    where none is in sight it is the one that waits longest
        two wait and typing.py is typed in; +b is covered | next_change acts on a
        | the caret of +a is in row 2; +a is in sight: yes; the keyboard is in typing.py
    one that the users file covers in its group is decided on the second time
        two wait and typing.py is typed in; +b is covered; +a is covered by a file | run reject_diff
        | the user was told: a was out of sight; +a is in sight: yes; what waits is +a, +b
        | run reject_diff | what waits is +b
    one that is shown is decided on only once it was seen
        a moment is long; two wait and typing.py is typed in; +b is covered; +a is covered by a file
        | run reject_diff | the user was told: a was out of sight
        | run reject_diff | the user was told: a came just now; what waits is +a, +b
        | a moment is short; run reject_diff | what waits is +b
    one that comes opens behind the one that is read
        two wait and typing.py is typed in; +a has the keyboard; typing.py has the keyboard
        | b is proposed once more | +a is in sight: yes; the keyboard is in typing.py
        | run reject_diff | what waits is +b
    a press that may have been meant for the one before decides nothing
        two wait and typing.py is typed in | run reject_diff | what waits is +a
        | a moment is long; run reject_diff | the user was told: a came just now; what waits is +a
        | a moment is short; run reject_diff | what waits is nothing
    nothing is said to who looks at it
        two wait and typing.py is typed in; +a has the keyboard; all that was told is forgotten
        | run next_change | sentences: 0
    a key binding can ask whether a diff waits
        typing.py is open | gemini_companion_diff_waits is no, yes, yes, nothing
        | two wait and typing.py is typed in | gemini_companion_diff_waits is yes, no, no, nothing
        | gemini_companion_else is nothing, nothing, nothing, nothing
""")
class FromTheCode(QueueCase):
    """The keyboard is in a file of the user's."""

    @word("two wait and typing.py is typed in")
    def two(self) -> Steps:
        """Of two diffs, "a" and "b", the second can be seen."""
        yield from self.connects("c")
        yield from self.is_open("typing.py")
        for name in ("a", "b"):
            yield from self.another_diff(name)
        self.show_second()

    def show_second(self) -> None:
        self.focus("+b")
        self.focus("typing.py")

    def another_diff(self, name: str) -> Steps:
        self.write(name, "1\n2\n3\n4\n5\n")
        yield from self.proposes("c", f"{name}/2/{name}/4/{name}", None, name)
        yield from self.until_computed(self.view("+" + name))

    @word("b is proposed once more")
    def again(self) -> Steps:
        """It takes the place of the older one."""
        yield from self.another_diff("b")

    def cover(self, name: str) -> None:
        """Another tab is put over the diffs."""
        keyboard = self.window.active_view()
        self.focus(name)
        self.window.new_file().set_scratch(True)
        self.window.focus_view(keyboard)

    @word(r"\+a is covered by a file")
    def cover_by_file(self) -> Steps:
        self.focus("+a")
        yield from self.is_open("cover.py")
        group = self.window.get_view_index(self.view("+a"))[0]
        self.window.set_view_index(self.view("cover.py"), group, 0)
        self.focus("cover.py")
        yield lambda: not open_diffs.is_on_top(self.window, self.view("+a"))

    @word(r"(\w+) acts on (\w)")
    def run_on(self, name: str, file: str) -> Steps:
        """The command acts on the diff of that file, and all that it says and asks names it."""
        self.sentences.clear()
        captions: list[str] = []
        self.replace(
            sublime.Window,
            "show_input_panel",
            lambda _window, caption, *_: captions.append(caption),
        )
        self.run_command(name)
        yield from self.until_turn()
        yield lambda: self.sentences
        for sentence in (*self.sentences, *captions):
            self.assertRegex(sentence, rf"\b{file}\b")

    def answers(self, key: str) -> list[bool | None]:
        asked: list[tuple[int, Any]] = [(sublime.OP_EQUAL, True), (sublime.OP_EQUAL, False)]
        asked += [(sublime.OP_NOT_EQUAL, True), (sublime.OP_REGEX_MATCH, "true")]
        listener, view = plugin.GeminiCompanionListener(), self.view("typing.py")
        return [listener.on_query_context(view, key, *each, False) for each in asked]

    DECIDING = (
        "accept_diff",
        "accept_diff_and_next",
        "reject_diff",
        "release_diff",
        "keep_change",
        "drop_change",
    )
    words = {
        r"\+b is covered": lambda t: t.cover("+b"),
        "a moment is long": lambda t: t.replace(pace, "MOMENT", 1000),
        "a moment is short": lambda t: t.replace(pace, "MOMENT", 0),
    }
    seen = {
        r"the caret of (\S+) is in row": lambda t, name: caret_row(t.view(name)),
        r"(gemini_companion_\w+) is": answers,
    }

    def test_what_is_pressed_twice_decides_on_one_diff_and_not_on_the_next(self) -> Steps:
        yield from self.two()
        a, b = self.view("+a"), self.view("+b")
        ids = [self.review(view).id for view in (a, b)]
        self.run_command("reject_diff", id=ids[1])
        yield lambda: not b.is_valid() and open_diffs.is_on_top(self.window, a)
        self.replace(pace, "MOMENT", 1000)
        for name in self.DECIDING:
            self.run_command(name, id=ids[0])
            yield from self.was_told("a came just now")
            self.sentences.clear()
        a.run_command("save")
        yield from self.was_told("a came just now")
        yield from self.until_turn()
        self.assertEqual([diff for diff, _ in open_diffs.undecided_diffs(self.window)], [a])
        summary = self.review(a).diff_summary(a)
        self.assertEqual((summary.changes, summary.seen, summary.dropped), (3, 0, 0))
        self.replace(pace, "MOMENT", 0)
        self.run_command("accept_diff", id=ids[0])
        yield lambda: len(self.cli.received("ide/diffAccepted")) == 1

    def test_one_that_comes_after_a_decision_is_decided_on_only_once_it_was_seen(self) -> Steps:
        clock = [0]
        presses = self.running().review.pace
        for name, new in {"_now": lambda: clock[0], "_pressed": {}, "_shown": {}}.items():
            self.replace(presses, name, new)
        self.replace(pace, "MOMENT", 2)
        yield from self.connects("c")
        yield from self.another_diff("a")
        self.run_command("reject_diff", id=self.review(self.view("+a")).id)
        yield from self.until_rejected(1)
        clock[0] += 100
        yield from self.another_diff("b")
        for seconds in (0, 1):
            clock[0] += seconds
            self.run_command("reject_diff", id=self.review(self.view("+b")).id)
            yield from self.was_told("b came just now")
            self.sentences.clear()
        clock[0] += 1
        self.run_command("reject_diff", id=self.review(self.view("+b")).id)
        yield from self.until_rejected(2)

    def test_a_command_acts_on_the_diff_in_sight_and_names_it(self) -> Steps:
        yield from self.two()
        changes = ("next_change", "previous_change", "keep_change", "drop_change", "keep_change")
        for name in (*changes, "comment_on_diff", "reject_diff_with_note", "reject_diff"):
            yield from self.run_on(name, "b")
        yield lambda: self.cli.received("ide/diffRejected")
        for name in ("accept_diff", "accept_diff_and_next"):
            yield from self.another_diff("b")
            self.show_second()
            right = self.view("+b")
            yield from self.run_on(name, "b")
            yield lambda right=right: not right.is_valid()
        self.assertEqual(self.window.active_view(), self.view("typing.py"))
        yield lambda: len(self.cli.received("ide/diffAccepted")) == 2
        yield from self.another_diff("b")
        self.show_second()
        yield from self.run_on("release_diff", "b")
        yield from self.until_rejected(2)

    def test_one_that_is_out_of_sight_is_shown_first_and_decided_on_when_it_is_asked_again(
        self,
    ) -> Steps:
        yield from self.two()
        a = self.view("+a")
        self.cover("+b")
        deciding = ("drop_change", "keep_change", "release_diff", "reject_diff")
        for name in (*deciding, "accept_diff_and_next", "accept_diff"):
            self.sentences.clear()
            self.cover("+a")
            self.run_command(name)
            yield from self.was_told(
                ": a was out of sight, and is shown now. Run the command again"
            )
            self.assertTrue(open_diffs.is_on_top(self.window, a))
            self.assertEqual(self.window.active_view(), self.view("typing.py"))
            summary = self.review(a).diff_summary(a)
            self.assertEqual((summary.changes, summary.seen, summary.dropped), (3, 0, 0))
        self.assertEqual(
            [diff for diff, _ in open_diffs.undecided_diffs(self.window)], [a, self.view("+b")]
        )
        path = open_diffs.path_of(a)
        yield from self.run_on("accept_diff", "a")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertEqual(self.cli.received("ide/diffAccepted")[0]["filePath"], path)
        self.assertEqual(self.window.active_view(), self.view("typing.py"))
        self.assertEqual(
            [diff for diff, _ in open_diffs.undecided_diffs(self.window)], [self.view("+b")]
        )


@rows("""
    one that comes a moment later is gone to
        the only one was accepted | c proposes new for next
        | the keyboard is in +next; it was said that none waits: no
    where none comes that is said
        the moment is short | the only one was accepted
        | the user was told: queue.NONE
    who types elsewhere goes on to type there
        the only one was accepted; y is typed at the keyboard | c proposes new for next
        | +next is in sight: yes; the keyboard is in typing.py
    who was not in the diff stays where they are
        the only one was accepted from typing.py | c proposes new for next
        | +next is in sight: yes; the keyboard is in typing.py
    it ends where the user asks for something else
        the only one was accepted; run show_accepted_edits | c proposes new for next
        | +next is in sight: yes; the keyboard is in typing.py
    it ends where a list has the keyboard
        the only one was accepted; a list is shown | c proposes new for next
        | +next is in sight: yes; the keyboard is in typing.py
""")
class WaitingForTheNext(DeskCase):
    """One CLI proposes one edit after the other."""

    def setUp(self) -> None:
        self.show_panel = sublime.Window.show_quick_panel
        super().setUp()
        # A busy machine does not come too late.
        self.replace(next_edit, "MOMENT", 1000 * 1000)

    @word("the only one was accepted( from typing.py)?")
    def accept_only(self, elsewhere: str | None) -> Steps:
        yield from self.is_open("typing.py")
        yield from self.reviewed("file.txt", "a", "b")
        self.focus("typing.py" if elsewhere else "+file.txt")
        self.run_command("accept_diff_and_next")
        yield from self.was_told(next_edit.WAITING.format("file.txt"))
        self.assertEqual(self.window.active_view(), self.view("typing.py"))

    words = {
        "the moment is short": lambda t: t.replace(next_edit, "MOMENT", 1),
        "y is typed at the keyboard": lambda t: t.window.active_view().run_command(
            "insert", {"characters": "y"}
        ),
        "a list is shown": lambda t: t.show_panel(t.window, ["one", "two"], lambda index: None),
    }
    seen = {
        "it was said that none waits:": lambda t: any(queue.NONE in each for each in t.sentences)
    }


class NoteCase(DeskCase):
    def setUp(self) -> None:
        super().setUp()
        sublime.set_clipboard("before")
        self.pasted: list[dict[str, Any]] = []
        # What the hook that ran last has for the model.
        self.context, self.has_hooks = "", False

    def tearDown(self) -> Steps:
        if self.has_hooks:
            yield from self.runs_hook("c", "SessionEnd")
        yield from super().tearDown()

    @word(r"terminals of (.+) are open")
    def terminals(self, names: str) -> None:
        """Views like those of Terminus."""
        run = sublime.View.run_command

        def record_paste(on: sublime.View, command: str, args: Any = None) -> None:
            if command == "terminus_paste_text":
                self.pasted.append({"view": on.name(), **args})
            else:
                run(on, command, args)

        for name in names.split(", "):
            view = self.window.new_file()
            view.set_name(name)
            view.settings().set("terminus_view", True)
            view.set_scratch(True)
        self.replace(sublime.View, "run_command", record_paste)

    @word(r"(\S+) is commented on in rows? (\d+)(?:-(\d+))?: (.+)")
    def comment_on(self, name: str, first: str, last: str | None, words: str) -> Steps:
        """The rows count from 0."""
        view = self.view(name)
        end = view.line(view.text_point(int(last or first), 0)).end()
        view.sel().clear()
        view.sel().add(sublime.Region(view.text_point(int(first), 0), end))
        self.window.focus_view(view)
        self.run_command("comment_on_diff")
        yield from self.answer_words(words)

    @word(r"(\S+) is proposed instead")
    def propose_instead(self, words: str) -> Steps:
        """The same CLI proposes something else for the file."""
        self.by_name["older"] = self.view("+file.txt")
        yield from self.proposes("c", words, None, "file.txt")
        yield from self.until_computed(self.view("+file.txt"))

    @word(r"(\w+) has the extension")
    def has_extension(self, name: str) -> Steps:
        # On a busy machine the system takes a second to say whose connection it is.
        self.replace(hook_desk, "PATIENCE", 60.0)
        yield from self.runs_hook(name, "SessionStart")
        self.has_hooks = True

    @word(r"(\w+) is prompted")
    def prompted(self, name: str) -> Steps:
        yield from self.runs_hook(name, "BeforeAgent", prompt="go on")

    @word(r"(\w+) has written (\S+)")
    def has_written(self, name: str, file: str) -> Steps:
        asked = {"type": "edit", "filePath": self.at(file)}
        yield from self.runs_hook(
            name, "Notification", notification_type="ToolPermission", details=asked
        )
        told = {"tool_name": "write_file", "tool_input": {"file_path": self.at(file)}}
        yield from self.runs_hook(name, "AfterTool", **told)

    @word(r"(\w+) has gone on to another session")
    def has_another_session(self, name: str) -> Steps:
        """As after `/clear`."""
        yield from self.runs_hook(name, "SessionEnd")

    def runs_hook(self, name: str, event: str, **told: Any) -> Steps:
        answer = self.by_name[name].hook(event, **told)
        yield answer.done
        found = answer.result().get("hookSpecificOutput", {}).get("additionalContext", "")
        self.context = found.replace(self.folder + os.sep, "")

    def type_at_top(self) -> None:
        view = self.view("+file.txt")
        view.sel().clear()
        view.sel().add(0)
        view.run_command("insert", {"characters": "0\n"})

    words = {r"0 is typed at the top of \+file.txt": type_at_top}
    seen = {
        # Below the line that says what it is about.
        "the model reads": lambda t: t.context.splitlines()[1:],
        "pasted is": lambda t: [
            f"{paste['text']} into {paste['view']}" for paste in t.pasted if paste["bracketed"]
        ],
        # Without the file's path.
        "the comments on the clipboard are": lambda t: (
            sublime.get_clipboard().replace(f"@{t.folder}{os.sep}", "").splitlines()
        ),
        "the comments are": lambda t: [
            f"{comment.first}-{comment.last} {comment.text}"
            for comment in comments.comments_of(t.view("+file.txt"))
        ],
        r"comment (\d) stands beside": lambda t, number: [
            text.replace("\n", "/")
            for text in t.texts(t.view("+file.txt"), marks.comment_key(int(number)))
        ],
        "comments without a line are": lambda t: sorted(t.without_line()),
        "the head says that lines are gone:": lambda t: (
            "in a tab" in " ".join(t.review(t.view("+file.txt")).notes.values())
        ),
        "the older one is there:": lambda t: t.view("older").is_valid(),
    }

    def without_line(self) -> Iterator[str]:
        """The texts of the tabs with comments whose lines are gone, and which are not saved."""
        for view in self.window.views():
            if view.name() == "file.txt (your comments on an older proposal)":
                self.assertFalse(view.is_scratch())
                yield text_of(view).replace(f"@{self.folder}{os.sep}", "")


@rows("""
    the note goes into the prompt of the CLI and is not sent off
        terminals of bash, Gemini CLI are open; file.txt is reviewed from a to b
        | run reject_diff_with_note; the words are  Not like this.
        | c heard file.txt rejected; pasted is Not like this. into Gemini CLI
        | the clipboard has before
    without a terminal it is on the clipboard and that is said
        file.txt is reviewed from a to b | run reject_diff_with_note; the words are Not like this.
        | c heard file.txt rejected; the user was told: clipboard
        | the clipboard has Not like this.
    a CLI with the extension gets the note along with the next prompt
        file.txt is reviewed from a to b; c has the extension
        | +file.txt is commented on in row 0: why?; terminals of Gemini CLI are open
        | run reject_diff_with_note; the words are Not like this.
        | c heard file.txt rejected; the user was told: along with your next prompt
        | c is prompted | the model reads Not like this., @file.txt#L1: why?
        | c is prompted | the model reads nothing; pasted is nothing; the clipboard has before
    a CLI with the extension gets comments along with the result
        file.txt is reviewed from a to b; c has the extension
        | +file.txt is commented on in row 0: why?; run accept_diff
        | c heard file.txt accepted b; the user was told: along with the result
        | c has written file.txt | the model reads @file.txt#L1: why?; the clipboard has before
    a CLI with the extension gets the comments on what is decided in its terminal
        file.txt is reviewed from a to b; c has the extension
        | +file.txt is commented on in row 0: why? | c closes file.txt and gets b
        | the user was told: what the CLI does next
        | c has written file.txt | the model reads @file.txt#L1: why?
    a note that no model read is in a tab when its CLI has ended
        file.txt is reviewed from a to b; c has the extension | run reject_diff_with_note
        | the words are No. | the user was told: along with your next prompt
        | c has gone on to another session | the tabs are file.txt (your note, not delivered): 'No.'
    an empty note rejects and touches no clipboard
        file.txt is reviewed from a to b | run reject_diff_with_note; the words are empty
        | c heard file.txt rejected; the clipboard has before
    a note on a diff that was decided meanwhile is on the clipboard with its comments
        file.txt is reviewed from a to b/c; +file.txt is commented on in row 1: why?
        | run reject_diff_with_note; run accept_diff | +file.txt is there: no
        | the words are No.
        | the comments on the clipboard are No., file.txt#L2: why?
        | the user was told: notes.DECIDED; c heard file.txt accepted b/c
    comments on what is decided in the terminal are not lost
        file.txt is reviewed from a to b; +file.txt is commented on in row 0: why?
        | c closes file.txt and gets b | the comments on the clipboard are file.txt#L1: why?
    comments stand beside their lines and go with the note
        file.txt is reviewed from a to 0/1/2/3/4/5/6/7/8/9/10/11/12
        | +file.txt is commented on in rows 9-11: three <lines>
        | +file.txt is commented on in row 0: one line | comment 0 stands beside 9/10/11
        | run reject_diff_with_note; the words are No. | c heard file.txt rejected
        | the comments on the clipboard are No., file.txt#L10-12: three <lines>, file.txt#L1: one
        line
    a comment moves with its lines
        file.txt is reviewed from a to 1/2/3; +file.txt is commented on in row 1: here
        | 0 is typed at the top of +file.txt; run reject_diff_with_note; the words are empty
        | c heard file.txt rejected; the comments on the clipboard are file.txt#L3: here
    a comment on a diff that was decided meanwhile is on the clipboard
        file.txt is reviewed from a to b | run comment_on_diff; run reject_diff
        | c heard file.txt rejected | the words are too late
        | the clipboard has too late; the user was told: notes.DECIDED
    comments go over to a newer one beside the same lines
        file.txt is reviewed from a to 1/2/3/2; +file.txt is commented on in row 3: why twice?
        | 0/1/2/3/2/4 is proposed instead
        | the older one is there: no; the comments are 4-4 why twice?; comment 0 stands beside 2
        | the clipboard has before
        | run reject_diff | the comments on the clipboard are file.txt#L5: why twice?
        | c has heard all | c heard file.txt rejected
    one whose line is gone is in a tab and that stands at the head
        file.txt is reviewed from a to 1/__two/3; +file.txt is commented on in row 1: why?
        | +file.txt is commented on in row 2: good | 1/3 is proposed instead
        | the comments are 1-1 good; comments without a line are file.txt, "two": why?
        | the head says that lines are gone: yes | run reject_diff | c heard file.txt rejected
    those of one proposal after the other are all there and the clipboard stays
        file.txt is reviewed from a to 1/2/3; +file.txt is commented on in row 0: first words
        | +file.txt is commented on in row 1: second words
        | 2/3 is proposed instead; 3 is proposed instead
        | the comments are nothing; the keyboard is in +file.txt; the clipboard has before
        | comments without a line are file.txt, "1": first words, file.txt, "2": second words
        | run reject_diff | c heard file.txt rejected
    what was typed into the older one stays as a tab all the same
        file.txt is reviewed from a to 1/2; +file.txt is commented on in row 0: why?
        | mine is typed into +file.txt; 1/3 is proposed instead | the comments are 0-0 why?
        | older reads 1/2/mine; older is called file.txt (your edits of an older proposal)
        | run reject_diff | c heard file.txt rejected
""")
class Notes(NoteCase):
    def test_whichever_way_the_user_decides_their_comments_reach_the_cli(self) -> Steps:
        ends = ("reject_diff", "accept_diff", "release_diff", "accept_diff_and_next")
        for number, name in enumerate(ends):
            sublime.set_clipboard("before")
            file = f"file{number}"
            yield from self.reviewed(file, "a", name)
            yield from self.comment_on("+" + file, "0", None, "why?")
            self.run_command(name, id=self.review(self.view("+" + file)).id)
            yield from self.until_equal(sublime.get_clipboard, f"@{self.at(file)}#L1: why?")
            decided = "ide/diffAccepted" if "accept" in name else "ide/diffRejected"
            yield lambda: self.cli.received(decided)  # noqa: B023

    def test_of_lines_that_read_alike_it_is_the_one_with_the_same_around_it_up_to_both_ends(
        self,
    ) -> Steps:
        yield from self.reviewed("file.txt", "a", "}//a/}/b//}")
        for row in "0356":
            yield from self.comment_on("+file.txt", row, None, row)
        yield from self.propose_instead("}///a/}/x//b//}")
        found = {
            int(each.text): each.first for each in comments.comments_of(self.view("+file.txt"))
        }
        self.assertEqual(found, {0: 0, 3: 4, 5: 8, 6: 9})
        self.run_command("reject_diff")
        yield from self.until_rejected()


@rows("""
    comments stand where their lines stood and reach the CLI
        file.txt is reviewed from a to 1/2/3; +file.txt is commented on in row 1: here
        | 0 is typed at the top of +file.txt; the editor is restarted
        | comment 0 stands beside 2; the comments are 2-2 here
        | the CLI is back | the comments on the clipboard are file.txt#L3: here
    changes that were seen count as seen
        file.txt is reviewed from a/b/c to 1/b/3 | run keep_change; the editor is restarted
        | the changes that were seen are 1 | the CLI is back
""")
class AfterARestart(NoteCase):
    @word("the editor is restarted")
    def restart(self) -> Steps:
        """As after a restart of the editor: texts and settings are those of before, all else is
        gone."""
        right = self.view("+file.txt")
        plugin.plugin_unloaded()
        record.update_record(right, record.read_record(right), view_id=99999)
        marks.erase_marks(right)
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        yield lambda: record.is_diff(right) and plugin._host.running.diffs.reviews.review_of(right)
        yield from self.until_computed(right)

    @word("the CLI is back")
    def end(self) -> Steps:
        self.cli.resume()
        yield self.cli.connected
        yield self.cli.call("closeDiff", filePath=self.path).done

    seen = {
        "the changes that were seen are": lambda t: (
            t.review(t.view("+file.txt")).diff_summary(t.view("+file.txt")).seen
        )
    }

    def test_damaged_ones_are_left_out(self) -> Steps:
        right = yield from self.propose("a\n", "b\n")
        damaged: list[Any] = [7, [3, {"first": 0}], [{"first": "0", "last": 0, "text": ""}]]
        for stored in damaged:
            right.settings().set(record.COMMENTS, stored)
            right.settings().set(record.SEEN, stored)
            self.assertEqual(record.stored_comments(right), [])
            self.assertEqual(record.seen_changes(right), frozenset())
