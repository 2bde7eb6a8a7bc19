"""Words of the user for a CLI: put into its prompt if it runs in Terminus, and never sent.

`references` names files and lines in the form that a prompt reads, `excerpts` takes texts from
views, `diagnostics` reads the results of language servers and linters, `variables` puts all of
these into the user's words, and `sending` goes from the command to the terminal
(`terminals/cli_terminals`). All of it runs on the editor's UI thread.
"""
