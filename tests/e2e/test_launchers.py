"""The real CLI, started by what package managers put into PATH, and ended with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from unittest import mock

from agent_case import HERE, MODEL, PROGRAM, AgentCase, text
from GeminiCompanion.companion.agent import launches
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.base.login_path import LoginPath
from GeminiCompanion.tests.waiting import is_alive

# As pnpm 9 writes it for a global program, without the lines for Cygwin.
PNPM = """#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\\\\\,/,g')")

if [ -x "$basedir/node" ]; then
  exec "$basedir/node"  "{program}" "$@"
else
  exec node  "{program}" "$@"
fi
"""
# Stays the parent of the CLI, and finds it by a variable of the user's, as scripts of asdf do.
PARENT = '#!/bin/sh\nnode "$ASDF_DATA_DIR/gemini.js" "$@"\nexit $?\n'
# One program for many names, which it tells apart by its own, as Volta's.
NATIVE = """
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {{
  char *name = strrchr(words[0], '/');
  if (!name || strcmp(name, "/gemini")) return 3;
  char *command[8] = {{"node", "{program}"}};
  for (int at = 1; at < count && at < 6; at++) command[at + 1] = words[at];
  execvp("node", command);
  return 4;
}}
"""


class Launchers(AgentCase):
    real = True

    def setUp(self) -> None:
        super().setUp()
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        self.gemini = os.path.join(self.bin, "gemini")

    def script(self, words: str, name: str = "gemini") -> None:
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(words.format(program=PROGRAM))
        os.chmod(path, 0o700)

    async def see_it_work(self) -> tuple[str, ...]:
        """The command that was found. A message is answered, a command of the model runs, and
        nothing of it is left when the agent is stopped."""
        path = os.pathsep.join([self.bin, os.environ["PATH"]])
        with mock.patch.dict(os.environ, PATH=path, ASDF_DATA_DIR=os.path.dirname(PROGRAM)):
            command = Chosen("gemini").find_command().words
            agent = await self.another_agent(command=command)
            self.model.will_play("hello", ["Hi."])
            turn = await agent.send_message(self.workspace, "hello")
            self.assertEqual(text(await self.rest(turn)), "Hi.")
            _, running = await self.run_command(agent)
            pid = agent.process_info().pid or 0
            await agent.stop()
        for each in (running, pid):
            await self.until_gone(each)
        self.assertFalse(group_of(pid))
        return command

    async def test_npms_link(self) -> None:
        os.symlink(PROGRAM, self.gemini)
        command = await self.see_it_work()
        self.assertEqual(command, (shutil.which("node"), os.path.realpath(PROGRAM)))

    async def test_a_script_of_pnpm(self) -> None:
        self.script(PNPM)
        self.assertEqual(await self.see_it_work(), (self.gemini,))

    async def test_a_script_that_stays_the_clis_parent(self) -> None:
        self.script(PARENT)
        self.assertEqual(await self.see_it_work(), (self.gemini,))

    async def test_a_link_to_such_a_script(self) -> None:
        self.script(PARENT, "of-another-name")
        os.symlink("of-another-name", self.gemini)
        self.assertEqual(await self.see_it_work(), (self.gemini,))

    async def test_a_link_to_a_native_program_for_many_names(self) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no compiler")
        source, shim = self.write("shim.c", NATIVE.format(program=PROGRAM)), self.path("bin/shim")
        subprocess.run([compiler, "-o", shim, source], check=True)
        os.symlink("shim", self.gemini)
        self.assertEqual(await self.see_it_work(), (self.gemini,))


class OfLoginShell(AgentCase):
    """In an editor that was started from a menu: its PATH has neither the CLI nor Node."""

    real = True

    async def test_what_only_the_login_shell_knows_is_started_with_its_path(self) -> None:
        own, system = self.path("own"), self.path("system")
        for folder in (own, system):
            os.mkdir(folder)
        with open(os.path.join(own, "gemini"), "w", encoding="utf-8") as file:
            file.write(PNPM.format(program=PROGRAM))
        os.chmod(os.path.join(own, "gemini"), 0o700)
        os.symlink(str(shutil.which("node")), os.path.join(own, "node2"))
        with open(os.path.join(own, "node"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec node2 "$@"\n')
        os.chmod(os.path.join(own, "node"), 0o700)
        for name in ("sh", "bash", "sed", "dirname"):
            os.symlink(str(shutil.which(name)), os.path.join(system, name))
        self.write(".bash_profile", f"echo Welcome\nexport PATH='{own}':$PATH\n")
        variables = {"PATH": system, "HOME": self.workspace, "SHELL": str(shutil.which("bash"))}
        known = LoginPath()
        with mock.patch.dict(os.environ, variables):
            with mock.patch.object(launches, "LOGIN_PATH", known):
                found = Chosen("gemini").find_command()
                self.assertEqual(found.words, (os.path.join(own, "gemini"),))
                agent = await self.another_agent(command=found.words, look=lambda: found)
                self.model.will_play("hello", ["Hi."])
                try:
                    turn = await agent.send_message(self.workspace, "hello")
                    self.assertEqual(text(await self.rest(turn)), "Hi.")
                finally:
                    await agent.stop()


class Gateway(AgentCase):
    """A key and the address of its gateway, as a user has them in the environment."""

    real = True

    async def test_the_key_goes_to_the_address_beside_it(self) -> None:
        variables = {"GEMINI_API_KEY": "of-the-gateway", "GOOGLE_GEMINI_BASE_URL": self.model.url}
        path = os.pathsep.join([os.path.join(HERE, "node_modules", ".bin"), os.environ["PATH"]])
        proxy = (("NO_PROXY", "127.0.0.1"),)
        model = {"model": {"name": MODEL}}
        for chosen, environment in (
            (Chosen("gemini", env=proxy), variables),
            (Chosen("gemini", env=(*proxy, *variables.items())), {}),
        ):
            with mock.patch.dict(os.environ, {**environment, "PATH": path}):
                state = os.path.join(tempfile.mkdtemp(dir=self.root), "state")
                launch = replace(chosen.launch, settings=model, is_users=False)
                agent = Agent(Options(launch, state))
                self.model.will_play("hello", ["Hi."])
                try:
                    turn = await agent.send_message(self.workspace, "hello")
                    self.assertEqual(text(await self.rest(turn)), "Hi.")
                finally:
                    await agent.stop()
                self.assertEqual(self.model.keys[-1], "of-the-gateway")


def group_of(leader: int) -> list[int]:
    """The processes of the group that still run."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "pgid="], stdout=subprocess.PIPE, check=True
    )
    rows = (line.split() for line in listed.stdout.decode("ascii").splitlines())
    return [int(pid) for pid, group in rows if int(group) == leader and is_alive(int(pid))]
