"""Words of the user's for a CLI: put into its prompt where it runs in Terminus, and never sent off.

`references` names files and lines as the prompt reads them, `excerpts` takes texts out of views,
`diagnostics` reads what language servers and linters found, `variables` fills all of these into the
user's words, `sending` goes from the command to the terminal (`terminals/cli_terminals`).
All of it runs on the editor's UI thread.
"""
