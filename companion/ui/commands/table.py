"""All commands in one table: plugin.py gives them to Sublime Text; the palette, the menu and
docs/commands.md have their captions, which tests/test_resources.py and tests/test_docs.py check.

What has several forms, or is seldom needed, stands in a list: the palette has one entry for it
(`list_command`), the menu a folder.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, Type, Union

import sublime_plugin

from . import agent_commands as agents
from . import changes_commands as changes
from . import chat_commands as chat
from . import cli_commands as cli
from . import companion_commands as companion
from . import conversation_commands as conversation
from . import diff_commands as diff
from . import page_commands as page
from . import prompt_commands as prompt
from . import question_commands as question
from . import work_tree_commands as tree

Command = Union[
    Type[sublime_plugin.ApplicationCommand],
    Type[sublime_plugin.WindowCommand],
    Type[sublime_plugin.TextCommand],
]

# The captions of the lists, by the names that key bindings give them. A caption has the words of
# its commands, by which the palette finds it.
LISTS = {
    "new_chat": "New Chat with Agent, Continue a Session of the Terminal",
    "agent": "Log In to Agent, Choose Mode or Model",
    "take": "Copy or Insert Code, Export Chat",
    "messages": "Send, Previous or Next Message, Waiting Messages",
    "turn": "Undo or Redo Turn, Rewind to Message, Show Changes of Turn",
    "answer": "Show Question, Allow, Allow Always or All Shown, Deny, Deny All or with Note",
    "terminal": "Open Terminal, Copy Exports",
    "work_tree": "New Chat or Run CLI in Work Tree, Ask Several Agents, Remove Work Tree",
    "extension": "Install or Remove CLI Extension",
    "send": "Send Selection, Reference, File, Open Files, Diagnostics or Build Results",
    "prompt": "Explain Selection, Review File, Write Tests, Fix Diagnostics or Build",
    "status": "Show Status or Shared Context",
    "sharing": "Pause or Resume Sharing",
    "api_server": "Start or Stop API Server",
}


class Row(NamedTuple):
    """A command for users, with its caption and the arguments that belong to this. `list` is the
    one of LISTS that it stands in; empty for an entry of its own."""

    command: Command
    caption: str
    list: str = ""
    arguments: Mapping[str, Any] = {}


def name_of(command: Command) -> str:
    """The name by which Sublime Text runs the command: `gemini_companion_chat`."""
    words = re.findall("[A-Z][a-z]*", command.__name__)
    return "_".join(words[:-1]).lower()


ROWS = (
    Row(chat.GeminiCompanionChatCommand, "Chat"),
    Row(chat.GeminiCompanionNewChatCommand, "New Chat"),
    Row(chat.GeminiCompanionNewChatCommand, "New Chat with Agent", "new_chat", {"ask": True}),
    Row(conversation.GeminiCompanionLogInCommand, "Log In to Agent", "agent"),
    Row(agents.GeminiCompanionAgentsCommand, "Agents"),
    Row(
        conversation.GeminiCompanionTakeOverSessionCommand,
        "Continue a Session of the Terminal",
        "new_chat",
    ),
    Row(conversation.GeminiCompanionModeCommand, "Choose Mode", "agent"),
    Row(conversation.GeminiCompanionModelCommand, "Choose Model", "agent"),
    Row(conversation.GeminiCompanionExportChatCommand, "Export Chat", "take"),
    Row(chat.GeminiCompanionSendCommand, "Send Message", "messages"),
    Row(chat.GeminiCompanionAttachCommand, "Attach"),
    Row(chat.GeminiCompanionWaitingMessagesCommand, "Waiting Messages", "messages"),
    Row(chat.GeminiCompanionPreviousMessageCommand, "Previous Message", "messages"),
    Row(chat.GeminiCompanionNextMessageCommand, "Next Message", "messages"),
    Row(chat.GeminiCompanionCopyCodeCommand, "Copy Code", "take"),
    Row(chat.GeminiCompanionInsertCodeCommand, "Insert Code", "take"),
    Row(chat.GeminiCompanionStopCommand, "Stop Agent"),
    Row(chat.GeminiCompanionUndoTurnCommand, "Undo Turn", "turn"),
    Row(chat.GeminiCompanionRedoTurnCommand, "Redo Turn", "turn"),
    Row(chat.GeminiCompanionRewindCommand, "Rewind to Message", "turn"),
    Row(chat.GeminiCompanionTurnChangesCommand, "Show Changes of Turn", "turn"),
    Row(question.GeminiCompanionShowQuestionCommand, "Show Question", "answer"),
    Row(question.GeminiCompanionAllowCommand, "Allow", "answer"),
    Row(question.GeminiCompanionAllowAlwaysCommand, "Allow Always", "answer"),
    Row(question.GeminiCompanionAllowAllShownCommand, "Allow All Shown", "answer"),
    Row(question.GeminiCompanionDenyCommand, "Deny", "answer"),
    Row(question.GeminiCompanionDenyAllCommand, "Deny All", "answer"),
    Row(question.GeminiCompanionDenyWithNoteCommand, "Deny with Note", "answer"),
    Row(diff.GeminiCompanionAcceptDiffCommand, "Accept Diff"),
    Row(diff.GeminiCompanionRejectDiffCommand, "Reject Diff"),
    Row(diff.GeminiCompanionReleaseDiffCommand, "Release Diff"),
    Row(diff.GeminiCompanionAcceptDiffAndNextCommand, "Accept Diff and Next"),
    Row(diff.GeminiCompanionRejectDiffWithNoteCommand, "Reject Diff with Note"),
    Row(diff.GeminiCompanionCommentOnDiffCommand, "Comment on Diff"),
    Row(diff.GeminiCompanionNextChangeCommand, "Next Change"),
    Row(diff.GeminiCompanionPreviousChangeCommand, "Previous Change"),
    Row(diff.GeminiCompanionKeepChangeCommand, "Keep Change"),
    Row(diff.GeminiCompanionDropChangeCommand, "Drop Change"),
    Row(diff.GeminiCompanionNextDiffCommand, "Next Diff"),
    Row(diff.GeminiCompanionPreviousDiffCommand, "Previous Diff"),
    Row(changes.GeminiCompanionShowChangesCommand, "Show Changes"),
    Row(changes.GeminiCompanionDecideOnChangesCommand, "Decide on Changes"),
    Row(diff.GeminiCompanionUndoLastAcceptedCommand, "Undo Last Accepted"),
    Row(cli.GeminiCompanionRunCliCommand, "Run CLI"),
    Row(cli.GeminiCompanionOpenTerminalCommand, "Open Terminal", "terminal"),
    Row(cli.GeminiCompanionCopyExportsCommand, "Copy Exports", "terminal"),
    Row(tree.GeminiCompanionNewChatInWorkTreeCommand, "New Chat in Work Tree", "work_tree"),
    Row(tree.GeminiCompanionRunCliInWorkTreeCommand, "Run CLI in Work Tree", "work_tree"),
    Row(tree.GeminiCompanionAskSeveralAgentsCommand, "Ask Several Agents", "work_tree"),
    Row(tree.GeminiCompanionRemoveWorkTreeCommand, "Remove Work Tree", "work_tree"),
    Row(cli.GeminiCompanionInstallCliExtensionCommand, "Install CLI Extension", "extension"),
    Row(cli.GeminiCompanionRemoveCliExtensionCommand, "Remove CLI Extension", "extension"),
    Row(prompt.GeminiCompanionSendSelectionCommand, "Send Selection", "send"),
    Row(prompt.GeminiCompanionSendReferenceCommand, "Send Reference", "send"),
    Row(prompt.GeminiCompanionSendFileCommand, "Send File", "send"),
    Row(prompt.GeminiCompanionSendOpenFilesCommand, "Send Open Files", "send"),
    Row(prompt.GeminiCompanionSendDiagnosticsCommand, "Send Diagnostics", "send"),
    Row(prompt.GeminiCompanionSendBuildResultsCommand, "Send Build Results", "send"),
    Row(
        prompt.GeminiCompanionPromptCommand,
        "Explain Selection",
        "prompt",
        {"text": "Explain this:\n$selection"},
    ),
    Row(
        prompt.GeminiCompanionPromptCommand,
        "Review File",
        "prompt",
        {
            "text": "Review $file. Look for bugs, for cases that are not handled, and for what is"
            " hard to understand."
        },
    ),
    Row(
        prompt.GeminiCompanionPromptCommand,
        "Write Tests",
        "prompt",
        {"text": "Write tests for $reference, in the way of the tests that are there already."},
    ),
    Row(
        prompt.GeminiCompanionPromptCommand,
        "Fix Diagnostics",
        "prompt",
        {"text": "Find the cause of each of these problems, and fix it:\n$diagnostics"},
    ),
    Row(
        prompt.GeminiCompanionPromptCommand,
        "Fix Build",
        "prompt",
        {"text": "The build fails. Find out why, and fix it. It says:\n$build_results"},
    ),
    Row(page.GeminiCompanionWelcomeCommand, "Welcome"),
    Row(companion.GeminiCompanionShowStatusCommand, "Show Status", "status"),
    Row(page.GeminiCompanionDoctorCommand, "Doctor"),
    Row(page.GeminiCompanionShowSharedContextCommand, "Show Shared Context", "status"),
    Row(companion.GeminiCompanionPauseSharingCommand, "Pause Sharing", "sharing"),
    Row(companion.GeminiCompanionResumeSharingCommand, "Resume Sharing", "sharing"),
    Row(diff.GeminiCompanionUndoEditsOfTurnCommand, "Undo Edits of Turn"),
    Row(companion.GeminiCompanionStartApiServerCommand, "Start API Server", "api_server"),
    Row(companion.GeminiCompanionStopApiServerCommand, "Stop API Server", "api_server"),
    Row(companion.GeminiCompanionRestartCompanionCommand, "Restart Companion"),
    Row(companion.GeminiCompanionShowMessagesCommand, "Show Messages"),
    Row(companion.GeminiCompanionShowLogCommand, "Show Log"),
)
# For links, keys and other packages; they stand in no menu.
INTERNAL = (
    agents.GeminiCompanionChatsCommand,
    agents.GeminiCompanionShowClisCommand,
    changes.GeminiCompanionDecideChangesCommand,
    changes.GeminiCompanionGoToChangeCommand,
    changes.GeminiCompanionShowAcceptedEditsCommand,
    changes.GeminiCompanionShowDiffsCommand,
    changes.GeminiCompanionShowUnaskedEditsCommand,
    changes.GeminiCompanionShowUnwrittenEditsCommand,
    chat.GeminiCompanionTypeCommand,
    cli.GeminiCompanionForgetEnvironmentCommand,
    conversation.GeminiCompanionChatRemedyCommand,
    diff.GeminiCompanionFillViewCommand,
    diff.GeminiCompanionSelectCommand,
    page.GeminiCompanionRemedyCommand,
)
# Each class once: Sublime Text would register it for each time.
COMMANDS: tuple[Command, ...] = tuple(dict.fromkeys((*(row.command for row in ROWS), *INTERNAL)))
