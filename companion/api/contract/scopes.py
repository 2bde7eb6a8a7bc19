"""What a token may do. Each route has one of these scopes; a token has those that it was given.

| scope | a token with it may |
|---|---|
| read | see conversations, events and the state of the server |
| chat | talk with the agents: messages, harmless commands, conversations, attachments, models |
| decide | decide on tools, answer questions, and choose what is asked about |
| files | list, read and write files of the workspace, and undo what turns did to them |
| admin | everything else: logins, commands, the agents' own commands, tool servers, tokens |
"""

from __future__ import annotations

READ, CHAT, DECIDE, FILES, ADMIN = "read", "chat", "decide", "files", "admin"
GRANTED = (READ, CHAT, DECIDE, FILES, ADMIN)
# Of routes that any token may use, and of those that need none.
ANY, OPEN = "any", "open"
