"""In which form an attachment goes to an agent."""

from __future__ import annotations

import shutil
import tempfile
import unittest
from dataclasses import replace

from GeminiCompanion.companion.agent.acp.messages import AgentCapabilities
from GeminiCompanion.companion.agent.agents.claude_agent import ClaudeAgent
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.attachments import Attachments
from GeminiCompanion.companion.agent.failure import AgentError

ALL = AgentCapabilities(image=True, embedded_context=True)
IMAGE_ONLY, RESOURCE_ONLY = replace(ALL, embedded_context=False), replace(ALL, image=False)


class Forms(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.attachments = Attachments(folder)
        self.image = self.attachments.add("p.png", b"\x89PNG\r\n\x1a\n").id
        self.document = self.attachments.add("d.pdf", b"%PDF-1.7").id

    def form(self, id: str, cli: type[AgentCli], capabilities: AgentCapabilities) -> str:
        """The kind of the block, or the sentence that refuses it."""
        try:
            found = self.attachments.message_parts([id], capabilities, cli.attachment_forms)
        except AgentError as error:
            return str(error)
        return str(found.blocks[0]["type"])

    def test_an_image_is_one_where_the_agent_takes_images_unless_it_drops_them_so(self) -> None:
        for cli, capabilities, form in (
            (AgentCli, ALL, "image"),
            (AgentCli, IMAGE_ONLY, "image"),
            (ClaudeAgent, ALL, "image"),
            (GeminiCli, ALL, "resource"),
            (GeminiCli, IMAGE_ONLY, "image"),
            (AgentCli, RESOURCE_ONLY, "The agent does not accept image/png, the type of p.png."),
        ):
            with self.subTest(cli=cli.__name__, capabilities=capabilities):
                self.assertEqual(self.form(self.image, cli, capabilities), form)

    def test_a_document_is_a_resource_or_is_refused_with_its_name(self) -> None:
        refusal = "The agent does not accept application/pdf, the type of d.pdf."
        for cli, capabilities, form in (
            (AgentCli, RESOURCE_ONLY, "resource"),
            (AgentCli, IMAGE_ONLY, refusal),
            (ClaudeAgent, ALL, refusal),
            (GeminiCli, ALL, "resource"),
        ):
            with self.subTest(cli=cli.__name__, capabilities=capabilities):
                self.assertEqual(self.form(self.document, cli, capabilities), form)
