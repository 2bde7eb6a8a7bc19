"""The official conformance suite against both servers, at each version of MCP.

Most of its scenarios call tools, prompts and resources of a test server and fail where these are
missing. What fails is named here and in docs/protocol.md 10.98, each with its reason, and nothing
else may fail; what does not fail any more has to be taken out.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from ..ide.window import Served
from ..support import Background
from .with_token import with_token

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = os.path.join(HERE, "mcp", "node_modules")
SUITE = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
# It needs Node.js 22: that of the end-to-end tests, or the machine's.
NODES = glob.glob(os.path.join(HERE, "..", "e2e", "node_modules", "node-*", "bin", "node"))
NODE = (NODES or [shutil.which("node") or ""])[0]
# Seconds for all scenarios of a version.
LIMIT = 240
BAD = ("FAILURE", "WARNING")

# The servers have no prompts and no resources, complete nothing, and ask nothing of their clients.
NOT_OFFERED = set(
    """
    completion-complete prompts-list prompts-get-simple prompts-get-with-args
    prompts-get-embedded-resource prompts-get-with-image resources-list resources-read-text
    resources-read-binary resources-templates-read
    """.split()
)
NOT_SUBSCRIBED = {"resources-subscribe", "resources-unsubscribe"}
# Tools of the suite's own test server.
ITS_TOOLS = set(
    """
    tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource
    tools-call-mixed-content tools-call-error tools-call-with-progress
    """.split()
)
ITS_OLDER_TOOLS = {"tools-call-with-logging", "tools-call-sampling", "tools-call-elicitation"}
LATER = {"json-schema-2020-12-tool-found"}
# The same two reasons, in the names of 2026-07-28.
STATELESS = set(
    """
    sep-2164-error-code sep-2164-data-uri
    sep-2549-prompts-list-caching-hints sep-2549-resources-list-caching-hints
    sep-2549-resources-templates-list-caching-hints
    sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400
    sep-2575-http-server-no-independent-requests-on-stream
    sep-2575-server-no-log-without-loglevel
    sep-2322-elicitation-incomplete sep-2322-sampling-incomplete sep-2322-list-roots-incomplete
    sep-2322-request-state-incomplete sep-2322-multiple-inputs-incomplete sep-2322-multi-round-r1
    sep-2322-missing-response-rerequests sep-2322-non-tool-incomplete
    sep-2322-result-type-included sep-2322-reject-tampered-state
    sep-2322-respect-client-capabilities sep-2322-ignore-unexpected-params
    sep-2243-server-no-xmcp-tool sep-2243-server-decode-base64
    sep-2243-server-validate-param-match sep-2243-server-reject-invalid-param-chars
    sep-2243-server-reject-param-mismatch
    """.split()
)
# It changes the list of tools by a tool of its test server, and calls openDiff without the
# extension.
OF_COMPANION = {
    "sep-2575-server-sends-tools-list-changed-on-subscription",
    "sep-2243-server-accepts-whitespace-header-value",
}
OF_2025 = NOT_OFFERED | NOT_SUBSCRIBED | ITS_TOOLS | ITS_OLDER_TOOLS
OF_2025_11 = OF_2025 | LATER | {"elicitation-sep1034-general", "elicitation-sep1330-general"}
OF_2026 = NOT_OFFERED | ITS_TOOLS | LATER | STATELESS


@unittest.skipUnless(NODE and os.path.exists(SUITE), "not installed: make setup-mcp")
class Conformance(Served):
    def setUp(self) -> None:
        super().setUp()
        self.serve("/one")
        (file,) = self.files()
        way = Background(lambda: with_token(file["port"], file["authToken"]))
        self.addCleanup(way.stop)
        self.port = way.start()

    def checks(self, version: str, path: str = "/mcp") -> dict[str, set[str]]:
        """The checks by their outcome."""
        folder = tempfile.mkdtemp(dir=self.temp)
        url = f"http://127.0.0.1:{self.port}{path}"
        which = ["--suite", "all", "--spec-version", version]
        subprocess.run(
            [NODE, SUITE, "server", "--url", url, *which, "--output-dir", folder],
            stdout=subprocess.DEVNULL,
            timeout=LIMIT,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        found: dict[str, set[str]] = {}
        for name in glob.glob(os.path.join(folder, "*", "checks.json")):
            if "-tasks-" in name or "-sep-2640-" in name:
                # An extension that the servers do not have.
                continue
            with open(name, encoding="utf-8") as file:
                for check in json.load(file):
                    found.setdefault(check["status"], set()).add(check["id"])
        return found

    def assert_conforms(self, version: str, known: set[str], path: str = "/mcp") -> None:
        found = self.checks(version, path)
        bad = {id for status in BAD for id in found.get(status, set())}
        self.assertEqual(bad, known)
        self.assertTrue(found["SUCCESS"] - bad)

    def test_2025_03_26(self) -> None:
        self.assert_conforms("2025-03-26", set())

    def test_2025_06_18(self) -> None:
        self.assert_conforms("2025-06-18", OF_2025)

    def test_2025_11_25(self) -> None:
        self.assert_conforms("2025-11-25", OF_2025_11)

    def test_2026_07_28(self) -> None:
        self.assert_conforms("2026-07-28", OF_2026 | OF_COMPANION)

    def test_2026_07_28_of_the_server_editor(self) -> None:
        self.assert_conforms("2026-07-28", OF_2026, "/tools")
