"""Claude Code's own way to the editor: a web socket for the whole editor, and a lock file."""
