"""What the tests of a file leave to those of the next is named."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from ..leftovers import Leftovers
from ..waiting import wait_for


class Named(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.leftovers = Leftovers(self.folder)
        self.known = self.leftovers.present()

    def left(self) -> list[str]:
        return [*(self.leftovers.present() - self.known).elements()]

    def test_nothing_is_left_by_a_test_that_cleans_up(self) -> None:
        self.assertEqual(self.left(), [])

    def test_a_thread_is_named(self) -> None:
        end = threading.Event()
        thread = threading.Thread(target=end.wait, name="left by a test")
        thread.start()
        self.assertEqual(self.left(), ["thread left by a test"])
        end.set()
        thread.join()
        self.assertEqual(self.left(), [])

    def test_a_file_and_a_folder_are_named(self) -> None:
        path = os.path.join(self.folder, "left")
        os.mkdir(path)
        self.assertEqual(self.left(), [f"file {path}"])

    def test_the_folder_in_which_editors_and_clis_meet_stays_and_only_its_files_are_named(
        self,
    ) -> None:
        folder = os.path.join(self.folder, "gemini", "ide")
        os.makedirs(folder)
        self.assertEqual(self.left(), [])
        for pid in (os.getppid(), os.getpid()):
            path = os.path.join(folder, f"gemini-ide-server-{pid}-2.json")
            open(path, "w").close()
        self.assertEqual(self.left(), [f"file {path}"])

    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system tells less")
    def test_a_port_is_counted(self) -> None:
        with socket.create_server(("127.0.0.1", 0)):
            self.assertEqual(self.left(), ["open port"])
        self.assertEqual(self.left(), [])

    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system tells less")
    def test_a_child_is_named_and_so_is_what_it_has_left(self) -> None:
        end, far = os.pipe()
        # Without a number of its own, the input of what runs beside a shell is empty.
        child = subprocess.Popen(
            ["sh", "-c", "exec 3<&0; cat <&3 & echo $!"],
            env={**os.environ, "TMPDIR": self.folder},
            stdin=end,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        with child:
            assert child.stdout is not None
            grandchild = int(child.stdout.readline())
        os.close(end)
        wait_for(lambda: any(f"process {grandchild} cat" in line for line in self.left()))
        os.close(far)
        wait_for(lambda: self.left() == [])
