"""The list of all agents: those of chats, of terminals, of the API, and where they work."""
