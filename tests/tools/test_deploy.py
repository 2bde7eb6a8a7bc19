"""The files of deploy/: what tools that know their formats say of them, whether the server takes
the options in them, and the Dockerfile's steps, run here for want of a daemon. What the steps fetch
stands in this repository already; they ask the registries with WITH_REGISTRIES=1 alone, as `make
release-check` has it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import ipaddress
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from typing import Any, Iterator

import pytest
import yaml
from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.api import __main__ as program
from packaging.requirements import Requirement

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, ROOT)

from tools.setup import VENV, python_of  # noqa: E402

DEPLOY = os.path.join(ROOT, "deploy")
TOOLS = os.path.dirname(python_of(os.path.join(VENV, "deploy")))
# Where `make setup` has put the CLI.
MODULES = os.path.join(ROOT, "tests", "e2e", "node_modules")
WITH_REGISTRIES = bool(os.environ.get("WITH_REGISTRIES"))
# That of the image's system.
PYTHON = "3.11"
# Seconds for anything, a download included.
PATIENCE = 300


def read(*parts: str) -> str:
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def requirements(*paths: str, python: str = "") -> Iterator[Requirement]:
    """Those in the lists that count for this Python, or for another one."""
    environment = {"python_version": python} if python else None
    for path in paths:
        for line in read(path).splitlines():
            if line and line[0] != "#":
                requirement = Requirement(line.partition(" --hash=")[0])
                if requirement.marker is None or requirement.marker.evaluate(environment):
                    yield requirement


def compose() -> Any:
    return yaml.safe_load(read("deploy", "compose.yaml"))


def kubernetes() -> dict[str, Any]:
    """The manifests by their kind."""
    return {
        document["kind"]: document
        for document in yaml.safe_load_all(read("deploy", "kubernetes.yaml"))
    }


def steps() -> Iterator[tuple[str, str]]:
    """The Dockerfile's instructions, each with the rest of its lines."""
    lines = (line for line in read("deploy", "Dockerfile").splitlines() if line[:1] != "#")
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        name, _blank, rest = line.partition(" ")
        if name:
            yield name, rest


def said(command: list[str], cwd: str, variables: dict[str, str] | None = None) -> str:
    """What it writes. Raises AssertionError where it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    if done.returncode:
        raise AssertionError(f"{command}\n{done.stdout}")
    return done.stdout


@unittest.skipUnless(os.path.isdir(TOOLS), "their tools are not installed: make test")
@pytest.mark.looks_at("deploy", "requirements")
class Linted(unittest.TestCase):
    def says(self, tool: str, *arguments: str) -> str:
        """What the tool prints. Raises AssertionError where it finds something."""
        return said([os.path.join(TOOLS, tool), *arguments], DEPLOY)

    def test_tools_that_know_their_formats_find_nothing_in_the_files(self) -> None:
        # Not built for Windows.
        if sys.platform != "win32":
            self.says("hadolint", "Dockerfile")
        self.says("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")
        told = self.says("kubernetes-validate", "--strict", "kubernetes.yaml")
        self.assertEqual(told.count(" passed for "), 4)


class Options(unittest.TestCase):
    """Of the server, as they stand in the files."""

    def taken(self, arguments: list[str]) -> Any:
        """The access that the program makes of them."""
        parser = program._argument_parser()
        with tempfile.TemporaryDirectory() as folder:
            moved = [argument.replace("/state/", folder + "/") for argument in arguments]
            workspace = os.path.join(folder, "workspace")
            os.mkdir(workspace)
            asked = parser.parse_args([*moved, "--workspace", workspace])
            return program.remote_options.access_of(parser, asked)

    def test_each_instance_of_compose_has_its_own_name_key_and_folders(self) -> None:
        whole = compose()
        seen: dict[str, list[str]] = {"names": [], "folders": [], "keys": [], "networks": []}
        caddy = whole["configs"]["caddyfile"]["content"]
        for name in ("alice", "bob"):
            service = whole["services"][name]
            access = self.taken(service["command"])
            (host,) = access.names
            self.assertIn(f"{host} {{\n    reverse_proxy {name}:8080", caddy)
            (network,) = service["networks"]
            (proxy,) = access.proxies
            known = whole["services"]["proxy"]["networks"][network]["ipv4_address"]
            address = ipaddress.ip_address(known)
            self.assertEqual(list(proxy), [address])
            (given,) = whole["networks"][network]["ipam"]["config"]
            self.assertIn(address, ipaddress.ip_network(given["subnet"]))
            # Nobody else gets it.
            self.assertNotIn(address, ipaddress.ip_network(given["ip_range"]))
            self.assertNotEqual(str(address), given["gateway"])
            seen["names"].append(host)
            seen["folders"] += [volume.partition(":")[0] for volume in service["volumes"]]
            seen["keys"] += service["environment"].values()
            seen["networks"].append(network)
        for kind, values in seen.items():
            with self.subTest(kind):
                self.assertEqual(len(set(values)), len(values))

    def test_those_in_kubernetes_are_taken_and_its_probes_name_the_server(self) -> None:
        by_kind = kubernetes()
        (container,) = by_kind["StatefulSet"]["spec"]["template"]["spec"]["containers"]
        access = self.taken(container["args"])
        self.assertTrue(container["image"].endswith(":" + __version__))
        for probe in ("livenessProbe", "readinessProbe"):
            (header,) = container[probe]["httpGet"]["httpHeaders"]
            self.assertEqual(header, {"name": "Host", "value": "127.0.0.1:8080"})
        (rule,) = by_kind["Ingress"]["spec"]["rules"]
        self.assertEqual([rule["host"]], list(access.names))

    def test_nothing_but_volumes_and_the_temp_folder_can_be_written(self) -> None:
        written = ["/state", "/workspace", "/tmp"]
        for name in ("alice", "bob"):
            service = compose()["services"][name]
            self.assertIs(service["read_only"], True)
            folders = [volume.partition(":")[2] for volume in service["volumes"]]
            self.assertEqual(
                [*folders, *(path.partition(":")[0] for path in service["tmpfs"])], written
            )
        (container,) = kubernetes()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
        self.assertIs(container["securityContext"]["readOnlyRootFilesystem"], True)
        self.assertEqual([mount["mountPath"] for mount in container["volumeMounts"]], written)


class Lists(unittest.TestCase):
    """What the image is made of."""

    def test_each_image_is_named_with_its_digest(self) -> None:
        (base,) = [rest for name, rest in steps() if name == "FROM"]
        for image in (base, compose()["services"]["proxy"]["image"]):
            self.assertRegex(image, r"^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$")

    def test_each_library_has_the_version_that_is_tested_and_its_digests(self) -> None:
        tested = requirements("requirements/runtime.txt", "requirements/api.txt", python=PYTHON)
        lines = read("requirements", "image.txt").splitlines()
        image = {line.partition(" ")[0]: line for line in lines if line[:1] != "#"}
        self.assertEqual(
            sorted(image),
            sorted(f"{requirement.name}{requirement.specifier}" for requirement in tested),
        )
        for line in image.values():
            self.assertRegex(line, r"^\S+( --hash=sha256:[0-9a-f]{64})+$")
        for name, rest in steps():
            if name == "RUN" and " pip install " in rest:
                self.assertIn("--require-hashes", rest.split())

    def test_the_cli_is_that_which_is_tested_and_all_of_it_has_a_digest(self) -> None:
        tested, image = (
            json.loads(read(*folder, "package-lock.json"))["packages"]
            for folder in (("tests", "e2e"), ("deploy", "cli"))
        )
        path = "node_modules/@google/gemini-cli"
        for key in ("version", "integrity"):
            self.assertEqual(image[path][key], tested[path][key])
        for name, package in image.items():
            if name:
                self.assertTrue(package["integrity"].startswith("sha512-"), name)

    def test_those_of_the_image_name_all_that_their_libraries_need(self) -> None:
        listed = list(requirements("requirements/runtime.txt", "requirements/api.txt"))
        versions = {
            requirement.name.lower().replace("_", "-"): requirement.specifier
            for requirement in listed
        }
        for name in versions:
            for line in importlib.metadata.requires(name) or ():
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    with self.subTest(f"{needed} of {name}"):
                        (pinned,) = versions[needed.name.lower().replace("_", "-")]
                        self.assertIn(pinned.version, needed.specifier)


@unittest.skipUnless(shutil.which("npm"), "npm is not installed")
@unittest.skipUnless(os.path.isdir(MODULES), "the CLI is not installed: make setup")
@unittest.skipUnless(sys.platform == "linux", "the steps are those of the image's system")
@unittest.skipIf(
    WITH_REGISTRIES and not sys.version.startswith(PYTHON), f"the image has Python {PYTHON}"
)
@pytest.mark.looks_at("deploy", "requirements", "companion")
class Steps(unittest.TestCase):
    """Run one after the other, with other folders, another port, and this user in place of the
    image's. The packages of Debian are not installed: what they bring has to be in PATH. The
    server sees no library but those that the image has."""

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="image-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        self.place = self.root
        # As they stand in the file, the longest first.
        self.instead = {
            "/opt/gemini-cli-api": os.path.join(self.root, "opt"),
            "--owner=1000 --group=1000 ": "",
            # What was fetched before need not be fetched for a test.
            "--no-cache-dir ": "",
            "/workspace": os.path.join(self.root, "workspace"),
            "/state": os.path.join(self.root, "state"),
            "8080": port,
        }
        folder = os.path.join(self.root, "programs")
        os.mkdir(folder)
        # pip lies where the others are.
        alone = "" if WITH_REGISTRIES else "-S "
        with open(os.path.join(folder, "python3"), "w", encoding="utf-8") as file:
            os.chmod(file.name, 0o755)
            file.write(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {alone}"$@"\n')
        self.variables = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
        self.said: dict[str, str] = {}

    def here(self, text: str) -> str:
        for known, other in self.instead.items():
            text = text.replace(known, other)
        return text

    def filled_in(self, text: str) -> str:
        """With the variables of the build."""
        return re.sub(r"\$(\w+)", lambda match: self.variables[match.group(1)], text)

    def do(self, name: str, rest: str) -> None:
        if name in ("ARG", "ENV"):
            variable, _equals, value = rest.partition("=")
            self.variables[variable] = self.filled_in(value)
        elif name == "WORKDIR":
            self.place = os.path.join(self.place, self.filled_in(rest))
            os.makedirs(self.place, exist_ok=True)
        elif name == "COPY":
            *sources, target = rest.split()
            self.copy(sources, os.path.join(self.place, target))
        elif name == "RUN" and not rest.startswith("apt-get"):
            if WITH_REGISTRIES or not self.is_here_already(shlex.split(rest)):
                self.run_in_shell(rest)
        self.said[name] = rest

    def is_here_already(self, command: list[str]) -> bool:
        """Whether the command fetches what the set-up has fetched: it is linked to its place."""
        options = [word.partition("=")[::2] for word in command if word.startswith("--")]
        if command[:2] == ["npm", "ci"]:
            self.link_cli(os.path.join(self.place, dict(options)["--prefix"]))
        elif command[:4] == ["python3", "-m", "pip", "install"]:
            lists = [value for option, value in options if option == "--requirement"]
            self.link_libraries(os.path.join(self.place, dict(options)["--target"]), lists)
        else:
            return False
        return True

    def link_cli(self, folder: str) -> None:
        with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
            ((name, version),) = json.load(file)["dependencies"].items()
        with open(os.path.join(MODULES, name, "package.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["version"], version)
        os.symlink(MODULES, os.path.join(folder, "node_modules"))

    def link_libraries(self, folder: str, lists: list[str]) -> None:
        os.mkdir(folder)
        for requirement in requirements(*(os.path.join(self.place, each) for each in lists)):
            library = importlib.metadata.distribution(requirement.name)
            if sys.version.startswith(PYTHON):
                self.assertIn(library.version, requirement.specifier)
            for top in {file.parts[0] for file in library.files or ()} - {"..", "__pycache__"}:
                os.symlink(str(library.locate_file(top)), os.path.join(folder, top))

    def copy(self, sources: list[str], target: str) -> None:
        """From what the context has: Docker leaves out the rest."""
        ignored = read("deploy", "Dockerfile.dockerignore").split()
        self.assertEqual(ignored[0], "*")
        for source in sources:
            self.assertIn("!" + source, ignored)
            path = os.path.join(ROOT, source)
            if os.path.isdir(path):
                shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                os.makedirs(target, exist_ok=True)
                shutil.copy(path, target)

    def run_in_shell(self, command: str) -> str:
        return said(["/bin/sh", "-e", "-c", command], self.place, self.variables)

    def test_they_make_a_server_that_is_healthy_and_ends_in_time(self) -> None:
        for name, rest in steps():
            self.do(name, self.here(rest))
        for program_in_path in ("git", "node", "python3"):
            self.assertTrue(shutil.which(program_in_path, path=self.variables["PATH"]))
        # As with `docker run -p 9000:8080 IMAGE --allow-host localhost:9000`, in place of any CMD.
        init, *whole = json.loads(self.said["ENTRYPOINT"])
        self.assertEqual((init, whole.pop(0)), ("tini", "--"))
        command = [*whole, "--allow-host", "localhost:9000"]
        process = subprocess.Popen(
            command, cwd=self.place, env=self.variables, stderr=subprocess.PIPE, encoding="utf-8"
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        check = shlex.join(json.loads(self.said["HEALTHCHECK"].partition(" CMD ")[2]))
        ends = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < ends:
            with contextlib.suppress(AssertionError):
                self.run_in_shell(check)
                break
            time.sleep(0.2)
        # So the CLI is found, too.
        self.run_in_shell(check.replace("healthz", "readyz"))
        url = f"http://127.0.0.1:{self.instead['8080']}/status"
        request = urllib.request.Request(url, headers={"Host": "localhost:9000"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            self.assertEqual(answer.status, 200)
        process.send_signal(signal.SIGTERM)
        _output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("0.0.0.0", errors)
