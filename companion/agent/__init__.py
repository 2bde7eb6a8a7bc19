"""The engine: the real Gemini CLI as an agent that other programs can talk to.

It runs `gemini --acp` in a home of its own and speaks the Agent Client Protocol with it. What comes
out are frozen events; what goes in are messages, decisions and credentials. It knows no editor and
no HTTP.
"""
