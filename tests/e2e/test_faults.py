"""The real Gemini CLI and the package when something goes down: what was typed is never lost."""

from __future__ import annotations

import json
import os
import tempfile

import session
import small_disk
from proxy import Proxy
from session import ACCEPT, QUESTION

from tests.fake_cli import FakeCli
from tests.waiting import PATIENCE

SHOW_UNWRITTEN = "gemini_companion_show_unwritten_edits"
APPLY = 0


setUpModule, tearDownModule = session.Shared.begin, session.Shared.end


class TheStreamBreaks(session.Shared):
    def test_a_proposal_of_megabytes_is_accepted_whole(self) -> None:
        path = self.write("large.txt", b"old\n")
        proposal = ("y" * 1100 + "\n") * 2100
        self.ask_on(self.cli, path, "write_file", content=proposal)
        self.editor.do("wait_for", "title", "large.txt (proposed)", path)
        shown = self.editor.do("proposal", path)
        self.assertTrue(proposal.startswith(shown))
        self.assertLess(len(shown), len(proposal))
        self.editor.do("command", ACCEPT)
        self.editor.do("wait_for", "size", len(proposal), path)
        self.assertEqual(self.read(path), proposal.encode())
        self.finish(path)

    def test_in_the_middle_of_a_frame_and_enabling_again_brings_everything_back(self) -> None:
        path = self.write("a.py", b"old\n")
        self.editor.do("open", path)
        variables = self.editor.do("environment")
        proxy = Proxy(int(variables["GEMINI_CLI_IDE_SERVER_PORT"]))
        self.addCleanup(proxy.close)
        temp = self.publish(proxy.port, variables["GEMINI_CLI_IDE_AUTH_TOKEN"])
        cli = self.new_cli(TMPDIR=temp)
        self.addCleanup(cli.kill)
        proxy.cut()
        self.editor.do("select", path, 0, 2)
        cli.wait_until(lambda screen: "1 open file" not in screen, "no context any more")
        cli.wait_status("Disconnected")
        cli.say("/ide enable")
        cli.wait_connected()
        cli.wait_for("1 open file")

    def publish(self, port: int, token: str) -> str:
        """A temp folder whose discovery file leads to the port."""
        temp = tempfile.mkdtemp(dir=self.root)
        folder = os.path.join(temp, "gemini", "ide")
        os.makedirs(folder)
        name = f"gemini-ide-server-{os.getpid()}-{port}.json"
        members = {"port": port, "workspacePath": self.folder, "authToken": token}
        info = {"name": "sublimetext", "displayName": "Sublime Text"}
        with open(os.path.join(folder, name), "w") as file:
            json.dump({**members, "ideInfo": info}, file)
        return temp


class TheCliDies(session.Shared):
    """The last of those that share it."""

    def test_what_the_user_did_in_its_diffs_stays_and_the_next_one_opens_its_own(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine\n")
        self.cli.kill()
        self.editor.do("wait_for", "title", "a.py (proposed, CLI gone)", path)
        type(self).cli = self.new_cli()
        self.ask(path, "newer\n", "write_file", content="newer\n")
        name = "a.py (your edits of an older proposal)"
        self.editor.do("wait_for", "named", "new\nmine\n", name)
        self.cli.kill()
        # Before anybody has noticed.
        self.editor.do("command", ACCEPT)
        self.editor.do("wait_for", "status_bar", "Gemini: no CLI, 1 edit not written")
        self.editor.do("wait_for", "is_told", True, 'See "Gemini Companion: Show Changes')
        self.editor.do("run", SHOW_UNWRITTEN, 0, APPLY)
        self.editor.do("wait_for", "text", "newer\n", path)
        self.editor.do("wait_for", "status_bar", "Gemini: no CLI")
        self.assertEqual(self.read(path), b"old\n")


class TheEditorDies(session.Session):
    def test_a_new_one_has_the_diff_and_a_text_that_nobody_writes_is_given_back(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine\n")
        self.editor.do("wait_until_saved", "mine")
        self.editor.kill()
        type(self).editor = self.new_editor()
        # Whether it is marked is a matter of time: a CLI that was kept waiting resumes its stream.
        self.editor.do("wait_for", "proposal", "new\nmine\n", path)
        self.editor.do("command", ACCEPT)
        # The CLI takes a broken stream for the end; its question hangs until it is interrupted.
        self.cli.interrupt()
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.cli.press("/ide enable")
        self.cli.wait_for("> /ide enable")
        self.cli.enter()
        # The old stream may have been resumed by then; the CLI then has two.
        self.cli.wait_connected()
        self.editor.do("wait_for", "unwritten", 1)
        self.assertEqual(self.read(path), b"old\n")
        self.editor.do("run", SHOW_UNWRITTEN, 0, APPLY)
        self.editor.do("wait_for", "text", "new\nmine\n", path)


class WithoutACli(session.Session):
    has_cli = False

    def proposed(self, name: str) -> tuple[str, FakeCli]:
        """The path of a file for which a client proposes "new\\n", and the client."""
        path, client = self.write(name, b"old\n"), FakeCli(self.editor.do("environment"))
        self.addCleanup(client.close)
        client.call("openDiff", filePath=path, newContent="new\n").result(PATIENCE)
        return path, client

    def test_what_close_diff_gave_to_a_client_that_is_gone_comes_back(self) -> None:
        path, client = self.proposed("b.py")
        self.editor.do("append", path, "mine\n")
        answer = client.call("closeDiff", filePath=path, suppressNotification=True)
        (part,) = answer.result(PATIENCE)["content"]
        client.close()
        self.assertEqual(json.loads(part["text"]), {"content": "new\nmine\n"})
        self.editor.do("wait_for", "named", "new\nmine\n", "b.py (your edits)")
        self.assertEqual(self.read(path), b"old\n")

    def test_on_one_data_folder_a_second_editor_touches_nothing_and_takes_over_in_the_end(
        self,
    ) -> None:
        path, _client = self.proposed("a.py")
        self.editor.do("append", path, "one\n")
        self.editor.do("wait_until_saved", "one")
        second = self.new_editor()
        second.do("wait_for", "status_bar", "Gemini: no CLI, not saved")
        self.assertIn("Another editor, process ", second.do("log"))
        self.assertIsNone(second.do("proposal", path))
        self.editor.do("append", path, "two\n")
        self.editor.do("wait_until_saved", "two")
        self.assertEqual(second.leave(), 0)
        second = self.new_editor()
        second.do("wait_for", "status_bar", "Gemini: no CLI, not saved")
        self.editor.kill()
        type(self).editor = second
        second.do("wait_for", "status_bar", "Gemini: no CLI")
        second.do("wait_for", "named", "new\none\ntwo\n", "a.py (your edits)")
        self.assertEqual(self.read(path), b"old\n")


class FullDisk(session.Session):
    has_cli = False

    def disk(self) -> str:
        """A folder on a disk without a byte left."""
        folder = tempfile.mkdtemp(dir=self.root)
        small_disk.mount(self, folder, 0x20000)
        small_disk.fill(folder)
        return folder

    def test_without_a_discovery_file_the_variables_of_a_terminal_connect_the_cli(self) -> None:
        full = self.disk()
        editor = self.new_editor(full)
        editor.do("wait_for", "is_told", True, "No space left")
        variables = editor.do("environment")
        self.editor.quit()
        cli = self.new_cli(TMPDIR=full, TERM_PROGRAM="sublime", **variables)
        cli.wait_status("Connected")
        type(self).editor = editor
