"""Answers to a model's questions about code: `code_tools` asks `language_servers` first, and then
Sublime's `symbol_index`; `sublime_code` opens files for the user. All of it runs on the editor's UI
thread.
"""
