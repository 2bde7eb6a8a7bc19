"""The engine: the real Gemini CLI as an agent that other programs can talk to.

It runs `gemini --acp` in a home of its own and speaks the Agent Client Protocol with it. Its input
are messages, decisions and credentials; its output are frozen events. It knows no editor and no
HTTP.
"""
