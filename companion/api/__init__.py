"""The Gemini CLI API: the engine in `companion/agent` as an HTTP server on this machine.

Answers, events and texts are those of the API's specification; what goes beyond it is told in
docs/api.md. Nothing in this folder knows an editor.
"""
