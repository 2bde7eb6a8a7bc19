"""What the user of a chat is told of failures."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.agent.failure import VALIDATION_ERROR, AgentError
from GeminiCompanion.companion.chat import problems


class Told(unittest.TestCase):
    def test_of_a_mode_that_a_folder_is_not_trusted_with_it_is_said_how_it_gets_trusted(
        self,
    ) -> None:
        refused = "Cannot enable privileged approval modes in an untrusted folder."
        words = problems.problem_sentence(AgentError(VALIDATION_ERROR, refused))
        self.assertTrue(words.startswith(refused))
        self.assertIn('"trusted_folders"', words)
        self.assertEqual(
            problems.problem_sentence(AgentError(VALIDATION_ERROR, "Other.")), "Other."
        )
